// SPDX-License-Identifier: Apache-2.0
#include "advise/evidence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "advise/comparable.h"
#include "advise/estimate/estimate.h"
#include "advise/estimate/rates.h"
#include "base/clock.h"
#include "base/units.h"
#include "record/read.h"
#include "train/data/sets.h"

static bool differ(const char *a, const char *b)
{
    return a && b && strcmp(a, b) != 0;
}

static bool is_made(const struct run *run)
{
    return run->data.made.known && run->data.made.v;
}

static int year_of(const struct run *run)
{
    const char *date = run->started ? run->started : run_label(run, "published");
    long year = date ? strtol(date, NULL, 10) : 0;
    return year > 1900 && year < 10000 ? (int)year : 0;
}

static bool is_native(const struct run *run)
{
    return run->framework && strcmp(run->framework, "fare") == 0;
}

// By --offer; false if the machine's metadata, which has the region too, confirms it.
static bool is_assumed(const struct run *run)
{
    const char *offer = run_label(run, "offer");
    const struct run_machine *m = &run->machine;
    char seen[200];
    if (!offer || !m->provider || !m->instance_type || !m->region)
        return offer != NULL;
    snprintf(seen, sizeof seen, "%s/%s", m->provider, m->instance_type);
    return strncmp(offer, seen, strlen(seen)) != 0 || !strchr("@:", offer[strlen(seen)]);
}

// ---- the training asked for

static bool as_defined(const struct workload *w, const struct run *run)
{
    return !run->variant && (!run->batch.known || run->batch.v == w->recipe.batch) &&
           (!run->epochs.known || w->recipe.epochs == 0 || run->epochs.v == w->recipe.epochs);
}

// Whether it trained on as much data as the workload has: the whole set, or all that stands in for
// it. A published number of rows may count the held-out part too; one that is not known is the
// definition's.
static bool on_all_data(const struct workload *w, const struct run *run)
{
    const struct public_set *set = w->data ? public_set_find(w->data, NULL) : NULL;
    int64_t samples = comparable_samples(run);
    return !set || samples == 0 || samples == set->train || samples == set->train + set->test ||
           (is_made(run) && samples == w->made_train);
}

static bool is_better(const struct workload *w, const struct run *a, const struct run *b)
{
    struct bill_time time;
    const bool better[][2] = {
        {bill_time_of(a, &time), bill_time_of(b, &time)},
        {!run_stopped(a), !run_stopped(b)},
        {on_all_data(w, a), on_all_data(w, b)},
        {!is_made(a), !is_made(b)},
        {as_defined(w, a), as_defined(w, b)},
        {!a->source, !b->source}, // measured by the user
    };
    for (size_t i = 0; i < sizeof better / sizeof *better; i++)
        if (better[i][0] != better[i][1])
            return better[i][0];
    int years = year_of(a) - year_of(b);
    if (years != 0)
        return years > 0;
    // Of runs that others published, "gpt2" is fare's own training; of the user's, the last one.
    if (a->source && b->source && is_native(a) != is_native(b))
        return is_native(a);
    if (!a->started || !b->started)
        return false;
    return strcmp(a->started, b->started) > 0;
}

// A run that failed, or whose machine was assumed (--offer), tells nothing about a machine.
static bool evidence_usable(const struct run *run)
{
    return !run_failed(run) && !is_assumed(run);
}

static bool is_usable(const struct evidence_ask *ask, size_t i)
{
    return (ask->asked && i == 0) || evidence_usable(&ask->runs[i]);
}

static const struct run *find_reference(const struct evidence_ask *ask)
{
    const struct run *best = ask->reference;
    for (size_t i = 0; i < ask->count && !ask->reference; i++)
        if (is_usable(ask, i) && (!best || is_better(ask->workload, &ask->runs[i], best)))
            best = &ask->runs[i];
    return best;
}

