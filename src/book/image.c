// SPDX-License-Identifier: Apache-2.0
#include "book/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fs.h"
#include "tables/offer.h"

_Static_assert(sizeof(struct image_offer) == 48, "no holes");
_Static_assert(sizeof(struct image_price) == 32, "no holes");
_Static_assert(sizeof(struct image_risk) == 32, "no holes");
_Static_assert(sizeof(struct image_change) == 16, "no holes");
_Static_assert(sizeof(struct image_series) == 24, "no holes");
_Static_assert(sizeof(struct image_head) == 64, "no holes");

enum { HEAD_1_BYTES = offsetof(struct image_head, changes) }; // of version 1

// Four parallel sums run at memory speed. They detect damage; the other checks guard against
// hostile files.
uint64_t image_sum(const void *bytes, size_t len)
{
    const char *p = bytes;
    uint64_t lanes[4] = {1, 2, 3, 4};
    const uint64_t prime = UINT64_C(0x9E3779B185EBCA87);
    for (; len >= 32; p += 32, len -= 32) {
        uint64_t w[4];
        memcpy(w, p, sizeof w);
        for (int i = 0; i < 4; i++) {
            lanes[i] = (lanes[i] ^ w[i]) * prime;
            lanes[i] ^= lanes[i] >> 29;
        }
    }
    uint64_t sum = len;
    for (int i = 0; i < 4; i++)
        sum = (sum ^ lanes[i]) * prime + (sum >> 31);
    for (; len > 0; p++, len--)
        sum = (sum ^ (unsigned char)*p) * prime;
    return sum ^ sum >> 32;
}

// ---- checks ----

static int bad(struct err *err, const char *what)
{
    return err_set(err, ERR_FORMAT, "%s", what);
}

static int check_words(const struct image *m, size_t bytes, struct err *err)
{
    if (m->word_count == 0)
        return m->offer_count == 0 && m->risk_count == 0 && bytes == 0
                   ? 0
                   : bad(err, "it has no words");
    if (bytes == 0 || m->words[bytes - 1] != '\0' || m->word_at[0] != 0 || m->words[0] != '\0')
        return bad(err, "its words are malformed");
    for (size_t i = 1; i < m->word_count; i++) {
        uint32_t at = m->word_at[i];
        if (at <= m->word_at[i - 1] || at >= bytes || m->words[at - 1] != '\0')
            return bad(err, "its words overlap");
        if (strcmp(m->words + m->word_at[i - 1], m->words + at) >= 0)
            return bad(err, "its words are out of order");
    }
    for (size_t i = 0; i < bytes; i++) // words are printed to terminals
        if ((unsigned char)(m->words[i] - 1) < ' ' - 1 || m->words[i] == 0x7f)
            return bad(err, "a word in it has control characters");
    return 0;
}

static int compare_keys(const struct image_offer *a, const struct image_offer *b)
{
#define BY(member)                                                                                 \
    if (a->member != b->member)                                                                    \
    return a->member < b->member ? -1 : 1
    BY(provider);
    BY(name);
    BY(region);
    BY(zone);
    BY(kind);
#undef BY
    return 0;
}

static bool offer_is_sound(const struct image *m, const struct image_offer *o, uint64_t first)
{
    uint32_t n = (uint32_t)m->word_count;
    bool words =
        o->provider < n && o->name < n && o->region < n && o->zone < n && o->gpu < n && o->cpu < n;
    bool prices =
        o->first_price == first && o->price_count > 0 && first + o->price_count <= m->price_count;
    return words && prices && o->kind <= OFFER_MONTHLY && o->bare_metal <= 1 &&
           o->gpus_milli >= 0 && o->gpu_memory_mib >= 0 && o->vcpus_milli >= 0 &&
           o->memory_mib >= 0;
}

