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
#include "advise/quote_spot_parts.h"
#include "advise/spot/hazard.h"
#include "advise/spot/policy.h"
#include "base/clock.h"
#include "base/units.h"
#include "bill/market.h"
#include "book/listing.h"
#include "tables/extras.h"

static const char *machine_words(const struct run_machine *m)
{
    return m->instance_type ? m->instance_type : m->name ? m->name : m->gpu ? m->gpu : m->cpu;
}

static void note_median(size_t runs, struct bill *bill, struct err *err)
{
    struct buf text = {0};
    buf_printf(&text,
               "the time is the median of %zu runs on such a machine; the others are in its "
               "interval",
               runs);
    texts_take(&bill->notes, &text, err);
}

static void add_notes(const struct candidate *c, struct bill *bill, struct err *err)
{
    const struct run *run = c->proof->run;
    const struct comparison *against = c->proof->from->against;
    size_t runs = c->match.proof ? c->match.runs : c->proof->runs;
    if (runs > 1 && !c->estimated)
        note_median(runs, bill, err);
    if (c->proof->gpus > 0)
        bill->gpus_used = some_int(c->proof->gpus);
    if (run_failed(run))
        texts_add(&bill->notes, "the run failed: its time is a guess", err);
    else if (run_stopped(run) && !against)
        texts_add(&bill->notes, "the run was stopped early", err);
    for (size_t i = 0; i < run->taints.count; i++)
        texts_add(&bill->notes, run->taints.items[i], err);
    for (size_t i = 0; against && i < against->reasons.count; i++)
        texts_add(&bill->notes, against->reasons.items[i], err);
    if (run->projection.assumption.known && run->projection.assumption.v &&
        strcmp(c->proof->time.basis, "projected") == 0)
        texts_add(&bill->notes, "part of the training was not in the sample: its time was assumed",
                  err);
}

static void set_certainty(const struct estimated *e, struct bill *bill, struct err *err)
{
    char words[ESTIMATE_WORDS], spread[ESTIMATE_SPREAD];
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
        texts_add(&bill->notes,
                  "its processor is unknown: one in the middle of the device table is assumed",
                  err);
    }
    if (e->estimate.fit != ESTIMATE_FITS) {
        bool unsure = e->estimate.fit == ESTIMATE_FIT_UNSURE;
        text_set(&bill->gpu_memory, unsure ? "unsure" : "unknown", err);
        buf_printf(&class, "GPU memory: %s", e->estimate.memory);
        texts_take(&bill->notes, &class, err);
    }
    if (e->apart) {
        estimated_apart(e, &class);
        texts_take(&bill->notes, &class, err);
    }
    if (e->estimate.several.to.link)
        bill->efficiency = some_real(e->estimate.several.to.median);
    if (e->plan)
        buf_printf(&class, "from a model's description, %s: %.0f trainings of %s",
                   e->plan->errors->question, e->plan->errors->rows,
                   units_count((int64_t)e->plan->errors->sources, "source").s);
    else
        estimate_class_words(&e->estimate, &class);
    text_take(&bill->class, &class, err);
    text_set(&bill->certainty, words, err);
    estimate_spread(&e->estimate, spread);
    text_set(&bill->spread, spread, err);
}

// Nobody measured a part of a GPU, nor whether the program runs on another vendor's.
static const char *untried_of(const struct candidate *c)
{
    const struct device *from = c->proof->device, *to = c->estimated->to.device;
    if (c->estimated->estimate.part)
        return BILL_UNTRIED_PART;
    bool both = c->proof->gpus > 0 && from && to && c->estimated->to.gpus > 0;
    return both && strcmp(from->vendor, to->vendor) != 0 ? BILL_UNTRIED_VENDOR : NULL;
}

// An offer that was asked for by name although the training would hardly run there.
static void note_unfit(const struct quote_ask *ask, const struct estimated *e, struct bill *bill,
                       struct err *err)
{
    char why[EVIDENCE_WHY];
    int day = wishes_day(&ask->wishes) ? wishes_day(&ask->wishes) : book_today();
    if (quote_cannot_run(e->to.device, day, why) ||
        (bill->gpu && quote_unsupported(ask->market, e->proof->run, e->to.device, why)))
        texts_add(&bill->notes, why, err);
}

