// SPDX-License-Identifier: Apache-2.0
// book: opens the book and walks it with a filter. book_find.c looks up single offers.
#include "book/book.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/money.h"
#include "tables/device.h"
#include "tables/files.h"
#include "book/import.h"
#include "book/names.h"
#include "book/stock.h"

// ---- opening ----

int book_path(const char *path, struct buf *out, struct err *err)
{
    if (!path || !*path)
        path = getenv("FARE_BOOK");
    if (path && *path) {
        buf_adds(out, path);
        return buf_check(out, err);
    }
    int rc = folder_data(out, err);
    if (rc == ERR_MISSING) {
        err_context(err, "nowhere to put the book of prices");
        err_hint(err, "set one of them, or name a file with --book");
    }
    buf_adds(out, "/book");
    return rc == 0 ? buf_check(out, err) : rc;
}

struct tables {
    struct stock stock;
    bool own;
    struct devices *devices; // opened for the first own table
};

// Shipped tables have exact GPU names; those in users' tables are looked up.
static int read_table(void *arg, const char *path, struct err *err)
{
    struct tables *t = arg;
    TRY(t->own && !t->devices ? devices_open(&t->devices, err) : 0);
    return import_table(&t->stock, path, t->devices, err);
}

// Reads the tables in a folder as a layer. A missing folder is an empty layer.
static int open_tables(struct image *image, const char *dir, bool own, struct err *err)
{
    const struct image nothing = {0};
    struct tables tables = {.own = own};
    struct stock_counts counts;
    struct buf bytes = {0};
    int rc = files_each(dir, ".csv", read_table, &tables, err);
    if (rc == 0)
        rc = stock_build(&tables.stock, &nothing, &bytes, &counts, err);
    if (rc == 0)
        rc = image_of(image, bytes.data, bytes.len, bytes.data, err);
    else
        buf_release(&bytes);
    stock_release(&tables.stock);
    devices_close(tables.devices);
    return rc;
}

typedef int folder_fn(struct buf *out, struct err *err);

static int open_folder(struct image *image, folder_fn *folder, struct err *err)
{
    SCOPED(buf_release) struct buf dir = {0};
    struct err why = {0};
    int rc = folder(&dir, &why);
    buf_adds(&dir, "/offers");
    if (rc == 0)
        rc = buf_check(&dir, err);
    else if (rc == ERR_MISSING)
        rc = 0; // no home folder: no tables
    else
        err_pass(err, rc, &why);
    if (rc == 0 && why.code == 0)
        rc = open_tables(image, buf_str(&dir), folder == folder_config, err);
    return rc;
}

// Opens the imported layer; a book named by the user must exist.
static int open_imported(struct image *image, const char *path, bool named, struct err *err)
{
    if (named && access(path, F_OK) != 0 && errno == ENOENT) {
        err_set(err, ERR_MISSING, "there is no book '%s'", path);
        return err_hint(err, "'fare prices import FILE --book %.100s' creates it", path);
    }
    return image_open(image, path, err);
}

static int compare(const struct image *a, const struct image_offer *x, const struct image *b,
                   const struct image_offer *y)
{
    const uint32_t left[] = {x->provider, x->name, x->region, x->zone};
    const uint32_t right[] = {y->provider, y->name, y->region, y->zone};
    for (int i = 0; i < 4; i++) {
        int order = strcmp(image_word(a, left[i]), image_word(b, right[i]));
        if (order != 0)
            return order;
    }
    return (int)x->kind - (int)y->kind;
}