static int is_same(const struct evidence_ask *ask, const struct run *reference,
                   const struct run *run, struct comparison *against, bool *same, struct err *err)
{
    struct run like = *reference;
    int years = abs(year_of(run) - year_of(reference));
    if (ask->any_data && comparable_samples(reference) == comparable_samples(run))
        like.data = run->data;
    int rc = comparison_make(&like, run, COMPARISON_PAIR, against, err);
    *same = rc == 0 && against->verdict != COMPARABLE_NOT && comparable_length(reference, run) &&
            !differ(reference->framework, run->framework) &&
            (years <= 1 || !year_of(run) || !year_of(reference)) && !run_stopped(run);
    return rc;
}

// ---- labels

static void add_part(struct buf *out, const char *text)
{
    if (text)
        buf_printf(out, "%s%s", out->len > 0 ? ", " : "", text);
}

// "pytorch, 2018, tweets, 1,578,627 samples"; then further differences from the reference.
static void add_label(struct buf *out, const struct run *run, const struct run *reference)
{
    char year[16];
    bool same_data = comparable_data(run, reference) && reference->data.name;
    snprintf(year, sizeof year, "%d", year_of(run));
    add_part(out, run->framework);
    add_part(out, year_of(run) ? year : NULL);
    add_part(out, same_data ? reference->data.name : run->data.name);
    if (is_made(run) && run->data.name && !strstr(run->data.name, "made"))
        buf_adds(out, " (generated)");
    if (comparable_samples(run) > 0) {
        add_part(out, "");
        buf_printf(out, "%s samples",
                   units_grouped(short_text("%lld", (long long)comparable_samples(run)).s).s);
    }
    if (!comparable_length(run, reference))
        add_part(out, run->epochs.known ? units_count(run->epochs.v, "epoch").s
                                        : units_count(run->total_steps.v, "step").s);
    if (run->batch.known && reference->batch.known && run->batch.v != reference->batch.v) {
        add_part(out, "batch ");
        buf_printf(out, "%lld", (long long)run->batch.v);
    }
    add_part(out, run->variant);
    add_part(out, run_stopped(run) ? "stopped" : NULL);
}

static int set_label(struct quote_evidence *e, const struct run *reference, struct err *err)
{
    SCOPED(buf_release) struct buf label = {0}, asked = {0};
    add_label(&label, e->run, reference);
    add_label(&asked, reference, reference);
    if (e->training > 0 && !asked.failed && strcmp(buf_str(&label), buf_str(&asked)) == 0)
        add_part(&label, "another recipe or version of the data");
    e->label = buf_take(&label, err);
    return e->label ? 0 : ERR_MEMORY;
}

// Numbers other trainings by their labels, from 1 on, and keeps the first QUOTE_TRAININGS. Returns
// the number of runs kept.
static size_t number_others(struct quote_evidence *items, size_t count)
{
    size_t numbers = 0, left = 0;
    for (size_t i = 0; i < count; i++) {
        struct quote_evidence e = items[i];
        size_t at = 0;
        while (at < left && (items[at].training == 0 || strcmp(items[at].label, e.label) != 0))
            at++;
        if (e.training > 0)
            e.training = at < left ? items[at].training : ++numbers;
        if (e.training < QUOTE_TRAININGS)
            items[left++] = e;
        else
            free(e.label);
    }
    return left;
}

static int judge(const struct evidence_ask *ask, const struct run *reference, size_t i,
                 struct comparison *against, struct quote_evidence *e, struct err *err)
{
    const struct run *run = &ask->runs[i];
    bool same = run == reference;
    int rc = same ? 0 : is_same(ask, reference, run, against, &same, err);
    *e = (struct quote_evidence){.run = run, .year = year_of(run), .training = !same};
    e->against = ask->asked && i > 0 ? against : NULL;
    return rc == 0 ? set_label(e, reference, err) : rc;
}

static int by_training(const void *a, const void *b)
{
    const struct quote_evidence *x = a, *y = b;
    if ((x->training == 0) != (y->training == 0))
        return x->training == 0 ? -1 : 1;
    return x->run < y->run ? -1 : 1; // in their original order
}

