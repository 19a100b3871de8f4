// SPDX-License-Identifier: Apache-2.0
#include "advise/quote.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "advise/estimates.h"
#include "advise/evidence.h"
#include "advise/quote_parts.h"
#include "advise/verdict.h"
#include "book/listing.h"

#define GPUS_MAX 1000000 // of one machine: a record may claim any number

static void know_provider(struct quote_search *s, const struct offer *offer)
{
    if (s->provider == offer->provider ||
        (s->provider && strcmp(s->provider, offer->provider) == 0))
        return;
    s->provider = offer->provider;
    s->factors = tariff_has_regions(s->tariffs, offer->provider);
    s->ends = tariff_has_end(s->tariffs, offer->provider);
}

int64_t quote_ends_after_s(struct quote_search *s, const struct offer *offer)
{
    know_provider(s, offer);
    if (offer->kind == OFFER_SPOT) // it goes on with another machine
        return 0;
    const struct tariff *t = s->ends ? tariff_for(s->tariffs, offer, s->day, NULL) : NULL;
    return t && t->ends_after_s.known ? t->ends_after_s.v : 0;
}

// To choose among regions, which may have their own factors and currencies. Most providers have no
// factors, and a book has many offers: their list prices are compared.
static int hour_in_usd(struct quote_search *s, const struct offer *offer, int64_t *usd,
                       struct err *err)
{
    struct priced price;
    int rc;
    know_provider(s, offer);
    if (!s->factors) {
        rc = currency_to_usd(s->currencies, offer->currency, s->day, offer_per_hour(offer), usd,
                             NULL, NULL);
    } else {
        rc = market_price(s->ask->market, offer, &s->ask->wishes, &price, NULL);
        if (rc == 0)
            rc = priced_hour(&price, usd, NULL);
    }
    if (rc != 0)
        *usd = INT64_MAX; // it becomes a misfit
    else if (doubt_below(s->machine.least_hour, offer, *usd))
        *usd = INT64_MAX; // doubtful: any other region counts first
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}

// The same offer in another region. The book is sorted by name, so it is near the end.
static struct candidate *twin(struct candidates *found, const struct offer *o, size_t training)
{
    for (size_t i = found->count; i-- > 0;) {
        struct candidate *c = &found->items[i];
        if (strcmp(c->offer.name, o->name) != 0 || strcmp(c->offer.provider, o->provider) != 0)
            return NULL;
        if (c->offer.kind == o->kind && c->proof->from->training == training)
            return c;
    }
    return NULL;
}

static void count_group(struct quote_search *s, const struct offer *offer, bool found)
{
    if (!s->last_name || strcmp(s->last_name, offer->name) != 0 ||
        strcmp(s->last_provider, offer->provider) != 0) {
        s->last_provider = offer->provider;
        s->last_name = offer->name;
        s->kinds_seen = s->kinds_found = 0;
    }
    unsigned int bit = 1u << offer->kind;
    if (found && !(s->kinds_found & bit))
        s->not_measured -= (s->kinds_seen & bit) != 0;
    else if (!found && !(s->kinds_found & bit))
        s->not_measured += !(s->kinds_seen & bit);
    s->kinds_seen |= bit;
    s->kinds_found |= found ? bit : 0;
}

static bool wanted_gpu(const struct quote_search *s, const struct offer *offer)
{
    const struct quote_ask *ask = s->ask;
    int64_t asked = ask->gpus * INT64_C(1000),
            has = offer->gpus_milli * proof_machines(&s->proofs, ask->gpus, offer);
    bool among = ask->among_count == 0;
    if (asked > 0 && (has < asked || (ask->exact_gpus && has > asked)))
        return false;
    for (size_t i = 0; i < ask->among_count && !among; i++)
        among = strcasecmp(offer->gpu, ask->among[i]->name) == 0;
    if (!among)
        return false;
    if (!s->ask->gpu)
        return true;
    const struct device *wanted = device_find(s->proofs.devices, s->ask->gpu);
    return *offer->gpu && strcasecmp(offer->gpu, wanted ? wanted->name : s->ask->gpu) == 0;
}

