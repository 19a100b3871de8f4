// SPDX-License-Identifier: Apache-2.0
#include "advise/quote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/money.h"
#include "base/units.h"

#define MISFITS_MAX 20
#define GPUS_MAX    1000000 // of one machine: a record may claim any number

struct proof { // a run whose time is known
    const struct quote_evidence *from;
    const struct run *run;
    struct bill_time time;
    const struct device *device; // the GPU, or the processor of a run on CPUs; null: unknown
    bool asked;
    bool stopped;                           // cut off: any other counts before it
    int64_t gpus;                           // 0: it ran on CPUs
    int64_t gpu_memory_bytes, memory_bytes; // at its peak; 0: unknown
};

struct candidate {
    struct offer offer;
    const struct proof *proof;
    int64_t per_hour; // nano-USD
};

struct search {
    const struct quote_ask *ask;
    const struct book *book;
    const struct devices *devices;
    const struct tariff_book *tariffs;
    const struct currencies *currencies;
    int day; // of the prices
    struct proof *proofs;
    size_t proof_count;
    LIST_OF(struct candidate) found;
    struct quote *quote;
    // To count offers that are not measured: each provider's name and kind once.
    const char *last_provider, *last_name;
    unsigned int kinds_seen, kinds_found;
    int64_t not_measured;
    const char *factor_provider; // the last one, and whether its regions have factors
    bool factors;
};

static bool same(const char *a, const char *b)
{
    // Most names differ in their first letter, and a book has many.
    return a && b && *a && (*a | 32) == (*b | 32) && strcasecmp(a, b) == 0;
}

// ---- evidence

static const char *gpu_name(const struct run *run)
{
    if (run->use.gpu_list.count > 0 && run->use.gpu_list.items[0].name)
        return run->use.gpu_list.items[0].name;
    return run->machine.gpu;
}

static int64_t gpus_of(const struct run *run)
{
    if (run->use.gpus.known)
        return run->use.gpus.v;
    // Published runs do not tell how many GPUs they used: assume all.
    if (!run->source || !run->machine.gpu)
        return 0;
    return run->machine.gpus.known ? run->machine.gpus.v : 1;
}

static bool prove(const struct search *s, size_t index, struct proof *p)
{
    const struct quote_ask *ask = s->ask;
    const struct run *run = ask->evidence[index].run;
    *p = (struct proof){.from = &ask->evidence[index], .run = run};
    p->asked = ask->asked && index == 0;
    p->stopped = run_stopped(run);
    if (!bill_time_of(run, &p->time))
        return false;
    p->gpus = gpus_of(run);
    p->device = device_find(s->devices, p->gpus > 0 ? gpu_name(run) : run->machine.cpu);
    p->memory_bytes = run->peak_memory_bytes.known       ? run->peak_memory_bytes.v
                      : run->use.memory_peak_bytes.known ? run->use.memory_peak_bytes.v
                                                         : 0;
    for (size_t i = 0; i < run->use.gpu_list.count; i++) {
        struct maybe_int peak = run->use.gpu_list.items[i].memory_peak_bytes;
        if (peak.known && peak.v > p->gpu_memory_bytes)
            p->gpu_memory_bytes = peak.v;
    }
    return true;
}

// Which of two matching runs counts.
static bool better(const struct proof *a, const struct proof *b)
{
    if (a->asked != b->asked)
        return a->asked;
    if (a->stopped != b->stopped)
        return b->stopped;
    return a->time.total_ns < b->time.total_ns;
}

// Runs on the same machine become one proof, so that each offer is checked against few.
static bool replaces(const struct proof *a, const struct proof *b)
{
    const struct run_machine *m = &a->run->machine, *n = &b->run->machine;
    bool alike =
        a->from->training == b->from->training && a->gpus == b->gpus && a->device == b->device &&
        (m->provider ? same(m->provider, n->provider) : !n->provider) &&
        (m->instance_type ? same(m->instance_type, n->instance_type) : !n->instance_type) &&
        (a->device || same(m->cpu, n->cpu));
    bool cpus = m->usable_cpus.known == n->usable_cpus.known &&
                (!m->usable_cpus.known || m->usable_cpus.v == n->usable_cpus.v);
    return alike && (a->gpus > 0 || cpus);
}

