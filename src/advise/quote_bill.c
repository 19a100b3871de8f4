// SPDX-License-Identifier: Apache-2.0
// The bill of one offer in a quote: its time, price, interval and notes.
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/estimates.h"
#include "advise/evidence.h"
#include "advise/quote_parts.h"
#include "advise/quote_spot.h"
#include "base/clock.h"
#include "book/listing.h"

static const char *machine_words(const struct run_machine *m)
{
    return m->instance_type ? m->instance_type : m->name ? m->name : m->gpu ? m->gpu : m->cpu;
}

static int note_median(size_t runs, struct bill *bill, struct err *err)
{
    struct buf text = {0};
    buf_printf(&text,
               "the time is the median of %zu runs on such a machine; the others are in its "
               "interval",
               runs);
    return texts_take(&bill->notes, &text, err);
}

static int add_notes(const struct candidate *c, struct bill *bill, struct err *err)
{
    const struct run *run = c->proof->run;
    const struct comparison *against = c->proof->from->against;
    size_t runs = c->match.proof ? c->match.runs : c->proof->runs;
    if (runs > 1 && !c->estimated)
        TRY(note_median(runs, bill, err));
    if (c->proof->gpus > 0)
        bill->gpus_used = some_int(c->proof->gpus);
    if (run_failed(run))
        TRY(texts_add(&bill->notes, "the run failed: its time is a guess", err));
    else if (run_stopped(run) && !against)
        TRY(texts_add(&bill->notes, "the run was stopped early", err));
    for (size_t i = 0; i < run->taints.count; i++)
        TRY(texts_add(&bill->notes, run->taints.items[i], err));
    for (size_t i = 0; against && i < against->reasons.count; i++)
        TRY(texts_add(&bill->notes, against->reasons.items[i], err));
    if (run->projection.assumption.known && run->projection.assumption.v &&
        strcmp(c->proof->time.basis, "projected") == 0)
        TRY(texts_add(&bill->notes,
                      "part of the training was not in the sample: its time was assumed", err));
    return 0;
}

static int set_certainty(const struct estimated *e, struct bill *bill, struct err *err)
{
    char words[ESTIMATE_WORDS];
    struct buf class = {0};
    double fixed_s = bill_training_s(bill) - e->estimate.time_s;
    estimate_words(&e->estimate, words);
    bill->training_low_s = some_real(fixed_s + e->estimate.low_s);
    if (e->estimate.kind == ESTIMATE_BOUND)
        bill->lower_bound = some_bool(true);
    else
        bill->training_high_s = some_real(fixed_s + e->estimate.high_s);
    if (e->to.share > 0)
        bill->gpus_used = (struct maybe_int){0};
    else if (e->to.gpus > 0)
        bill->gpus_used = some_int(e->to.gpus);
    if (e->estimate.unknown_processor) {
        bill->processor_unknown = some_bool(true);
        TRY(texts_add(&bill->notes,
                      "its processor is unknown: one in the middle of the device table is assumed",
                      err));
    }
    if (e->estimate.fit != ESTIMATE_FITS) {
        bool unsure = e->estimate.fit == ESTIMATE_FIT_UNSURE;
        TRY(text_set(&bill->gpu_memory, unsure ? "unsure" : "unknown", err));
        buf_printf(&class, "GPU memory: %s", e->estimate.memory);
        TRY(texts_take(&bill->notes, &class, err));
    }
    if (e->apart) {
        estimated_apart(e, &class);
        TRY(texts_take(&bill->notes, &class, err));
    }
    if (e->estimate.several.to.link)
        bill->efficiency = some_real(e->estimate.several.to.median);
    estimate_class_words(&e->estimate, &class);
    TRY(text_take(&bill->class, &class, err));
    return text_set(&bill->certainty, words, err);
}

// An offer that was asked for by name although the training would hardly run there.
static int note_unfit(const struct quote_ask *ask, const struct estimated *e, struct bill *bill,
                      struct err *err)
{
    char why[EVIDENCE_WHY];
    int day = wishes_day(&ask->wishes) ? wishes_day(&ask->wishes) : book_today();
    return quote_cannot_run(e->to.device, day, why) ? texts_add(&bill->notes, why, err) : 0;
}

