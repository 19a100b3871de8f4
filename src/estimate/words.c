// SPDX-License-Identifier: Apache-2.0
// Estimates in words.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "estimate/estimate.h"

void estimate_words(const struct estimate *e, char out[ESTIMATE_WORDS])
{
    static const char *const plain[] = {[ESTIMATE_UNKNOWN] = "unknown",
                                        [ESTIMATE_IMPOSSIBLE] = "does not fit",
                                        [ESTIMATE_MEASURED] = "measured"};
    double factor = fmax(e->high_s / e->time_s, e->time_s / e->low_s);
    if (e->kind < ESTIMATE_ESTIMATED)
        snprintf(out, ESTIMATE_WORDS, "%s", plain[e->kind]);
    else if (e->kind == ESTIMATE_ESTIMATED)
        snprintf(out, ESTIMATE_WORDS, "estimated ±%.0f %%", ceil(100 * (factor - 1) - 1e-9));
    else
        snprintf(out, ESTIMATE_WORDS, factor < 9.95 ? "rough ×%.1f" : "rough ×%.0f", factor);
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
                                           {"cpu-gpu", "from a CPU to a GPU"},
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
    if (!c) {
        buf_printf(out, "the same device");
        return;
    }
    buf_printf(out, "%s", say(words, c->relation));
    if (strncmp(c->relation, "cpu", 3) != 0)
        buf_printf(out, ", %s, %s, %s", say(bounds, c->bound), say(scales, c->scale),
                   say(traces, c->trace));
    buf_printf(out, ": %.0f pairs", c->pairs);
}
