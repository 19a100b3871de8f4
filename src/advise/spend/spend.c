// SPDX-License-Identifier: Apache-2.0
#include "advise/spend/spend.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/money.h"
#include "bill/market.h"
#include "advise/spend/invoice.h"
#include "advise/spend/use.h"

const char *const spend_keys[] = {
    [SPEND_USER] = "user",   [SPEND_HOST] = "host",   [SPEND_PROJECT] = "project",
    [SPEND_OFFER] = "offer", [SPEND_MONTH] = "month", [SPEND_KEYS] = NULL};

int spend_keys_parse(const char *text, enum spend_key keys[SPEND_KEYS], size_t *count,
                     struct err *err)
{
    *count = 0;
    for (;;) {
        size_t len = strcspn(text, ","), k = 0;
        while (spend_keys[k] && (strlen(spend_keys[k]) != len || strncmp(spend_keys[k], text, len)))
            k++;
        bool twice = false;
        for (size_t i = 0; i < *count; i++)
            twice |= keys[i] == k;
        if (!spend_keys[k] || twice) {
            err_set(err, ERR_USAGE, "'%.*s' %s", (int)(len < 40 ? len : 40), text,
                    twice ? "is there twice" : "is not a key of sums");
            return err_hint(err, "it takes some of user, host, project, offer, month, with commas "
                                 "between them");
        }
        keys[(*count)++] = (enum spend_key)k;
        if (text[len] == '\0')
            return 0;
        text += len + 1;
    }
}

const char *spend_value(const struct spending_row *row, enum spend_key key)
{
    const char *const values[SPEND_KEYS] = {row->user, row->host, row->project, row->offer,
                                            row->month};
    return values[key];
}

// ---- groups

struct sums {
    int64_t runs, failed, unknown, corrected, known; // known: with a cost
    double time_s, gpu_s;
    int64_t nano, local;
    bool local_unknown;
    int64_t invoiced, billed, effective, predicted;
    bool predicted_unknown;
    struct suspects suspects;
};

struct group {
    char *values[SPEND_KEYS]; // null: not a key; "": unknown
    struct sums sums;
};

struct summing {
    const struct spend_options *o;
    struct market *market;
    struct invoice *invoice;
    struct index keys;
    struct group *groups;
    size_t group_count, group_space;
    struct sums total;
    struct index ids; // with an invoice: the uses, and the group of each
    size_t *group_of;
    size_t id_space;
};

// Amounts that do not fit stay at the largest that does; in another currency they are unknown.
static void add_sums(struct sums *to, const struct sums *s)
{
    to->runs += s->runs;
    to->failed += s->failed;
    to->unknown += s->unknown;
    to->corrected += s->corrected;
    to->known += s->known;
    to->time_s += s->time_s;
    to->gpu_s += s->gpu_s;
    suspects_join(&to->suspects, &s->suspects);
    to->invoiced += s->invoiced;
    to->suspects.at_least |= !money_sum(&to->nano, s->nano);
    to->local_unknown |= s->local_unknown | !money_sum(&to->local, s->local);
    to->predicted_unknown |= s->predicted_unknown | !money_sum(&to->predicted, s->predicted);
    money_sum(&to->billed, s->billed);
    money_sum(&to->effective, s->effective);
}

static const char *value_of(const struct ledger_spend *row, enum spend_key key, char month[8])
{
    const char *const values[] = {row->user, row->host, row->project, row->offer, month};
    month[0] = '\0';
    if (strlen(row->started) >= 7)
        memcpy(month, row->started, 7);
    month[7] = '\0';
    return values[key];
}

// The number of the group with these values; null: not a key.
static int find_group(struct summing *s, struct index *keys, char *const *values, size_t *number,
                      struct err *err)
{
    SCOPED(buf_release) struct buf key = {0};
    size_t before = keys->count;
    for (size_t k = 0; k < SPEND_KEYS; k++)
        buf_printf(&key, "%s\x1f", values[k] ? values[k] : "");
    TRY(buf_check(&key, err));
    TRY(index_number(keys, buf_str(&key), key.len, number, err));
    if (*number < before)
        return 0;
    TRY(array_grow(&s->groups, s->group_count, &s->group_space, sizeof *s->groups, err));
    struct group *group = &s->groups[s->group_count++];
    *group = (struct group){0};
    for (size_t k = 0; k < SPEND_KEYS; k++)
        if (values[k] && !(group->values[k] = strdup(values[k])))
            return err_memory(err);
    return 0;
}

static int remember(struct summing *s, const char *id, size_t group, struct err *err)
{
    size_t number = 0;
    TRY(array_grow(&s->group_of, s->ids.count, &s->id_space, sizeof *s->group_of, err));
    TRY(index_number(&s->ids, id, strlen(id), &number, err));
    s->group_of[number] = group;
    return 0;
}

