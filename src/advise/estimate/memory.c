// SPDX-License-Identifier: Apache-2.0
// Whether the memory of other GPUs suffices.
#include "advise/estimate/memory.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"

// The driver's peak counts what a framework's allocator keeps for later, and the context: 1.33
// times what was in use, of PyTorch's. Beyond this no cache explains it.
#define CACHE 1.4

// Of one GPU, in bytes; 0: unknown.
static int64_t peak_memory(const struct run *run)
{
    int64_t peak = run->use.gpu_memory_peak_bytes.known ? run->use.gpu_memory_peak_bytes.v : 0;
    for (size_t i = 0; i < run->use.gpu_list.count; i++) {
        struct maybe_int one = run->use.gpu_list.items[i].memory_peak_bytes;
        peak = one.known && one.v > peak ? one.v : peak;
    }
    return peak;
}

// Of one GPU, or of its share; 0: unknown.
static int64_t memory_of(const struct estimate_place *place)
{
    if (place->gpus == 0 || place->gpu_memory_bytes > 0 || !place->device)
        return place->gpus == 0 ? 0 : place->gpu_memory_bytes;
    double share = place->share > 0 && place->share < 1 ? place->share : 1;
    return (int64_t)((double)((int64_t)place->device->memory_mib << 20) * share);
}

// "llama2_70b_lora", "meta-llama/Llama-2-70b-hf": 70 billion; 0: it names no size.
static double billions_in(const char *name)
{
    for (const char *at = name; at && *at; at++) {
        char *end;
        if (!isdigit((unsigned char)*at) ||
            (at > name && (isalnum((unsigned char)at[-1]) || at[-1] == '.')))
            continue;
        double size = strtod(at, &end);
        if ((*end == 'b' || *end == 'B') && !isalnum((unsigned char)end[1]) && size < 1e5)
            return size;
    }
    return 0;
}

// Weights as trainings keep them: in 16 bits, unless something says that they are smaller.
static double bytes_per_weight(const struct run *run)
{
    static const char *const small[] = {"qlora", "4bit", "4-bit", "nf4", "int4", "fp4"},
                             *const eight[] = {"8bit", "8-bit", "int8", "fp8"};
    double bytes = 2;
    for (size_t i = 0; i < run->command.count + 4; i++) {
        const char *const own[] = {run->workload, run->name, run->precision,
                                   run->account.precision};
        const char *text = i < 4 ? own[i] : run->command.items[i - 4];
        for (size_t k = 0; text && k < sizeof eight / sizeof *eight; k++)
            bytes = strcasestr(text, eight[k]) ? fmin(bytes, 1) : bytes;
        for (size_t k = 0; text && k < sizeof small / sizeof *small; k++)
            bytes = strcasestr(text, small[k]) ? 0.5 : bytes;
    }
    return bytes;
}

static double weights_bytes(const struct run *run) // 0: unknown
{
    double billions = billions_in(run->workload);
    if (billions == 0)
        billions = billions_in(run->name);
    for (size_t i = 0; i < run->command.count && billions == 0; i++)
        billions = billions_in(run->command.items[i]);
    return billions * 1e9 * bytes_per_weight(run);
}

static void say_batch(const struct run *run, int64_t has, int64_t needs, char why[200])
{
    double fits =
        run->batch.known ? floor((double)run->batch.v * ((double)has / (double)needs)) : 0;
    size_t len = strlen(why);
    if (fits >= 1)
        snprintf(why + len, 200 - len, "; a batch of at most %.0f instead of %lld could fit", fits,
                 (long long)run->batch.v);
}

// By the size in its name, and by what the run's GPUs have, which sufficed.
static enum estimate_fit unknown_need(const struct run *run, const struct estimate_place *from,
                                      const struct estimate_place *to, int64_t has, char why[200])
{
    double weights = weights_bytes(run), all = (double)has * to->gpus;
    int64_t most = from ? memory_of(from) : 0;
    if (weights > all) {
        snprintf(why, 200, "its weights alone take %s, %d × %s %s %s",
                 units_bytes((int64_t)weights).s, to->gpus, to->device->name,
                 to->gpus == 1 ? "has" : "have", units_bytes((int64_t)all).s);
        return ESTIMATE_FITS_NOT;
    }
    if (most > 0 && has >= most && to->gpus >= from->gpus)
        return ESTIMATE_FITS;
    snprintf(why, 200, "%s, and the %s has %s",
             from && from->gpus == 0 ? "unknown: the run was on a CPU" : "unknown",
             to->device->name, units_bytes(has).s);
    return ESTIMATE_FIT_UNKNOWN;
}

enum estimate_fit estimate_memory(const struct run *run, const struct estimate_place *from,
                                  const struct estimate_place *to, char why[200])
{
    int64_t has = memory_of(to), needs = peak_memory(run);
    bool exact = run->framework && strcmp(run->framework, "fare") == 0; // it keeps nothing
    why[0] = '\0';
    if (to->gpus == 0 || !to->device)
        return ESTIMATE_FITS;
    if (has == 0) {
        snprintf(why, 200, "unknown: how much the %s has is", to->device->name);
        return ESTIMATE_FIT_UNKNOWN;
    }
    if (needs == 0)
        return unknown_need(run, from, to, has, why);
    if (needs <= has)
        return ESTIMATE_FITS;
    if (!exact && (double)needs <= CACHE * (double)has) {
        snprintf(why, 200,
                 "may not suffice: the run held %s, of which some may be its allocator's cache; "
                 "the %s has %s",
                 units_bytes(needs).s, to->device->name, units_bytes(has).s);
        return ESTIMATE_FIT_UNSURE;
    }
    snprintf(why, 200, "needs %s of GPU memory, the %s has %s", units_bytes(needs).s,
             to->device->name, units_bytes(has).s);
    say_batch(run, has, needs, why);
    return ESTIMATE_FITS_NOT;
}