int evidence_choose(const struct evidence_ask *ask, struct quote_evidence *out,
                    struct comparison *against, size_t *count, struct err *err)
{
    const struct run *reference = find_reference(ask);
    *count = 0;
    for (size_t i = 0; i < ask->count; i++)
        if (is_usable(ask, i))
            TRY(judge(ask, reference, i, &against[i], &out[(*count)++], err));
    if (*count == 0)
        return 0;
    qsort(out, *count, sizeof *out, by_training);
    *count = number_others(out, *count);
    return 0;
}

// ---- proofs

enum nearness { NEAR_MACHINE, NEAR_PROVIDER, NEAR_ASKED, NEAR_OWN, NEAR_GPU, NEAR_NOT };

struct proof_hit {
    const struct proof *proof;
    enum nearness near;
};

static bool same_name(const char *a, const char *b)
{
    // Most names differ in their first letter, and a book has many.
    return a && b && *a && (*a | 32) == (*b | 32) && strcasecmp(a, b) == 0;
}

const char *evidence_gpu(const struct run *run)
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

static bool prove(const struct proofs *proofs, const struct quote_ask *ask, size_t index,
                  struct proof *p)
{
    const struct run *run = ask->evidence[index].run;
    *p = (struct proof){.from = &ask->evidence[index], .run = run};
    p->asked = ask->asked && index == 0;
    p->stopped = run_stopped(run);
    // An offer is one machine; the time of several with a network between them is not its.
    if (!bill_time_of(run, &p->time) || (run->nodes.known && run->nodes.v > 1))
        return false;
    p->gpus = gpus_of(run);
    p->device = device_find(proofs->devices, p->gpus > 0 ? evidence_gpu(run) : run->machine.cpu);
    p->low_ns = p->time.low_ns >= 0 ? p->time.low_ns : p->time.total_ns;
    p->high_ns = p->time.high_ns >= 0 ? p->time.high_ns : p->time.total_ns;
    p->memory_bytes = run->peak_memory_bytes.known       ? run->peak_memory_bytes.v
                      : run->use.memory_peak_bytes.known ? run->use.memory_peak_bytes.v
                                                         : 0;
    return true;
}

static const char *precision_of(const struct run *run)
{
    return run->precision ? run->precision : run->account.precision;
}

bool evidence_same_setting(const struct run *a, const struct run *b)
{
    const char *p = precision_of(a), *q = precision_of(b);
    return (p && q ? strcmp(p, q) == 0 : p == q) && a->batch.known == b->batch.known &&
           (!a->batch.known || a->batch.v == b->batch.v);
}

static bool same_machine(const struct run_machine *m, const struct run_machine *n)
{
    return (m->provider ? same_name(m->provider, n->provider) : !n->provider) &&
           (m->instance_type ? same_name(m->instance_type, n->instance_type) : !n->instance_type);
}

// Runs of one setting on the same machine become one proof, so that each offer is checked against
// few.
static bool is_again(const struct proof *a, const struct proof *b)
{
    const struct run_machine *m = &a->run->machine, *n = &b->run->machine;
    bool alike = a->from->training == b->from->training && a->gpus == b->gpus &&
                 a->device == b->device && same_machine(m, n) &&
                 (a->device || same_name(m->cpu, n->cpu));
    bool cpus = m->usable_cpus.known == n->usable_cpus.known &&
                (!m->usable_cpus.known || m->usable_cpus.v == n->usable_cpus.v);
    return alike && !a->run->source == !b->run->source && (a->gpus > 0 || cpus) &&
           evidence_same_setting(a->run, b->run);
}

// The run asked for, then the user's own, then those that nobody stopped, then by time.
static int by_time(const void *a, const void *b)
{
    const struct proof *x = a, *y = b;
    if (x->asked != y->asked)
        return x->asked ? -1 : 1;
    if (!x->run->source != !y->run->source)
        return x->run->source ? 1 : -1;
    if (x->stopped != y->stopped)
        return x->stopped ? 1 : -1;
    if (x->time.total_ns != y->time.total_ns)
        return x->time.total_ns < y->time.total_ns ? -1 : 1;
    return (x->run > y->run) - (x->run < y->run);
}

