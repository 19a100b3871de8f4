// SPDX-License-Identifier: Apache-2.0
#include "advise/spend/budget.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "bill/market.h"
#include "advise/spend/use.h"

static const char *const kinds[] = {"project", "user", "host", "all", NULL};
static const char *const periods[] = {"month", "week", "day", "total", NULL};

static const char *find_word(const char *const *words, const char *text, size_t len)
{
    for (; *words; words++)
        if (strlen(*words) == len && strncmp(*words, text, len) == 0)
            return *words;
    return NULL;
}

// ---- the words of --budget

static int bad(const char *text, const char *why, struct err *err)
{
    err_set(err, ERR_USAGE, "--budget '%.80s': %s", text, why);
    return err_hint(err,
                    "it looks like project:bert=300/month, user=50EUR/week, all=1000/month, or "
                    "project:bert=none to remove it");
}

// "300EUR" → the amount and its currency, upper case.
static int read_amount(const char *text, char *amount, const char *given, struct budget_word *out,
                       struct err *err)
{
    size_t digits = strspn(amount, "0123456789.");
    char *letters = amount + digits;
    letters += *letters == ' ';
    size_t len = strlen(letters);
    if (digits == 0 || (len != 0 && len != 3))
        return bad(text, "the amount is a number, with a currency such as EUR behind it", err);
    out->budget.currency = given ? given : "USD";
    if (len == 3) {
        for (size_t i = 0; i < 3; i++) {
            if (!isalpha((unsigned char)letters[i]))
                return bad(text, "a currency has three letters", err);
            letters[i] = (char)toupper((unsigned char)letters[i]);
        }
        out->budget.currency = letters;
    }
    char number[64];
    snprintf(number, sizeof number, "%.*s", (int)digits, amount);
    if (digits >= sizeof number || money_parse(number, &out->budget.nano, NULL) != 0)
        return bad(text, "the amount is not a number, or too large", err);
    if (out->budget.nano <= 0)
        return bad(text, "the amount must be above 0", err);
    return 0;
}

int budget_parse(const char *text, const char *currency, struct budget_word *out, struct err *err)
{
    *out = (struct budget_word){.budget = {.name = "", .period = "month"}};
    if (strlen(text) >= sizeof out->texts)
        return bad(text, "it is too long", err);
    memcpy(out->texts, text, strlen(text) + 1);
    char *amount = strrchr(out->texts, '=');
    if (!amount || amount == out->texts)
        return bad(text, "expected WHOSE=AMOUNT/PERIOD", err);
    *amount++ = '\0';
    char *colon = strchr(out->texts, ':');
    size_t len = colon ? (size_t)(colon - out->texts) : strlen(out->texts);
    out->budget.kind = find_word(kinds, out->texts, len);
    if (out->budget.kind && colon)
        out->budget.name = colon + 1;
    if (!out->budget.kind) { // "bert=300": a project
        out->budget.kind = "project";
        out->budget.name = out->texts;
    }
    bool all = strcmp(out->budget.kind, "all") == 0;
    if (colon && out->budget.name == colon + 1 && (!*out->budget.name || all))
        return bad(text, all ? "'all' has no name" : "there is no name behind the colon", err);
    char *slash = strchr(amount, '/');
    if (slash) {
        *slash++ = '\0';
        out->budget.period = out->period = find_word(periods, slash, strlen(slash));
        if (!out->period)
            return bad(text, "a period is month, week, day or total", err);
    }
    out->removes = strcmp(amount, "none") == 0;
    return out->removes ? 0 : read_amount(text, amount, currency, out, err);
}

// ---- periods

struct span {
    int64_t from_s, to_s; // to_s 0: it has no end
};

static struct span current(const char *period, int64_t now_s)
{
    struct span span = {0, 0};
    int64_t day = now_s / 86400;
    if (strcmp(period, "month") == 0 && clock_month(now_s, 0, &span.from_s))
        span.to_s = clock_month(now_s, 1, &span.to_s) ? span.to_s : 0;
    if (strcmp(period, "week") == 0) { // 1970-01-05 was a Monday
        span.from_s = (day - (day + 3) % 7) * 86400;
        span.to_s = span.from_s + 7 * 86400;
    }
    if (strcmp(period, "day") == 0) {
        span.from_s = day * 86400;
        span.to_s = span.from_s + 86400;
    }
    return span;
}