// Replays are of one machine.
static const char *not_together(const struct proofs *proofs, int64_t gpus,
                                const struct offer *offer, char why[EVIDENCE_WHY])
{
    if (offer->kind != OFFER_SPOT || proof_machines(proofs, gpus, offer) == 1)
        return NULL;
    snprintf(why, EVIDENCE_WHY,
             "of several spot machines, nobody knows how often one of them is taken away");
    return "several spot machines";
}

static int add_candidate(struct quote_search *s, const struct offer *offer,
                         const struct proof_match *m, struct err *err)
{
    const struct proof *p = m->proof;
    char why[EVIDENCE_WHY];
    size_t training = p->from->training;
    int64_t ends_s = quote_ends_after_s(s, offer);
    const char *reason = quote_not_offered(offer, s->day, why);
    if (!reason)
        reason = proof_too_large(&s->proofs, p, offer, why);
    if (!reason)
        reason = quote_too_late(ends_s, (double)p->time.total_ns / 1e9, why);
    if (!reason)
        reason = not_together(&s->proofs, p->gpus, offer, why);
    if (reason)
        return training == 0 ? quote_leave_out(&s->leaving, offer, reason, why, true, err) : 0;
    bool every = s->ask->every_region;
    int64_t per_hour = 0;
    TRY(every ? 0 : hour_in_usd(s, offer, &per_hour, err));
    struct candidate *c = every ? NULL : twin(&s->found, offer, training);
    if (c && c->per_hour <= per_hour)
        return 0;
    if (!c)
        c = LIST_ADD(&s->found, err);
    if (!c)
        return ERR_MEMORY;
    *c = (struct candidate){
        .offer = *offer, .proof = p, .match = *m, .per_hour = per_hour, .ends_s = ends_s};
    return 0;
}

static double boot_s(const struct quote_search *s, const struct offer *offer)
{
    if (s->ask->startup.boot_ns.known)
        return (double)s->ask->startup.boot_ns.v / 1e9;
    const struct startup_row *row = startup_find(s->startups, offer, "boot");
    return row ? (double)row->ns / 1e9 : 0;
}

// Without a known time there is nothing to say of each offer.
static bool has_estimates(const struct quote_search *s)
{
    return s->estimates && s->proofs.count > 0;
}

// Null: there is an estimate; else the reason in a few words, and `*why`, perhaps in `room`.
static const char *no_estimate(struct quote_search *s, const struct offer *offer,
                               const struct estimated *e, const char **why, char room[EVIDENCE_WHY])
{
    *why = room;
    const char *retired = quote_not_offered(offer, s->day, room);
    if (retired)
        return retired;
    if (!e && *offer->gpu) {
        *why = "estimates are for whole GPUs, or for a part of one";
        return "no such number of GPUs";
    }
    if (!e) {
        bool counted = offer->vcpus_milli > 0;
        *why = counted ? ESTIMATE_NEEDS_CPU : "the number of its virtual CPUs is not known";
        return counted ? ESTIMATE_NO_GPU : "unknown number of virtual CPUs";
    }
    if (!e->proof) {
        *why = *e->estimate.why ? e->estimate.why : "no run has a known time";
        return "no estimate";
    }
    if (!estimated_known(e)) {
        *why = e->estimate.why;
        return e->estimate.reason;
    }
    *why = s->machine.unfit_why;
    if (s->machine.unfit)
        return s->machine.unfit;
    *why = room;
    const char *reason = proof_no_memory(e->proof, offer, room);
    if (!reason)
        reason = quote_no_host_memory(e, offer, room);
    if (!reason)
        reason = not_together(&s->proofs, e->to.gpus, offer, room);
    return reason ? reason : quote_too_late(quote_ends_after_s(s, offer), e->estimate.time_s, room);
}

