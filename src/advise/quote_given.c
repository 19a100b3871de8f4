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

static int add_stand_in(struct quote_job *job, const struct span *span, const char *precision,
                        const char *gpu, int64_t gpus, struct run **out, struct err *err)
{
    struct run *run = LIST_ADD(&job->runs, err);
    TRY(run ? TEXTS_SET(err, {&run->id, RUN_GIVEN}, {&run->ended, RUN_GIVEN},
                        {&run->precision, precision})
            : ERR_MEMORY);
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
    TRY(add_stand_in(job, span, NULL, offer.gpu, offer.gpus_milli / 1000, &run, err));
    buf_printf(words, "%s/%s", offer.provider, offer.name);
    return TEXTS_SET(err, {&run->machine.provider, offer.provider},
                     {&run->machine.instance_type, offer.name});
}

static int unknown_gpu(const char *name, size_t len, struct err *err)
{
    err_set(err, ERR_USAGE, "--gpu: '%.*s' is not a GPU that fare knows", (int)len, name);
    return err_hint(err, "'fare prices' lists offers with their GPUs; your own go into "
                         "~/.config/fare/gpus.csv");
}

int quote_take_gpus(struct quote_job *job, const char *list, bool forms, struct err *err)
{
    const struct devices *devices;
    struct quote_ask *ask = &job->ask;
    TRY(market_devices(ask->market, &devices, err));
    ask->among = job->among;
    ask->among_count = 0;
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char name[64];
        const size_t len = strcspn(at, ","), left = QUOTE_AMONG - ask->among_count;
        const struct device **to = &job->among[ask->among_count];
        snprintf(name, sizeof name, "%.*s", (int)(len < sizeof name ? len : 0), at);
        const size_t found = device_family(devices, name, to, forms || left == 0 ? left : 1);
        if (found == 0)
            return unknown_gpu(at, len < 60 ? len : 60, err);
        ask->among_count += found;
    }
    return 0;
}

// "8 × H100, H100-PCIE or H100-NVL"; of a list of GPUs, the first alone has the time.
static int add_gpus(struct quote_job *job, const struct quote_given *given, const struct span *span,
                    struct buf *words, struct err *err)
{
    const struct device *family[FAMILY_MAX];
    const struct devices *devices;
    char name[96];
    struct run *run;
    const bool list = strchr(given->gpu, ',') != NULL;
    size_t count;
    TRY(market_devices(job->ask.market, &devices, err));
    if (list) {
        TRY(quote_take_gpus(job, given->gpu, true, err));
        family[0] = job->among[0];
        count = 1;
    } else {
        count = device_family(devices, given->gpu, family, FAMILY_MAX);
        if (count == 0)
            return unknown_gpu(given->gpu, strlen(given->gpu) < 60 ? strlen(given->gpu) : 60, err);
    }
    job->ask.estimates &= list;
    job->ask.gpus = (int)given->gpus;
    job->ask.together = !given->or_more;
    buf_printf(words, "%s%lld × ", given->or_more ? "at least " : "", (long long)given->gpus);
    for (size_t i = 0; i < count; i++) {
        TRY(add_stand_in(job, span, given->precision, family[i]->name, given->gpus, &run, err));
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
    SCOPED(buf_release) struct buf text = {0};
    TRY(whole_time(given, &span, err));
    if (given->steps > 0) {
        buf_printf(&text, "%s of ", units_count(given->steps, "step").s);
        add_range(&text, given->low_ns, given->high_ns);
        buf_adds(&text, ": ");
    }
    add_range(&text, span.low_ns, span.high_ns);
    buf_adds(&text, " on ");
    job->ask.exact_gpus = !given->or_more;
    job->ask.estimates &= !job->ask.offer;
    TRY(job->ask.offer ? add_offer(job, &span, &text, err)
                       : add_gpus(job, given, &span, &text, err));
    TRY(use_all(job, err));
    TRY(buf_check(&text, err));
    return text_set(&job->quote.given, buf_str(&text), err);
}

// ---- a model's description

// Without a device, so that no offer is one that was measured; of a second, which estimates scale.
int quote_load_model(struct quote_job *job, const struct quote_given *given,
                     const struct quote_words *w, bool page, struct err *err)
{
    const struct modelled_words words = {.model = w->model,
                                         .method = w->method,
                                         .tokens = w->tokens,
                                         .batch_tokens = w->batch_tokens,
                                         .precision = w->precision,
                                         .layout = w->layout,
                                         .seq = w->seq,
                                         .rank = w->rank,
                                         .day = wishes_day(&job->ask.wishes),
                                         .page = page};
    const struct span second = {NS_PER_S, NS_PER_S};
    SCOPED(buf_release) struct buf text = {0};
    struct run *run;
    if (job->wishes.buy && !job->ask.own_gpu) {
        err_set(err, ERR_USAGE, "which machine would be bought?");
        return err_hint(err, "name its GPU, such as --gpu h100, and how many of them with --gpus");
    }
    TRY(modelled_open(&job->model, &words, err));
    modelled_title(job->model, &text);
    TRY(add_stand_in(job, &second, job->model->precision, NULL, 0, &run, err));
    run->parameters = some_int((int64_t)job->model->parameters);
    job->ask.model = job->model;
    job->ask.estimates = true;
    job->ask.gpus = given->gpus > 0 ? (int)given->gpus : QUOTE_GPUS_ANY;
    job->ask.exact_gpus = given->gpus > 0 && !given->or_more;
    job->ask.together = job->ask.exact_gpus;
    TRY(use_all(job, err));
    TRY(buf_check(&text, err));
    TRY(modelled_quote(job->model, &job->quote.model, err));
    return text_set(&job->quote.given, buf_str(&text), err);
}