static int add_use(void *arg, const struct use *use, struct err *err)
{
    struct summing *s = arg;
    const struct ledger_spend *row = use->row;
    char month[8];
    char *values[SPEND_KEYS] = {0};
    size_t number = 0;
    for (size_t i = 0; i < s->o->key_count; i++)
        values[s->o->keys[i]] = (char *)(uintptr_t)value_of(row, s->o->keys[i], month);
    struct sums sums = {.runs = 1, .failed = use->failed, .corrected = row->corrected};
    if (row->wall_ns >= 0)
        sums.time_s = (double)row->wall_ns / 1e9;
    if (row->gpus > 0)
        sums.gpu_s = sums.time_s * (double)row->gpus;
    sums.known = use->nano_usd >= 0;
    sums.unknown = use->nano_usd < 0;
    sums.nano = use->nano_usd > 0 ? use->nano_usd : 0;
    suspects_note(&sums.suspects, use);
    if (s->o->currency && sums.nano > 0) {
        TRY(local_amount(s->market, s->o->currency, use_day(use), sums.nano, &sums.local, err));
        sums.local_unknown = sums.local < 0;
        sums.local = sums.local < 0 ? 0 : sums.local;
    }
    TRY(find_group(s, &s->keys, values, &number, err));
    add_sums(&s->groups[number].sums, &sums);
    return s->invoice ? remember(s, row->id, number, err) : 0;
}

// All uses share the lines of invoices, whether they are selected or not.
static int note_use(void *arg, const struct use *use, struct err *err)
{
    struct summing *s = arg;
    size_t known = s->ids.count, number = 0;
    TRY(index_number(&s->ids, use->row->id, strlen(use->row->id), &number, err));
    return invoice_note(s->invoice, use, number < known ? s->group_of[number] : INVOICE_OTHERS,
                        err);
}

static int add_share(void *arg, const struct invoice_share *share, struct err *err)
{
    struct summing *s = arg;
    (void)err;
    if (share->group == INVOICE_OTHERS)
        return 0;
    const struct sums sums = {.invoiced = 1,
                              .billed = share->billed,
                              .effective = share->effective,
                              .predicted = share->predicted > 0 ? share->predicted : 0,
                              .predicted_unknown = share->predicted < 0};
    add_sums(&s->groups[share->group].sums, &sums);
    return 0;
}

static void release_groups(struct group *groups, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < SPEND_KEYS; k++)
            free(groups[i].values[k]);
    free(groups);
}

// Joins groups that differ only in whether a name is hashed; the plain one is shown.
static int join_names(struct summing *s, struct err *err)
{
    struct group *old = s->groups;
    size_t count = s->group_count;
    SCOPED(index_release) struct index keys = {0};
    int rc = 0;
    s->groups = NULL;
    s->group_count = s->group_space = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        char hashed[2][RUN_HASHED_BYTES];
        char *values[SPEND_KEYS];
        size_t number = 0;
        memcpy(values, old[i].values, sizeof values);
        for (int k = SPEND_USER; k <= SPEND_HOST; k++)
            if (values[k] && *values[k] && strncmp(values[k], "sha256:", 7) != 0) {
                run_hashed_name(values[k], hashed[k]);
                values[k] = hashed[k];
            }
        rc = find_group(s, &keys, values, &number, err);
        if (rc == 0)
            add_sums(&s->groups[number].sums, &old[i].sums);
        for (int k = SPEND_USER; k <= SPEND_HOST && rc == 0; k++)
            if (values[k] != old[i].values[k]) { // hand the plain name over
                free(s->groups[number].values[k]);
                s->groups[number].values[k] = old[i].values[k];
                old[i].values[k] = NULL;
            }
    }
    release_groups(old, count);
    return rc;
}

// ---- the record

static void fill_invoiced(struct spending_row *row, const struct sums *s)
{
    if (s->invoiced == 0)
        return;
    row->invoiced_usd = some_money(s->billed);
    row->effective_usd = some_money(s->effective);
    if (s->predicted_unknown)
        return;
    int64_t difference = s->billed;
    row->predicted_usd = some_money(s->predicted);
    if (money_sum(&difference, -s->predicted))
        row->difference_usd = some_money(difference);
}

static int fill_amounts(struct spending_row *row, const struct sums *s, const char *currency,
                        bool invoices, struct err *err)
{
    row->runs = some_int(s->runs);
    row->failed = some_int(s->failed);
    row->unknown = some_int(s->unknown);
    if (s->corrected > 0)
        row->corrected = some_int(s->corrected);
    TRY(suspects_tell(&s->suspects, &row->out_of_range, &row->at_least, &row->suspect, err));
    row->time_s = some_real(s->time_s);
    row->gpu_hours = some_real(s->gpu_s / 3600);
    if (s->known > 0)
        row->usd = some_money(s->nano);
    if (currency && s->known > 0 && !s->local_unknown)
        row->local = some_money(s->local);
    if (invoices)
        row->invoiced = some_int(s->invoiced);
    fill_invoiced(row, s);
    return 0;
}