static int gather(struct search *s, struct err *err)
{
    s->proofs = calloc(s->ask->evidence_count + 1, sizeof *s->proofs);
    if (!s->proofs)
        return err_memory(err);
    for (size_t i = 0; i < s->ask->evidence_count; i++) {
        struct proof p;
        if (!prove(s, i, &p))
            continue;
        size_t at = 0;
        while (at < s->proof_count && !replaces(&p, &s->proofs[at]))
            at++;
        if (at == s->proof_count)
            s->proofs[s->proof_count++] = p;
        else if (better(&p, &s->proofs[at]))
            s->proofs[at] = p;
    }
    return 0;
}

// ---- matching

// A machine without a GPU is not an instance type with GPUs, whatever its label says.
static bool measured_on(const struct run *run, const struct offer *offer)
{
    const struct run_machine *m = &run->machine;
    bool no_gpu = m->gpus.known && m->gpus.v == 0;
    return same(offer->provider, m->provider) && same(offer->name, m->instance_type) &&
           !(no_gpu && *offer->gpu);
}

static bool is_itself(const struct proof *p, const struct offer *offer)
{
    return measured_on(p->run, offer);
}

static bool same_processor(const struct search *s, const struct proof *p, const struct offer *offer)
{
    const struct run_machine *m = &p->run->machine;
    if (!m->usable_cpus.known || offer->vcpus_milli != (int)(m->usable_cpus.v * 1000 + 0.5))
        return false;
    return same(offer->cpu, m->cpu) ||
           (p->device && p->device == device_of_offer(s->devices, offer->provider, offer->name));
}

static bool is_alike(const struct search *s, const struct proof *p, const struct offer *offer)
{
    if (p->gpus > 0)
        return p->device && same(offer->gpu, p->device->name) &&
               (s->ask->exact_gpus ? offer->gpus_milli == p->gpus * 1000
                                   : offer->gpus_milli / 1000 >= p->gpus);
    return !*offer->gpu && same_processor(s, p, offer);
}

static bool fits(const struct search *s, const struct proof *p, const struct offer *offer)
{
    return is_itself(p, offer) || is_alike(s, p, offer);
}

// Null: the run fits; else why not.
static const char *too_small(const struct search *s, const struct proof *p,
                             const struct offer *offer, char why[160])
{
    const struct device *device = device_find(s->devices, offer->gpu);
    int64_t gpu_mib = offer->gpu_memory_mib ? offer->gpu_memory_mib
                      : device              ? device->memory_mib
                                            : 0;
    if (p->gpus > offer->gpus_milli / 1000)
        snprintf(why, 160, "does not fit: it has %g GPU%s, the run used %lld",
                 offer->gpus_milli / 1000.0, offer->gpus_milli == 1000 ? "" : "s",
                 (long long)p->gpus);
    else if (p->gpus > 0 && gpu_mib > 0 && p->gpu_memory_bytes > gpu_mib << 20)
        snprintf(why, 160, "does not fit: the run needed %s of GPU memory",
                 units_bytes(p->gpu_memory_bytes).s);
    else if (offer->memory_mib > 0 && p->memory_bytes > (int64_t)offer->memory_mib << 20)
        snprintf(why, 160, "does not fit: the run needed %s of memory",
                 units_bytes(p->memory_bytes).s);
    else
        return NULL;
    return why;
}

static int misfit(struct quote *quote, const struct offer *offer, const char *why, struct err *err)
{
    struct quote_misfit *last =
        quote->misfits.count ? &quote->misfits.items[quote->misfits.count - 1] : NULL;
    struct buf name = {0};
    book_name(offer, &name);
    int rc = buf_check(&name, err);
    bool there = rc == 0 && last && strcmp(last->offer, buf_str(&name)) == 0;
    if (rc == 0 && !there && quote->misfits.count < MISFITS_MAX) {
        struct quote_misfit *m = LIST_ADD(&quote->misfits, err);
        rc = m ? text_set(&m->offer, buf_str(&name), err) : ERR_MEMORY;
        if (rc == 0)
            rc = text_set(&m->why, why, err);
    }
    buf_release(&name);
    return rc;
}

struct choice {
    const struct proof *proof; // null: nothing like the offer was measured
    bool exact;                // measured on this instance type
};