static int check_offers(const struct image *m, struct err *err)
{
    uint64_t first = 0;
    for (size_t i = 0; i < m->offer_count; i++) {
        const struct image_offer *o = &m->offers[i];
        if (!offer_is_sound(m, o, first))
            return bad(err, "an offer in it is out of bounds");
        if (i > 0 && compare_keys(o - 1, o) >= 0)
            return bad(err, "its offers are out of order");
        for (size_t k = 1; k < o->price_count; k++)
            if (m->prices[first + k - 1].since > m->prices[first + k].since)
                return bad(err, "its prices are out of order");
        first += o->price_count;
    }
    return first == m->price_count ? 0 : bad(err, "it has prices without an offer");
}

static int check_rest(const struct image *m, struct err *err)
{
    uint32_t n = (uint32_t)m->word_count;
    for (size_t i = 0; i < m->price_count; i++) {
        const struct image_price *p = &m->prices[i];
        if (p->rate < 0 || p->per_s == 0 || p->currency >= n || p->source >= n || p->since < 0 ||
            p->seen < p->since || p->seen > DAY_MAX || p->basis > BASIS_MEDIAN ||
            p->lacks > LACKS_ALL)
            return bad(err, "a price in it is out of bounds");
    }
    for (size_t i = 0; i < m->risk_count; i++) {
        const struct image_risk *r = &m->risks[i];
        if (r->provider >= n || r->name >= n || r->region >= n || r->source >= n || r->day < 0 ||
            r->day > DAY_MAX || r->low_percent < 0 || r->high_percent > 100 ||
            r->low_percent > r->high_percent || r->saving_percent < -1 || r->saving_percent > 100)
            return bad(err, "an interruption rate in it is out of bounds");
    }
    return 0;
}

static bool series_is_sound(const struct image *m, const struct image_series *s, uint64_t first)
{
    if (s->offer >= m->offer_count || m->offers[s->offer].kind != OFFER_SPOT ||
        s->source >= m->word_count || s->first_change != first || s->change_count == 0 ||
        first + s->change_count > m->change_count || m->changes[first].nano_usd == 0)
        return false;
    const struct image_change *c = m->changes + first;
    for (size_t i = 0; i < s->change_count; i++)
        if (c[i].nano_usd < 0 || c[i].at_s < (i > 0 ? c[i - 1].at_s + 1 : 0) ||
            c[i].at_s > s->until_s)
            return false;
    return s->until_s < (DAY_MAX + 1) * INT64_C(86400);
}

static int check_series(const struct image *m, struct err *err)
{
    uint64_t first = 0;
    for (size_t i = 0; i < m->series_count; i++) {
        const struct image_series *s = &m->series[i];
        if (i > 0 && s->offer <= s[-1].offer)
            return bad(err, "its spot price histories are out of order");
        if (!series_is_sound(m, s, first))
            return bad(err, "a spot price history in it is out of bounds");
        first += s->change_count;
    }
    return first == m->change_count ? 0 : bad(err, "it has price changes without an offer");
}

static size_t head_bytes(const struct image_head *head)
{
    return head->version == 1 ? HEAD_1_BYTES : sizeof *head;
}

static int check_head(const struct image_head *head, size_t size, struct err *err)
{
    if (memcmp(head->magic, IMAGE_MAGIC, sizeof head->magic) != 0)
        return bad(err, "it is not a book of prices");
    if (head->order != IMAGE_ORDER)
        return bad(err, "it was written on a machine with another byte order");
    if (head->version == 0 || head->version > IMAGE_VERSION)
        return err_set(err, ERR_FORMAT, "it has version %u; this program reads up to version %d",
                       head->version, IMAGE_VERSION);
    // No term can overflow: counts have 32 bits, and word_bytes is checked first.
    uint64_t need = head_bytes(head) + head->offers * (uint64_t)sizeof(struct image_offer) +
                    head->prices * (uint64_t)sizeof(struct image_price) +
                    head->risks * (uint64_t)sizeof(struct image_risk) +
                    head->changes * (uint64_t)sizeof(struct image_change) +
                    head->series * (uint64_t)sizeof(struct image_series) +
                    head->words * (uint64_t)sizeof(uint32_t);
    if (head->size != size || head->word_bytes > size || need + head->word_bytes != size)
        return bad(err, "its size is wrong");
    return 0;
}

