// SPDX-License-Identifier: Apache-2.0
#include "advise/spend/invoice.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/money.h"
#include "ledger/spend.h"

enum { UNMATCHED_MOST = 20 };

struct line {
    size_t provider, resource, name, region, product, what, category, run; // in `texts`
    int64_t began_s, ended_s;
    int64_t billed, effective; // nano-USD
    bool matched;
};

struct noted {
    size_t provider, region; // in `texts`
    int64_t start_s, end_s;
    int64_t nano_usd;
    size_t group;
    bool has_resource;
    size_t found_by; // the last line that is for it, from 1
    int64_t lines, billed, effective;
};

// A use under one of its keys. Sorted by key and start; `until_s` is the latest end so far.
struct entry {
    size_t key, use;
    int64_t start_s, until_s;
};

struct invoice {
    struct buf texts; // each with its NUL
    struct line *lines;
    size_t line_count, line_space;
    struct noted *uses;
    size_t use_count, use_space;
    struct index keys;
    struct entry *entries;
    size_t entry_count, entry_space;
    size_t *first; // of each key, in `entries`
    size_t key_count;
    struct found {
        size_t use;
        int64_t weight;
    } * found; // of the line at hand
    size_t found_count, found_space;
};

static const char *text_at(const struct invoice *v, size_t at)
{
    return buf_str(&v->texts) + at;
}

static size_t keep(struct invoice *v, const char *text)
{
    size_t at = v->texts.len;
    buf_add(&v->texts, text, strlen(text) + 1);
    return at;
}

void invoice_free(struct invoice *v)
{
    if (!v)
        return;
    buf_release(&v->texts);
    index_release(&v->keys);
    free(v->lines);
    free(v->uses);
    free(v->entries);
    free(v->first);
    free(v->found);
    free(v);
}

// ---- names

// Providers have long names on invoices: "Amazon Web Services, Inc." is "aws".
static void provider_name(const char *text, char out[64])
{
    static const struct {
        const char *part, *name;
    } known[] = {{"amazon", "aws"},   {"aws", "aws"},         {"microsoft", "azure"},
                 {"azure", "azure"},  {"google", "gcp"},      {"gcp", "gcp"},
                 {"oracle", "oci"},   {"digitalocean", "do"}, {"lambda", "lambda"},
                 {"runpod", "runpod"}};
    char lower[64];
    size_t len = 0;
    for (; text[len] && len + 1 < sizeof lower; len++)
        lower[len] = (char)tolower((unsigned char)text[len]);
    lower[len] = '\0';
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(lower, known[i].part)) {
            snprintf(out, 64, "%s", known[i].name);
            return;
        }
    snprintf(out, 64, "%s", lower);
}

// "arn:aws:ec2:us-east-1:1234:instance/i-0abc" and "/subscriptions/.../virtualMachines/box": the
// part behind the last slash or colon.
static const char *last_part(const char *text)
{
    const char *last = text;
    for (; *text; text++)
        if ((*text == '/' || *text == ':') && text[1])
            last = text + 1;
    return last;
}

// Names are compared hashed, since records may have them so.
static int number_key(struct invoice *v, char kind, const char *name, bool hash, size_t *number,
                      struct err *err)
{
    char hashed[RUN_HASHED_BYTES];
    SCOPED(buf_release) struct buf key = {0};
    if (hash && strncmp(name, "sha256:", 7) != 0) {
        run_hashed_name(name, hashed);
        name = hashed;
    }
    buf_printf(&key, "%c%s", kind, name);
    TRY(buf_check(&key, err));
    return index_number(&v->keys, buf_str(&key), key.len, number, err);
}

// ---- loading

struct loading {
    struct invoice *invoice;
    struct market *market;
};

