// SPDX-License-Identifier: Apache-2.0
// Estimates in words.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "estimate/estimate.h"

void estimate_words(const struct estimate *e, char out[ESTIMATE_WORDS])
{
    static const char *const plain[] = {[ESTIMATE_UNKNOWN] = "unknown",
                                        [ESTIMATE_IMPOSSIBLE] = "does not fit",
                                        [ESTIMATE_MEASURED] = "measured",
                                        [ESTIMATE_BOUND] = "lower bound"};
    double factor = fmax(e->high_s / e->time_s, e->time_s / e->low_s);
    if (e->kind < ESTIMATE_ESTIMATED)
        snprintf(out, ESTIMATE_WORDS, "%s", plain[e->kind]);
    else if (e->kind == ESTIMATE_ESTIMATED)
        snprintf(out, ESTIMATE_WORDS, "estimated ±%.0f %%", ceil(100 * (factor - 1) - 1e-9));
    else
        snprintf(out, ESTIMATE_WORDS, factor < 9.95 ? "rough ×%.1f" : "rough ×%.0f", factor);
    size_t len = strlen(out);
    if (e->kind >= ESTIMATE_MEASURED && e->fit == ESTIMATE_FIT_UNSURE)
        snprintf(out + len, ESTIMATE_WORDS - len, ", may not fit");
}

static const char *say(const char *const pairs[][2], const char *word)
{
    for (size_t i = 0; pairs[i][0]; i++)
        if (strcmp(pairs[i][0], word) == 0)
            return pairs[i][1];
    return word;
}

void estimate_class_words(const struct estimate *e, struct buf *out)
{
    static const char *const words[][2] = {{"same", "the same architecture"},
                                           {"other", "another architecture"},
                                           {"amd", "another AMD GPU"},
                                           {"vendor", "another vendor"},
                                           {"cpu", "from a CPU to a CPU"},
                                           {NULL, NULL}},
                             *const bounds[][2] = {{"gpu", "bound by the GPU"},
                                                   {"mixed", "partly bound by the GPU"},
                                                   {"host", "bound by the host"},
                                                   {"unknown", "unknown whether bound by the GPU"},
                                                   {NULL, NULL}},
                             *const scales[][2] = {{"one", "one GPU"},
                                                   {"several", "several GPUs"},
                                                   {"nodes", "several machines"},
                                                   {NULL, NULL}},
                             *const traces[][2] = {{"no", "without a trace"},
                                                   {"sheet", "traced, with data-sheet rates"},
                                                   {"measured", "traced, with measured rates"},
                                                   {"reference", "corrected by reference runs"},
                                                   {NULL, NULL}};
    const struct estimate_errors *c = e->class;
    if (e->kind == ESTIMATE_BOUND) {
        buf_printf(out,
                   "from a CPU to a GPU, a lower bound, since a CPU does not show what a GPU waits "
                   "for: %s",
                   e->why);
        return;
    }
    if (!c) {
        buf_printf(out, "the same device");
        return;
    }
    buf_printf(out, "%s", say(words, c->relation));
    if (strcmp(c->relation, "cpu") != 0)
        buf_printf(out, ", %s, %s, %s", say(bounds, c->bound), say(scales, c->scale),
                   say(traces, c->trace));
    if (e->part)
        buf_adds(out, ", part of a GPU");
    if (e->unknown_processor)
        buf_adds(out, ", processor unknown");
    buf_printf(out, ": %.0f pairs", c->pairs);
}

static void add_ring(const struct estimate_efficiency *e, struct buf *out)
{
    buf_printf(out,
               "communication: %s of gradients (4 bytes a parameter) over %s, %.3g GB/s each "
               "way",
               units_bytes((int64_t)fmin(e->bytes, 1e18)).s, e->link, e->bytes_per_s / 1e9);
    if (e->reach < 1)
        buf_printf(out, ", %.0f %% of it reached", 100 * e->reach);
    buf_printf(out, ": %.3g ms, %.0f %% of a step of one GPU; %.0f %% of it overlaps\n",
               1e3 * e->ring_s, 100 * e->ring_s / e->step_s, 100 * (1 - e->exposed_s / e->ring_s));
}

void estimate_several_words(const struct estimate *e, const struct estimate_place *from,
                            const struct estimate_place *to, struct buf *out)
{
    const struct estimate_efficiency *a = &e->several.from, *b = &e->several.to;
    const struct estimate_efficiency *ring = b->ring_s > 0 ? b : a;
    if (to->gpus <= 1 && from->gpus <= 1)
        return;
    buf_printf(out, "GPUs: from %d to %d, the batch of each kept", from->gpus, to->gpus);
    if (a->link)
        buf_printf(out, "; efficiency of %d %.2f (%.2f to %.2f)", from->gpus, a->median, a->low,
                   a->high);
    if (b->link)
        buf_printf(out, "; efficiency of %d %.2f (%.2f to %.2f), %.0f rows", to->gpus, b->median,
                   b->low, b->high, b->rows);
    buf_adds(out, "\n");
    if (to->gpus > from->gpus && strcmp(e->several.bound, "host") == 0)
        buf_adds(out, "The host limits this run: more GPUs may bring little.\n");
    if (ring->ring_s > 0)
        add_ring(ring, out);
    else if (b->link)
        buf_printf(out,
                   "communication: over %s; the number of parameters or the step time is unknown, "
                   "so the efficiency is that of public trainings\n",
                   b->link);
}
