// SPDX-License-Identifier: Apache-2.0
#include "trace/pattern.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "trace/classes.h"

enum {
    NAMES_LEAST = 5,   // in a step
    MARKS_LEAST = 3,   // of them, to part steps that updates do not part
    ANCHORS_TRIED = 3, // of a group
    GROUPS_TRIED = 32, // of names with the same number of bursts
};

// The places of one key, or of all optimizer kernels, in the order of the items.
struct places {
    const uint32_t *at;
    size_t count;
};

struct work {
    const struct trace_item *items;
    size_t count;
    uint32_t *at;                   // all places, key by key
    uint32_t first[TRACE_KEYS + 1]; // of each key in `at`
    uint32_t *optimizer;            // places of its kernels
    size_t optimizers;
    uint32_t *lengths; // scratch
    struct vote {
        uint32_t key, bursts;
        int64_t time_ns;
    } votes[TRACE_KEYS];
    size_t voters;
};

struct group {
    size_t first, last; // in the votes
};

static struct places places_of(const struct work *w, uint32_t key)
{
    return (struct places){w->at + w->first[key], w->first[key + 1] - w->first[key]};
}

// Launches further apart than this are of different bursts: a quarter of the distance such that
// half of the sequence lies in gaps at least as long. By powers of two, so without sorting.
static uint32_t split_at(struct places p)
{
    uint64_t in_gaps[33] = {0}, total = 0, sum = 0;
    for (size_t i = 1; i < p.count; i++) {
        uint32_t gap = p.at[i] - p.at[i - 1];
        in_gaps[32 - __builtin_clz(gap)] += gap;
        total += gap;
    }
    for (int bits = 32; bits > 0; bits--)
        if ((sum += in_gaps[bits]) * 2 >= total && total > 0)
            return (uint32_t)((UINT64_C(1) << (bits - 1)) / 4);
    return 0;
}

static uint32_t count_bursts(struct places p, uint32_t apart)
{
    uint32_t count = p.count > 0;
    for (size_t i = 1; i < p.count; i++)
        count += p.at[i] - p.at[i - 1] > apart;
    return count;
}

// The same for an optimizer, where the scales are known: small gaps within an update, the rest of
// the step between two, and perhaps an evaluation. Of the distances that part the launches in the
// same way, the widest range counts, and the more the finer it is.
static uint32_t split_updates(struct places p)
{
    uint32_t gaps[33] = {0}, bursts = 1, apart = 0;
    double best = 0;
    for (size_t i = 1; i < p.count; i++)
        gaps[32 - __builtin_clz(p.at[i] - p.at[i - 1])]++;
    for (int bits = 32, upper = 32; bits > 0; bits--) {
        if (gaps[bits] == 0)
            continue;
        // Apart from 2^bits up to the next longer gap: `bursts` of them.
        double worth = (upper - bits) * log2(bursts);
        if (bursts >= PATTERN_LEAST && worth > best) {
            best = worth;
            apart = (uint32_t)((UINT64_C(1) << bits) - 1);
        }
        bursts += gaps[bits];
        upper = bits;
    }
    return apart;
}

static int prepare(struct work *w, struct err *err)
{
    w->at = malloc(w->count * sizeof *w->at);
    w->optimizer = malloc(w->count * sizeof *w->optimizer);
    w->lengths = malloc(w->count * sizeof *w->lengths);
    if (!w->at || !w->optimizer || !w->lengths)
        return err_memory(err);
    for (size_t i = 0; i < w->count; i++)
        w->first[w->items[i].key + 1]++;
    for (size_t key = 0; key < TRACE_KEYS; key++)
        w->first[key + 1] += w->first[key];
    uint32_t next[TRACE_KEYS];
    memcpy(next, w->first, sizeof next);
    for (uint32_t i = 0; i < w->count; i++) {
        w->at[next[w->items[i].key]++] = i;
        if (w->items[i].class == CLASS_OPTIMIZER)
            w->optimizer[w->optimizers++] = i;
    }
    return 0;
}

// By number of bursts; the longest running first.
static int order(const void *a, const void *b)
{
    const struct vote *one = a, *two = b;
    if (one->bursts != two->bursts)
        return one->bursts < two->bursts ? -1 : 1;
    return (one->time_ns < two->time_ns) - (one->time_ns > two->time_ns);
}

static void collect_votes(struct work *w)
{
    for (uint32_t key = 1; key < TRACE_NAMES; key++) {
        struct places p = places_of(w, key);
        uint32_t bursts = count_bursts(p, split_at(p));
        if (bursts < PATTERN_LEAST)
            continue;
        struct vote *v = &w->votes[w->voters++];
        *v = (struct vote){.key = key, .bursts = bursts};
        for (size_t i = 0; i < p.count; i++)
            v->time_ns += w->items[p.at[i]].end_ns - w->items[p.at[i]].start_ns;
    }
    qsort(w->votes, w->voters, sizeof *w->votes, order);
}

// Whether a key is launched in at least four of five intervals between the anchor's bursts.
static bool takes_turns(struct places anchor, struct places other)
{
    uint32_t apart = split_at(anchor);
    size_t turns = 0, intervals = 0, next = 0;
    uint32_t begin = anchor.at[0];
    for (size_t i = 1; i < anchor.count; i++) {
        if (anchor.at[i] - anchor.at[i - 1] <= apart)
            continue;
        while (next < other.count && other.at[next] < begin)
            next++;
        turns += next < other.count && other.at[next] < anchor.at[i];
        intervals++;
        begin = anchor.at[i];
    }
    return turns * 5 >= intervals * 4;
}