static int to_usd(struct market *market, const struct ledger_charge *c, int day, int64_t amount,
                  int64_t *usd, struct err *err)
{
    const struct currencies *currencies;
    *usd = amount;
    if (strcmp(c->currency, "USD") == 0 || amount == 0)
        return 0;
    TRY(market_currencies(market, &currencies, err));
    struct err why = {0};
    int rc = currency_to_usd(currencies, c->currency, day, amount, usd, NULL, &why);
    if (rc == ERR_OVERFLOW) {
        *usd = amount < 0 ? -MONEY_MOST : MONEY_MOST;
        return 0;
    }
    if (rc != 0 && err)
        *err = why;
    return rc == 0 ? 0 : err_context(err, "the invoice '%s'", c->source);
}

static int add_line(void *arg, const struct ledger_charge *c, struct err *err)
{
    struct loading *l = arg;
    struct invoice *v = l->invoice;
    char provider[64];
    struct line line = {0};
    if (!clock_parse(c->began, &line.began_s) || !clock_parse(c->ended, &line.ended_s))
        return 0;
    int day = (int)(line.began_s / 86400);
    TRY(to_usd(l->market, c, day, c->billed, &line.billed, err));
    TRY(to_usd(l->market, c, day, c->effective_known ? c->effective : c->billed, &line.effective,
               err));
    provider_name(c->provider, provider);
    line.provider = keep(v, provider);
    line.resource = keep(v, c->resource);
    line.name = keep(v, c->name);
    line.region = keep(v, c->region);
    line.product = keep(v, c->product);
    line.what = keep(v, c->what);
    line.category = keep(v, c->category);
    line.run = keep(v, c->run);
    TRY(array_grow(&v->lines, v->line_count, &v->line_space, sizeof *v->lines, err));
    v->lines[v->line_count++] = line;
    return buf_check(&v->texts, err);
}

int invoice_load(struct invoice **out, struct ledger *ledger, struct market *market,
                 const char *since, struct err *err)
{
    *out = NULL;
    struct invoice *v = calloc(1, sizeof *v);
    struct loading l = {v, market};
    int rc = v ? ledger_charge_each(ledger, since, add_line, &l, err) : err_memory(err);
    if (rc != 0 || v->line_count == 0)
        invoice_free(v);
    else
        *out = v;
    return rc;
}

// ---- noting

static int add_entry(struct invoice *v, char kind, const char *name, bool hash, struct err *err)
{
    size_t key = 0;
    if (!*name)
        return 0;
    TRY(number_key(v, kind, name, hash, &key, err));
    TRY(array_grow(&v->entries, v->entry_count, &v->entry_space, sizeof *v->entries, err));
    const struct noted *use = &v->uses[v->use_count - 1];
    v->entries[v->entry_count++] = (struct entry){key, v->use_count - 1, use->start_s, use->end_s};
    return 0;
}

int invoice_note(struct invoice *v, const struct use *use, size_t group, struct err *err)
{
    const struct ledger_spend *row = use->row;
    const char *slash = strchr(row->offer, '/'), *name = slash ? slash + 1 : "";
    const char *region = strchr(name, '@') ? strchr(name, '@') + 1 : "";
    char provider[64], product[320], place[128];
    int64_t lasted_ns =
        (row->wall_ns > 0 ? row->wall_ns : 0) + (row->boot_ns > 0 ? row->boot_ns : 0);
    snprintf(place, sizeof place, "%.*s", slash ? (int)(slash - row->offer) : 0, row->offer);
    provider_name(place, provider);
    snprintf(product, sizeof product, "%s/%.*s", provider, (int)strcspn(name, "@:"), name);
    snprintf(place, sizeof place, "%.*s", (int)strcspn(region, ":"), region);
    TRY(array_grow(&v->uses, v->use_count, &v->use_space, sizeof *v->uses, err));
    // A machine is on while it boots, which is before the run starts.
    int64_t before_s = row->boot_ns > 0 ? row->boot_ns / NS_PER_S : 0;
    v->uses[v->use_count++] = (struct noted){
        .provider = keep(v, provider),
        .region = keep(v, place),
        .start_s = use->start_s - before_s,
        .end_s = use->start_s - before_s + (lasted_ns + NS_PER_S - 1) / NS_PER_S,
        .nano_usd = use->nano_usd,
        .group = group,
        .has_resource = *row->resource != '\0',
    };
    TRY(buf_check(&v->texts, err));
    TRY(add_entry(v, 'i', row->id, false, err));
    if (strcmp(row->run, row->id) != 0) // a start told by its job's run
        TRY(add_entry(v, 'i', row->run, false, err));
    TRY(add_entry(v, 'r', row->resource, true, err));
    TRY(add_entry(v, 'h', row->host, true, err));
    return *name ? add_entry(v, 'o', product, false, err) : 0;
}

