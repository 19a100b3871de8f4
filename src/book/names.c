// SPDX-License-Identifier: Apache-2.0
#include "book/names.h"

#include <ctype.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/opt.h"
#include "book/book.h"
#include "book/stock.h"
#include "record/field.h"
#include "tables/files.h"

struct named {
    char *provider, *name, *short_name;
};

struct names {
    LIST_OF(struct named) rows; // given here, then shipped, then given since
    size_t shipped_from, shipped_to;
    struct index by_name; // provider and name → the number of its row
    struct index taken;   // provider and short name, lower case → the same
};

#define AT(member) offsetof(struct named, member)
static const struct column columns[] = {{"provider", COLUMN_TEXT, AT(provider)},
                                        {"name", COLUMN_TEXT, AT(name)},
                                        {"short", COLUMN_TEXT, AT(short_name)},
                                        {0}};
static const struct columns table = {columns, sizeof(struct named), true, NULL};

static void make_key(const char *provider, const char *name, bool lower, struct buf *key)
{
    buf_reset(key);
    buf_printf(key, "%s/%s", provider, name);
    for (size_t i = 0; lower && i < key->len; i++)
        key->data[i] = (char)tolower((unsigned char)key->data[i]);
}

// 1 and the row's number; 0: there is none; negative: no memory to look for it.
static int find_key(const struct index *index, const char *provider, const char *name, bool lower,
                    size_t *number)
{
    SCOPED(buf_release) struct buf key = {0};
    make_key(provider, name, lower, &key);
    return key.failed ? ERR_MEMORY : index_find(index, buf_str(&key), key.len, number);
}

// Enters the rows from `first` on. A machine that has a name already, and a name that another one
// has, are left out: of a name given here and a shipped one, the first counts.
static int enter_rows(struct names *names, size_t first, struct err *err)
{
    SCOPED(buf_release) struct buf name = {0};
    SCOPED(buf_release) struct buf taken = {0};
    size_t kept = first, number;
    for (size_t i = first; i < names->rows.count; i++) {
        struct named *row = &names->rows.items[i];
        make_key(row->provider, row->name, false, &name);
        make_key(row->provider, row->short_name, true, &taken);
        TRY(buf_check(&name, err));
        TRY(buf_check(&taken, err));
        struct named moved = *row;
        *row = (struct named){0};
        if (index_find(&names->by_name, buf_str(&name), name.len, &number) ||
            index_find(&names->taken, buf_str(&taken), taken.len, &number)) {
            free(moved.provider);
            free(moved.name);
            free(moved.short_name);
            continue;
        }
        names->rows.items[kept++] = moved;
        TRY(index_number(&names->by_name, buf_str(&name), name.len, &number, err));
        TRY(index_number(&names->taken, buf_str(&taken), taken.len, &number, err));
    }
    names->rows.count = kept;
    return 0;
}

void names_path(const char *book, struct buf *out)
{
    if (*book && strcmp(book, "-") != 0)
        buf_printf(out, "%s.names", book);
}

int names_open(struct names **out, const char *own, struct err *err)
{
    SCOPED(buf_release) struct buf shipped = {0};
    struct names *names = calloc(1, sizeof *names);
    *out = NULL;
    if (!names)
        return err_memory(err);
    int rc = files_shipped("names.csv", &shipped, err);
    if (rc == 0)
        rc = columns_load(&table, own && *own ? own : NULL, true, &names->rows, NULL, err);
    if (rc == 0)
        rc = enter_rows(names, 0, err);
    names->shipped_from = names->rows.count;
    if (rc == 0)
        rc = columns_load(&table, buf_str(&shipped), true, &names->rows, NULL,
                          err); // may be missing
    if (rc == 0)
        rc = enter_rows(names, names->shipped_from, err);
    names->shipped_to = names->rows.count;
    if (rc == 0)
        *out = names;
    else
        names_close(names);
    return rc;
}

void names_close_at(struct names **names)
{
    names_close(*names);
}

void names_close(struct names *names)
{
    if (!names)
        return;
    columns_release(&table, &names->rows);
    index_release(&names->by_name);
    index_release(&names->taken);
    free(names);
}