static int by_value(const struct group *a, const struct group *b, enum spend_key key)
{
    int order = strcmp(a->values[key], b->values[key]);
    return key == SPEND_MONTH ? -order : order;
}

// Months: the newest first. One other key: the largest cost first. Several: by their values.
static int in_order(const void *a_, const void *b_, void *options)
{
    const struct group *a = a_, *b = b_;
    const struct spend_options *o = options;
    bool by_cost = o->key_count == 1 && o->keys[0] != SPEND_MONTH;
    if (by_cost && a->sums.nano != b->sums.nano)
        return a->sums.nano < b->sums.nano ? 1 : -1;
    if (by_cost && a->sums.runs != b->sums.runs)
        return a->sums.runs < b->sums.runs ? 1 : -1;
    int order = 0;
    for (size_t k = 0; k < o->key_count && order == 0; k++)
        order = by_value(a, b, o->keys[k]);
    return order;
}

static void sort_groups(struct summing *s)
{
    struct spend_options options = *s->o;
    if (s->group_count > 0)
        qsort_r(s->groups, s->group_count, sizeof *s->groups, in_order, &options);
}

static int fill(struct summing *s, struct spending *out, struct err *err)
{
    bool invoices = s->invoice != NULL;
    out->rows.known = true;
    for (size_t i = 0; i < s->group_count; i++) {
        const struct group *g = &s->groups[i];
        struct spending_row *row = LIST_ADD(&out->rows, err);
        if (!row)
            return ERR_MEMORY;
        TRY(TEXTS_SET(err, {&row->user, g->values[SPEND_USER]}, {&row->host, g->values[SPEND_HOST]},
                      {&row->project, g->values[SPEND_PROJECT]},
                      {&row->offer, g->values[SPEND_OFFER]},
                      {&row->month, g->values[SPEND_MONTH]}));
        TRY(fill_amounts(row, &g->sums, s->o->currency, invoices, err));
        add_sums(&s->total, &g->sums);
    }
    return fill_amounts(&out->total, &s->total, s->o->currency, invoices, err);
}

static int sum(struct summing *s, struct ledger *ledger, const struct ledger_filter *filter,
               struct spending *out, struct err *err)
{
    TRY(local_check(s->market, s->o->currency, err));
    TRY(invoice_load(&s->invoice, ledger, s->market, filter->since, err));
    TRY(use_each(ledger, s->market, filter, add_use, s, err));
    if (s->invoice) {
        const struct ledger_filter all = {0};
        TRY(use_each(ledger, s->market, &all, note_use, s, err));
        TRY(invoice_match(s->invoice, out, err));
        TRY(invoice_each(s->invoice, add_share, s, err));
    }
    TRY(join_names(s, err));
    sort_groups(s);
    return fill(s, out, err);
}

static void release(struct summing *s)
{
    release_groups(s->groups, s->group_count);
    index_release(&s->keys);
    index_release(&s->ids);
    free(s->group_of);
    invoice_free(s->invoice);
}

int spend_sum(struct ledger *ledger, struct market *market, const struct ledger_filter *filter,
              const struct spend_options *options, struct spending *out, struct err *err)
{
    SCOPED(release) struct summing s = {.o = options, .market = market};
    TRY(TEXTS_SET(err, {&out->schema, SPENDING_SCHEMA}, {&out->local_currency, options->currency}));
    for (size_t i = 0; i < options->key_count; i++)
        TRY(texts_add(&out->by, spend_keys[options->keys[i]], err));
    return sum(&s, ledger, filter, out, err);
}

// ---- one run

struct one {
    struct summing s;
    const char *run;
    struct spending ignored;
};

static void release_one(struct one *one)
{
    invoice_free(one->s.invoice);
    record_release(spending_fields, &one->ignored);
}

static int note_one(void *arg, const struct use *use, struct err *err)
{
    struct one *one = arg;
    bool own = strcmp(use->row->run, one->run) == 0;
    return invoice_note(one->s.invoice, use, own ? 0 : INVOICE_OTHERS, err);
}

int spend_of_run(struct ledger *ledger, struct market *market, const char *run,
                 struct spending_row *row, struct err *err)
{
    struct group group = {0};
    SCOPED(release_one) struct one one = {.run = run, .s = {.groups = &group}};
    const struct ledger_filter all = {0};
    TRY(invoice_load(&one.s.invoice, ledger, market, NULL, err));
    if (!one.s.invoice)
        return 0;
    TRY(use_each(ledger, market, &all, note_one, &one, err));
    TRY(invoice_match(one.s.invoice, &one.ignored, err));
    TRY(invoice_each(one.s.invoice, add_share, &one.s, err));
    fill_invoiced(row, &group.sums);
    return 0;
}