static int check(struct image *m, const char *bytes, size_t size, struct err *err)
{
    struct image_head head;
    if (size < HEAD_1_BYTES)
        return bad(err, "it is too short");
    memcpy(&head, bytes, size < sizeof head ? HEAD_1_BYTES : sizeof head);
    if (head.version == 1 || size < sizeof head)
        head.changes = head.series = 0;
    TRY(check_head(&head, size, err));
    const char *p = bytes + head_bytes(&head);
    if (head.sum != image_sum(p, size - head_bytes(&head)))
        return bad(err, "it is damaged: its checksum is wrong");
    m->offer_count = head.offers;
    m->price_count = head.prices;
    m->risk_count = head.risks;
    m->change_count = head.changes;
    m->series_count = head.series;
    m->word_count = head.words;
    m->offers = (const void *)p;
    p += head.offers * sizeof(struct image_offer);
    m->prices = (const void *)p;
    p += head.prices * sizeof(struct image_price);
    m->risks = (const void *)p;
    p += head.risks * sizeof(struct image_risk);
    m->changes = (const void *)p;
    p += head.changes * sizeof(struct image_change);
    m->series = (const void *)p;
    p += head.series * sizeof(struct image_series);
    m->word_at = (const void *)p;
    m->words = p + head.words * sizeof(uint32_t);
    TRY(check_words(m, head.word_bytes, err));
    TRY(check_rest(m, err));
    TRY(check_offers(m, err));
    return check_series(m, err);
}

// ---- open and close ----

int image_of(struct image *image, const void *bytes, size_t size, char *heap, struct err *err)
{
    *image = (struct image){.heap = heap, .size = size};
    int rc = check(image, bytes, size, err);
    if (rc != 0)
        image_release(image);
    return rc;
}

static int map_file(struct image *image, int fd, const char *path, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_errno(err, errno, "cannot read '%s'", path);
    if (!S_ISREG(st.st_mode))
        return bad(err, "it is not a regular file");
    if (st.st_size < (off_t)HEAD_1_BYTES)
        return bad(err, "it is too short");
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (map == MAP_FAILED)
        return err_errno(err, errno, "cannot map '%s'", path);
    image->map = map;
    image->size = (size_t)st.st_size;
    return check(image, map, image->size, err);
}