// ---- matching

static int by_key(const void *a_, const void *b_)
{
    const struct entry *a = a_, *b = b_;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->start_s != b->start_s)
        return a->start_s < b->start_s ? -1 : 1;
    return a->use < b->use ? -1 : a->use > b->use;
}

static int sort_entries(struct invoice *v, struct err *err)
{
    v->key_count = v->keys.count;
    v->first = calloc(v->key_count + 2, sizeof *v->first);
    if (!v->first)
        return err_memory(err);
    if (v->entry_count > 0)
        qsort(v->entries, v->entry_count, sizeof *v->entries, by_key);
    for (size_t i = 0; i < v->entry_count; i++) {
        struct entry *e = &v->entries[i];
        v->first[e->key + 1] = i + 1;
        if (i > 0 && e[-1].key == e->key && e[-1].until_s > e->until_s)
            e->until_s = e[-1].until_s;
    }
    for (size_t k = 1; k <= v->key_count; k++) // keys without entries
        if (v->first[k] < v->first[k - 1])
            v->first[k] = v->first[k - 1];
    return 0;
}

static int add_found(struct invoice *v, const struct line *line, size_t use, int64_t weight,
                     struct err *err)
{
    size_t number = (size_t)(line - v->lines) + 1;
    if (v->uses[use].found_by == number)
        return 0;
    TRY(array_grow(&v->found, v->found_count, &v->found_space, sizeof *v->found, err));
    v->uses[use].found_by = number;
    v->found[v->found_count++] = (struct found){use, weight};
    return 0;
}

// The time that a use overlaps with a line, in seconds; a moment counts as one.
static int64_t overlap(const struct line *line, const struct noted *use)
{
    int64_t from = use->start_s > line->began_s ? use->start_s : line->began_s;
    int64_t to = use->end_s < line->ended_s ? use->end_s : line->ended_s;
    bool within = use->start_s >= line->began_s && use->start_s < line->ended_s;
    return to > from ? to - from : within ? 1 : 0;
}

// Adds the uses under a key; with `timed`, those that overlap with the line.
static int find(struct invoice *v, const struct line *line, char kind, const char *name, bool hash,
                bool timed, struct err *err)
{
    size_t key = 0;
    if (!*name)
        return 0;
    TRY(number_key(v, kind, name, hash, &key, err));
    if (key >= v->key_count)
        return 0;
    size_t from = v->first[key], to = v->first[key + 1];
    if (timed) { // the first that starts after the line's end
        size_t low = from, high = to;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (v->entries[middle].start_s < line->ended_s)
                low = middle + 1;
            else
                high = middle;
        }
        to = low;
    }
    for (size_t i = to; i > from; i--) {
        const struct entry *e = &v->entries[i - 1];
        const struct noted *use = &v->uses[e->use];
        if (timed && e->until_s < line->began_s)
            break; // nor do the earlier ones reach it
        int64_t weight = timed ? overlap(line, use) : 1;
        if (kind == 'o') {
            const char *a = text_at(v, line->region), *b = text_at(v, use->region);
            bool elsewhere = *a && *b && strcmp(a, b) != 0;
            bool others = use->has_resource && *text_at(v, line->resource);
            weight = elsewhere || others ? 0 : weight;
        }
        if (weight > 0)
            TRY(add_found(v, line, e->use, weight, err));
    }
    return 0;
}

