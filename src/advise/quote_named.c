// SPDX-License-Identifier: Apache-2.0
// The bill of one offer that is named: by a run on such a machine, by an estimate, or with the time
// of a run that is assumed.
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "advise/quote_parts.h"

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
