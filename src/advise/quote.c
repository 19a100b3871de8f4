// SPDX-License-Identifier: Apache-2.0
#include "advise/quote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"

#define MISFITS_MAX 20

struct evidence {
    const struct run *run;
    struct bill_time time;
    const struct device *device; // null: it ran on CPUs, or on a GPU that nobody knows
    bool on_gpu;
    int64_t gpus;
    int64_t gpu_memory_bytes; // of the fullest; 0: unknown
};

struct candidate {
    struct offer offer;
    const struct evidence *evidence;
    int64_t per_hour; // nano-units of its currency
};

struct search {
    const struct quote_ask *ask;
    const struct evidence *evidence; // the one that is being placed
    LIST_OF(struct candidate) found;
    struct quote *quote;
    size_t before;  // found before this evidence was placed
    int64_t offers; // looked at
};

static bool same(const char *a, const char *b)
{
    return a && b && *a && strcasecmp(a, b) == 0;
}

// ---- evidence

static const char *gpu_name(const struct run *run)
{
    if (run->use.gpu_list.count > 0 && run->use.gpu_list.items[0].name)
        return run->use.gpu_list.items[0].name;
    return run->machine.gpu;
}

static bool take_evidence(const struct quote_ask *ask, const struct run *run, struct evidence *e)
{
    *e = (struct evidence){.run = run};
    if (!bill_time_of(run, ask->boot_ns, &e->time))
        return false;
    // Published ones do not say how many of its GPUs a machine used: all of them.
    bool said = run->use.gpus.known;
    e->gpus = said                                ? run->use.gpus.v
              : !run->source || !run->machine.gpu ? 0
              : run->machine.gpus.known           ? run->machine.gpus.v
                                                  : 1;
    e->on_gpu = e->gpus > 0;
    if (e->on_gpu)
        e->device = device_find(ask->devices, gpu_name(run));
    for (size_t i = 0; i < run->use.gpu_list.count; i++) {
        struct maybe_int peak = run->use.gpu_list.items[i].memory_peak_bytes;
        if (peak.known && peak.v > e->gpu_memory_bytes)
            e->gpu_memory_bytes = peak.v;
    }
    return true;
}

// ---- what fits

static int misfit(struct search *s, const struct offer *offer, const char *why, struct err *err)
{
    struct quote *q = s->quote;
    if (q->misfits.count >= MISFITS_MAX)
        return 0;
    struct buf name = {0};
    book_name(offer, &name);
    struct quote_misfit *m = LIST_ADD(&q->misfits, err);
    int rc = m ? buf_check(&name, err) : ERR_MEMORY;
    if (rc == 0)
        rc = text_set(&m->offer, buf_str(&name), err);
    if (rc == 0)
        rc = text_set(&m->why, why, err);
    buf_release(&name);
    return rc;
}

// The same thing elsewhere, or measured already: the cheaper one, and the earlier evidence, stay.
static struct candidate *twin(struct search *s, const struct offer *o)
{
    // The book has each once, and is sorted by name: a twin in another region is near the end.
    for (size_t i = s->ask->every_region ? s->before : s->found.count; i-- > 0;) {
        struct candidate *c = &s->found.items[i];
        if (c->offer.kind == o->kind && strcmp(c->offer.name, o->name) == 0 &&
            strcmp(c->offer.provider, o->provider) == 0 &&
            (!s->ask->every_region ||
             (strcmp(c->offer.region, o->region) == 0 && strcmp(c->offer.zone, o->zone) == 0)))
            return c;
    }
    return NULL;
}

static int consider(void *search, const struct offer *offer, struct err *err)
{
    struct search *s = search;
    const struct evidence *e = s->evidence;
    int64_t per_hour = offer_per_hour(offer);
    if (e->gpu_memory_bytes > 0 && offer->gpu_memory_mib > 0 &&
        e->gpu_memory_bytes > (int64_t)offer->gpu_memory_mib << 20) {
        char why[120];
        snprintf(why, sizeof why, "does not fit: the run needed %s of GPU memory",
                 units_bytes(e->gpu_memory_bytes).s);
        return twin(s, offer) ? 0 : misfit(s, offer, why, err);
    }
    struct candidate *c = twin(s, offer);
    if (c && (c->evidence != e || c->per_hour <= per_hour))
        return 0;
    if (!c)
        c = LIST_ADD(&s->found, err);
    if (!c)
        return ERR_MEMORY;
    *c = (struct candidate){*offer, e, per_hour};
    return 0;
}