// Where the invoice does not name the machine's type, a word of the description may.
static int find_product(struct invoice *v, const struct line *line, struct err *err)
{
    SCOPED(buf_release) struct buf product = {0};
    const char *provider = text_at(v, line->provider), *word = text_at(v, line->what);
    if (*text_at(v, line->product)) {
        buf_printf(&product, "%s/%s", provider, text_at(v, line->product));
        TRY(buf_check(&product, err));
        TRY(find(v, line, 'o', buf_str(&product), false, true, err));
    }
    while (v->found_count == 0 && *(word += strspn(word, " ,;()"))) {
        size_t len = strcspn(word, " ,;()");
        buf_reset(&product);
        buf_printf(&product, "%s/%.*s", provider, (int)len, word);
        TRY(buf_check(&product, err));
        TRY(find(v, line, 'o', buf_str(&product), false, true, err));
        word += len;
    }
    return 0;
}

static int find_uses(struct invoice *v, const struct line *line, struct err *err)
{
    const char *resource = text_at(v, line->resource);
    v->found_count = 0;
    TRY(find(v, line, 'i', text_at(v, line->run), false, false, err));
    if (v->found_count > 0)
        return 0;
    TRY(find(v, line, 'r', resource, true, true, err));
    TRY(find(v, line, 'r', last_part(resource), true, true, err));
    if (v->found_count == 0) {
        TRY(find(v, line, 'h', last_part(resource), true, true, err));
        TRY(find(v, line, 'h', text_at(v, line->name), true, true, err));
    }
    if (v->found_count == 0 && strcmp(text_at(v, line->category), "Usage") == 0)
        TRY(find_product(v, line, err));
    return 0;
}

// Shares the amount by weight, so that the shares add up.
static int share(struct invoice *v, const struct line *line, struct err *err)
{
    int64_t whole = 0, before = 0, billed = 0, effective = 0;
    for (size_t i = 0; i < v->found_count; i++)
        whole += v->found[i].weight;
    for (size_t i = 0; i < v->found_count; i++) {
        struct noted *use = &v->uses[v->found[i].use];
        int64_t until, until_effective;
        before += v->found[i].weight;
        TRY(money_scale(line->billed, before, whole, MONEY_HALF_EVEN, &until, err));
        TRY(money_scale(line->effective, before, whole, MONEY_HALF_EVEN, &until_effective, err));
        money_sum(&use->billed, until - billed);
        money_sum(&use->effective, until_effective - effective);
        use->lines++;
        billed = until;
        effective = until_effective;
    }
    return 0;
}

// ---- what is left over

struct left_over {
    const struct line *line;
    int64_t lines, billed;
};

static int by_amount(const void *a_, const void *b_)
{
    const struct left_over *a = a_, *b = b_;
    int64_t x = a->billed < 0 ? -a->billed : a->billed, y = b->billed < 0 ? -b->billed : b->billed;
    return x != y ? (x < y ? 1 : -1) : a->line < b->line ? -1 : 1;
}

static int list_left_over(const struct invoice *v, struct left_over *left, size_t count,
                          struct spending *out, struct err *err)
{
    if (count > 0)
        qsort(left, count, sizeof *left, by_amount);
    for (size_t i = 0; i < count && i < UNMATCHED_MOST; i++) {
        const struct line *line = left[i].line;
        struct spending_charge *to = LIST_ADD(&out->unmatched, err);
        if (!to)
            return ERR_MEMORY;
        to->lines = some_int(left[i].lines);
        TRY(TEXTS_SET(err, {&to->provider, text_at(v, line->provider)},
                      {&to->category, text_at(v, line->category)},
                      {&to->resource, text_at(v, line->resource)},
                      {&to->what, text_at(v, line->what)}));
        to->usd = some_money(left[i].billed);
    }
    return 0;
}