// Whether a median of both means something.
static bool is_peer(const struct proof *a, const struct proof *b)
{
    return a->stopped == b->stopped && !a->run->source == !b->run->source;
}

// Of proofs that are one: the run asked for, or the median of those that nobody stopped. Of two in
// the middle the slower one: nothing is promised that half of the runs did not keep.
static struct proof median_of(struct proof *again, size_t count)
{
    size_t of = 1;
    qsort(again, count, sizeof *again, by_time);
    while (!again->asked && of < count && is_peer(again, &again[of]))
        of++;
    struct proof p = again[of / 2];
    for (size_t i = 0; i < of; i++) {
        p.low_ns = again[i].low_ns < p.low_ns ? again[i].low_ns : p.low_ns;
        p.high_ns = again[i].high_ns > p.high_ns ? again[i].high_ns : p.high_ns;
    }
    p.runs = of;
    p.again = again;
    p.again_count = count;
    return p;
}

int proofs_gather(struct proofs *proofs, const struct quote_ask *ask, struct err *err)
{
    size_t count = 0, again;
    proofs->ask = ask;
    proofs->exact_gpus = ask->exact_gpus;
    proofs->gpus = ask->gpus;
    TRY(market_devices(ask->market, &proofs->devices, err));
    proofs->items = calloc(ask->evidence_count + 1, sizeof *proofs->items);
    proofs->hits = calloc(2 * ask->evidence_count + 1, sizeof *proofs->hits);
    struct proof *all = proofs->all = calloc(ask->evidence_count + 1, sizeof *all);
    if (!proofs->items || !proofs->hits || !all)
        return err_memory(err);
    for (size_t i = 0; i < ask->evidence_count; i++)
        count += prove(proofs, ask, i, &all[count]);
    for (size_t i = 0; i < count; i += again) { // those that are one come together
        again = 1;
        for (size_t k = i + 1; k < count; k++)
            if (is_again(&all[i], &all[k])) {
                struct proof p = all[k];
                memmove(&all[i + again + 1], &all[i + again], (k - i - again) * sizeof *all);
                all[i + again++] = p;
            }
        proofs->items[proofs->count++] = median_of(&all[i], again);
    }
    return 0;
}

void proofs_release(struct proofs *proofs)
{
    free(proofs->items);
    free(proofs->all);
    free(proofs->hits);
    *proofs = (struct proofs){0};
}

// ---- offers

bool evidence_measured_on(const struct run *run, const struct offer *offer)
{
    const struct run_machine *m = &run->machine;
    bool no_gpu = m->gpus.known && m->gpus.v == 0;
    return same_name(offer->provider, m->provider) && same_name(offer->name, m->instance_type) &&
           !(no_gpu && *offer->gpu);
}

static bool same_processor(const struct proofs *proofs, const struct proof *p,
                           const struct offer *offer)
{
    const struct run_machine *m = &p->run->machine;
    if (!m->usable_cpus.known || offer->vcpus_milli != floor(m->usable_cpus.v * 1000 + 0.5))
        return false;
    return same_name(offer->cpu, m->cpu) ||
           (p->device &&
            p->device == device_of_offer(proofs->devices, offer->provider, offer->name));
}

int64_t proof_machines(const struct proofs *proofs, int64_t gpus, const struct offer *offer)
{
    const int64_t has = offer->gpus_milli / 1000;
    const bool several = proofs->ask->together && has >= QUOTE_NODE_GPUS && gpus > has &&
                         offer->gpus_milli % 1000 == 0 && gpus % has == 0;
    return several ? gpus / has : 1;
}