// ---- states

struct known { // a budget in the ledger
    char *kind, *name, *period, *currency;
    char canonical[256]; // of the name
    int64_t nano;
    struct span span;
};

struct state { // of one budget and one name
    size_t budget;
    char *name; // as recorded
    int64_t spent, runs, unknown, corrected;
    struct suspects suspects;
};

struct counting {
    struct known *budgets;
    size_t count, space;
    struct index keys;
    struct state *states;
    size_t state_count, state_space;
    const struct budget_whose *whose; // null: everybody
    struct market *market;
};

// Plain and hashed names of users and hosts are the same.
static void canonical(const char *kind, const char *name, char out[256])
{
    bool hash = (strcmp(kind, "user") == 0 || strcmp(kind, "host") == 0) && *name &&
                strncmp(name, "sha256:", 7) != 0;
    if (hash)
        run_hashed_name(name, out);
    else
        snprintf(out, 256, "%s", name);
}

static const char *value_of(const char *kind, const char *project, const char *user,
                            const char *host)
{
    const char *value = strcmp(kind, "project") == 0 ? project
                        : strcmp(kind, "user") == 0  ? user
                        : strcmp(kind, "host") == 0  ? host
                                                     : "";
    return value ? value : "";
}

static int add_budget(void *arg, const struct ledger_budget *b, struct err *err)
{
    struct counting *c = arg;
    if (!find_word(kinds, b->kind, strlen(b->kind)) ||
        !find_word(periods, b->period, strlen(b->period)))
        return 0; // of a newer fare
    TRY(array_grow(&c->budgets, c->count, &c->space, sizeof *c->budgets, err));
    struct known *known = &c->budgets[c->count++];
    *known = (struct known){.kind = strdup(b->kind),
                            .name = strdup(b->name),
                            .period = strdup(b->period),
                            .currency = strdup(b->currency),
                            .nano = b->nano,
                            .span = current(b->period, clock_date_s())};
    if (!known->kind || !known->name || !known->period || !known->currency)
        return err_memory(err);
    canonical(known->kind, known->name, known->canonical);
    return 0;
}

// Whether a name has a budget of its own, so that the one for each does not apply.
static bool has_own(const struct counting *c, const struct known *each, const char *name)
{
    for (size_t i = 0; i < c->count; i++)
        if (*c->budgets[i].name && strcmp(c->budgets[i].kind, each->kind) == 0 &&
            strcmp(c->budgets[i].period, each->period) == 0 &&
            strcmp(c->budgets[i].canonical, name) == 0)
            return true;
    return false;
}

// Whether budget `b` is for `name`, which is canonical.
static bool applies(const struct counting *c, size_t b, const char *name)
{
    const struct known *k = &c->budgets[b];
    if (strcmp(k->kind, "all") == 0)
        return true;
    if (*k->name)
        return strcmp(k->canonical, name) == 0;
    return *name && !has_own(c, k, name);
}

// The state of a budget for a name, made if there is none. `shown`: the name as it is recorded.
static int find_state(struct counting *c, size_t b, const char *name, const char *shown,
                      struct state **out, struct err *err)
{
    SCOPED(buf_release) struct buf key = {0};
    size_t number = 0, before = c->keys.count;
    buf_printf(&key, "%zu %s", b, name);
    TRY(buf_check(&key, err));
    TRY(array_grow(&c->states, c->state_count, &c->state_space, sizeof *c->states, err));
    TRY(index_number(&c->keys, buf_str(&key), key.len, &number, err));
    struct state *state = &c->states[number];
    if (number == before) {
        c->state_count++;
        *state = (struct state){.budget = b, .name = strdup(shown)};
        if (!state->name)
            return err_memory(err);
    }
    *out = state;
    return 0;
}