static int add_left_over(const struct invoice *v, struct spending *out, struct err *err)
{
    SCOPED(index_release) struct index keys = {0};
    SCOPED(free_pointer) struct left_over *left = NULL;
    size_t space = 0;
    int64_t sum = 0, lines = 0;
    for (size_t i = 0; i < v->line_count; i++) {
        const struct line *line = &v->lines[i];
        SCOPED(buf_release) struct buf key = {0};
        size_t number = 0, before = keys.count;
        if (line->matched)
            continue;
        buf_printf(&key, "%s\x1f%s\x1f%s\x1f%s", text_at(v, line->provider),
                   text_at(v, line->category), text_at(v, line->resource),
                   *text_at(v, line->resource) ? "" : text_at(v, line->what));
        TRY(buf_check(&key, err));
        TRY(index_number(&keys, buf_str(&key), key.len, &number, err));
        TRY(array_grow(&left, number, &space, sizeof *left, err));
        if (number == before)
            left[number] = (struct left_over){.line = line};
        money_sum(&sum, line->billed);
        money_sum(&left[number].billed, line->billed);
        left[number].lines++;
        lines++;
    }
    out->unmatched_charges = some_int(lines);
    out->unmatched_usd = some_money(sum);
    return list_left_over(v, left, keys.count, out, err);
}

// Runs at a provider that sent an invoice, in the time it covers, which no line is for.
static int add_missing(const struct invoice *v, struct spending *out, struct err *err)
{
    SCOPED(index_release) struct index providers = {0};
    struct span {
        int64_t from_s, to_s;
    };
    SCOPED(free_pointer) struct span *spans = NULL;
    size_t space = 0, number = 0;
    int64_t missing = 0, sum = 0;
    for (size_t i = 0; i < v->line_count; i++) {
        const struct line *line = &v->lines[i];
        const char *name = text_at(v, line->provider);
        size_t before = providers.count;
        TRY(index_number(&providers, name, strlen(name), &number, err));
        TRY(array_grow(&spans, number, &space, sizeof *spans, err));
        if (number == before)
            spans[number] = (struct span){line->began_s, line->ended_s};
        if (line->began_s < spans[number].from_s)
            spans[number].from_s = line->began_s;
        if (line->ended_s > spans[number].to_s)
            spans[number].to_s = line->ended_s;
    }
    size_t known = providers.count;
    for (size_t i = 0; i < v->use_count; i++) {
        const struct noted *use = &v->uses[i];
        const char *name = text_at(v, use->provider);
        TRY(index_number(&providers, name, strlen(name), &number, err));
        if (use->lines == 0 && number < known && use->nano_usd != 0 &&
            use->group != INVOICE_OTHERS && use->start_s >= spans[number].from_s &&
            use->start_s < spans[number].to_s) {
            missing++;
            money_sum(&sum, use->nano_usd > 0 ? use->nano_usd : 0);
        }
    }
    out->missing = some_int(missing);
    if (missing > 0)
        out->missing_usd = some_money(sum);
    return 0;
}

int invoice_match(struct invoice *v, struct spending *out, struct err *err)
{
    int64_t sum = 0;
    TRY(sort_entries(v, err));
    for (size_t i = 0; i < v->line_count; i++) {
        struct line *line = &v->lines[i];
        money_sum(&sum, line->billed);
        TRY(find_uses(v, line, err));
        line->matched = v->found_count > 0;
        TRY(share(v, line, err));
    }
    out->charges = some_int((int64_t)v->line_count);
    out->charges_usd = some_money(sum);
    TRY(add_left_over(v, out, err));
    return add_missing(v, out, err);
}

int invoice_each(const struct invoice *v, invoice_share_fn *visit, void *arg, struct err *err)
{
    for (size_t i = 0; i < v->use_count; i++) {
        const struct noted *use = &v->uses[i];
        const struct invoice_share s = {use->group, use->billed, use->effective, use->nano_usd};
        if (use->lines > 0)
            TRY(visit(arg, &s, err));
    }
    return 0;
}