static bool is_alike(const struct proofs *proofs, const struct proof *p, const struct offer *offer)
{
    const int64_t has = offer->gpus_milli * proof_machines(proofs, p->gpus, offer);
    if (p->gpus > 0)
        return p->device && same_name(offer->gpu, p->device->name) &&
               (proofs->exact_gpus ? has == p->gpus * 1000 : has / 1000 >= p->gpus);
    return !*offer->gpu && same_processor(proofs, p, offer);
}

bool proof_fits(const struct proofs *proofs, const struct proof *p, const struct offer *offer)
{
    return evidence_measured_on(p->run, offer) || is_alike(proofs, p, offer);
}

const char *proof_too_large(const struct proofs *proofs, const struct proof *p,
                            const struct offer *offer, char why[EVIDENCE_WHY])
{
    struct estimate_place there = {.device = device_find(proofs->devices, offer->gpu),
                                   .gpus = p->gpus > 0,
                                   .gpu_memory_bytes = (int64_t)offer->gpu_memory_mib << 20};
    char text[200];
    if (p->gpus > offer->gpus_milli * proof_machines(proofs, p->gpus, offer) / 1000) {
        snprintf(why, EVIDENCE_WHY, "does not fit: it has %g GPU%s, the run used %lld",
                 offer->gpus_milli / 1000.0, offer->gpus_milli == 1000 ? "" : "s",
                 (long long)p->gpus);
        return "too few GPUs";
    }
    enum estimate_fit fit = estimate_memory(p->run, NULL, &there, text);
    if (fit != ESTIMATE_FITS_NOT && fit != ESTIMATE_FIT_UNSURE)
        return proof_no_memory(p, offer, why);
    snprintf(why, EVIDENCE_WHY, "%s%s",
             fit == ESTIMATE_FITS_NOT ? "does not fit: " : "its GPU memory ", text);
    return ESTIMATE_NO_MEMORY;
}

const char *proof_no_memory(const struct proof *p, const struct offer *offer,
                            char why[EVIDENCE_WHY])
{
    if (offer->memory_mib <= 0 || p->memory_bytes <= (int64_t)offer->memory_mib << 20)
        return NULL;
    snprintf(why, EVIDENCE_WHY, "does not fit: the run needed %s of memory",
             units_bytes(p->memory_bytes).s);
    return "not enough memory";
}

// With the number of GPUs asked for; with any number, all of the offer's.
static bool as_many(const struct proofs *proofs, const struct proof *p, const struct offer *offer)
{
    return proofs->gpus == 0 ||
           (proofs->gpus == QUOTE_GPUS_ANY ? p->gpus * 1000 == offer->gpus_milli
                                           : p->gpus == proofs->gpus);
}

// A run on that very machine, or at least of that provider, is nearer than the run asked for if it
// has the same setting.
static enum nearness nearness(const struct proofs *proofs, const struct proof *p,
                              const struct offer *offer)
{
    const struct proof *first = proofs->items;
    bool exact = evidence_measured_on(p->run, offer);
    if (!as_many(proofs, p, offer) || (!exact && !is_alike(proofs, p, offer)))
        return NEAR_NOT;
    bool same = p->asked || !first->asked || evidence_same_setting(first->run, p->run);
    return exact && same                                                  ? NEAR_MACHINE
           : same && same_name(offer->provider, p->run->machine.provider) ? NEAR_PROVIDER
           : p->asked                                                     ? NEAR_ASKED
           : !p->run->source                                              ? NEAR_OWN
                                                                          : NEAR_GPU;
}

static int by_hit(const void *a, const void *b)
{
    return by_time(((const struct proof_hit *)a)->proof, ((const struct proof_hit *)b)->proof);
}