// CPU runs: the very instance type, or the same processor with as many virtual CPUs.
static int consider_cpu(void *search, const struct offer *offer, struct err *err)
{
    struct search *s = search;
    const struct run_machine *m = &s->evidence->run->machine;
    bool type = same(offer->provider, m->provider) && same(offer->name, m->instance_type);
    bool alike = same(offer->cpu, m->cpu) && m->usable_cpus.known &&
                 offer->vcpus_milli == (int)(m->usable_cpus.v * 1000 + 0.5);
    if (!type && !alike)
        return 0;
    int64_t need =
        s->evidence->run->peak_memory_bytes.known ? s->evidence->run->peak_memory_bytes.v : 0;
    if (need > 0 && offer->memory_mib > 0 && need > (int64_t)offer->memory_mib << 20) {
        char why[120];
        snprintf(why, sizeof why, "does not fit: the run needed %s of memory", units_bytes(need).s);
        return misfit(s, offer, why, err);
    }
    return consider(search, offer, err);
}

// `itself`: only offers of the very instance type.
static int place(struct search *s, const struct evidence *e, bool itself, struct err *err)
{
    const struct run_machine *m = &e->run->machine;
    struct book_filter filter = {.provider = s->ask->provider,
                                 .region = s->ask->region,
                                 .kind = s->ask->kind,
                                 .day = s->ask->context.day,
                                 .max_age = s->ask->max_age};
    s->evidence = e;
    s->before = s->found.count;
    if (itself) {
        if (!m->provider || !m->instance_type ||
            (filter.provider && !same(filter.provider, m->provider)))
            return 0;
        filter.provider = m->provider;
        filter.name = m->instance_type;
    }
    if (!e->on_gpu) {
        if (s->ask->gpu)
            return 0;
        if (itself)
            return book_each(s->ask->book, &filter, consider, s, err);
        filter.without_gpu = true;
        return book_each(s->ask->book, &filter, consider_cpu, s, err);
    }
    if (!e->device)
        return 0;
    if (s->ask->gpu) {
        const struct device *wanted = device_find(s->ask->devices, s->ask->gpu);
        if (wanted ? wanted != e->device : strcasecmp(s->ask->gpu, e->device->name) != 0)
            return 0;
    }
    filter.gpu = e->device->name;
    filter.gpus_milli = (int)(e->gpus * 1000);
    return book_each(s->ask->book, &filter, consider, s, err);
}

static int count_all(void *search, const struct offer *offer, struct err *err)
{
    (void)offer;
    (void)err;
    ((struct search *)search)->offers++;
    return 0;
}

// ---- bills

static const char *machine_words(const struct run_machine *m)
{
    return m->instance_type ? m->instance_type : m->name ? m->name : m->gpu ? m->gpu : m->cpu;
}

static int add_notes(const struct quote_ask *ask, const struct candidate *c, struct bill *bill,
                     struct err *err)
{
    const struct run *run = c->evidence->run;
    int age = offer_age(&c->offer, ask->context.day);
    bill->price_age_days = some_int(age);
    bill->price_old = some_bool(offer_old(&c->offer, ask->context.day));
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < run->taints.count; i++)
        rc = texts_add(&bill->notes, run->taints.items[i], err);
    if (rc == 0 && run->projection.assumption.known && run->projection.assumption.v &&
        strcmp(c->evidence->time.basis, "projected") == 0)
        rc = texts_add(&bill->notes,
                       "a part of the training was not seen in the sample, and was assumed", err);
    return rc;
}

