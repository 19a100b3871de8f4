// SPDX-License-Identifier: Apache-2.0
// The bill of one offer that is named: by a run on such a machine, by an estimate, or with the time
// of a run that is assumed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "advise/evidence.h"
#include "advise/quote_job.h"
#include "advise/quote_parts.h"
#include "base/clock.h"
#include "base/units.h"

static int add_bill(struct quote_search *s, const struct candidate *c, const char *basis,
                    struct err *err)
{
    return quote_add_bill(s->ask, c, basis, &s->leaving, err);
}

// For a workload: other trainings that were measured on the offer.
static int add_other_trainings(struct quote_search *s, const struct offer *offer,
                               const struct proof_match best[QUOTE_TRAININGS], struct err *err)
{
    for (size_t i = 1; i < QUOTE_TRAININGS; i++)
        if (best[i].proof) {
            const struct candidate c = {.offer = *offer, .proof = best[i].proof, .match = best[i]};
            TRY(add_bill(s, &c, NULL, err));
        }
    return 0;
}

// Names another run of the same training that was measured on such a machine.
static int note_assumed(const struct quote_search *s, const struct candidate *c, struct bill *bill,
                        struct err *err)
{
    struct proof_match best[QUOTE_TRAININGS];
    const struct proof *other = proofs_find(&s->proofs, &c->offer, best);
    struct buf text = {0};
    if (!other || other == c->proof)
        return 0;
    buf_printf(&text, "run %s was measured on such a machine: 'fare quote %s --offer %s'",
               other->run->id, other->run->id, bill->offer);
    return texts_take(&bill->notes, &text, err);
}

// The estimate for a machine with other GPUs. `*done`: it has one, or would not work there. A run
// that is named keeps its time on a processor that nobody knows.
static int add_named_estimate(struct quote_search *s, struct candidate *c, bool *done,
                              struct err *err)
{
    const struct estimated *e = NULL;
    char why[EVIDENCE_WHY];
    TRY(estimates_find(s->estimates, &c->offer, &e, err));
    *done = e && (estimated_known(e) || e->estimate.kind == ESTIMATE_IMPOSSIBLE) &&
            !(s->ask->asked && e->estimate.unknown_processor);
    if (!*done)
        return 0;
    const char *reason = estimated_known(e) ? proof_no_memory(e->proof, &c->offer, why) : NULL;
    if (!estimated_known(e) || reason)
        return quote_leave_out(&s->leaving, &c->offer, reason ? reason : e->estimate.reason,
                               reason ? why : e->estimate.why, true, err);
    c->proof = e->proof;
    c->estimated = e;
    s->quote->estimated = some_int(1);
    TRY(add_bill(s, c, NULL, err));
    return s->quote->estimates.count > 0 ? note_assumed(s, c, &s->quote->estimates.items[0], err)
                                         : 0;
}

static int refuse_assumed(const struct quote_search *s, const struct candidate *c, const char *used,
                          struct err *err)
{
    const struct run *run = c->proof->run;
    if (used && !*c->offer.gpu) {
        err_set(err, ERR_USAGE,
                "%s has no GPU, and run %s was measured on %lld × %.100s: that tells nothing about "
                "the time on a processor",
                s->ask->offer, run->id, (long long)c->proof->gpus, used);
        return err_hint(err, "measure the training on any CPU for a minute, for example with "
                             "CUDA_VISIBLE_DEVICES= fare -- python train.py: fare estimates "
                             "machines without a GPU from that run");
    }
    char had[160] = "without a GPU";
    if (used)
        snprintf(had, sizeof had, "on %lld × %.100s", (long long)c->proof->gpus, used);
    err_set(err, ERR_USAGE, "%s has %g × %.60s, but run %s was measured %s", s->ask->offer,
            c->offer.gpus_milli / 1000.0, c->offer.gpu, run->id, had);
    return err_hint(err, "a quote for it needs a run on such a machine: measure one there, or "
                         "import one with 'fare runs import'");
}

// Other GPUs get an estimate or none. So does another processor; if it is not known, its time may
// be assumed.
static int check_assumed(struct quote_search *s, struct candidate *c, bool *done, struct err *err)
{
    const char *used = c->proof->gpus > 0 ? evidence_gpu(c->proof->run) : NULL;
    bool same_gpu = used && c->proof->device && c->offer.gpus_milli >= 1000 &&
                    strcasecmp(c->offer.gpu, c->proof->device->name) == 0;
    if (same_gpu || run_unknown_device(c->proof->run)) // fewer GPUs are a misfit
        return 0;
    if (s->estimates)
        TRY(add_named_estimate(s, c, done, err));
    if (*done || (!*c->offer.gpu && !used))
        return 0;
    return refuse_assumed(s, c, used, err);
}