const char *names_short(const struct names *names, const char *provider, const char *name)
{
    size_t row;
    bool found = find_key(&names->by_name, provider, name, false, &row) > 0;
    return found ? names->rows.items[row].short_name : NULL;
}

const char *names_full(const struct names *names, const char *provider, const char *short_name)
{
    size_t row;
    bool found = find_key(&names->taken, provider, short_name, true, &row) > 0;
    return found ? names->rows.items[row].name : NULL;
}

// ---- making one ----

// Whose machines people know by the names of their types.
static const char *const known_by_type[] = {"aws", "azure", "gcp", "ibm", "oci", NULL};

static bool goes_by_type(const struct offer *offer)
{
    size_t i = 0;
    while (known_by_type[i] && strcmp(known_by_type[i], offer->provider) != 0)
        i++;
    return known_by_type[i] || offer->gpus_milli == 0;
}

static void cut(struct buf *buf, size_t len)
{
    buf->len = len;
    buf->data[len] = '\0';
}

// Lower case; everything but letters, digits, dots and plus signs is one hyphen.
static void add_plain(const char *text, struct buf *out)
{
    for (const char *p = text; *p; p++) {
        if (isalnum((unsigned char)*p) || *p == '.' || *p == '+')
            buf_addc(out, (char)tolower((unsigned char)*p));
        else if (out->len > 0 && out->data[out->len - 1] != '-')
            buf_addc(out, '-');
    }
    while (out->len > 0 && out->data[out->len - 1] == '-')
        cut(out, out->len - 1);
}

// A market puts the name of the cloud behind it first: "crusoe_A100-80GB". 0: it does not.
static size_t reseller_length(const struct offer *offer)
{
    const char *name = offer->name;
    size_t len = 0;
    while (isalpha((unsigned char)name[len]))
        len++;
    bool kind = strncmp(name, "gpu", len) == 0 || strncmp(name, "cpu", len) == 0;
    return name[len] == '_' && !kind ? len : 0;
}

static void add_base(const struct offer *offer, struct buf *out)
{
    static const char azure[] = "Standard_";
    if (goes_by_type(offer)) {
        bool prefix = strncmp(offer->name, azure, sizeof azure - 1) == 0;
        add_plain(offer->name + (prefix ? sizeof azure - 1 : 0), out);
        return;
    }
    for (size_t i = 0, len = reseller_length(offer); i < len; i++)
        buf_addc(out, (char)tolower((unsigned char)offer->name[i]));
    buf_adds(out, out->len > 0 ? "-" : "");
    add_plain(offer->gpu, out);
    if (offer->gpus_milli > 1000)
        buf_printf(out, "x%d", offer->gpus_milli / 1000);
}

// A newcomer whose name is taken gets a word of its own name, its size, or a number.
static void add_suffix(const struct offer *offer, int try, struct buf *out)
{
    SCOPED(buf_release) struct buf words = {0};
    int left = try, base = (int)out->len;
    add_plain(offer->name, &words);
    out->failed |= words.failed;
    for (char *rest = words.data, *word; rest && (word = strsep(&rest, "-"));) {
        size_t len = strlen(word);
        bool said = len < 2 || !isalpha((unsigned char)*word) || strcmp(word, "gpu") == 0 ||
                    strstr(buf_str(out), word);
        if (!said && --left == 0) {
            buf_printf(out, "-%s", word);
            return;
        }
    }
    if (offer->vcpus_milli >= 1000 && --left == 0)
        buf_printf(out, "-%dc", offer->vcpus_milli / 1000);
    else if (offer->memory_mib >= 1024 && --left == 0)
        buf_printf(out, "-%dc-%dg", offer->vcpus_milli / 1000, offer->memory_mib / 1024);
    else if ((int)out->len == base)
        buf_printf(out, "-%d", left + 1);
}