// It may not finish there.
static void note_end(const struct candidate *c, struct bill *bill, struct err *err)
{
    char why[EVIDENCE_WHY];
    double longest = bill->high_s.known ? bill->high_s.v : bill->time_s.v;
    struct buf text = {0};
    if (quote_too_late(c->ends_s, bill->time_s.v, why))
        buf_adds(&text, why);
    else if (quote_too_late(c->ends_s, longest, why))
        buf_printf(&text, "%s at the end of its interval", why);
    bill->may_end_early = some_bool(text.len > 0);
    texts_take(&bill->notes, &text, err);
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

static int set_link(const struct quote_ask *ask, const struct offer *offer, struct bill *bill,
                    struct err *err)
{
    const struct links *links;
    TRY(market_links(ask->market, &links, err));
    return text_set(&bill->link, links_find(links, offer), err);
}

int quote_add_bill(const struct quote_ask *ask, const struct candidate *c, const char *basis,
                   struct leaving *leaving, struct err *err)
{
    struct quote *quote = leaving->quote;
    SCOPED(buf_release) struct buf name = {0}, brief = {0};
    struct bill bill = {0};
    struct err why = {0};
    const struct book *book;
    TRY(market_book(ask->market, &book, err));
    book_name(&c->offer, &name);
    book_short_name(book, &c->offer, false, &brief);
    int rc = buf_check(&brief, err);
    if (rc == 0)
        rc = buf_check(&name, err);
    struct bill_time time;
    bool known;
    int64_t gpus = c->estimated ? c->estimated->to.gpus : c->proof->gpus;
    if (rc == 0)
        rc = quote_candidate_time(ask, c, &time, &known, err);
    if (rc == 0) {
        struct wishes wishes = ask->wishes;
        const struct proofs together = {.ask = ask};
        const int64_t machines = proof_machines(&together, gpus, &c->offer);
        wishes.machines = machines > 1 ? machines : 0;
        gpus /= machines;
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
    if (rc == 0) {
        err->code = 0; // texts that fail set it
        TEXTS_SET(err, {&bill.run, run->id}, {&bill.machine, machine_words(&run->machine)},
                  {&bill.short_name, buf_str(&brief)}, {&bill.data, run->data.name},
                  {&bill.framework, run->framework}, {&bill.variant, c->proof->from->label});
        bill.batch = run->batch;
        if (c->proof->from->year > 0)
            bill.year = some_int(c->proof->from->year);
        if (basis)
            text_set(&bill.basis, basis, err);
        add_notes(c, &bill, err);
        if (bill.machines.v > 1)
            rc = set_link(ask, &c->offer, &bill, err);
        if (c->estimated) {
            set_certainty(c->estimated, &bill, err);
            text_set(&bill.untried, untried_of(c), err);
            if (c->estimated->plan)
                rc = modelled_bill(c->estimated->plan, &bill.model, err);
            note_unfit(ask, c->estimated, &bill, err);
        }
        if (rc == 0)
            rc = quote_spot(ask->market, &ask->wishes, &ask->spot, &c->offer, run, &time, &bill,
                            err);
        note_end(c, &bill, err);
        rc = rc == 0 ? err->code : rc;
    }
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
    SCOPED(buf_release) struct buf name = {0};
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
    TRY(buf_check(&name, err));
    if (!counted)
        TRY(count_one(quote, at, buf_str(&name), reason, why, err));
    return listed ? add_row(quote, buf_str(&name), reason, why, err) : 0;
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

const char *quote_no_host_memory(const struct estimated *e, const struct offer *offer,
                                 char why[EVIDENCE_WHY])
{
    const double need = e->plan ? modelled_host_bytes(e->plan) : 0;
    if (offer->memory_mib <= 0 || need <= (double)offer->memory_mib * 0x1p20)
        return NULL;
    snprintf(why, EVIDENCE_WHY, "does not fit: the optimizer's states need %s of the host's memory",
             units_bytes((int64_t)fmin(need, 9e18)).s);
    return "not enough memory";
}

static void ask_library(const struct run_library *p, struct support_ask *ask)
{
    static const char kernels[] = "CUDA "; // "CUDA 13.0"
    const bool torch = strcmp(p->name, "torch") == 0;
    if (torch || strcmp(p->name, "jax") == 0) {
        ask->framework = torch ? "pytorch" : "jax";
        ask->version = p->version;
        if (p->kernels && strncmp(p->kernels, kernels, sizeof kernels - 1) == 0)
            ask->cuda = p->kernels + sizeof kernels - 1;
    }
    if (strcmp(p->name, "CUDA") == 0)
        ask->cuda = p->version;
}

// What the record tells of its framework; a command has it among its packages.
static struct support_ask asked_of(const struct run *run)
{
    struct support_ask ask = {.framework = run->framework};
    for (size_t i = 0; i < run->libraries.count; i++)
        ask_library(&run->libraries.items[i], &ask);
    for (size_t i = 0; i < run->code.packages.count; i++)
        ask_library(&run->code.packages.items[i], &ask);
    return ask;
}

const char *quote_unsupported(struct market *market, const struct run *run,
                              const struct device *device, char why[EVIDENCE_WHY])
{
    const struct support *support;
    char text[SUPPORT_WHY];
    const struct support_ask ask = asked_of(run);
    struct err ignored = {0};
    if (market_support(market, &support, &ignored) != 0 ||
        support_runs(support, &ask, device, text))
        return NULL;
    snprintf(why, EVIDENCE_WHY, "%s", text);
    return "not supported by the framework";
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

// ---- spot: with interruptions, work done again, restarts

#define REPLAYS             1000
#define REPLAYS_LEAST       10
#define ATTEMPTS            100000 // machines in all replays of a row, at most about
#define BYTES_PER_PARAMETER 12     // fp32: the parameter and Adam's two moments
#define DISK_BYTES_PER_S    125e6
#define ASSUMED_NS          (60 * NS_PER_S)
#define HISTORY_S           (INT64_C(365) * 86400)
#define SHORTEST_NS         NS_PER_S // between checkpoints

// ---- the training

static void checkpoint_by_size(struct spotting *s, int64_t parameters, struct buf *how)
{
    double bytes = (double)parameters * BYTES_PER_PARAMETER;
    s->replay.checkpoint_ns =
        (int64_t)fmin(bytes / DISK_BYTES_PER_S * 1e9, (double)BILL_LONGEST_NS);
    buf_printf(how,
               "estimated: %s of parameters and optimizer at %.0f MB/s, a network disk without "
               "extra throughput",
               units_bytes((int64_t)fmin(bytes, 9e18)).s, DISK_BYTES_PER_S / 1e6);
}

// Measured in the run, by its size, or assumed.
static int find_checkpoint(struct spotting *s, const struct run *run, struct err *err)
{
    const struct run_phases *p = &run->phases;
    struct buf how = {0};
    if (s->ask->checkpoint_ns.known) {
        s->replay.checkpoint_ns = s->ask->checkpoint_ns.v;
        buf_adds(&how, "given");
    } else if (p->checkpoints.known && p->checkpoints.v > 0 && p->checkpoint_ns.known &&
               p->checkpoint_ns.v > 0) {
        s->replay.checkpoint_ns = p->checkpoint_ns.v / p->checkpoints.v;
        buf_printf(&how, "measured: the mean of %s of the run",
                   units_count(p->checkpoints.v, "checkpoint").s);
    } else if (run->parameters.known && run->parameters.v > 0) {
        checkpoint_by_size(s, run->parameters.v, &how);
    } else {
        s->replay.checkpoint_ns = ASSUMED_NS;
        buf_adds(&how, "assumed; --checkpoint-time gives it");
    }
    s->bill->spot.checkpoint_s = some_real((double)s->replay.checkpoint_ns / 1e9);
    return text_take(&s->bill->spot.checkpoint_from, &how, err);
}

// Start-up, set-up and loading come again on each machine; the rest but checkpoints is work.
static int split_time(struct spotting *s, struct err *err)
{
    static const char *const again[] = {"boot",    "image",  "download", "install",
                                        "kernels", "set-up", "load"};
    const struct bill_time *t = s->time;
    struct buf how = {0};
    s->replay.work_ns = t->total_ns;
    for (size_t i = 0; i < t->count; i++) {
        bool restart = false;
        char words[48];
        for (size_t k = 0; k < sizeof again / sizeof *again; k++)
            restart |= strcmp(t->parts[i].what, again[k]) == 0;
        if (!restart && strcmp(t->parts[i].what, "checkpoint") != 0)
            continue;
        s->replay.work_ns -= t->parts[i].ns;
        if (!restart)
            continue;
        clock_words(t->parts[i].ns, words, sizeof words);
        buf_printf(&how, "%s%s %s", how.len > 0 ? ", " : "", t->parts[i].what, words);
        s->replay.restart_ns += t->parts[i].ns;
    }
    if (s->replay.work_ns < 1)
        s->replay.work_ns = 1;
    s->replay.first_ns = s->replay.restart_ns;
    s->bill->spot.restart_s = some_real((double)s->replay.restart_ns / 1e9);
    return how.len > 0 ? text_take(&s->bill->spot.restart_from, &how, err) : (buf_release(&how), 0);
}

static int find_notice(struct spotting *s, struct err *err)
{
    struct warnings warnings;
    struct buf from = {0};
    TRY(warnings_open(&warnings, err));
    const struct warning *n = warnings_find(&warnings, s->offer->provider);
    if (n && n->ns >= 0)
        s->bill->spot.notice_s = some_real((double)n->ns / 1e9);
    if (n)
        buf_printf(&from, "%s%s%s", n->words ? n->words : "", n->words ? "; " : "", n->source);
    int rc = n ? text_take(&s->bill->spot.notice_from, &from, err) : 0;
    warnings_release(&warnings);
    return rc;
}

static void choose_interval(struct spotting *s)
{
    double cost = (double)s->replay.checkpoint_ns, mean = (double)s->between_ns;
    if (s->ask->every_ns.known)
        s->replay.interval_ns = s->ask->every_ns.v;
    else if (mean > 0)
        s->replay.interval_ns = (int64_t)fmin(theory_daly(cost, mean), (double)BILL_LONGEST_NS);
    else
        s->replay.interval_ns = s->replay.work_ns; // one, at the end
    if (s->replay.interval_ns < SHORTEST_NS)
        s->replay.interval_ns = SHORTEST_NS;
    s->bill->spot.interval_s = some_real((double)s->replay.interval_ns / 1e9);
}

// ---- the bill

// One disk for all machines, and the last of them while stopped: what they add to one use.
static int add_kept(const struct spotting *s, double wall_ns, int64_t *nano, struct err *err)
{
    struct wishes kept = *s->wishes, machine;
    struct charge both, alone;
    int64_t length_ns = (int64_t)fmin(wall_ns + 0.5, (double)BILL_LONGEST_NS);
    if (!s->kept)
        return 0;
    kept.egress_bytes = kept.ingress_bytes = 0;
    kept.without_history = true;
    machine = kept;
    machine.storage_gb = 0;
    machine.keep_ns.known = false;
    TRY(priced_charge(&s->price, &kept, length_ns, &both, err));
    TRY(priced_charge(&s->price, &machine, length_ns, &alone, err));
    return money_add(*nano, both.total - alone.total, nano, err);
}

static int course_usd(const struct spotting *s, double nano, double wall_ns, int64_t *usd,
                      struct err *err)
{
    if (!(nano >= 0 && nano < 9e18))
        return err_set(err, ERR_OVERFLOW, "the bill is too large");
    int64_t amount = (int64_t)(nano + 0.5);
    TRY(add_kept(s, wall_ns, &amount, err));
    return priced_usd(&s->price, amount, usd, err);
}

int spot_usd(const struct spotting *s, double nano, double wall_ns, int64_t *usd, struct err *err)
{
    int64_t amount = 0;
    TRY(course_usd(s, nano, wall_ns, &amount, err));
    TRY(money_sub(amount, s->base_nano, &amount, err));
    return money_add(s->total_nano, amount, usd, err);
}

// Without interruptions and checkpoints, at today's price.
static struct replay plain_replay(const struct spotting *s)
{
    struct replay plain = s->replay;
    plain.work_ns = s->time->total_ns - plain.first_ns;
    plain.interval_ns = plain.mean_ns = plain.life_ns = 0;
    plain.trace = NULL;
    plain.prices = NULL;
    plain.count = 1;
    return plain;
}

// The bill's own differs from that in what comes once: traffic.
static int find_base(struct spotting *s, struct err *err)
{
    struct replay plain = plain_replay(s);
    struct replay_result result;
    s->total_nano = bill_total(s->bill);
    TRY(plain.work_ns > 0 ? replay_one(&plain, 0, &result, err) : 0);
    return plain.work_ns > 0
               ? course_usd(s, (double)result.nano, (double)result.wall_ns, &s->base_nano, err)
               : 0;
}

static int add_line(struct spotting *s, const char *what, const char *how, int64_t more,
                    struct err *err)
{
    struct bill *b = s->bill;
    struct bill_item *item = LIST_ADD(&b->items, err);
    if (!item)
        return ERR_MEMORY;
    item->amount = some_money(more);
    TRY(text_set(&item->what, what, err));
    return text_set(&item->how, how, err);
}

// What the history's prices make of it without interruptions, and then what those add.
static int add_lines(struct spotting *s, int64_t extra, struct err *err)
{
    char how[96], mean[MONEY_BYTES];
    struct replay plain = plain_replay(s);
    struct replay_summary sum = {0};
    int64_t level = 0;
    if (s->replay.prices && plain.work_ns > 0) {
        plain.prices = s->replay.prices;
        plain.count = REPLAYS;
        TRY(replay_all(&plain, &sum, err));
        TRY(spot_usd(s, sum.mean_nano, sum.mean_wall_ns, &level, err));
        level -= s->total_nano;
        money_short(replay_price(plain.prices, 0, plain.prices->length_ns), mean);
        snprintf(how, sizeof how, "%s USD an hour on average", mean);
        TRY(level != 0 ? add_line(s, "price history", how, level, err) : 0);
    }
    snprintf(how, sizeof how, "%.1f interruptions on average", s->bill->spot.interruptions.v);
    return extra == level ? 0
                          : add_line(s, "interruptions and checkpoints", how, extra - level, err);
}

static int add_to(struct maybe_money *amount, int64_t more, struct err *err)
{
    int64_t after = 0;
    if (!amount->known)
        return 0;
    TRY(money_add(amount->nano, more, &after, err));
    *amount = some_money(after > 0 ? after : 0);
    return 0;
}

static int set_local(struct spotting *s, struct err *err)
{
    struct bill *b = s->bill;
    const char *to = s->wishes->currency;
    if (!to)
        return 0;
    TRY(local_money(s->market, to, s->price.day, b->total, &b->local_total, err));
    TRY(local_money(s->market, to, s->price.day, b->low, &b->local_low, err));
    return local_money(s->market, to, s->price.day, b->high, &b->local_high, err);
}

// The ends of the time's own interval widen those of the replays in proportion.
static double stretch(const struct bill_time *t, int64_t end_ns)
{
    return end_ns >= 0 && t->total_ns > 0 ? (double)end_ns / (double)t->total_ns : 1;
}

static int set_bill(struct spotting *s, const struct replay_summary *sum, struct err *err)
{
    struct bill *b = s->bill;
    const struct bill_time *t = s->time;
    int64_t mean = 0, low = 0, high = 0, waiting = 0;
    double less = stretch(t, t->low_ns), more = stretch(t, t->high_ns);
    TRY(spot_usd(s, sum->mean_nano, sum->mean_wall_ns, &mean, err));
    double low_ns = (double)sum->wall_ns.low * less, high_ns = (double)sum->wall_ns.high * more;
    TRY(spot_usd(s, (double)sum->nano.low * less, low_ns, &low, err));
    TRY(spot_usd(s, (double)sum->nano.high * more, high_ns, &high, err));
    int64_t extra = mean - s->total_nano;
    b->spot.interruptions = some_real(sum->mean_interruptions);
    b->spot.lost_s = some_real(sum->mean_lost_ns / 1e9);
    b->time_s = some_real(sum->mean_wall_ns / 1e9);
    b->charged_s = some_real(sum->mean_charged_ns / 1e9);
    b->low_s = some_real(low_ns / 1e9);
    b->high_s = some_real(high_ns / 1e9);
    TRY(add_lines(s, extra, err));
    TRY(add_to(&b->by_hours, extra, err));
    b->total = some_money(mean > 0 ? mean : 0);
    b->low = some_money(low > 0 ? low < mean ? low : mean : 0);
    b->high = some_money(high > mean ? high : mean);
    if (s->wishes->hour_of_mine.known) {
        TRY(money_scale(s->wishes->hour_of_mine.v, (int64_t)sum->mean_wall_ns, 3600 * NS_PER_S,
                        MONEY_HALF_EVEN, &waiting, err));
        b->waiting = some_money(waiting);
    }
    return 0;
}

// The user's credit pays interruptions too, on each way to do it that was replayed.
static int take_credit(struct spotting *s, struct err *err)
{
    int64_t credit = 0;
    TRY(bill_take_credit(s->market, s->wishes, s->offer, s->bill, &credit, err));
    for (size_t i = 0; i < s->bill->spot.rows.count; i++) {
        struct spot_row *row = &s->bill->spot.rows.items[i];
        struct maybe_money *const amounts[] = {&row->mean, &row->low, &row->middle, &row->high};
        for (size_t k = 0; row->interruptions.known && k < sizeof amounts / sizeof *amounts; k++)
            TRY(add_to(amounts[k], -credit, err));
    }
    return set_local(s, err);
}

// The mean time if interruptions are random; without any otherwise.
static double expected_ns(const struct spotting *s, const struct replay *r)
{
    double mean = (double)s->between_ns, work = (double)r->work_ns, restart = (double)r->restart_ns;
    if (mean <= 0 || r->trace)
        return (double)replay_uninterrupted_ns(r);
    return r->interval_ns > 0 ? theory_expected(work, (double)r->interval_ns,
                                                (double)r->checkpoint_ns, restart, mean)
                              : theory_unsaved(work, restart, mean);
}

// Too many machines would be used: fewer replays say as much.
static size_t replays(const struct spotting *s, const struct replay *r)
{
    double machines = s->between_ns > 0 ? 1 + expected_ns(s, r) / (double)s->between_ns : 1;
    double count = ATTEMPTS / machines;
    return count > REPLAYS ? REPLAYS : count < REPLAYS_LEAST ? REPLAYS_LEAST : (size_t)count;
}

// Whether a formula says already that every replay would be given up.
static bool hopeless(const struct spotting *s, const struct replay *r)
{
    double expected = expected_ns(s, r);
    if (r->demand)
        return false;
    if (r->interval_ns == 0 && r->life_ns > 0 && replay_uninterrupted_ns(r) > r->life_ns)
        return true;
    return !r->trace && r->mean_ns > 0 &&
           !(expected < (double)(r->first_ns + r->work_ns) * REPLAY_LIMIT &&
             expected < (double)r->mean_ns * REPLAY_MACHINES);
}

int spot_replay(const struct spotting *s, struct replay *r, struct replay_summary *sum,
                struct err *err)
{
    r->count = replays(s, r);
    if (!hopeless(s, r))
        return replay_all(r, sum, err);
    *sum = (struct replay_summary){.count = 1, .late = 1};
    return 0;
}

static int say_unfinished(struct spotting *s, const struct replay_summary *sum, struct err *err)
{
    struct buf text = {0};
    if (sum->late == 0)
        return 0;
    if (sum->finished > 0) {
        buf_printf(&text, "%.0f %% of the replays take more than %d times the uninterrupted time",
                   100.0 * (double)sum->late / (double)sum->count, REPLAY_LATE);
        if (sum->finished < sum->count)
            buf_printf(&text, "; %zu of %zu were given up, so the bill is a lower bound",
                       sum->count - sum->finished, sum->count);
        if (sum->finished < sum->count)
            s->bill->spot.lower_bound = some_bool(true);
        return texts_take(&s->bill->notes, &text, err);
    }
    s->bill->spot.never_ends = some_bool(true);
    return texts_add(
        &s->bill->notes,
        "it is interrupted too often for this training ever to finish there, or is never "
        "available: the bill leaves interruptions out, and nobody would pay so little",
        err);
}

static int expect(struct spotting *s, struct err *err)
{
    struct bill_spot *spot = &s->bill->spot;
    struct replay_summary sum = {0};
    choose_interval(s);
    if (s->between_ns > 0)
        spot->between_s = some_real((double)s->between_ns / 1e9);
    TRY(text_set(&spot->method, s->hazard.trace ? "replayed" : "simulated", err));
    TRY(find_base(s, err));
    spot->uninterrupted = s->bill->total;
    TRY(spot_replay(s, &s->replay, &sum, err));
    spot->replays = some_int((int64_t)s->replay.count);
    TRY(say_unfinished(s, &sum, err));
    if (sum.finished > 0)
        TRY(set_bill(s, &sum, err));
    return s->ask->rows ? spot_add_rows(s, err) : 0;
}

// Nobody knows how often it is taken away: the bill is the least that it can be.
static int say_unknown(struct spotting *s, struct err *err)
{
    s->bill->spot.lower_bound = some_bool(true);
    s->bill->spot.uninterrupted = s->bill->total;
    return texts_add(
        &s->bill->notes,
        s->hazard.life_ns > 0 && s->time->total_ns > s->hazard.life_ns
            ? "interruptions before its provider ends it are not counted: how many is unknown. "
              "--mtbi or --trace counts them"
            : "how often it is taken away is unknown: this is the bill if it never is. --mtbi or "
              "--trace counts interruptions, as do imports of AWS's spot advisor and of "
              "availability traces",
        err);
}

// Only its last year: older prices say little.
static void cut_old(struct spot_series *p)
{
    int64_t from_s = p->until_s - HISTORY_S;
    size_t first = p->count - 1;
    while (first > 0 && p->changes[first].at_s > from_s)
        first--;
    if (p->changes[first].at_s < from_s)
        p->changes[first].at_s = from_s;
    memmove(p->changes, p->changes + first, (p->count - first) * sizeof *p->changes);
    p->count -= first;
}

// The history of the offer's zone, else the first; null: none, or its amounts are not the rule's.
static struct spot_series *series_of(const struct spotting *s, const struct spot_history *h)
{
    struct spot_series *found = h->count > 0 ? &h->series[0] : NULL;
    if (s->wishes->start_s != 0 || s->price.own_rate || s->price.rate_given ||
        strcmp(s->price.currency, "USD") != 0)
        return NULL;
    for (size_t i = 0; i < h->count; i++)
        if (h->series[i].zone && strcmp(h->series[i].zone, s->offer->zone) == 0)
            found = &h->series[i];
    if (found && found->count > 0)
        cut_old(found);
    return found && found->count > 0 ? found : NULL;
}

// The prices to replay, and words for them if they ever changed.
static int take_prices(struct spotting *s, const struct spot_series *series,
                       struct replay_prices *prices, struct err *err)
{
    char length[48], mean[MONEY_BYTES];
    struct buf words = {0};
    TRY(replay_prices_init(prices, series, err));
    s->replay.prices = prices;
    if (series->count < 2)
        return 0;
    clock_words(prices->length_ns, length, sizeof length);
    money_short(replay_price(prices, 0, prices->length_ns), mean);
    buf_printf(&words, "its history of %s, %s USD an hour on average", length, mean);
    return text_take(&s->bill->spot.prices, &words, err);
}

// Nobody knows how often it is taken away; what its price did is known.
static int with_prices(struct spotting *s, const struct spot_series *series, struct err *err)
{
    SCOPED(replay_prices_release) struct replay_prices prices = {0};
    struct replay_summary sum = {0};
    TRY(take_prices(s, series, &prices, err));
    s->replay.work_ns = s->time->total_ns;
    s->replay.count = REPLAYS;
    s->bill->spot.replays = some_int(REPLAYS);
    TRY(find_base(s, err));
    TRY(replay_all(&s->replay, &sum, err));
    return sum.finished > 0 ? set_bill(s, &sum, err) : 0;
}

// Replays with the hazard that was found.
static int with_hazard(struct spotting *s, const struct run *run, const struct spot_series *series,
                       struct err *err)
{
    SCOPED(replay_prices_release) struct replay_prices prices = {0};
    struct replay *r = &s->replay;
    TRY(find_checkpoint(s, run, err));
    TRY(split_time(s, err));
    TRY(find_notice(s, err));
    if (series)
        TRY(take_prices(s, series, &prices, err));
    r->trace = s->hazard.trace;
    r->mean_ns = s->hazard.mean_ns;
    r->life_ns = s->hazard.life_ns;
    s->between_ns =
        s->hazard.trace ? (int64_t)(availability_mean_s(s->hazard.trace) * 1e9) : s->hazard.mean_ns;
    // Never taken away as far as the trace goes: once in that time, or in the training's, at most.
    if (s->hazard.trace && availability_share(s->hazard.trace) >= 1 && s->between_ns < r->work_ns)
        s->between_ns = r->work_ns;
    if (s->between_ns == 0 || (r->life_ns > 0 && r->life_ns < s->between_ns))
        s->between_ns = r->life_ns;
    return expect(s, err);
}

static int find_hazard(struct spotting *s, struct spot_history *history, bool *unknown,
                       struct err *err)
{
    bool bids = s->ask->hazard.bid > 0;
    TRY(bids ? spot_history_read(s->market, s->offer, history, err) : 0);
    TRY(hazard_find(s->market, s->offer, wishes_day(s->wishes), &s->ask->hazard,
                    series_of(s, history), &s->hazard, err));
    TRY(TEXTS_SET(
        err, {&s->bill->spot.hazard, hazard_word(s->hazard.kind)},
        {&s->bill->spot.hazard_words, s->hazard.words.len > 0 ? buf_str(&s->hazard.words) : NULL}));
    *unknown = s->hazard.kind == HAZARD_UNKNOWN &&
               (s->hazard.life_ns == 0 || s->time->total_ns <= s->hazard.life_ns);
    TRY(s->hazard.kind == HAZARD_UNKNOWN ? say_unknown(s, err) : 0);
    return bids ? 0 : spot_history_read(s->market, s->offer, history, err);
}

static void spotting_release(struct spotting *s)
{
    hazard_release(&s->hazard);
}

int quote_spot(struct market *market, const struct wishes *wishes, const struct spot_ask *ask,
               const struct offer *offer, const struct run *run, const struct bill_time *time,
               struct bill *bill, struct err *err)
{
    SCOPED(spotting_release)
    struct spotting s = {
        .market = market, .wishes = wishes, .ask = ask, .offer = offer, .time = time, .bill = bill};
    SCOPED(spot_history_release) struct spot_history history = {0};
    if (offer->kind != OFFER_SPOT)
        return 0;
    TRY(market_price(market, offer, wishes, &s.price, err));
    s.kept = wishes_stopped_ns(wishes, time->total_ns) > 0;
    s.replay =
        (struct replay){.rule = &s.price.rule,
                        .prorated = wishes->prorated,
                        .start_s = s.price.start_s,
                        .storage_gb = s.kept ? 0 : wishes->storage_gb,
                        .discount_permille = s.price.own ? s.price.own->discount_permille : 0,
                        .seed = 1};
    bool unknown = true;
    TRY(find_hazard(&s, &history, &unknown, err));
    const struct spot_series *series = series_of(&s, &history);
    if (!unknown)
        TRY(with_hazard(&s, run, series, err));
    else if (series && series->count > 1 && time->total_ns > 0)
        TRY(with_prices(&s, series, err));
    return take_credit(&s, err);
}