// Adds a hit of the nearest kind so far; a second way to use a machine replaces the first.
static size_t add_hit(struct proof_hit *hits, size_t count, const struct proof_hit *hit)
{
    const struct proof *p = hit->proof;
    if (count > 0 && hit->near != hits->near) {
        if (hit->near > hits->near)
            return count;
        count = 0;
    }
    for (size_t i = 0; i < count; i++)
        if (p->run->machine.provider && hits[i].proof->device == p->device &&
            same_machine(&hits[i].proof->run->machine, &p->run->machine)) {
            if (by_time(p, hits[i].proof) < 0)
                hits[i].proof = p;
            return count;
        }
    hits[count] = *hit;
    return count + 1;
}

// The median of those that are as near, or the run asked for; all of them are its interval.
static struct proof_match match_of(struct proof_hit *hits, size_t count)
{
    size_t of = 1;
    qsort(hits, count, sizeof *hits, by_hit);
    while (!hits->proof->asked && of < count && is_peer(hits->proof, hits[of].proof))
        of++;
    const struct proof *p = hits[of / 2].proof;
    struct proof_match m = {.proof = p, .low_ns = p->low_ns, .high_ns = p->high_ns};
    for (size_t i = 0; i < of; i++) {
        p = hits[i].proof;
        m.runs += p->runs;
        m.low_ns = p->low_ns < m.low_ns ? p->low_ns : m.low_ns;
        m.high_ns = p->high_ns > m.high_ns ? p->high_ns : m.high_ns;
    }
    return m;
}

const struct proof *proofs_find(const struct proofs *proofs, const struct offer *offer,
                                struct proof_match best[QUOTE_TRAININGS])
{
    struct proof_hit *all = proofs->hits, *some = all + proofs->count;
    size_t count = 0;
    memset(best, 0, QUOTE_TRAININGS * sizeof *best);
    for (size_t i = 0; i < proofs->count; i++) {
        all[count] =
            (struct proof_hit){&proofs->items[i], nearness(proofs, &proofs->items[i], offer)};
        count += all[count].near != NEAR_NOT;
    }
    for (size_t i = 0; i < count; i++) {
        size_t training = all[i].proof->from->training, found = 0;
        for (size_t k = i; !best[training].proof && k < count; k++)
            if (all[k].proof->from->training == training)
                found = add_hit(some, found, &all[k]);
        if (found > 0)
            best[training] = match_of(some, found);
    }
    return best[0].proof;
}

// ---- runs of any training

#define YEAR_S        INT64_C(31622400)
#define LIBRARIES_MAX 64            // compared of each: a record may list any number
#define DRIVER        "CUDA driver" // differs between machines and changes no kernel

// ---- runs

static bool is_wanted(const struct run_history *history, const struct run *run)
{
    struct bill_time time;
    bool again = history->runs.count > 0 && strcmp(history->runs.items[0].id, run->id) == 0;
    return !again && evidence_usable(run) && !run_stopped(run) && bill_time_of(run, &time);
}

// For ledger_each().
static int run_history_add(void *history_, const char *id, const char *text, struct err *err)
{
    (void)id;
    struct run_history *history = history_;
    struct run run = {0};
    int rc = record_from_text(run_fields, text, strlen(text), &run, err);
    // What ships with fare is lent, and no experience of the user's where it was imported.
    bool wanted = rc == 0 && is_wanted(history, &run) && !run_shipped(&run);
    struct run *added = wanted ? LIST_ADD(&history->runs, err) : NULL;
    if (added) {
        *added = run;
        return 0;
    }
    record_release(run_fields, &run);
    return wanted ? ERR_MEMORY : rc;
}

int run_history_load(struct run_history *history, struct ledger *ledger,
                     const struct ledger_filter *which, const char *first, struct err *err)
{
    struct ledger_filter filter = which ? *which : (struct ledger_filter){.limit = 0};
    filter.heads = true;
    if (filter.limit == 0 || filter.limit >= HISTORY_OWN)
        filter.limit = HISTORY_OWN - 1;
    TRY(first ? run_history_add(history, NULL, first, err) : 0);
    TRY(ledger ? ledger_each(ledger, &filter, run_history_add, history, err) : 0);
    history->own = history->runs.count;
    return 0;
}