static int give_one(struct names *names, const struct offer *offer, struct err *err)
{
    SCOPED(buf_release) struct buf name = {0};
    size_t row;
    int known = find_key(&names->by_name, offer->provider, offer->name, false, &row), taken = 0;
    if (known > 0)
        return 0;
    TRY(known < 0 ? err_memory(err) : 0);
    add_base(offer, &name);
    size_t base = name.len;
    for (int try = 1; !name.failed; try++) {
        taken = find_key(&names->taken, offer->provider, buf_str(&name), true, &row);
        if (taken <= 0)
            break;
        cut(&name, base);
        add_suffix(offer, try, &name);
    }
    TRY(taken < 0 ? err_memory(err) : 0);
    TRY(buf_check(&name, err));
    struct named *added = LIST_ADD(&names->rows, err);
    TRY(added ? 0 : ERR_MEMORY);
    TRY(TEXTS_SET(err, {&added->provider, offer->provider}, {&added->name, offer->name},
                  {&added->short_name, buf_str(&name)}));
    return enter_rows(names, names->rows.count - 1, err);
}

static int by_size(const void *a, const void *b)
{
    const struct offer *x = a, *y = b;
    int order = strcmp(x->provider, y->provider);
    order = order != 0 ? order : strcmp(x->gpu, y->gpu);
    order = order != 0 ? order : x->gpus_milli - y->gpus_milli;
    order = order != 0 ? order : x->vcpus_milli - y->vcpus_milli;
    return order != 0 ? order : strcmp(x->name, y->name);
}

int names_give(struct names *names, const struct offer *offers, size_t count, struct err *err)
{
    SCOPED(free_pointer) struct offer *sorted = calloc(count + 1, sizeof *sorted);
    if (!sorted)
        return err_memory(err);
    memcpy(sorted, offers, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_size);
    for (size_t i = 0; i < count; i++)
        TRY(give_one(names, &sorted[i], err));
    return 0;
}

int names_table(const struct names *names, bool all, struct buf *out, struct err *err)
{
    struct csv_writer w = {.out = out};
    for (const struct column *c = columns; c->name; c++)
        csv_put(&w, c->name);
    csv_end(&w);
    for (size_t i = 0; i < names->rows.count; i++) {
        const struct named *row = &names->rows.items[i];
        if (!all && i >= names->shipped_from && i < names->shipped_to)
            continue;
        csv_put(&w, row->provider);
        csv_put(&w, row->name);
        csv_put(&w, row->short_name);
        csv_end(&w);
    }
    return buf_check(out, err);
}

// ==== offers by name ====
// book: finds offers by name; their price history and risk of interruption.

#define DAY_S INT64_C(86400)

enum { ALIKE = 4, NAMES_MAX = 8192 };

// The parts of "PROVIDER/NAME@PLACE:KIND"; absent parts are null.
struct wish {
    char *text; // holds the parts
    const char *provider, *name, *place;
    enum offer_kind kind;
    bool kind_given;
};

static int wish_parse(struct wish *wish, const char *name, struct err *err)
{
    *wish = (struct wish){.text = text_copy(name, err)};
    if (!wish->text)
        return ERR_MEMORY;
    char *colon = strrchr(wish->text, ':');
    if (colon && offer_kind_parse(colon + 1, &wish->kind)) {
        wish->kind_given = true;
        *colon = '\0';
    }
    char *at = strrchr(wish->text, '@');
    if (at) {
        *at = '\0';
        wish->place = at + 1;
    }
    char *slash = strchr(wish->text, '/');
    wish->name = slash ? slash + 1 : wish->text;
    if (slash) {
        *slash = '\0';
        wish->provider = wish->text;
    }
    return 0;
}

struct search {
    const struct wish *wish;
    bool found, exact;
    struct offer best;
    bool several; // more than one provider matches
};

// Without a kind: on demand before monthly before spot.
static int rank(enum offer_kind kind)
{
    static const int ranks[] = {0, 2, 1};
    return ranks[kind];
}

static bool better(const struct offer *a, const struct offer *b)
{
    if (a->kind != b->kind)
        return rank(a->kind) < rank(b->kind);
    return offer_per_hour(a) < offer_per_hour(b);
}