// Only the cheapest region, even if all were asked for: estimates do not tell them apart.
static int add_estimate(struct quote_search *s, const struct offer *offer, struct err *err)
{
    const struct estimated *e = s->machine.estimate;
    const char *why;
    char room[EVIDENCE_WHY];
    int64_t per_hour = 0;
    if (!has_estimates(s) || (s->ask->model && !*offer->gpu)) // it is for GPUs alone
        return 0;
    const char *reason = no_estimate(s, offer, e, &why, room);
    if (reason)
        return quote_leave_out(&s->leaving, offer, reason, why,
                               e && (*offer->gpu || estimated_known(e)), err);
    TRY(hour_in_usd(s, offer, &per_hour, err));
    struct candidate *c = twin(&s->estimated, offer, 0);
    if (c && c->per_hour <= per_hour)
        return 0;
    if (!c)
        c = LIST_ADD(&s->estimated, err);
    if (!c)
        return ERR_MEMORY;
    *c = (struct candidate){.offer = *offer,
                            .proof = e->proof,
                            .per_hour = per_hour,
                            .estimated = e,
                            .ends_s = quote_ends_after_s(s, offer)};
    return 0;
}

// One row for each training that was measured on such a machine.
// Texts of one layer of a book are equal only if their addresses are.
static bool is_same_machine(const struct offer *a, const struct offer *b)
{
    return a->provider == b->provider && a->name == b->name && a->gpu == b->gpu &&
           a->cpu == b->cpu && a->gpus_milli == b->gpus_milli &&
           a->gpu_memory_mib == b->gpu_memory_mib && a->vcpus_milli == b->vcpus_milli;
}

// Whether the training runs on a machine with an estimate, whatever the offer.
static void know_unfit(struct quote_search *s, const struct offer *offer)
{
    struct quote_machine *m = &s->machine;
    const struct estimated *e = m->estimate;
    m->unfit = NULL;
    if (!e || !e->proof || !estimated_known(e))
        return;
    m->unfit = quote_cannot_run(e->to.device, s->day, m->unfit_why);
    if (!m->unfit && *offer->gpu)
        m->unfit = quote_unsupported(s->ask->market, e->proof->run, e->to.device, m->unfit_why);
}

static int know_machine(struct quote_search *s, const struct offer *offer, struct err *err)
{
    struct quote_machine *m = &s->machine;
    if (is_same_machine(&m->offer, offer))
        return 0;
    m->estimate = NULL;
    m->found = proofs_find(&s->proofs, offer, m->best) != NULL;
    m->least_hour = doubt_least(s->proofs.devices, offer);
    if (!m->found && has_estimates(s))
        TRY(estimates_find(s->estimates, offer, &m->estimate, err));
    know_unfit(s, offer);
    m->offer = *offer;
    return 0;
}

static int consider(void *search, const struct offer *offer, struct err *err)
{
    struct quote_search *s = search;
    if (!wanted_gpu(s, offer))
        return 0;
    TRY(know_machine(s, offer, err));
    count_group(s, offer, s->machine.found);
    s->matched |= s->machine.found;
    if (!s->machine.found)
        TRY(add_estimate(s, offer, err));
    for (size_t i = 0; i < QUOTE_TRAININGS; i++)
        if (s->machine.best[i].proof)
            TRY(add_candidate(s, offer, &s->machine.best[i], err));
    return 0;
}

// ---- bills

static int add_bill(struct quote_search *s, const struct candidate *c, const char *basis,
                    struct err *err)
{
    return quote_add_bill(s->ask, c, basis, &s->leaving, err);
}

// The machine of the first run.
static void own_measured(const struct quote_search *s, struct candidate *c)
{
    const struct proof *p = &s->proofs.items[0];
    int64_t has = p->run->machine.gpus.known && p->run->machine.gpus.v > p->gpus
                      ? p->run->machine.gpus.v
                      : p->gpus;
    c->proof = p;
    c->offer.gpu = p->gpus > 0 && p->device ? p->device->name : "";
    c->offer.gpus_milli = p->gpus <= 0 ? 0 : has < GPUS_MAX ? (int)has * 1000 : GPUS_MAX * 1000;
}