// It may not finish there.
static int note_end(const struct candidate *c, struct bill *bill, struct err *err)
{
    char why[EVIDENCE_WHY];
    double longest = bill->high_s.known ? bill->high_s.v : bill->time_s.v;
    if (quote_too_late(c->ends_s, bill->time_s.v, why))
        return texts_add(&bill->notes, why, err);
    if (!quote_too_late(c->ends_s, longest, why))
        return 0;
    struct buf text = {0};
    buf_printf(&text, "%s at the end of its interval", why);
    return texts_take(&bill->notes, &text, err);
}

// Other runs that are as near as this one were faster or slower.
static void widen(const struct candidate *c, struct bill_time *time)
{
    const struct bill_time *own = &c->proof->time;
    int64_t low_ns = c->match.proof ? c->match.low_ns : c->proof->low_ns,
            high_ns = c->match.proof ? c->match.high_ns : c->proof->high_ns;
    int64_t own_low = own->low_ns >= 0 ? own->low_ns : own->total_ns,
            own_high = own->high_ns >= 0 ? own->high_ns : own->total_ns;
    if (low_ns == own_low && high_ns == own_high)
        return;
    time->low_ns = (time->low_ns >= 0 ? time->low_ns : time->total_ns) - (own_low - low_ns);
    time->high_ns = (time->high_ns >= 0 ? time->high_ns : time->total_ns) + (high_ns - own_high);
}

int quote_candidate_time(const struct quote_ask *ask, const struct candidate *c,
                         struct bill_time *time, bool *known, struct err *err)
{
    *time = c->proof->time; // a bought machine needs no start-up
    *known = true;
    if (strcmp(c->offer.provider, "own") != 0)
        TRY(quote_time(ask, c->proof->run, &c->offer, time, known, err));
    if (c->estimated)
        estimated_time(c->estimated, &c->proof->time, time);
    else
        widen(c, time);
    return 0;
}

int quote_add_bill(const struct quote_ask *ask, const struct candidate *c, const char *basis,
                   struct leaving *leaving, struct err *err)
{
    struct quote *quote = leaving->quote;
    struct buf name = {0};
    struct bill bill = {0};
    struct err why = {0};
    book_name(&c->offer, &name);
    int rc = buf_check(&name, err);
    struct bill_time time;
    bool known;
    int64_t gpus = c->estimated ? c->estimated->to.gpus : c->proof->gpus;
    if (rc == 0)
        rc = quote_candidate_time(ask, c, &time, &known, err);
    if (rc == 0) {
        struct wishes wishes = ask->wishes;
        wishes.without_credit |= c->offer.kind == OFFER_SPOT; // quote_spot() takes it
        rc = bill_make(ask->market, &wishes, &c->offer, buf_str(&name), &time, gpus, &bill, &why);
        if (rc == ERR_MEMORY)
            err_memory(err);
        else if (rc != 0)
            rc = quote_leave_out(leaving, &c->offer, "no price", why.text, true, err) == 0
                     ? 1
                     : ERR_MEMORY;
    }
    const struct run *run = c->proof->run;
    if (rc == 0)
        rc = TEXTS_SET(err, {&bill.run, run->id}, {&bill.machine, machine_words(&run->machine)},
                       {&bill.data, run->data.name}, {&bill.framework, run->framework},
                       {&bill.variant, c->proof->from->label});
    bill.batch = run->batch;
    if (c->proof->from->year > 0)
        bill.year = some_int(c->proof->from->year);
    if (rc == 0 && basis)
        rc = text_set(&bill.basis, basis, err);
    if (rc == 0)
        rc = add_notes(c, &bill, err);
    if (rc == 0 && c->estimated)
        rc = set_certainty(c->estimated, &bill, err);
    if (rc == 0 && c->estimated)
        rc = note_unfit(ask, c->estimated, &bill, err);
    if (rc == 0)
        rc = quote_spot(ask->market, &ask->wishes, &ask->spot, &c->offer, run, &time, &bill, err);
    if (rc == 0)
        rc = note_end(c, &bill, err);
    int64_t each;
    if (rc == 0 && bill.total.known && run_million_tokens(run, bill_total(&bill), &each))
        bill.usd_per_mtoken = some_money(each);
    bool other = c->proof->from->training > 0;
    struct bill *added = NULL;
    if (rc == 0)
        added = c->estimated ? LIST_ADD(&quote->estimates, err)
                : other      ? LIST_ADD(&quote->others, err)
                             : LIST_ADD(&quote->bills, err);
    if (added)
        *added = bill;
    else
        record_release(bill_fields, &bill);
    buf_release(&name);
    return rc == 0 && !added ? ERR_MEMORY : rc < 0 ? rc : 0;
}