int image_open(struct image *image, const char *path, struct err *err)
{
    *image = (struct image){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // do not wait for a pipe
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return fs_refused("cannot open", path, errno, err);
    int rc = map_file(image, fd, path, err);
    close(fd);
    if (rc != 0) {
        image_release(image);
        if (rc == ERR_FORMAT) {
            err_context(err, "the book '%s' cannot be used", path);
            err_hint(err, "delete it and import the prices again");
        }
    }
    return rc;
}

void image_release(struct image *image)
{
    if (image->map)
        munmap(image->map, image->size);
    free(image->heap);
    *image = (struct image){0};
}

bool image_find_word(const struct image *image, const char *text, uint32_t *number)
{
    size_t low = 0, high = image->word_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(image_word(image, (uint32_t)middle), text);
        if (order == 0) {
            *number = (uint32_t)middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

size_t image_changes_by(const struct image_change *changes, size_t count, int64_t at_s)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (changes[middle].at_s <= at_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// ---- changes of a price over time

void timeline_release(struct timeline *c)
{
    free(c->items);
    free(c->spans);
    *c = (struct timeline){0};
}

void timeline_clear(struct timeline *c)
{
    c->count = c->span_count = 0;
    c->until_s = 0;
}

static int add_item(struct timeline *c, int64_t at_s, int64_t nano_usd, struct err *err)
{
    TRY(array_grow(&c->items, c->count, &c->cap, sizeof *c->items, err));
    c->items[c->count++] = (struct image_change){at_s, nano_usd};
    return 0;
}

static int add_span(struct timeline *c, int64_t from_s, int64_t until_s, struct err *err)
{
    TRY(array_grow(&c->spans, c->span_count, &c->span_cap, sizeof *c->spans, err));
    c->spans[c->span_count++] = (struct timeline_span){from_s, until_s};
    return 0;
}

int timeline_add(struct timeline *c, const struct image_change *items, size_t count, int64_t from_s,
                 int64_t until_s, struct err *err)
{
    if (count == 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        TRY(add_item(c, items[i].at_s, items[i].nano_usd, err));
    int64_t end_s = items[count - 1].at_s + 1;
    return add_span(c, from_s < items[0].at_s ? from_s : items[0].at_s,
                    until_s > end_s ? until_s : end_s, err);
}

int timeline_add_old(struct timeline *c, const struct image_change *items, size_t count,
                     int64_t until_s, struct err *err)
{
    for (size_t i = 0, end; i < count; i = end + 1) { // up to the next 0
        for (end = i; end < count && items[end].nano_usd > 0;)
            end++;
        if (end > i)
            TRY(timeline_add(c, items + i, end - i, items[i].at_s,
                             end < count ? items[end].at_s : until_s, err));
    }
    return 0;
}

// ---- joining ----

static int by_time(const void *left, const void *right)
{
    const struct image_change *a = left, *b = right;
    if (a->at_s != b->at_s)
        return a->at_s < b->at_s ? -1 : 1;
    return a->nano_usd < b->nano_usd ? -1 : a->nano_usd > b->nano_usd;
}

static int by_start(const void *left, const void *right)
{
    const struct timeline_span *a = left, *b = right;
    return a->from_s < b->from_s ? -1 : a->from_s > b->from_s;
}

// Unites spans that are less than a day apart.
static void join_spans(struct timeline *c)
{
    size_t kept = 0;
    qsort(c->spans, c->span_count, sizeof *c->spans, by_start);
    for (size_t i = 0; i < c->span_count; i++) {
        struct timeline_span *last = kept > 0 ? &c->spans[kept - 1] : NULL;
        if (!last || c->spans[i].from_s - last->until_s > TIMELINE_UNSEEN_S)
            c->spans[kept++] = c->spans[i];
        else if (c->spans[i].until_s > last->until_s)
            last->until_s = c->spans[i].until_s;
    }
    c->span_count = kept;
}

// Keeps what changes the price, in the order of time.
static void drop_repeated(struct timeline *c)
{
    size_t kept = 0, hole = 0;
    qsort(c->items, c->count, sizeof *c->items, by_time);
    for (size_t i = 0; i < c->count; i++) {
        const struct image_change *next = &c->items[i];
        if (i + 1 < c->count && next[1].at_s == next->at_s)
            continue;        // the higher one counts
        bool unseen = false; // between the last one and this one
        while (hole + 1 < c->span_count && c->spans[hole + 1].from_s <= next->at_s) {
            hole++;
            unseen = true;
        }
        if (kept == 0 || unseen || c->items[kept - 1].nano_usd != next->nano_usd)
            c->items[kept++] = *next;
    }
    c->count = kept;
}

// Adds a 0 at the end of each span but the last.
static int mark_holes(struct timeline *c, struct err *err)
{
    for (size_t i = 0; i + 1 < c->span_count; i++)
        TRY(add_item(c, c->spans[i].until_s, 0, err));
    if (c->span_count > 1)
        qsort(c->items, c->count, sizeof *c->items, by_time);
    return 0;
}

int timeline_join(struct timeline *c, struct err *err)
{
    if (c->count == 0)
        return 0;
    join_spans(c);
    drop_repeated(c);
    TRY(mark_holes(c, err));
    c->until_s = c->spans[c->span_count - 1].until_s;
    return 0;
}