// A machine with another GPU, and as many as the first run used: measured by another run, or
// estimated.
static int own_other(struct quote_search *s, struct candidate *c, struct err *err)
{
    const struct device *device = device_find(s->proofs.devices, s->ask->own_gpu);
    struct proof_match best[QUOTE_TRAININGS];
    int64_t gpus = s->ask->model ? s->ask->gpus : s->proofs.items[0].gpus;
    if (!device) {
        err_set(err, ERR_USAGE, "no GPU is called '%.60s'", s->ask->own_gpu);
        return err_hint(err, "'fare prices devices' lists them");
    }
    c->offer.gpu = device->name;
    c->offer.gpu_memory_mib = device->memory_mib;
    c->offer.gpus_milli = gpus <= 1 ? 1000 : gpus < GPUS_MAX ? (int)gpus * 1000 : GPUS_MAX * 1000;
    c->proof = proofs_find(&s->proofs, &c->offer, best);
    c->match = best[0];
    if (c->proof || !s->estimates)
        return 0;
    TRY(estimates_find(s->estimates, &c->offer, &c->estimated, err));
    if (c->estimated && estimated_known(c->estimated))
        c->proof = c->estimated->proof;
    return 0;
}

// A bought machine as an offer with a price per hour of use.
static int add_own(struct quote_search *s, struct err *err)
{
    const struct quote_ask *ask = s->ask;
    struct quote *q = s->quote;
    struct candidate c = {.proof = NULL};
    struct own_hour hour;
    SCOPED(buf_release) struct buf words = {0};
    TRY(own_offer(ask->own, ask->own_gpu ? "bought machine" : "this machine, bought", &c.offer,
                  err));
    TRY(own_hour(ask->own, &hour, err));
    if (ask->own_gpu)
        TRY(own_other(s, &c, err));
    else if (!ask->asked || s->proofs.items[0].asked)
        own_measured(s, &c);
    if (!c.proof)
        return 0;
    c.offer.day = s->day;
    size_t bills = q->bills.count, estimates = q->estimates.count;
    TRY(add_bill(s, &c, NULL, err));
    own_words(ask->own, &hour, "USD", &words);
    struct bill *added = q->bills.count > bills           ? &q->bills.items[bills]
                         : q->estimates.count > estimates ? &q->estimates.items[estimates]
                                                          : NULL;
    if (q->estimates.count > estimates) { // counted with the offers
        q->estimated = some_int(q->estimated.v + 1);
        q->not_measured.v += q->not_measured.known;
    }
    TRY(buf_check(&words, err));
    return added ? texts_add(&added->notes, buf_str(&words), err) : 0;
}

// ---- prices that are too old

struct oldest {
    const struct quote_search *search;
    struct offer offer; // that fits, with the newest price
    bool found;
};

static int consider_old(void *arg, const struct offer *offer, struct err *err)
{
    (void)err;
    struct oldest *o = arg;
    const struct proofs *proofs = &o->search->proofs;
    struct proof_match best[QUOTE_TRAININGS];
    const struct proof *p;
    char why[EVIDENCE_WHY];
    p = wanted_gpu(o->search, offer) ? proofs_find(proofs, offer, best) : NULL;
    if (!p || proof_too_large(proofs, p, offer, why) || (o->found && offer->day <= o->offer.day))
        return 0;
    o->offer = *offer;
    o->found = true;
    return 0;
}

// If no offer matches, looks for one whose price is too old.
static int add_outdated(struct quote_search *s, const struct book_filter *aged, struct err *err)
{
    struct oldest oldest = {.search = s};
    struct book_filter filter = *aged;
    SCOPED(buf_release) struct buf name = {0};
    filter.aged = false;
    int rc = book_each(s->book, &filter, consider_old, &oldest, err);
    if (rc != 0 || !oldest.found)
        return rc;
    book_name(&oldest.offer, &name);
    rc = buf_check(&name, err);
    if (rc == 0)
        rc = text_set(&s->quote->outdated, buf_str(&name), err);
    s->quote->outdated_days = some_int(filter.day - oldest.offer.day);
    return rc;
}

