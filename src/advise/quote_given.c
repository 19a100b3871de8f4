// SPDX-License-Identifier: Apache-2.0
// A quote without a run: stand-ins with the time that the user gave, one for each GPU that the
// name covers, take the place of the evidence.
#include "advise/quote_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"

#define FAMILY_MAX 16

struct span { // of the whole training
    int64_t low_ns, high_ns;
};

static int whole_time(const struct quote_given *given, struct span *out, struct err *err)
{
    int64_t steps = given->steps > 0 ? given->steps : 1;
    if (__builtin_mul_overflow(given->low_ns, steps, &out->low_ns) ||
        __builtin_mul_overflow(given->high_ns, steps, &out->high_ns) ||
        out->high_ns > BILL_LONGEST_NS)
        return err_set(err, ERR_USAGE, "no training takes more than 50 years");
    return 0;
}

static void set_time(struct run_projection *p, const struct span *span)
{
    double low_s = (double)span->low_ns / 1e9, high_s = (double)span->high_ns / 1e9;
    p->wall_s = some_real((low_s + high_s) / 2);
    if (span->low_ns < span->high_ns) {
        p->low_s = some_real(low_s);
        p->high_s = some_real(high_s);
    }
}

static int add_stand_in(struct quote_job *job, const struct span *span, const char *gpu,
                        int64_t gpus, struct run **out, struct err *err)
{
    struct run *run = LIST_ADD(&job->runs, err);
    TRY(run ? TEXTS_SET(err, {&run->id, RUN_GIVEN}, {&run->ended, RUN_GIVEN}) : ERR_MEMORY);
    set_time(&run->projection, span);
    *out = run;
    if (gpus <= 0)
        return 0;
    struct run_gpu *first = LIST_ADD(&run->use.gpu_list, err);
    TRY(first ? text_set(&first->name, gpu, err) : ERR_MEMORY);
    run->use.gpus = some_int(gpus);
    return 0;
}

// The machine is the offer, whatever it has.
static int add_offer(struct quote_job *job, const struct span *span, struct buf *words,
                     struct err *err)
{
    struct offer offer;
    struct run *run;
    TRY(market_find(job->ask.market, job->ask.offer, wishes_day(&job->ask.wishes), &offer, err));
    TRY(add_stand_in(job, span, offer.gpu, offer.gpus_milli / 1000, &run, err));
    buf_printf(words, "%s/%s", offer.provider, offer.name);
    return TEXTS_SET(err, {&run->machine.provider, offer.provider},
                     {&run->machine.instance_type, offer.name});
}

// "8 × H100, H100-PCIE or H100-NVL"
static int add_gpus(struct quote_job *job, const struct quote_given *given, const struct span *span,
                    struct buf *words, struct err *err)
{
    const struct device *family[FAMILY_MAX];
    const struct devices *devices;
    char name[96];
    struct run *run;
    TRY(market_devices(job->ask.market, &devices, err));
    size_t count = device_family(devices, given->gpu, family, FAMILY_MAX);
    if (count == 0) {
        err_set(err, ERR_USAGE, "--gpu: '%.60s' is not a GPU that fare knows", given->gpu);
        return err_hint(err, "'fare prices' lists offers with their GPUs; your own go into "
                             "~/.config/fare/gpus.csv");
    }
    buf_printf(words, "%s%lld × ", given->or_more ? "at least " : "", (long long)given->gpus);
    for (size_t i = 0; i < count; i++) {
        TRY(add_stand_in(job, span, family[i]->name, given->gpus, &run, err));
        snprintf(name, sizeof name, "%lld × %.60s", (long long)given->gpus, family[i]->name);
        TRY(text_set(&run->machine.name, name, err));
        buf_printf(words, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", family[i]->name);
    }
    return 0;
}

static void add_range(struct buf *text, int64_t low_ns, int64_t high_ns)
{
    char low[48], high[48];
    clock_words(low_ns, low, sizeof low);
    clock_words(high_ns, high, sizeof high);
    buf_printf(text, "%s%s%s", low, low_ns < high_ns ? " to " : "", low_ns < high_ns ? high : "");
}

static int use_all(struct quote_job *job, struct err *err)
{
    job->evidence = calloc(job->runs.count, sizeof *job->evidence);
    if (!job->evidence)
        return err_memory(err);
    job->evidence_count = job->runs.count;
    for (size_t i = 0; i < job->runs.count; i++)
        job->evidence[i].run = &job->runs.items[i];
    job->ask.evidence = job->evidence;
    job->ask.evidence_count = job->evidence_count;
    return 0;
}

int quote_load_given(struct quote_job *job, const struct quote_given *given, struct err *err)
{
    struct span span;
    struct buf text = {0};
    TRY(whole_time(given, &span, err));
    if (given->steps > 0) {
        buf_printf(&text, "%s of ", units_count(given->steps, "step").s);
        add_range(&text, given->low_ns, given->high_ns);
        buf_adds(&text, ": ");
    }
    add_range(&text, span.low_ns, span.high_ns);
    buf_adds(&text, " on ");
    job->ask.exact_gpus = !given->or_more;
    int rc = job->ask.offer ? add_offer(job, &span, &text, err)
                            : add_gpus(job, given, &span, &text, err);
    if (rc == 0)
        rc = use_all(job, err);
    if (rc == 0)
        rc = buf_check(&text, err);
    if (rc == 0)
        rc = text_set(&job->quote.given, buf_str(&text), err);
    buf_release(&text);
    return rc;
}