static int by_length(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, two = *(const uint32_t *)b;
    return (one > two) - (one < two);
}

// Whether three of five intervals between the anchor's bursts are within a quarter of their median.
// Of kernels in no order at all, one in five or so is.
static bool is_regular(const struct work *w, struct places anchor)
{
    uint32_t apart = split_at(anchor), begin = anchor.at[0];
    size_t count = 0, close = 0;
    for (size_t i = 1; i < anchor.count; i++)
        if (anchor.at[i] - anchor.at[i - 1] > apart) {
            w->lengths[count++] = anchor.at[i] - begin;
            begin = anchor.at[i];
        }
    if (count == 0)
        return false;
    qsort(w->lengths, count, sizeof *w->lengths, by_length);
    uint32_t median = w->lengths[count / 2];
    for (size_t i = 0; i < count; i++)
        close += w->lengths[i] >= median - median / 4 && w->lengths[i] <= median + median / 4;
    return close * 5 >= count * 3;
}

// The names of a group that take turns with its best anchor.
static size_t count_turns(const struct work *w, const struct group *g, const struct vote **anchor)
{
    size_t most = 0;
    for (size_t a = g->first; a < g->last && a < g->first + ANCHORS_TRIED; a++) {
        struct places at = places_of(w, w->votes[a].key);
        size_t agree = 0;
        if (!is_regular(w, at))
            continue;
        for (size_t i = g->first; i < g->last; i++)
            agree += takes_turns(at, places_of(w, w->votes[i].key));
        if (agree > most) {
            most = agree;
            *anchor = &w->votes[a];
        }
    }
    return most;
}

static struct group largest_after(const struct work *w, size_t least, const bool *tried)
{
    struct group best = {0};
    for (size_t first = 0; first < w->voters; first++) {
        uint32_t bursts = w->votes[first].bursts;
        size_t last = first;
        if (tried[first] || (first > 0 && w->votes[first - 1].bursts == bursts))
            continue;
        while (last < w->voters && w->votes[last].bursts <= bursts + 1 + bursts * 3 / 100)
            last++;
        if (last - first > least) {
            least = last - first;
            best = (struct group){first, last};
        }
    }
    return best;
}

// The number of bursts that most names agree on, give or take 3 % or one, is the number of steps.
static const struct vote *elect(const struct work *w)
{
    bool tried[TRACE_KEYS] = {false};
    const struct vote *best = NULL, *anchor = NULL;
    size_t most = NAMES_LEAST - 1;
    for (int i = 0; i < GROUPS_TRIED; i++) {
        struct group g = largest_after(w, most, tried);
        if (g.last == 0)
            break;
        tried[g.first] = true;
        size_t agree = count_turns(w, &g, &anchor);
        if (agree > most) {
            most = agree;
            best = anchor;
        }
    }
    return best;
}

// Names that are launched once in each step as elected: its beginning or its loss. Evaluations
// alone part the launches in another way: each part then has many of all.
static bool has_marks(const struct work *w, const struct vote *elected)
{
    size_t marks = 0;
    uint32_t most = elected->bursts + 1 + elected->bursts * 3 / 100;
    for (size_t i = 0; i < w->voters; i++)
        marks += w->votes[i].bursts >= elected->bursts && w->votes[i].bursts <= most &&
                 places_of(w, w->votes[i].key).count <= most;
    return marks >= MARKS_LEAST;
}

static int keep_ends(const struct work *w, struct places p, uint32_t apart, struct pattern *out,
                     struct err *err)
{
    out->ends = malloc((p.count + 1) * sizeof *out->ends);
    out->launches = malloc((p.count + 1) * sizeof *out->launches);
    if (!out->ends || !out->launches)
        return err_memory(err);
    int64_t end_ns = INT64_MIN;
    for (size_t i = 0; i < p.count; i++) {
        const struct trace_item *item = &w->items[p.at[i]];
        end_ns = item->end_ns > end_ns ? item->end_ns : end_ns;
        uint32_t next = i + 1 < p.count ? p.at[i + 1] : (uint32_t)w->count;
        if (next - p.at[i] > apart) {
            out->launches[out->count] = item->launch;
            out->ends[out->count++] = end_ns;
        }
    }
    if (out->count < PATTERN_LEAST)
        pattern_release(out);
    return 0;
}

int pattern_find(const struct trace_item *items, size_t count, struct pattern *out, struct err *err)
{
    *out = (struct pattern){0};
    if (count < PATTERN_LEAST * NAMES_LEAST || count > UINT32_MAX)
        return 0;
    struct work *w = calloc(1, sizeof *w);
    if (!w)
        return err_memory(err);
    w->items = items;
    w->count = count;
    int rc = prepare(w, err);
    if (rc == 0) {
        collect_votes(w);
        const struct vote *elected = elect(w);
        struct places optimizer = {w->optimizer, w->optimizers};
        uint32_t apart = split_updates(optimizer), updates = count_bursts(optimizer, apart);
        // Several bursts of "optimizer" kernels a step are something else: copies of lists, say.
        if (updates >= PATTERN_LEAST && count / updates >= NAMES_LEAST &&
            (!elected || updates <= elected->bursts + elected->bursts / 2 ||
             !has_marks(w, elected)))
            rc = keep_ends(w, optimizer, apart, out, err);
        else if (elected) {
            struct places p = places_of(w, elected->key);
            rc = keep_ends(w, p, split_at(p), out, err);
        }
    }
    free(w->at);
    free(w->optimizer);
    free(w->lengths);
    free(w);
    return rc;
}

void pattern_release(struct pattern *pattern)
{
    free(pattern->ends);
    free(pattern->launches);
    *pattern = (struct pattern){0};
}