static int by_expected(const void *a, const void *b)
{
    double x = ((const struct candidate *)a)->expected, y = ((const struct candidate *)b)->expected;
    return x < y ? -1 : x > y;
}

static bool is_bound(const struct candidate *c)
{
    return c->estimated->estimate.kind == ESTIMATE_BOUND;
}

// The estimate that ends first, as verdict_of_bills() has it; SIZE_MAX: there is none.
static int find_soonest(const struct quote_search *s, size_t *found, struct err *err)
{
    const struct candidates *all = &s->estimated;
    double least_ns = 0;
    *found = SIZE_MAX;
    for (size_t i = 0; i < all->count; i++) {
        struct bill_time time;
        bool known;
        if (is_bound(&all->items[i]))
            continue;
        TRY(quote_candidate_time(s->ask, &all->items[i], &time, &known, err));
        double ns = (double)(time.high_ns >= 0 ? time.high_ns : time.total_ns);
        bool spot = all->items[i].offer.kind == OFFER_SPOT,
             other = *found == SIZE_MAX || all->items[*found].offer.kind == OFFER_SPOT;
        // Of those that are alike the cheapest, which is first. A spot machine only if all are.
        if (*found == SIZE_MAX || (other && !spot) ||
            (spot == other && ns < least_ns * QUOTE_ALIKE)) {
            least_ns = ns;
            *found = i;
        }
    }
    return 0;
}

// Whether the last estimate's bill can be called the cheapest.
static bool is_firm(const struct quote *quote)
{
    const struct bill *last = quote->estimates.items + quote->estimates.count - 1;
    return quote->estimates.count > 0 && verdict_can_lead(last) && !quote_doubt(last);
}

// Kinds of GPU of which the cheapest offer on demand has its bill.
struct kinds {
    struct {
        const char *gpu;
        int gpus_milli;
    } seen[256];
    size_t count;
    int oldest; // of prices that count: those of the newest generation (standing.h)
};

static int oldest_current(const struct candidates *all, int day)
{
    int newest = INT_MAX - PRICE_CURRENT_DAYS;
    for (size_t i = 0; i < all->count; i++) {
        int age = offer_age(&all->items[i].offer, day);
        newest = age < newest ? age : newest;
    }
    return (int)price_oldest_age(newest);
}

// The candidates come cheapest first.
static bool is_first_of_kind(struct kinds *kinds, const struct offer *offer, int day)
{
    const size_t room = sizeof kinds->seen / sizeof *kinds->seen;
    if (offer->kind != OFFER_ON_DEMAND || !*offer->gpu || offer->lacks != 0 ||
        offer->basis == BASIS_FLOOR || offer_age(offer, day) > kinds->oldest ||
        kinds->count == room)
        return false;
    for (size_t i = 0; i < kinds->count; i++)
        if (kinds->seen[i].gpus_milli == offer->gpus_milli &&
            strcmp(kinds->seen[i].gpu, offer->gpu) == 0)
            return false;
    kinds->seen[kinds->count].gpu = offer->gpu;
    kinds->seen[kinds->count++].gpus_milli = offer->gpus_milli;
    return true;
}

// Bills of the cheapest estimates, as many as were asked for, of the cheapest of each kind of GPU,
// of the one that ends first, and of the first that is no lower bound.
static int add_estimates(struct quote_search *s, struct err *err)
{
    struct candidates *all = &s->estimated;
    size_t most = s->ask->most_estimates;
    if (!s->estimates)
        return 0;
    if (most == 0 || most > all->count)
        most = all->count;
    for (size_t i = 0; i < all->count; i++) {
        struct candidate *c = &all->items[i];
        c->expected = (double)c->per_hour * (boot_s(s, &c->offer) + c->estimated->estimate.time_s);
    }
    if (all->count > 1)
        qsort(all->items, all->count, sizeof *all->items, by_expected);
    // Machines without a GPU are the cheapest by far: a few beside those with one.
    size_t gpus = most, cpus = s->ask->most_estimates == 0 ? most : most / 4, billed = 0;
    size_t soonest = SIZE_MAX;
    struct kinds kinds = {.oldest = oldest_current(all, s->day)};
    bool firm = false;
    if (s->ask->most_estimates > 0)
        TRY(find_soonest(s, &soonest, err));
    for (size_t i = 0; i < all->count; i++) {
        size_t *left = *all->items[i].offer.gpu ? &gpus : &cpus;
        bool never = all->items[i].offer.kind == OFFER_SPOT || is_bound(&all->items[i]);
        bool first = is_first_of_kind(&kinds, &all->items[i].offer, s->day);
        if (*left == 0 && i != soonest && !first && (firm || never))
            continue;
        *left -= *left > 0;
        billed++;
        TRY(add_bill(s, &all->items[i], NULL, err));
        firm = firm || is_firm(s->quote);
    }
    size_t unpriced = billed - s->quote->estimates.count;
    s->quote->estimated = some_int((int64_t)(all->count - unpriced));
    return 0;
}