enum { EXAMPLES = 3, REASONS_MAX = 21, KINDS = 3 };

static int add_row(struct quote *quote, const char *name, const char *reason, const char *why,
                   struct err *err)
{
    size_t count = quote->misfits.count;
    if (count > 0 && strcmp(quote->misfits.items[count - 1].offer, name) == 0)
        return 0;
    struct quote_misfit *row = LIST_ADD(&quote->misfits, err);
    return row ? TEXTS_SET(err, {&row->offer, name}, {&row->reason, reason}, {&row->why, why})
               : ERR_MEMORY;
}

static int count_one(struct quote *quote, size_t at, const char *name, const char *reason,
                     const char *why, struct err *err)
{
    struct quote_left_out *group;
    if (at == quote->left_out.count) {
        group = LIST_ADD(&quote->left_out, err);
        TRY(group ? TEXTS_SET(err, {&group->reason, reason}, {&group->why, why}) : ERR_MEMORY);
        group->count = some_int(0);
    }
    group = &quote->left_out.items[at];
    group->count.v++;
    return group->examples.count < EXAMPLES ? texts_add(&group->examples, name, err) : 0;
}

int quote_leave_out(struct leaving *l, const struct offer *offer, const char *reason,
                    const char *why, bool listed, struct err *err)
{
    struct quote *quote = l->quote;
    struct buf name = {0};
    size_t at = 0;
    if (!l->name || strcmp(l->name, offer->name) != 0 ||
        strcmp(l->provider, offer->provider) != 0) {
        l->provider = offer->provider;
        l->name = offer->name;
        l->seen = 0;
    }
    while (at < quote->left_out.count && strcmp(quote->left_out.items[at].reason, reason) != 0)
        at++;
    assert(at < REASONS_MAX);
    uint64_t bit = UINT64_C(1) << (at * KINDS + offer->kind);
    bool counted = l->seen & bit;
    listed = listed && quote->misfits.count < l->most;
    if (counted && !listed)
        return 0;
    l->seen |= bit;
    book_name(offer, &name);
    int rc = buf_check(&name, err);
    if (rc == 0 && !counted)
        rc = count_one(quote, at, buf_str(&name), reason, why, err);
    if (rc == 0 && listed)
        rc = add_row(quote, buf_str(&name), reason, why, err);
    buf_release(&name);
    return rc;
}

const char *quote_too_late(int64_t ends_s, double time_s, char why[EVIDENCE_WHY])
{
    char end[48], time[48];
    if (ends_s == 0 || time_s <= (double)ends_s)
        return NULL;
    clock_words(ends_s * NS_PER_S, end, sizeof end);
    clock_words((int64_t)fmin(time_s * 1e9, (double)BILL_LONGEST_NS), time, sizeof time);
    snprintf(why, EVIDENCE_WHY, "ends after %s at the latest, the training takes %s", end, time);
    return "ends before the training does";
}

const char *quote_not_offered(const struct offer *offer, int day, char why[EVIDENCE_WHY])
{
    char end[12];
    if (!offer_retired(offer, day))
        return NULL;
    offer_date(offer->valid_to, end);
    snprintf(why, EVIDENCE_WHY, "the provider ended it on %s", end);
    return "retired";
}

const char *quote_cannot_run(const struct device *device, int day, char why[EVIDENCE_WHY])
{
    if (device && !device_trains(device, day)) {
        snprintf(why, EVIDENCE_WHY, "no framework of that day has kernels for the %.60s",
                 device->name);
        return "no framework for the GPU";
    }
    if (!device || strcmp(device->host_isa, "arm64") != 0)
        return NULL;
    snprintf(why, EVIDENCE_WHY,
             "its host is an ARM processor: programs for x86-64, such as fare's bundle, do not run "
             "there");
    return "ARM host";
}