// Prefers the run asked for, then one on this instance type, then the fastest.
static void weigh(const struct search *s, const struct offer *offer, const struct proof *p,
                  struct choice *best)
{
    bool exact = is_itself(p, offer);
    const struct proof *had = best->proof;
    if (!exact && !is_alike(s, p, offer))
        return;
    if (!had || p->asked || (!had->asked && exact && !best->exact) ||
        (!had->asked && exact == best->exact && better(p, had)))
        *best = (struct choice){p, exact};
}

// Finds the best proof of each training for an offer. Returns the one of the training asked for.
static const struct proof *find_proofs(const struct search *s, const struct offer *offer,
                                       struct choice best[QUOTE_TRAININGS])
{
    memset(best, 0, QUOTE_TRAININGS * sizeof *best);
    for (size_t i = 0; i < s->proof_count; i++)
        weigh(s, offer, &s->proofs[i], &best[s->proofs[i].from->training]);
    return best[0].proof;
}

static const struct proof *find_proof(const struct search *s, const struct offer *offer)
{
    struct choice best[QUOTE_TRAININGS];
    return find_proofs(s, offer, best);
}

// To choose among regions, which may have their own factors and currencies. Most providers have no
// factors, and a book has many offers: their list prices are compared.
static int hour_in_usd(struct search *s, const struct offer *offer, int64_t *usd, struct err *err)
{
    struct priced price;
    int rc;
    if (!s->factor_provider || strcmp(s->factor_provider, offer->provider) != 0) {
        s->factor_provider = offer->provider;
        s->factors = tariff_has_regions(s->tariffs, offer->provider);
    }
    if (!s->factors) {
        rc = currency_to_usd(s->currencies, offer->currency, s->day, offer_per_hour(offer), usd,
                             NULL, NULL, NULL);
    } else {
        rc = market_price(s->ask->market, offer, &s->ask->wishes, &price, NULL);
        if (rc == 0)
            rc = priced_hour(&price, usd, NULL);
    }
    if (rc != 0)
        *usd = INT64_MAX; // it becomes a misfit
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}

// The same offer in another region. The book is sorted by name, so it is near the end.
static struct candidate *twin(struct search *s, const struct offer *o, size_t training)
{
    for (size_t i = s->found.count; i-- > 0;) {
        struct candidate *c = &s->found.items[i];
        if (strcmp(c->offer.name, o->name) != 0 || strcmp(c->offer.provider, o->provider) != 0)
            return NULL;
        if (c->offer.kind == o->kind && c->proof->from->training == training)
            return c;
    }
    return NULL;
}

static void count_group(struct search *s, const struct offer *offer, bool found)
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

static bool wanted_gpu(const struct search *s, const struct offer *offer)
{
    if (!s->ask->gpu)
        return true;
    const struct device *wanted = device_find(s->devices, s->ask->gpu);
    return same(offer->gpu, wanted ? wanted->name : s->ask->gpu);
}

static int add_candidate(struct search *s, const struct offer *offer, const struct proof *p,
                         struct err *err)
{
    char why[160];
    size_t training = p->from->training;
    if (too_small(s, p, offer, why))
        return training == 0 ? misfit(s->quote, offer, why, err) : 0;
    bool every = s->ask->every_region;
    int64_t per_hour = 0;
    TRY(every ? 0 : hour_in_usd(s, offer, &per_hour, err));
    struct candidate *c = every ? NULL : twin(s, offer, training);
    if (c && c->per_hour <= per_hour)
        return 0;
    if (!c)
        c = LIST_ADD(&s->found, err);
    if (!c)
        return ERR_MEMORY;
    *c = (struct candidate){*offer, p, per_hour};
    return 0;
}

// One row for each training that was measured on such a machine.
static int consider(void *search, const struct offer *offer, struct err *err)
{
    struct search *s = search;
    struct choice best[QUOTE_TRAININGS];
    if (!wanted_gpu(s, offer))
        return 0;
    count_group(s, offer, find_proofs(s, offer, best) != NULL);
    for (size_t i = 0; i < QUOTE_TRAININGS; i++)
        if (best[i].proof)
            TRY(add_candidate(s, offer, best[i].proof, err));
    return 0;
}

// ---- bills

static const char *machine_words(const struct run_machine *m)
{
    return m->instance_type ? m->instance_type : m->name ? m->name : m->gpu ? m->gpu : m->cpu;
}