static int add_all(struct quote_search *s, struct err *err)
{
    const struct quote_ask *ask = s->ask;
    const struct book_filter filter = {.provider = ask->provider,
                                       .region = ask->region,
                                       .kind = ask->kind,
                                       .day = s->day,
                                       .aged = true,
                                       .max_age = ask->max_age};
    TRY(book_each(s->book, &filter, consider, s, err));
    if (s->found.count == 0 && !s->matched)
        TRY(add_outdated(s, &filter, err));
    for (size_t i = 0; i < s->found.count; i++)
        TRY(add_bill(s, &s->found.items[i], NULL, err));
    TRY(add_estimates(s, err));
    s->quote->not_measured = some_int(s->not_measured);
    return 0;
}

int quote_make(const struct quote_ask *ask, struct quote *quote, struct err *err)
{
    struct quote_search s = {.ask = ask, .quote = quote};
    s.leaving = (struct leaving){.quote = quote,
                                 .most = ask->most_misfits   ? ask->most_misfits
                                         : ask->every_region ? SIZE_MAX
                                                             : QUOTE_MISFITS};
    quote->bills.known = true;
    s.day = wishes_day(&ask->wishes) ? wishes_day(&ask->wishes) : book_today();
    int rc = market_book(ask->market, &s.book, err);
    if (rc == 0)
        rc = market_tariffs(ask->market, &s.tariffs, err);
    if (rc == 0)
        rc = market_currencies(ask->market, &s.currencies, err);
    if (rc == 0)
        rc = proofs_gather(&s.proofs, ask, err);
    struct proofs named = s.proofs; // a run that is named is the source
    if (ask->offer && ask->asked && named.count > 1)
        named.count = 1;
    if (rc == 0 && ask->estimates)
        rc = estimates_open(&s.estimates, ask->offer ? &named : &s.proofs, err);
    if (rc == 0 && s.estimates)
        rc = market_startups(ask->market, &s.startups, err);
    if (rc == 0)
        rc = ask->offer ? quote_add_named(&s, err) : add_all(&s, err);
    if (rc == 0 && ask->own && s.proofs.count > 0 && (!ask->offer || ask->own_gpu))
        rc = add_own(&s, err);
    if (rc == 0)
        rc = standing_judge(quote, err);
    if (rc == 0)
        rc = quote_sort(quote, err);
    estimates_close(s.estimates);
    free(s.estimated.items);
    free(s.found.items);
    proofs_release(&s.proofs);
    return rc;
}

// How an estimate comes about.

int quote_explain(const struct quote_ask *ask, const char *offer, struct buf *out, struct err *err)
{
    SCOPED(proofs_release) struct proofs proofs = {0};
    struct estimates *estimates = NULL;
    const struct estimated *e = NULL;
    struct offer found;
    int rc = market_find(ask->market, offer, wishes_day(&ask->wishes), &found, err);
    if (rc == 0)
        rc = proofs_gather(&proofs, ask, err);
    if (rc == 0)
        rc = estimates_open(&estimates, &proofs, err);
    if (rc == 0)
        rc = estimates_find(estimates, &found, &e, err);
    if (rc == 0 && e && e->plan)
        modelled_explain(ask->model, e->plan, &e->estimate, out);
    else if (rc == 0 && e)
        estimated_explain(e, out);
    else if (rc == 0)
        buf_printf(out, "no estimate: %s\n",
                   *found.gpu ? "the number of its GPUs is neither whole nor a part of one"
                   : found.vcpus_milli > 0 ? ESTIMATE_NEEDS_CPU
                                           : "the number of its virtual CPUs is not known");
    estimates_close(estimates);
    return rc;
}