// The offer's position in the imported layer, or where to insert it.
static size_t place_of(const struct image *in, const struct image *image,
                       const struct image_offer *offer, bool *there)
{
    size_t low = 0, high = in->offer_count;
    *there = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(in, &in->offers[middle], image, offer);
        if (order == 0) {
            *there = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Fills `extras`.
static int layers_match(struct book *book, struct err *err)
{
    const struct image *shipped = &book->layers[LAYER_SHIPPED], *own = &book->layers[LAYER_OWN];
    const struct image *imported = &book->layers[LAYER_IMPORTED];
    size_t most = shipped->offer_count + own->offer_count;
    book->extras = calloc(most + 1, sizeof *book->extras);
    if (!book->extras)
        return err_memory(err);
    for (size_t i = 0, k = 0; i < shipped->offer_count || k < own->offer_count;) {
        const struct image_offer *a = i < shipped->offer_count ? &shipped->offers[i] : NULL;
        const struct image_offer *b = k < own->offer_count ? &own->offers[k] : NULL;
        int order = !a ? 1 : !b ? -1 : compare(shipped, a, own, b);
        struct extra *extra = &book->extras[book->extra_count++];
        if (order <= 0) {
            extra->stack.in[LAYER_SHIPPED] = a;
            i++;
        }
        if (order >= 0) {
            extra->stack.in[LAYER_OWN] = b;
            k++;
        }
        extra->at = order <= 0 ? place_of(imported, shipped, a, &extra->shared)
                               : place_of(imported, own, b, &extra->shared);
        if (extra->shared)
            extra->stack.in[LAYER_IMPORTED] = &imported->offers[extra->at];
    }
    return 0;
}

int book_open(struct book **out, const char *path, struct err *err)
{
    struct book *book = calloc(1, sizeof *book);
    SCOPED(buf_release) struct buf imported = {0};
    *out = NULL;
    if (!book || !(book->names = calloc(1, sizeof *book->names))) {
        free(book);
        return err_memory(err);
    }
    pthread_mutex_init(&book->names->lock, NULL);
    int rc = open_folder(&book->layers[LAYER_SHIPPED], folder_share, err);
    if (rc == 0) {
        struct err why = {0};
        rc = book_path(path, &imported, &why);
        if (rc == 0 && strcmp(buf_str(&imported), "-") != 0)
            rc = open_imported(&book->layers[LAYER_IMPORTED], buf_str(&imported), path && *path,
                               err);
        else if (rc == ERR_MISSING)
            rc = 0; // no home folder: nothing was imported
        else if (rc != 0)
            err_pass(err, rc, &why);
        names_path(buf_str(&imported), &book->names->path);
        rc = rc == 0 ? buf_check(&book->names->path, err) : rc;
    }
    if (rc == 0)
        rc = open_folder(&book->layers[LAYER_OWN], folder_config, err);
    if (rc == 0)
        rc = layers_match(book, err);
    if (rc == 0)
        *out = book;
    else
        book_close(book);
    return rc;
}

void book_close(struct book *book)
{
    if (!book)
        return;
    for (int i = 0; i < LAYERS; i++)
        image_release(&book->layers[i]);
    free(book->extras);
    names_close(book->names->names);
    buf_release(&book->names->path);
    pthread_mutex_destroy(&book->names->lock);
    free(book->names);
    free(book);
}

// ---- the filter ----

enum { WANT_PROVIDER, WANT_NAME, WANT_REGION, WANT_ZONE, WANT_GPU, WANT_TEXT, WANT_IN, WANTS };

// The filter, with its string comparisons cached per word of a layer in `memory`: 0: not compared
// yet, 1: no match, 2: match.
struct sieve {
    const struct book_filter *filter;
    int day;    // prices as of this day
    int oldest; // day; 0: any age
    const char *wants[WANTS];
    char *provider_part; // of a `text` with a slash
    uint8_t *memory[LAYERS][WANTS];
};

static void sieve_release(struct sieve *sieve)
{
    for (int i = 0; i < LAYERS; i++)
        for (int k = 0; k < WANTS; k++)
            free(sieve->memory[i][k]);
    free(sieve->provider_part);
}

static int sieve_init(struct sieve *sieve, const struct book *book, const struct book_filter *f,
                      struct err *err)
{
    *sieve = (struct sieve){.filter = f, .day = f->day ? f->day : book_today()};
    sieve->wants[WANT_PROVIDER] = f->spelled ? NULL : f->provider;
    sieve->wants[WANT_NAME] = f->spelled ? NULL : f->name;
    sieve->wants[WANT_REGION] = f->region;
    sieve->wants[WANT_ZONE] = f->zone;
    sieve->wants[WANT_GPU] = f->gpu;
    sieve->wants[WANT_TEXT] = f->text && *f->text ? f->text : NULL;
    const char *slash = f->text ? strchr(f->text, '/') : NULL;
    if (slash) {
        sieve->provider_part = strndup(f->text, (size_t)(slash - f->text));
        if (!sieve->provider_part)
            return err_memory(err);
        sieve->wants[WANT_TEXT] = sieve->provider_part;
        sieve->wants[WANT_IN] = slash + 1;
    }
    if (f->aged)
        sieve->oldest = sieve->day - f->max_age;
    for (int i = 0; i < LAYERS; i++)
        for (int k = 0; k < WANTS; k++)
            if (sieve->wants[k]) {
                sieve->memory[i][k] = calloc(book->layers[i].word_count + 1, 1);
                if (!sieve->memory[i][k])
                    return err_memory(err);
            }
    return 0;
}

static bool wanted(const struct sieve *sieve, const struct book *book, int layer, int want,
                   uint32_t word)
{
    if (!sieve->wants[want])
        return true;
    uint8_t *known = &sieve->memory[layer][want][word];
    if (*known == 0) {
        const char *text = image_word(&book->layers[layer], word);
        bool part = (want == WANT_TEXT && !sieve->wants[WANT_IN]) || want == WANT_IN;
        bool yes = part ? strcasestr(text, sieve->wants[want]) != NULL
                        : strcasecmp(text, sieve->wants[want]) == 0;
        *known = yes ? 2 : 1;
    }
    return *known == 2;
}

// Tests all but the price. An offer passes if one of its layers does.
static bool passes(const struct sieve *sieve, const struct book *book, int layer,
                   const struct image_offer *o)
{
    const struct book_filter *f = sieve->filter;
    const uint8_t *names = sieve->memory[layer][WANT_NAME];
    if (names && names[o->name] == 1) // nearly all, when one offer is looked up
        return false;
    if (f->kind && *f->kind != (enum offer_kind)o->kind)
        return false;
    if (sieve->wants[WANT_IN]) {
        if (!wanted(sieve, book, layer, WANT_TEXT, o->provider) ||
            !wanted(sieve, book, layer, WANT_IN, o->name))
            return false;
    } else if (sieve->wants[WANT_TEXT] && !wanted(sieve, book, layer, WANT_TEXT, o->gpu) &&
               !wanted(sieve, book, layer, WANT_TEXT, o->name) &&
               !wanted(sieve, book, layer, WANT_TEXT, o->provider)) {
        return false;
    }
    return wanted(sieve, book, layer, WANT_PROVIDER, o->provider) &&
           wanted(sieve, book, layer, WANT_NAME, o->name) &&
           wanted(sieve, book, layer, WANT_REGION, o->region) &&
           wanted(sieve, book, layer, WANT_ZONE, o->zone) &&
           wanted(sieve, book, layer, WANT_GPU, o->gpu);
}

static bool fits(const struct sieve *sieve, const struct offer *o)
{
    const struct book_filter *f = sieve->filter;
    if ((f->bare_metal && !o->bare_metal) || (f->with_gpu && o->gpus_milli == 0) ||
        (f->without_gpu && o->gpus_milli > 0) || o->gpus_milli < f->gpus_milli ||
        o->vcpus_milli < f->vcpus_milli || o->memory_mib < f->memory_mib ||
        o->gpu_memory_mib < f->gpu_memory_mib || o->day < sieve->oldest)
        return false;
    return f->max_rate == 0 || strcmp(o->currency, "USD") != 0 || offer_per_hour(o) <= f->max_rate;
}

static void mark_leap(const struct book *book, const struct stack *stack, struct offer *out);

// What the offer cost in this layer before `out` did; null: nothing within a year.
static const struct image_price *
price_before(const struct image *image, const struct image_offer *offer, const struct offer *out)
{
    enum { YEAR = 365 };
    const struct image_price *p =
        prices_on(image->prices + offer->first_price, offer->price_count, out->since - 1);
    return p && p->since < out->since && out->since - p->seen <= YEAR ? p : NULL;
}

// Marks a price that was seen once and leapt from the one before it in any layer.
static void mark_leap(const struct book *book, const struct stack *stack, struct offer *out)
{
    const struct image_price *last = NULL;
    const char *currency = "";
    if (out->day > out->since)
        return;
    for (int i = 0; i < LAYERS; i++) {
        const struct image_offer *o = stack->in[i];
        const struct image_price *p = o ? price_before(&book->layers[i], o, out) : NULL;
        if (!p || (last && last->seen > p->seen))
            continue;
        last = p;
        currency = image_word(&book->layers[i], p->currency);
    }
    out->leapt = last && strcmp(currency, out->currency) == 0 &&
                 price_leaps(last->rate, last->per_s, out->rate, out->per_s);
}

// Fills in values that the chosen layer does not give.
static void complete(const struct image *image, const struct image_offer *offer, struct offer *out)
{
    if (out->vcpus_milli == 0)
        out->vcpus_milli = offer->vcpus_milli;
    if (out->memory_mib == 0)
        out->memory_mib = offer->memory_mib;
    if (out->gpus_milli == 0 && out->vcpus_milli == offer->vcpus_milli) {
        out->gpus_milli = offer->gpus_milli;
        out->gpu = image_word(image, offer->gpu);
    }
    if (out->gpu_memory_mib == 0)
        out->gpu_memory_mib = offer->gpu_memory_mib;
    if (*out->cpu == '\0')
        out->cpu = image_word(image, offer->cpu);
}

// The offer with its price on that day; false if it has none yet.
static bool layers_offer(const struct book *book, const struct stack *stack, int day,
                         struct offer *out)
{
    int chosen = -1, latest = -1;
    const struct image_price *price = NULL;
    for (int i = 0; i < LAYERS; i++) {
        const struct image_offer *o = stack->in[i];
        const struct image_price *p =
            o ? prices_on(book->layers[i].prices + o->first_price, o->price_count, day) : NULL;
        if (!p)
            continue;
        int seen = day != 0 && p->seen > day ? day : p->seen;
        if (i == LAYER_OWN || seen >= latest) {
            chosen = i;
            latest = seen;
            price = p;
        }
    }
    if (chosen < 0)
        return false;
    layers_fill(&book->layers[chosen], stack->in[chosen], price, out);
    for (int i = 0; i < LAYERS; i++)
        if (i != chosen && stack->in[i])
            complete(&book->layers[i], stack->in[i], out);
    if (chosen != LAYER_OWN) // the user knows
        mark_leap(book, stack, out);
    return true;
}

// ---- the walk ----

static int visit_stack(const struct book *book, const struct sieve *sieve,
                       const struct stack *stack, book_visit_fn *visit, void *arg, struct err *err)
{
    bool may = false;
    for (int i = 0; i < LAYERS && !may; i++)
        may = stack->in[i] && passes(sieve, book, i, stack->in[i]);
    struct offer offer;
    if (!may || !layers_offer(book, stack, sieve->day, &offer) || !fits(sieve, &offer))
        return 0;
    return visit(arg, &offer, err);
}

// An offer that only the imported layer has, as nearly all offers.
static int visit_imported(const struct book *book, const struct sieve *sieve,
                          const struct image_offer *o, book_visit_fn *visit, void *arg,
                          struct err *err)
{
    const struct image *image = &book->layers[LAYER_IMPORTED];
    if (!passes(sieve, book, LAYER_IMPORTED, o))
        return 0;
    const struct image_price *price =
        prices_on(image->prices + o->first_price, o->price_count, sieve->day);
    if (!price)
        return 0;
    struct offer offer;
    layers_fill(image, o, price, &offer);
    mark_leap(book, &(const struct stack){.in[LAYER_IMPORTED] = o}, &offer);
    return fits(sieve, &offer) ? visit(arg, &offer, err) : 0;
}

// Where offers lie in the imported layer and in the extras.
struct offer_range {
    size_t first, end, first_extra, end_extra;
};

static int order_of(const struct image *image, const struct image_offer *o, const char *provider,
                    const char *name)
{
    int order = strcmp(image_word(image, o->provider), provider);
    return order != 0 ? order : strcmp(image_word(image, o->name), name);
}

// The first of the imported offers or the extras that is not before that provider and name; `after`
// them, the first behind.
static size_t bound(const struct book *book, bool extras, const char *provider, const char *name,
                    bool after)
{
    const struct image *imported = &book->layers[LAYER_IMPORTED];
    size_t low = 0, high = extras ? book->extra_count : imported->offer_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int layer = LAYER_IMPORTED;
        if (extras)
            layer = book->extras[middle].stack.in[LAYER_OWN] ? LAYER_OWN : LAYER_SHIPPED;
        const struct image_offer *o =
            extras ? book->extras[middle].stack.in[layer] : &imported->offers[middle];
        if (order_of(&book->layers[layer], o, provider, name) < (after ? 1 : 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct offer_range range_of(const struct book *book, const char *provider, const char *name)
{
    return (struct offer_range){.first = bound(book, false, provider, name, false),
                                .end = bound(book, false, provider, name, true),
                                .first_extra = bound(book, true, provider, name, false),
                                .end_extra = bound(book, true, provider, name, true)};
}

bool book_has(const struct book *book, const char *provider, const char *name)
{
    struct offer_range range = range_of(book, provider, name);
    return range.first < range.end || range.first_extra < range.end_extra;
}

int book_each(const struct book *book, const struct book_filter *filter, book_visit_fn *visit,
              void *arg, struct err *err)
{
    static const struct book_filter everything;
    struct sieve sieve;
    int rc = sieve_init(&sieve, book, filter ? filter : &everything, err);
    const struct image *imported = &book->layers[LAYER_IMPORTED];
    struct offer_range range = {.end = imported->offer_count, .end_extra = book->extra_count};
    if (filter && filter->spelled)
        range = range_of(book, filter->provider, filter->name);
    const struct extra *extra = book->extras + range.first_extra;
    const struct extra *end = book->extras + range.end_extra;
    for (size_t i = range.first; rc == 0 && i <= range.end; i++) {
        for (; rc == 0 && extra < end && extra->at == i && !extra->shared; extra++)
            rc = visit_stack(book, &sieve, &extra->stack, visit, arg, err);
        if (rc != 0 || i == range.end)
            continue;
        if (extra < end && extra->at == i)
            rc = visit_stack(book, &sieve, &extra++->stack, visit, arg, err);
        else
            rc = visit_imported(book, &sieve, &imported->offers[i], visit, arg, err);
    }
    sieve_release(&sieve);
    return rc;
}

// ---- an offer ----

int book_today(void)
{
    return (int)(clock_date_s() / 86400);
}

int offer_age(const struct offer *offer, int day)
{
    int age = (day ? day : book_today()) - offer->day;
    return age > 0 ? age : 0;
}

bool offer_estimated(const struct offer *offer)
{
    return strncmp(offer->source, "estimated:", 10) == 0;
}

bool offer_old(const struct offer *offer, int day)
{
    return offer_age(offer, day) > (offer->kind == OFFER_SPOT ? 7 : 30);
}

const char *const offer_kinds[] = {
    [OFFER_ON_DEMAND] = "on-demand", [OFFER_SPOT] = "spot", [OFFER_MONTHLY] = "monthly", NULL};

const char *offer_kind_word(enum offer_kind kind)
{
    return offer_kinds[kind];
}

bool offer_kind_parse(const char *word, enum offer_kind *kind)
{
    for (size_t i = 0; offer_kinds[i]; i++) {
        if (strcmp(word, offer_kinds[i]) == 0) {
            *kind = (enum offer_kind)i;
            return true;
        }
    }
    return false;
}

static const char *const bases[] = {
    [BASIS_UNSAID] = "", [BASIS_LIST] = "list", [BASIS_FLOOR] = "floor", [BASIS_MEDIAN] = "median"};

const char *offer_basis_word(enum offer_basis basis)
{
    return bases[basis];
}

bool offer_basis_parse(const char *word, enum offer_basis *basis)
{
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        if (strcmp(word, bases[i]) == 0) {
            *basis = (enum offer_basis)i;
            return true;
        }
    return false;
}

static const char *const missing[] = {"region", "currency", "spot"}; // a bit each
enum { MISSING = sizeof missing / sizeof *missing };

void offer_lacks_words(unsigned int lacks, struct buf *out)
{
    size_t begin = out->len;
    for (unsigned int i = 0; i < MISSING; i++)
        if (lacks & 1u << i)
            buf_printf(out, "%s%s", out->len > begin ? ";" : "", missing[i]);
}

bool offer_lacks_parse(const char *words, unsigned int *lacks)
{
    *lacks = 0;
    for (const char *p = words; *p;) {
        size_t len = strcspn(p, ";");
        unsigned int i = 0;
        while (i < MISSING && (strlen(missing[i]) != len || strncmp(p, missing[i], len) != 0))
            i++;
        if (i == MISSING)
            return false;
        *lacks |= 1u << i;
        p += len + (p[len] == ';');
    }
    return true;
}

bool offer_retired(const struct offer *offer, int day)
{
    return offer->valid_to > 0 && (day ? day : book_today()) >= offer->valid_to;
}

int64_t offer_per_hour(const struct offer *offer)
{
    if (offer->per_s == 3600)
        return offer->rate;
    int64_t hour = 0;
    return money_scale(offer->rate, 3600, offer->per_s, MONEY_HALF_EVEN, &hour, NULL) == 0 ? hour
                                                                                           : 0;
}

void book_name(const struct offer *offer, struct buf *out)
{
    buf_printf(out, "%s/%s", offer->provider, offer->name);
    const char *where = *offer->zone ? offer->zone : offer->region;
    if (*where)
        buf_printf(out, "@%s", where);
    if (offer->kind != OFFER_ON_DEMAND)
        buf_printf(out, ":%s", offer_kind_word(offer->kind));
}

void layers_fill(const struct image *image, const struct image_offer *offer,
                 const struct image_price *price, struct offer *out)
{
    *out = (struct offer){
        .provider = image_word(image, offer->provider),
        .name = image_word(image, offer->name),
        .region = image_word(image, offer->region),
        .zone = image_word(image, offer->zone),
        .gpu = image_word(image, offer->gpu),
        .cpu = image_word(image, offer->cpu),
        .currency = image_word(image, price->currency),
        .source = image_word(image, price->source),
        .kind = (enum offer_kind)offer->kind,
        .bare_metal = offer->bare_metal != 0,
        .rate = price->rate,
        .per_s = price->per_s,
        .gpus_milli = offer->gpus_milli,
        .gpu_memory_mib = offer->gpu_memory_mib,
        .vcpus_milli = offer->vcpus_milli,
        .memory_mib = offer->memory_mib,
        .since = price->since,
        .day = price->seen,
        .valid_to = price->valid_to,
        .basis = (enum offer_basis)price->basis,
        .lacks = price->lacks,
    };
}