static int consider(void *arg, const struct offer *offer, struct err *err)
{
    (void)err;
    struct search *s = arg;
    const struct wish *w = s->wish;
    if (w->place && strcmp(w->place, offer->region) != 0 && strcmp(w->place, offer->zone) != 0)
        return 0;
    // Case is ignored, but an exact match is preferred.
    bool exact = strcmp(w->name, offer->name) == 0 &&
                 (!w->provider || strcmp(w->provider, offer->provider) == 0);
    if (s->exact && !exact)
        return 0;
    if (s->found && strcmp(s->best.provider, offer->provider) != 0)
        s->several = true;
    if (!s->found || exact != s->exact || better(offer, &s->best))
        s->best = *offer;
    s->found = true;
    s->exact = exact;
    return 0;
}

// ---- short names ----

// Null: they cannot be read; then machines go by their full names. No memory is an error.
static int names_of(const struct book *book, const struct names **out, struct err *err)
{
    struct book_names *n = book->names;
    struct err why = {0};
    int rc = 0;
    pthread_mutex_lock(&n->lock);
    if (!n->opened)
        rc = names_open(&n->names, buf_str(&n->path), &why);
    n->opened = rc != ERR_MEMORY;
    *out = n->names;
    pthread_mutex_unlock(&n->lock);
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}

void book_short_name(const struct book *book, const struct offer *offer, bool whole,
                     struct buf *out)
{
    const struct names *names = NULL;
    struct offer called = *offer;
    out->failed |= names_of(book, &names, NULL) != 0;
    const char *name = names ? names_short(names, offer->provider, offer->name) : NULL;
    called.name = name ? name : offer->name;
    if (whole)
        book_name(&called, out);
    else
        buf_printf(out, "%s/%s", called.provider, called.name);
}

// A short name is taken for the full one, unless that is a name of its own.
static int resolve(const struct book *book, struct wish *wish, struct err *err)
{
    const struct names *names = NULL;
    if (!wish->provider || book_has(book, wish->provider, wish->name))
        return 0;
    TRY(names_of(book, &names, err));
    const char *full = names ? names_full(names, wish->provider, wish->name) : NULL;
    wish->name = full ? full : wish->name;
    return 0;
}

// ---- similar names ----

struct alike {
    const struct wish *wish;
    const char *names[NAMES_MAX + 1]; // of offers, each once, null-terminated
    size_t count;
    struct buf found; // "aws/p3.2xlarge, aws/p3.8xlarge"
    size_t found_count;
    const char *last_provider, *last_name;
    const char *nearest;
};

static int collect(void *arg, const struct offer *offer, struct err *err)
{
    (void)err;
    struct alike *a = arg;
    if (a->last_name && strcmp(a->last_name, offer->name) == 0 &&
        strcmp(a->last_provider, offer->provider) == 0)
        return 0;
    a->last_provider = offer->provider;
    a->last_name = offer->name;
    bool other = a->wish->provider && strcasecmp(a->wish->provider, offer->provider) != 0;
    // From another provider, only the same name.
    if (a->nearest ? strcmp(a->nearest, offer->name) == 0 && !other
        : other    ? strcasecmp(offer->name, a->wish->name) == 0
                   : strcasestr(offer->name, a->wish->name) != NULL) {
        if (a->found_count++ < ALIKE)
            buf_printf(&a->found, "%s%s/%s", a->found.len ? ", " : "", offer->provider,
                       offer->name);
    }
    if (!other && a->count < NAMES_MAX)
        a->names[a->count++] = offer->name;
    return 0;
}

static int missing(const struct book *book, const struct wish *wish, const char *name,
                   struct err *err)
{
    SCOPED(free_pointer) struct alike *alike = calloc(1, sizeof *alike);
    if (!alike)
        return err_memory(err);
    err_set(err, ERR_MISSING, "no offer is called '%s'", name);
    alike->wish = wish;
    struct err ignored = {0};
    int rc = *wish->name ? book_each(book, NULL, collect, alike, &ignored) : -1;
    if (rc == 0 && alike->found_count == 0) {
        alike->nearest = opt_nearest(wish->name, alike->names);
        alike->last_name = NULL;
        if (alike->nearest)
            rc = book_each(book, NULL, collect, alike, &ignored);
    }
    if (rc == 0 && alike->found_count > 0 && !alike->found.failed)
        err_hint(err, "there is %s%s", buf_str(&alike->found),
                 alike->found_count > ALIKE ? ", ..." : "");
    else
        err_hint(err, "'fare prices TEXT' searches for offers");
    buf_release(&alike->found);
    return ERR_MISSING;
}