// The order of bills, cheapest first, and one order for measured and estimated ones.
//
// Rows are sorted by the expected bill. An estimate whose interval overlaps that of a measured bill
// goes behind it: its key is the larger of its own amount and the largest amount of a measured bill
// that it overlaps. So an estimate is first only if it is cheaper than all measured bills with its
// whole interval. Times that are lower bounds come behind all others.

struct place {            // of a bill in the order, with its amounts
    int64_t rank, before; // `before` credits breaks ties among bills that credits pay
    int64_t key;          // `rank`, or that of the measured bill it goes behind
    struct bill *bill;
    bool estimate;
};

static int64_t at_least(int64_t amount, struct maybe_money other)
{
    return other.known && other.nano > amount ? other.nano : amount;
}

// Under an assumed rule, started hours decide: an assumption alone makes nothing cheapest.
static int64_t with_hours(const struct bill *bill)
{
    return at_least(bill_total(bill), bill->by_hours);
}

// The amount to pay, all of a commitment, plus the cost of waiting if it is counted.
static int64_t rank(const struct bill *bill)
{
    int64_t total = at_least(with_hours(bill), bill->owed);
    if (total < INT64_MAX - bill->waiting.nano)
        total += bill->waiting.nano;
    return total;
}

// An end of the interval, with all that is in the rank.
static int64_t end_of(const struct place *p, struct maybe_money end)
{
    int64_t amount = 0, more = p->rank - bill_total(p->bill);
    return end.known && money_add(end.nano, more, &amount, NULL) == 0 ? amount : p->rank;
}

static int by_key(const void *a, const void *b)
{
    const struct place *p = a, *q = b;
    bool half = bill_doubtful(p->bill);
    if (half != bill_doubtful(q->bill))
        return half ? 1 : -1;
    bool bound = bill_time_is_bound(p->bill); // it never leads
    if (bound != bill_time_is_bound(q->bill))
        return bound ? 1 : -1;
    if (p->key != q->key)
        return p->key < q->key ? -1 : 1;
    if (p->estimate != q->estimate)
        return p->estimate ? 1 : -1;
    if (p->rank != q->rank)
        return p->rank < q->rank ? -1 : 1;
    if (p->before != q->before)
        return p->before < q->before ? -1 : 1;
    return p->bill->offer && q->bill->offer ? strcmp(p->bill->offer, q->bill->offer) : 0;
}

static void find_places(struct place *places, struct bill *bills, size_t count, bool estimates)
{
    for (size_t i = 0; i < count; i++) {
        int64_t amount = rank(&bills[i]);
        places[i] =
            (struct place){amount, bill_before_credit(&bills[i]), amount, &bills[i], estimates};
    }
}

static int sort_bills(struct bill *bills, size_t count, bool estimates, struct err *err)
{
    if (count < 2)
        return 0;
    SCOPED(free_pointer) struct place *places = calloc(count, sizeof *places);
    SCOPED(free_pointer) struct bill *sorted = calloc(count, sizeof *sorted);
    if (!places || !sorted)
        return err_memory(err);
    find_places(places, bills, count, estimates);
    qsort(places, count, sizeof *places, by_key);
    for (size_t i = 0; i < count; i++)
        sorted[i] = *places[i].bill;
    memcpy(bills, sorted, count * sizeof *sorted);
    return 0;
}

// ---- measured and estimated ones