// Below 0 if there is no rate for that day; MONEY_MOST if it is more than fits.
static int in_currency(struct counting *c, const char *currency, int day, int64_t *nano,
                       struct err *err)
{
    int64_t one, amount;
    TRY(local_amount(c->market, currency, day, 1, &one, err));
    TRY(local_amount(c->market, currency, day, *nano, &amount, err));
    *nano = amount < 0 && one >= 0 ? MONEY_MOST : amount;
    return 0;
}

static int add_use(void *arg, const struct use *use, struct err *err)
{
    struct counting *c = arg;
    const struct ledger_spend *row = use->row;
    for (size_t b = 0; b < c->count; b++) {
        const struct known *k = &c->budgets[b];
        char name[256], wanted[256];
        struct state *state;
        int64_t nano = use->nano_usd;
        if (use->start_s < k->span.from_s || (k->span.to_s > 0 && use->start_s >= k->span.to_s))
            continue;
        const char *value = value_of(k->kind, row->project, row->user, row->host);
        canonical(k->kind, value, name);
        if (!applies(c, b, name))
            continue;
        if (c->whose) {
            canonical(k->kind, value_of(k->kind, c->whose->project, c->whose->user, c->whose->host),
                      wanted);
            if (strcmp(name, wanted) != 0)
                continue;
        }
        TRY(find_state(c, b, name, *k->name ? k->name : value, &state, err));
        state->runs++;
        if (nano > 0 && strcmp(k->currency, "USD") != 0)
            TRY(in_currency(c, k->currency, use_day(use), &nano, err));
        state->unknown += nano < 0;
        state->corrected += use->row->corrected;
        suspects_note(&state->suspects, use);
        state->suspects.at_least |=
            !money_sum(&state->spent, nano > 0 ? nano : 0) || nano == MONEY_MOST;
    }
    return 0;
}

// A budget that nobody has used has a state too.
static int add_unused(struct counting *c, struct err *err)
{
    for (size_t b = 0; b < c->count; b++) {
        const struct known *k = &c->budgets[b];
        struct state *state;
        char name[256];
        const char *value = k->name;
        snprintf(name, sizeof name, "%s", k->canonical);
        if (c->whose) {
            value = value_of(k->kind, c->whose->project, c->whose->user, c->whose->host);
            canonical(k->kind, value, name);
            if (!applies(c, b, name))
                continue;
        } else if (!*k->name && strcmp(k->kind, "all") != 0) {
            bool any = false;
            for (size_t i = 0; i < c->state_count; i++)
                any |= c->states[i].budget == b;
            if (any)
                continue;
        }
        TRY(find_state(c, b, name, *k->name ? k->name : value, &state, err));
    }
    return 0;
}

// ---- the record

static int fill_state(const struct counting *c, const struct state *s, struct budget_state *to,
                      struct err *err)
{
    const struct known *k = &c->budgets[s->budget];
    char from[CLOCK_ISO_BYTES];
    int64_t now_s = clock_date_s(), projected;
    to->runs = some_int(s->runs);
    to->unknown = some_int(s->unknown);
    if (s->corrected > 0)
        to->corrected = some_int(s->corrected);
    to->share = some_real((double)s->spent / (double)k->nano);
    TRY(suspects_tell(&s->suspects, &to->out_of_range, &to->at_least, &to->suspect, err));
    TRY(TEXTS_SET(err, {&to->kind, k->kind}, {&to->name, s->name}, {&to->period, k->period},
                  {&to->currency, k->currency}));
    to->amount = some_money(k->nano);
    to->spent = some_money(s->spent);
    to->left = some_money(k->nano - s->spent);
    if (k->span.to_s == 0)
        return 0;
    clock_iso(k->span.from_s, from);
    TRY(text_set(&to->from, from, err));
    if (now_s > k->span.from_s &&
        money_scale(s->spent, k->span.to_s - k->span.from_s, now_s - k->span.from_s,
                    MONEY_HALF_EVEN, &projected, NULL) == 0)
        to->projected = some_money(projected);
    return 0;
}

static int in_order(const void *a_, const void *b_)
{
    const struct state *a = a_, *b = b_;
    if (a->budget != b->budget)
        return a->budget < b->budget ? -1 : 1;
    return a->spent != b->spent ? (a->spent < b->spent ? 1 : -1) : strcmp(a->name, b->name);
}