static int add_bill(const struct quote_ask *ask, const struct candidate *c, const char *basis,
                    struct quote *quote, struct err *err)
{
    struct buf name = {0};
    book_name(&c->offer, &name);
    struct bill *bill = LIST_ADD(&quote->bills, err);
    int rc = bill ? buf_check(&name, err) : ERR_MEMORY;
    if (rc == 0)
        rc = bill_make(&ask->context, &c->offer, buf_str(&name), &c->evidence->time,
                       c->evidence->gpus, bill, err);
    if (rc == 0)
        rc = text_set(&bill->run, c->evidence->run->id, err);
    if (rc == 0)
        rc = text_set(&bill->machine, machine_words(&c->evidence->run->machine), err);
    if (rc == 0 && basis)
        rc = text_set(&bill->basis, basis, err);
    if (rc == 0)
        rc = add_notes(ask, c, bill, err);
    buf_release(&name);
    return rc;
}

static int by_total(const void *a, const void *b)
{
    int64_t x = bill_total(a), y = bill_total(b);
    if (x != y)
        return x < y ? -1 : 1;
    const struct bill *p = a, *q = b;
    return p->offer && q->offer ? strcmp(p->offer, q->offer) : 0;
}

static int add_declared(const struct quote_ask *ask, const struct evidence *e, struct quote *quote,
                        struct err *err)
{
    struct candidate c = {.evidence = e};
    int rc = book_find(ask->book, ask->offer, ask->context.day, &c.offer, err);
    if (rc != 0)
        return rc;
    const struct run_machine *m = &e->run->machine;
    bool there = same(c.offer.provider, m->provider) && same(c.offer.name, m->instance_type);
    bool alike = e->device && same(c.offer.gpu, e->device->name);
    return add_bill(ask, &c, there || alike ? NULL : "declared", quote, err);
}

// The machine of the first run, bought: what an hour of its use costs.
static int add_own(const struct quote_ask *ask, const struct evidence *e, struct quote *quote,
                   struct err *err)
{
    struct candidate c = {.evidence = e};
    struct own_hour hour;
    struct buf words = {0};
    int rc = own_offer(ask->own, "this machine, bought", &c.offer, err);
    if (rc == 0)
        rc = own_hour(ask->own, &hour, err);
    if (rc != 0)
        return rc;
    c.offer.gpu = e->device ? e->device->name : "";
    c.offer.gpus_milli = (int)(e->gpus * 1000);
    c.offer.day = ask->context.day > 0 ? ask->context.day : book_today();
    rc = add_bill(ask, &c, NULL, quote, err);
    own_words(ask->own, &hour, "USD", &words);
    if (rc == 0)
        rc = buf_check(&words, err);
    if (rc == 0)
        rc = texts_add(&quote->bills.items[quote->bills.count - 1].notes, buf_str(&words), err);
    buf_release(&words);
    return rc;
}

int quote_make(const struct quote_ask *ask, struct quote *quote, struct err *err)
{
    struct evidence *evidence = calloc(ask->run_count + 1, sizeof *evidence);
    struct search s = {.ask = ask, .quote = quote};
    size_t count = 0;
    int rc = evidence ? 0 : err_memory(err);
    for (size_t i = 0; rc == 0 && i < ask->run_count; i++)
        count += take_evidence(ask, ask->runs[i], &evidence[count]);
    quote->bills.known = true;
    if (rc == 0 && ask->offer && count > 0) {
        rc = add_declared(ask, &evidence[0], quote, err);
    } else if (rc == 0) {
        // What was measured on the thing itself goes before what was on the same GPU.
        for (size_t i = 0; rc == 0 && i < 2 * count; i++)
            rc = place(&s, &evidence[i % count], i < count, err);
        for (size_t i = 0; rc == 0 && i < s.found.count; i++)
            rc = add_bill(ask, &s.found.items[i], NULL, quote, err);
        const struct book_filter all = {.day = ask->context.day, .max_age = ask->max_age};
        if (rc == 0)
            rc = book_each(ask->book, &all, count_all, &s, err);
        quote->not_measured = some_int(s.offers - (int64_t)s.found.count);
        if (rc == 0 && ask->own && count > 0)
            rc = add_own(ask, &evidence[0], quote, err);
    }
    if (rc == 0 && quote->bills.count > 1)
        qsort(quote->bills.items, quote->bills.count, sizeof *quote->bills.items, by_total);
    free(s.found.items);
    free(evidence);
    return rc;
}