int run_history_lend(struct run_history *history, const struct published *all, struct err *err)
{
    for (size_t i = 0; i < published_count(all); i++) {
        const struct run *run = published_run(all, i);
        if (!is_wanted(history, run))
            continue;
        struct run *added = LIST_ADD(&history->runs, err);
        if (!added)
            return ERR_MEMORY;
        *added = *run;
        history->lent++;
    }
    return 0;
}

void run_history_release(struct run_history *history)
{
    for (size_t i = 0; i + history->lent < history->runs.count; i++)
        record_release(run_fields, &history->runs.items[i]);
    free(history->runs.items);
    *history = (struct run_history){.own = 0};
}

// ---- the same training

static bool same_training(const struct run *a, const struct run *b)
{
    if (!text_same(a->workload, b->workload) || !text_same(a->framework, b->framework))
        return false;
    if (a->workload ? differ(a->net, b->net) || differ(a->recipe, b->recipe)
                    : !comparable_command(a, b))
        return false;
    return text_same(a->variant, b->variant) && evidence_same_setting(a, b) &&
           comparable_data(a, b) && comparable_length(a, b);
}

// The first two numbers of a version: "2.8" of "2.8.0+cu128".
static size_t version_len(const char *version)
{
    size_t len = strspn(version, "0123456789");
    if (version[len] == '.')
        len += 1 + strspn(version + len + 1, "0123456789");
    return len;
}

static bool same_version(const char *a, const char *b)
{
    size_t len = a && b ? version_len(a) : 0;
    return !a || !b || (len == version_len(b) && strncmp(a, b, len) == 0);
}

bool run_history_same_software(const struct run *a, const struct run *b)
{
    int64_t from, to;
    for (size_t i = 0; i < a->libraries.count && i < LIBRARIES_MAX; i++)
        for (size_t k = 0; k < b->libraries.count && k < LIBRARIES_MAX; k++) {
            const struct run_library *x = &a->libraries.items[i], *y = &b->libraries.items[k];
            if (x->name && text_same(x->name, y->name) && strcmp(x->name, DRIVER) != 0 &&
                !same_version(x->version, y->version))
                return false;
        }
    if (!a->started || !b->started || !clock_parse(a->started, &from) ||
        !clock_parse(b->started, &to))
        return text_same(run_label(a, "published"), run_label(b, "published"));
    return to - from <= YEAR_S && from - to <= YEAR_S;
}

// ---- proofs

static int add_proofs(struct trials *t, struct market *market, size_t first, size_t count,
                      struct proof **all, struct err *err)
{
    SCOPED(proofs_release) struct proofs proofs = {0};
    const struct quote_ask ask = {
        .market = market, .evidence = t->evidence + first, .evidence_count = count};
    int rc = proofs_gather(&proofs, &ask, err);
    if (rc == 0)
        memcpy(t->items + t->count, proofs.items, proofs.count * sizeof *proofs.items);
    t->count += rc == 0 ? proofs.count : 0;
    t->devices = proofs.devices;
    *all = proofs.all;
    proofs.all = NULL;
    return rc;
}

int trials_make(struct trials *t, const struct run_history *history, struct market *market,
                struct err *err)
{
    size_t count = history->runs.count;
    const struct run *runs = history->runs.items;
    t->evidence = calloc(count + 1, sizeof *t->evidence);
    t->items = calloc(count + 1, sizeof *t->items);
    if (!t->evidence || !t->items)
        return err_memory(err);
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < i && (t->evidence[at].training != at || !same_training(&runs[at], &runs[i])))
            at++;
        t->evidence[i] = (struct quote_evidence){.run = &runs[i], .training = at};
    }
    TRY(add_proofs(t, market, 0, history->own, &t->all[0], err));
    t->own = t->count;
    return add_proofs(t, market, history->own, count - history->own, &t->all[1], err);
}

void trials_release(struct trials *t)
{
    free(t->evidence);
    free(t->items);
    free(t->all[0]);
    free(t->all[1]);
}