// The offer exists in another place or kind.
static int elsewhere(const struct wish *wish, const char *name, const struct offer *has,
                     struct err *err)
{
    SCOPED(buf_release) struct buf other = {0};
    book_name(has, &other);
    err_set(err, ERR_MISSING, "no offer is called '%s'", name);
    if (wish->place || wish->kind_given)
        err_hint(err, "there is %s", buf_str(&other));
    return ERR_MISSING;
}

// ---- offers without a price on the date ----

struct first {
    const struct book *book;
    struct search search;
    int since; // the first day with a price; 0: none
};

static int note_since(void *arg, const struct offer *offer, struct err *err)
{
    (void)err;
    struct first *f = arg;
    f->since = f->since == 0 || offer->since < f->since ? offer->since : f->since;
    return 1; // the oldest comes first
}

static int consider_first(void *arg, const struct offer *offer, struct err *err)
{
    struct first *f = arg;
    f->search.found = false;
    int rc = consider(&f->search, offer, err);
    if (rc == 0 && f->search.found)
        rc = book_history(f->book, offer, note_since, f, err);
    return rc < 0 ? rc : 0;
}

// ERR_MISSING with the first date if the offer has a price only later.
static int too_early(const struct book *book, const struct wish *wish, const char *name,
                     struct book_filter filter, struct err *err)
{
    struct first first = {.book = book, .search = {.wish = wish}};
    char on[CLOCK_ISO_BYTES], since[CLOCK_ISO_BYTES];
    int day = filter.day != 0 ? filter.day : book_today();
    filter.day = INT_MAX;
    TRY(book_each(book, &filter, consider_first, &first, err));
    if (first.since <= day)
        return 0;
    clock_iso(day * DAY_S, on);
    clock_iso(first.since * DAY_S, since);
    err_set(err, ERR_MISSING, "'%s' has no price on %.10s: its first is from %.10s", name, on,
            since);
    err_hint(err, "use --date %.10s or later", since);
    return ERR_MISSING;
}

int book_find(const struct book *book, const char *name, int day, struct offer *out,
              struct err *err)
{
    struct wish wish;
    int rc = wish_parse(&wish, name, err);
    if (rc == 0)
        rc = resolve(book, &wish, err);
    if (rc != 0) {
        free(wish.text);
        return rc;
    }
    struct book_filter filter = {
        .provider = wish.provider,
        .name = wish.name,
        .spelled = wish.provider && book_has(book, wish.provider, wish.name),
        .kind = wish.kind_given ? &wish.kind : NULL,
        .day = day,
    };
    struct search search = {.wish = &wish};
    rc = book_each(book, &filter, consider, &search, err);
    if (rc == 0 && search.found && search.several && !wish.provider) {
        err_set(err, ERR_USAGE, "several providers have an offer called '%s'", name);
        rc = err_hint(err, "name one: %s/%s", search.best.provider, name);
    } else if (rc == 0 && search.found) {
        *out = search.best;
    } else if (rc == 0 && (rc = too_early(book, &wish, name, filter, err)) == 0) {
        // Search without place and kind to find out which part is wrong.
        struct wish wider = wish;
        wider.place = NULL;
        filter.kind = NULL;
        struct search again = {.wish = &wider};
        rc = book_each(book, &filter, consider, &again, err);
        if (rc == 0)
            rc = again.found ? elsewhere(&wish, name, &again.best, err)
                             : missing(book, &wish, name, err);
    }
    free(wish.text);
    return rc;
}

// ---- history ----