static int fill(struct counting *c, struct budgets *out, struct err *err)
{
    out->budgets.known = true;
    if (c->state_count > 0)
        qsort(c->states, c->state_count, sizeof *c->states, in_order);
    for (size_t i = 0; i < c->state_count; i++) {
        struct budget_state *to = LIST_ADD(&out->budgets, err);
        if (!to)
            return ERR_MEMORY;
        TRY(fill_state(c, &c->states[i], to, err));
    }
    return 0;
}

static int count(struct counting *c, struct ledger *ledger, struct budgets *out, struct err *err)
{
    int64_t from_s = INT64_MAX;
    char since[CLOCK_ISO_BYTES];
    TRY(text_set(&out->schema, BUDGETS_SCHEMA, err));
    TRY(ledger_budget_each(ledger, add_budget, c, err));
    for (size_t i = 0; i < c->count; i++)
        from_s = c->budgets[i].span.from_s < from_s ? c->budgets[i].span.from_s : from_s;
    clock_iso(from_s, since);
    const struct ledger_filter filter = {.since = from_s > 0 ? since : NULL};
    if (c->count > 0)
        TRY(use_each(ledger, c->market, &filter, add_use, c, err));
    TRY(add_unused(c, err));
    return fill(c, out, err);
}

int budget_states(struct ledger *ledger, struct market *market, const struct budget_whose *whose,
                  struct budgets *out, struct err *err)
{
    struct counting c = {.whose = whose->project || whose->user || whose->host ? whose : NULL,
                         .market = market};
    int rc = count(&c, ledger, out, err);
    for (size_t i = 0; i < c.count; i++) {
        free(c.budgets[i].kind);
        free(c.budgets[i].name);
        free(c.budgets[i].period);
        free(c.budgets[i].currency);
    }
    for (size_t i = 0; i < c.state_count; i++)
        free(c.states[i].name);
    free(c.budgets);
    free(c.states);
    index_release(&c.keys);
    return rc;
}

// ---- for people

void budget_words(const struct budget_state *s, struct buf *out)
{
    const int64_t left = s->left.nano;
    char texts[3][MONEY_BYTES];
    if (!s->spent.known || !s->amount.known || !s->left.known)
        return;
    bool total = strcmp(s->period, "total") == 0, day = strcmp(s->period, "day") == 0;
    money_short_in(s->spent.nano, s->currency, texts[0]);
    money_short_in(s->amount.nano, s->currency, texts[1]);
    money_short_in(left < 0 ? -left : left, s->currency, texts[2]);
    buf_printf(out, "budget of %s%s%s: %s of %s %s spent%s%s (%.0f %%)",
               strcmp(s->kind, "all") == 0 ? "everybody" : s->kind, s->name ? " " : "",
               s->name ? s->name : "", texts[0], texts[1], s->currency,
               total ? ""
               : day ? " today"
                     : " this ",
               total || day ? "" : s->period, s->share.v * 100);
    buf_printf(out, left < 0 ? ": exceeded by %s" : ", %s left", texts[2]);
    int64_t unknown = s->unknown.v - s->out_of_range.v;
    if (unknown > 0)
        buf_printf(out, "; the cost of %s is unknown", units_count(unknown, "run").s);
    if (s->corrected.v > 0)
        buf_printf(out, "; that of %s is corrected", units_count(s->corrected.v, "run").s);
    if (s->suspect)
        buf_adds(out, "; ");
    suspects_words(s->out_of_range, s->at_least, s->suspect, out);
}

int budget_left_usd(const struct budget_state *s, struct market *market, int64_t *nano_usd,
                    struct err *err)
{
    const struct currencies *currencies;
    if (!s->left.known)
        return err_set(err, ERR_FORMAT, "the budget's rest is unknown");
    *nano_usd = s->left.nano;
    if (strcmp(s->currency, "USD") == 0)
        return 0;
    TRY(market_currencies(market, &currencies, err));
    return currency_to_usd(currencies, s->currency, 0, *nano_usd, nano_usd, NULL, err);
}