static int add_notes(const struct candidate *c, struct bill *bill, struct err *err)
{
    const struct run *run = c->proof->run;
    const struct comparison *against = c->proof->from->against;
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

// A price that cannot be computed (a currency without a rate, an overflow) makes this offer a
// misfit; the quote goes on.
static int add_bill(const struct quote_ask *ask, const struct candidate *c, const char *basis,
                    struct quote *quote, struct err *err)
{
    struct buf name = {0};
    struct bill bill = {0};
    struct err why = {0};
    book_name(&c->offer, &name);
    int rc = buf_check(&name, err);
    struct bill_time time = c->proof->time; // a bought machine needs no start-up
    bool own = strcmp(c->offer.provider, "own") == 0, known = true;
    if (rc == 0 && !own)
        rc = quote_time(ask, c->proof->run, &c->offer, &time, &known, err);
    if (rc == 0) {
        rc = bill_make(ask->market, &ask->wishes, &c->offer, buf_str(&name), &time, c->proof->gpus,
                       &bill, &why);
        if (rc == ERR_MEMORY)
            err_memory(err);
        else if (rc != 0)
            rc = misfit(quote, &c->offer, why.text, err) == 0 ? 1 : ERR_MEMORY;
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
    bool other = c->proof->from->training > 0;
    struct bill *kept = NULL;
    if (rc == 0)
        kept = other ? LIST_ADD(&quote->others, err) : LIST_ADD(&quote->bills, err);
    if (kept)
        *kept = bill;
    else
        record_release(bill_fields, &bill);
    buf_release(&name);
    return rc == 0 && !kept ? ERR_MEMORY : rc < 0 ? rc : 0;
}

// For a workload: other trainings that were measured on the offer.
static int add_other_trainings(struct search *s, const struct offer *offer,
                               const struct choice best[QUOTE_TRAININGS], struct err *err)
{
    for (size_t i = 1; i < QUOTE_TRAININGS; i++)
        if (best[i].proof)
            TRY(add_bill(s->ask, &(struct candidate){*offer, best[i].proof, 0}, NULL, s->quote,
                         err));
    return 0;
}

// The amount to pay, plus the cost of waiting if it is counted.
static int64_t rank(const struct bill *bill)
{
    int64_t total = bill_total(bill), waiting = 0, by_hours = 0;
    // Under an assumed rule, started hours decide: an assumption alone makes nothing cheapest.
    if (bill->by_hours && money_parse(bill->by_hours, &by_hours, NULL) == 0 && by_hours > total)
        total = by_hours;
    if (bill->waiting && money_parse(bill->waiting, &waiting, NULL) == 0 &&
        total < INT64_MAX - waiting)
        total += waiting;
    return total;
}

struct place {            // of a bill in the order, with its amounts parsed once
    int64_t rank, before; // `before` credits breaks ties among bills that credits pay
    const struct bill *bill;
};

static int by_total(const void *a, const void *b)
{
    const struct place *p = a, *q = b;
    bool half = p->bill->incomplete.v;
    if (half != q->bill->incomplete.v)
        return half ? 1 : -1;
    if (p->rank != q->rank)
        return p->rank < q->rank ? -1 : 1;
    if (p->before != q->before)
        return p->before < q->before ? -1 : 1;
    return p->bill->offer && q->bill->offer ? strcmp(p->bill->offer, q->bill->offer) : 0;
}

// Cheapest first.
static int sort_bills(struct bill *bills, size_t count, struct err *err)
{
    if (count < 2)
        return 0;
    struct place *places = calloc(count, sizeof *places);
    struct bill *sorted = calloc(count, sizeof *sorted);
    int rc = places && sorted ? 0 : err_memory(err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        places[i] = (struct place){rank(&bills[i]), bill_before_credit(&bills[i]), &bills[i]};
    if (rc == 0) {
        qsort(places, count, sizeof *places, by_total);
        for (size_t i = 0; i < count; i++)
            sorted[i] = *places[i].bill;
        memcpy(bills, sorted, count * sizeof *sorted);
    }
    free(places);
    free(sorted);
    return rc;
}

// Names another run of the same training that was measured on such a machine.
static int note_assumed(const struct search *s, const struct candidate *c, struct err *err)
{
    const struct proof *other = find_proof(s, &c->offer);
    struct bill *bill = &s->quote->bills.items[s->quote->bills.count - 1];
    struct buf text = {0};
    if (!other || other == c->proof)
        return 0;
    buf_printf(&text, "run %s was measured on such a machine: 'fare quote %s --offer %s'",
               other->run->id, other->run->id, bill->offer);
    return texts_take(&bill->notes, &text, err);
}

// Assuming another processor is allowed, assuming other GPUs is not.
static int check_assumed(const struct search *s, const struct candidate *c, struct err *err)
{
    const struct run *run = c->proof->run;
    const char *used = c->proof->gpus > 0 ? gpu_name(run) : NULL;
    char has[96] = "no GPU in the book", had[160] = "without a GPU";
    bool same_gpu = used && c->proof->device && same(c->offer.gpu, c->proof->device->name);
    if ((!*c->offer.gpu && !used) || same_gpu) // fewer of them is a misfit
        return 0;
    if (*c->offer.gpu)
        snprintf(has, sizeof has, "%g × %.60s", c->offer.gpus_milli / 1000.0, c->offer.gpu);
    if (used)
        snprintf(had, sizeof had, "on %lld × %.100s", (long long)c->proof->gpus, used);
    err_set(err, ERR_USAGE, "%s has %s, but run %s was measured %s", s->ask->offer, has, run->id,
            had);
    return err_hint(err, "a quote for it needs a run on such a machine: measure one there, or "
                         "import one with 'fare runs import'");
}

// One offer. A named run keeps its own time, measured on such a machine or assumed. A workload has
// the time of a run on such a machine, or else that of its first run, assumed.
static int add_named(struct search *s, struct err *err)
{
    const struct quote_ask *ask = s->ask;
    struct candidate c = {.proof = NULL};
    struct choice best[QUOTE_TRAININGS];
    char why[160];
    TRY(book_find(s->book, ask->offer, s->day, &c.offer, err));
    const struct proof *first = s->proof_count > 0 ? &s->proofs[0] : NULL;
    if (ask->asked)
        c.proof = first && first->asked ? first : NULL;
    else
        c.proof = find_proofs(s, &c.offer, best);
    if (!ask->asked)
        TRY(add_other_trainings(s, &c.offer, best, err));
    if (!c.proof && s->quote->others.count > 0)
        return 0;
    bool assumed = ask->asked ? c.proof && !fits(s, c.proof, &c.offer) : !c.proof;
    if (!c.proof && !ask->asked)
        c.proof = first;
    if (!c.proof)
        return 0;
    if (assumed)
        TRY(check_assumed(s, &c, err));
    if (too_small(s, c.proof, &c.offer, why))
        return misfit(s->quote, &c.offer, why, err);
    TRY(add_bill(ask, &c, assumed ? "assumed" : NULL, s->quote, err));
    if (s->quote->bills.count == 0)
        return 0;
    if (c.offer.kind == OFFER_SPOT && !strchr(ask->offer, ':'))
        TRY(texts_add(&s->quote->bills.items[0].notes, "the book has only its spot price", err));
    return assumed ? note_assumed(s, &c, err) : 0;
}

// The machine of the first run, bought, as an offer with a price per hour of use.
static int add_own(struct search *s, struct err *err)
{
    const struct quote_ask *ask = s->ask;
    const struct proof *p = &s->proofs[0];
    struct candidate c = {.proof = p};
    struct own_hour hour;
    struct buf words = {0};
    int rc = own_offer(ask->own, "this machine, bought", &c.offer, err);
    if (rc == 0)
        rc = own_hour(ask->own, &hour, err);
    if (rc != 0)
        return rc;
    int64_t has = p->run->machine.gpus.known && p->run->machine.gpus.v > p->gpus
                      ? p->run->machine.gpus.v
                      : p->gpus;
    c.offer.gpu = p->gpus > 0 && p->device ? p->device->name : "";
    c.offer.gpus_milli = p->gpus <= 0 ? 0 : has < GPUS_MAX ? (int)has * 1000 : GPUS_MAX * 1000;
    c.offer.day = s->day;
    size_t before = s->quote->bills.count;
    rc = add_bill(ask, &c, NULL, s->quote, err);
    own_words(ask->own, &hour, "USD", &words);
    if (rc == 0)
        rc = buf_check(&words, err);
    if (rc == 0 && s->quote->bills.count > before)
        rc = texts_add(&s->quote->bills.items[before].notes, buf_str(&words), err);
    buf_release(&words);
    return rc;
}

// ---- prices that are too old

struct oldest {
    const struct search *search;
    struct offer offer; // that fits, with the newest price
    bool found;
};

static int take_old(void *arg, const struct offer *offer, struct err *err)
{
    (void)err;
    struct oldest *o = arg;
    char why[160];
    const struct proof *p = wanted_gpu(o->search, offer) ? find_proof(o->search, offer) : NULL;
    if (!p || too_small(o->search, p, offer, why) || (o->found && offer->day <= o->offer.day))
        return 0;
    o->offer = *offer;
    o->found = true;
    return 0;
}

// If no offer matches, looks for one whose price is too old.
static int add_outdated(struct search *s, const struct book_filter *aged, struct err *err)
{
    struct oldest oldest = {.search = s};
    struct book_filter filter = *aged;
    struct buf name = {0};
    filter.aged = false;
    int rc = book_each(s->book, &filter, take_old, &oldest, err);
    if (rc != 0 || !oldest.found)
        return rc;
    book_name(&oldest.offer, &name);
    rc = buf_check(&name, err);
    if (rc == 0)
        rc = text_set(&s->quote->outdated, buf_str(&name), err);
    s->quote->outdated_days = some_int(filter.day - oldest.offer.day);
    buf_release(&name);
    return rc;
}

static int add_all(struct search *s, struct err *err)
{
    const struct quote_ask *ask = s->ask;
    const struct book_filter filter = {.provider = ask->provider,
                                       .region = ask->region,
                                       .kind = ask->kind,
                                       .day = s->day,
                                       .aged = true,
                                       .max_age = ask->max_age};
    int rc = book_each(s->book, &filter, consider, s, err);
    if (rc == 0 && s->found.count == 0 && s->quote->misfits.count == 0)
        rc = add_outdated(s, &filter, err);
    for (size_t i = 0; rc == 0 && i < s->found.count; i++)
        rc = add_bill(ask, &s->found.items[i], NULL, s->quote, err);
    s->quote->not_measured = some_int(s->not_measured);
    if (rc == 0 && ask->own && s->proof_count > 0)
        rc = add_own(s, err);
    return rc;
}

int quote_make(const struct quote_ask *ask, struct quote *quote, struct err *err)
{
    struct search s = {.ask = ask, .quote = quote};
    quote->bills.known = true;
    s.day = wishes_day(&ask->wishes) ? wishes_day(&ask->wishes) : book_today();
    int rc = market_book(ask->market, &s.book, err);
    if (rc == 0)
        rc = market_devices(ask->market, &s.devices, err);
    if (rc == 0)
        rc = market_tariffs(ask->market, &s.tariffs, err);
    if (rc == 0)
        rc = market_currencies(ask->market, &s.currencies, err);
    if (rc == 0)
        rc = gather(&s, err);
    if (rc == 0)
        rc = ask->offer ? add_named(&s, err) : add_all(&s, err);
    if (rc == 0)
        rc = sort_bills(quote->bills.items, quote->bills.count, err);
    if (rc == 0)
        rc = sort_bills(quote->others.items, quote->others.count, err);
    free(s.found.items);
    free(s.proofs);
    return rc;
}

// ---- back to the offer

struct exact {
    const struct bill *bill;
    struct offer *offer;
    bool found;
};

static bool equal(const char *text, const char *offers)
{
    return strcmp(text ? text : "", offers) == 0;
}

static int take_exact(void *arg, const struct offer *offer, struct err *err)
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
    const struct book_filter filter = {
        .provider = bill->provider, .name = bill->name, .day = day ? day : book_today()};
    const struct book *book;
    int rc = market_book(ask->market, &book, err);
    if (rc == 0)
        rc = book_each(book, &filter, take_exact, &exact, err);
    if (rc < 0 || exact.found)
        return rc < 0 ? rc : 0;
    return err_set(err, ERR_MISSING, "'%s' is no longer in the book", bill->offer);
}

int quote_time(const struct quote_ask *ask, const struct run *run, const struct offer *offer,
               struct bill_time *time, bool *known, struct err *err)
{
    return bill_time_on(ask->market, run, measured_on(run, offer), offer, &ask->startup, time,
                        known, err);
}

bool quote_base(const struct quote_ask *ask, struct bill_time *time)
{
    return ask->evidence_count > 0 && bill_time_of(ask->evidence[0].run, time);
}