// Of sorted measured bills from each on: where the lowest of their intervals begins. One that may
// not lead holds no estimate back. Doubtful
// ones, at the end, count among themselves.
static void find_lows(const struct place *measured, size_t count, int64_t *lows)
{
    for (size_t i = count; i-- > 0;) {
        bool leads = standing_of(measured[i].bill) == STANDING_LEADS;
        lows[i] = leads ? end_of(&measured[i], measured[i].bill->low) : INT64_MAX;
        bool last = i + 1 == count ||
                    bill_doubtful(measured[i].bill) != bill_doubtful(measured[i + 1].bill);
        if (!last && lows[i + 1] < lows[i])
            lows[i] = lows[i + 1];
    }
}

// The last measured bill from `from` to before `to` whose interval begins within that of the
// estimate, which lies in front of it otherwise. Dearer ones that overlap it do so at that end.
static void go_behind(struct place *estimate, const struct place *measured, const int64_t *lows,
                      size_t from, size_t to)
{
    int64_t high = end_of(estimate, estimate->bill->high);
    size_t first = from;
    while (from < to) { // `lows` never falls within the range
        size_t middle = from + (to - from) / 2;
        if (lows[middle] <= high)
            from = middle + 1;
        else
            to = middle;
    }
    if (from > first && measured[from - 1].rank > estimate->key)
        estimate->key = measured[from - 1].rank;
}

static int set_places(struct quote *quote, struct err *err)
{
    size_t m = quote->bills.count, e = quote->estimates.count, complete = 0;
    SCOPED(free_pointer) struct place *all = calloc(m + e + 1, sizeof *all);
    SCOPED(free_pointer) int64_t *lows = calloc(m + 1, sizeof *lows);
    if (!all || !lows)
        return err_memory(err);
    find_places(all, quote->bills.items, m, false);
    find_places(all + m, quote->estimates.items, e, true);
    find_lows(all, m, lows);
    while (complete < m && !bill_doubtful(&quote->bills.items[complete]))
        complete++;
    for (size_t i = m; i < m + e; i++) {
        bool half = bill_doubtful(all[i].bill);
        go_behind(&all[i], all, lows, half ? complete : 0, half ? m : complete);
    }
    qsort(all, m + e, sizeof *all, by_key);
    for (size_t i = 0; i < m + e; i++)
        all[i].bill->place = some_int((int64_t)i + 1);
    return 0;
}

int quote_sort(struct quote *quote, struct err *err)
{
    TRY(sort_bills(quote->bills.items, quote->bills.count, false, err));
    TRY(sort_bills(quote->others.items, quote->others.count, false, err));
    TRY(sort_bills(quote->estimates.items, quote->estimates.count, true, err));
    return set_places(quote, err);
}

int64_t quote_least(const struct bill *bill)
{
    return at_least(bill_total(bill), bill->owed);
}

int64_t quote_dearest(const struct bill *bill)
{
    return at_least(at_least(with_hours(bill), bill->high), bill->owed);
}

const char *quote_doubt(const struct bill *bill)
{
    return bill_price_doubtful(bill)             ? "price doubtful"
           : bill->incomplete.v                  ? "bill incomplete"
           : with_hours(bill) > bill_total(bill) ? "rule assumed"
                                                 : NULL;
}

const struct bill *quote_at(const struct quote *quote, size_t i)
{
    size_t measured = quote->bills.count;
    return i < measured ? &quote->bills.items[i] : &quote->estimates.items[i - measured];
}

size_t quote_count(const struct quote *quote)
{
    return quote->bills.count + quote->estimates.count;
}

static int by_place(const void *a, const void *b)
{
    const struct bill *x = *(const struct bill *const *)a, *y = *(const struct bill *const *)b;
    if (x->place.v != y->place.v)
        return x->place.v < y->place.v ? -1 : 1;
    return x < y ? -1 : x > y;
}

const struct bill **quote_rows(const struct quote *quote, struct err *err)
{
    size_t count = quote_count(quote);
    const struct bill **rows = calloc(count + 1, sizeof *rows);
    if (!rows) {
        err_memory(err);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        rows[i] = quote_at(quote, i);
    if (count > 1)
        qsort(rows, count, sizeof *rows, by_place);
    return rows;
}