// Whether the run may have been measured on that machine: nothing says that it was another.
static bool may_be(const struct proof *p, const struct offer *offer)
{
    const struct run_machine *m = &p->run->machine;
    return !m->provider || !m->instance_type || evidence_measured_on(p->run, offer);
}

// One offer. A named run keeps its own time, measured on such a machine or assumed, unless it is
// known to be another machine and a run on this one is known. A workload has the time of a run on
// such a machine, or else that of its first run, assumed.
int quote_add_named(struct quote_search *s, struct err *err)
{
    const struct quote_ask *ask = s->ask;
    struct candidate c = {.proof = NULL};
    struct proof_match best[QUOTE_TRAININGS];
    char why[EVIDENCE_WHY];
    TRY(book_find(s->book, ask->offer, s->day, &c.offer, err));
    c.ends_s = quote_ends_after_s(s, &c.offer);
    const char *reason = quote_not_offered(&c.offer, s->day, why);
    if (reason)
        return quote_leave_out(&s->leaving, &c.offer, reason, why, true, err);
    const struct proof *first = s->proofs.count > 0 ? &s->proofs.items[0] : NULL;
    const struct proof *nearest = proofs_find(&s->proofs, &c.offer, best);
    // A bought machine is the run's, and this one is rented.
    if (!ask->asked || ask->own ||
        (nearest && !may_be(first, &c.offer) && evidence_measured_on(nearest->run, &c.offer)))
        c.match = best[0];
    c.proof = c.match.proof;
    if (ask->asked && !c.proof)
        c.proof = first && first->asked ? first : NULL;
    if (!ask->asked)
        TRY(add_other_trainings(s, &c.offer, best, err));
    if (!c.proof && s->quote->others.count > 0)
        return 0;
    bool assumed = ask->asked ? c.proof && !proof_fits(&s->proofs, c.proof, &c.offer) : !c.proof;
    if (!c.proof && !ask->asked)
        c.proof = first;
    if (!c.proof)
        return 0;
    bool done = false;
    if (assumed)
        TRY(check_assumed(s, &c, &done, err));
    if (done)
        return 0;
    reason = proof_too_large(&s->proofs, c.proof, &c.offer, why);
    if (!reason)
        reason = quote_too_late(c.ends_s, (double)c.proof->time.total_ns / 1e9, why);
    if (reason)
        return quote_leave_out(&s->leaving, &c.offer, reason, why, true, err);
    TRY(add_bill(s, &c, assumed ? "assumed" : NULL, err));
    if (s->quote->bills.count == 0)
        return 0;
    if (c.offer.kind == OFFER_SPOT && !strchr(ask->offer, ':'))
        TRY(texts_add(&s->quote->bills.items[0].notes, "the book has only its spot price", err));
    return assumed ? note_assumed(s, &c, &s->quote->bills.items[0], err) : 0;
}

// From a bill back to its offer, and times of runs on offers.

struct exact {
    const struct bill *bill;
    struct offer *offer;
    bool found;
};

static bool equal(const char *text, const char *offers)
{
    return strcmp(text ? text : "", offers) == 0;
}

static int match_exact(void *arg, const struct offer *offer, struct err *err)
{
    (void)err;
    struct exact *e = arg;
    if (!equal(e->bill->provider, offer->provider) || !equal(e->bill->name, offer->name) ||
        !equal(e->bill->region, offer->region) || !equal(e->bill->zone, offer->zone) ||
        !equal(e->bill->kind, offer_kind_word(offer->kind)))
        return 0;
    *e->offer = *offer;
    e->found = true;
    return 1;
}

int quote_offer(const struct quote_ask *ask, const struct bill *bill, struct offer *offer,
                struct err *err)
{
    if (ask->own && equal(bill->provider, "own"))
        return own_offer(ask->own, bill->name, offer, err);
    int day = wishes_day(&ask->wishes);
    struct exact exact = {.bill = bill, .offer = offer};
    const struct book_filter filter = {.provider = bill->provider,
                                       .name = bill->name,
                                       .spelled = true,
                                       .day = day ? day : book_today()};
    const struct book *book;
    int rc = market_book(ask->market, &book, err);
    if (rc == 0)
        rc = book_each(book, &filter, match_exact, &exact, err);
    if (rc < 0 || exact.found)
        return rc < 0 ? rc : 0;
    return err_set(err, ERR_MISSING, "'%s' is no longer in the book", bill->offer);
}

int quote_time(const struct quote_ask *ask, const struct run *run, const struct offer *offer,
               struct bill_time *time, bool *known, struct err *err)
{
    return bill_time_on(ask->market, run, evidence_measured_on(run, offer), offer, &ask->startup,
                        time, known, err);
}

bool quote_base(const struct quote_ask *ask, struct bill_time *time)
{
    return ask->evidence_count > 0 && bill_time_of(ask->evidence[0].run, time);
}

// A quote without a run: stand-ins with the time that the user gave, one for each GPU that the
// name covers, take the place of the evidence.

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
