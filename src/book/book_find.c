// SPDX-License-Identifier: Apache-2.0
// book: finds offers by name; their price history and risk of interruption.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/opt.h"
#include "book/book.h"
#include "book/names.h"
#include "book/stock.h"

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