static const struct image_offer *same_in(const struct image *image, const struct offer *offer)
{
    uint32_t p, n, r, z;
    if (!image_find_word(image, offer->provider, &p) || !image_find_word(image, offer->name, &n) ||
        !image_find_word(image, offer->region, &r) || !image_find_word(image, offer->zone, &z))
        return NULL;
    const uint64_t want[] = {p, n, r, z, offer->kind};
    size_t low = 0, high = image->offer_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct image_offer *o = &image->offers[middle];
        const uint64_t has[] = {o->provider, o->name, o->region, o->zone, o->kind};
        int order = 0;
        for (int i = 0; i < 5 && order == 0; i++)
            order = has[i] < want[i] ? -1 : has[i] > want[i];
        if (order == 0)
            return o;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

int book_history(const struct book *book, const struct offer *offer, book_visit_fn *visit,
                 void *arg, struct err *err)
{
    const struct image_offer *in[LAYERS];
    size_t next[LAYERS] = {0};
    struct offer last = {.since = -1};
    for (int i = 0; i < LAYERS; i++)
        in[i] = same_in(&book->layers[i], offer);
    for (;;) {
        int first = -1;
        int32_t since = 0;
        for (int i = 0; i < LAYERS; i++) {
            if (!in[i] || next[i] == in[i]->price_count)
                continue;
            int32_t its = book->layers[i].prices[in[i]->first_price + next[i]].since;
            if (first < 0 || its < since) {
                first = i;
                since = its;
            }
        }
        if (first < 0)
            return 0;
        const struct image *image = &book->layers[first];
        struct offer then;
        layers_fill(image, in[first], &image->prices[in[first]->first_price + next[first]++],
                    &then);
        // Two layers may have read the same source.
        bool again = then.since == last.since && then.day <= last.day && then.rate == last.rate &&
                     then.per_s == last.per_s && strcmp(then.currency, last.currency) == 0;
        int rc = again ? 0 : visit(arg, &then, err);
        if (rc != 0)
            return rc;
        last = then;
    }
}

static int by_offer(const void *key, const void *item)
{
    uint32_t offer = *(const uint32_t *)key, its = ((const struct image_series *)item)->offer;
    return offer < its ? -1 : offer > its;
}

bool book_changes(const struct book *book, const struct offer *offer, struct book_changes *out)
{
    const struct image *image = &book->layers[LAYER_IMPORTED];
    const struct image_offer *found = same_in(image, offer);
    if (!found || image->series_count == 0 || same_in(&book->layers[LAYER_OWN], offer))
        return false;
    uint32_t number = (uint32_t)(found - image->offers);
    const struct image_series *s =
        bsearch(&number, image->series, image->series_count, sizeof *s, by_offer);
    if (!s)
        return false;
    *out = (struct book_changes){image->changes + s->first_change, s->change_count, s->until_s,
                                 image_word(image, s->source)};
    return true;
}

bool book_has_changes(const struct book *book, const char *provider, const char *name)
{
    const struct image *image = &book->layers[LAYER_IMPORTED];
    uint32_t p, n;
    if (!image_find_word(image, provider, &p) || !image_find_word(image, name, &n))
        return false;
    size_t low = 0, high = image->series_count; // series are sorted as offers are
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct image_offer *o = &image->offers[image->series[middle].offer];
        if (o->provider == p && o->name == n)
            return true;
        if (o->provider < p || (o->provider == p && o->name < n))
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

// ---- interruptions ----

bool book_risk(const struct book *book, const struct offer *offer, int day, struct offer_risk *out)
{
    const struct image *image = &book->layers[LAYER_IMPORTED];
    uint32_t p, n, r;
    if (!image_find_word(image, offer->provider, &p) || !image_find_word(image, offer->name, &n) ||
        !image_find_word(image, offer->region, &r))
        return false;
    bool found = false;
    for (size_t i = 0; i < image->risk_count; i++) {
        const struct image_risk *risk = &image->risks[i];
        if (risk->provider != p || risk->name != n || risk->region != r)
            continue;
        if (day != 0 && risk->day > day)
            continue;
        *out = (struct offer_risk){
            .low_percent = risk->low_percent,
            .high_percent = risk->high_percent,
            .saving_percent = risk->saving_percent,
            .day = risk->day,
            .source = image_word(image, risk->source),
        };
        found = true; // sorted by date: the last one wins
    }
    return found;
}
