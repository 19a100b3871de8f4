// SPDX-License-Identifier: Apache-2.0
// The short answer of a quote: who is cheapest and fastest, a few machines by their GPU with both
// prices, and three facts: GPU memory, prices, what to do next. All else is one option away.
#include <string.h>

#include "advise/answer.h"
#include "advise/estimate/estimate.h"
#include "advise/estimate/rates.h"
#include "advise/verdict_words.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "bill/bill.h"
#include "book/listing.h"
#include "view/quote.h"

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

// It has no offer, and its price is of today.
static bool is_bought(const struct bill *bill)
{
    return same_text(bill->provider, "own");
}

// ---- the table

// "H200", "8 × H100", "2 × 8 × H100", "1 of 8 × V100"; without a GPU "4 vCPU".
struct cell view_gpu(struct doc *doc, const struct bill *b)
{
    const char *some = "";
    if (!b->gpu)
        return cell_text(b->vcpus.known ? doc_text(doc, "%g vCPU", b->vcpus.v) : "no GPU");
    if (b->gpus_used.known && (double)b->gpus_used.v < b->gpus.v)
        some = doc_text(doc, "%lld of ", (long long)b->gpus_used.v);
    if (b->machines.v > 1)
        some = doc_text(doc, "%lld × ", (long long)b->machines.v);
    return cell_text(*some || b->gpus.v > 1 ? doc_text(doc, "%s%g × %s", some, b->gpus.v, b->gpu)
                     : b->gpus.v > 0 && b->gpus.v < 1 ? doc_text(doc, "%g × %s", b->gpus.v, b->gpu)
                                                      : b->gpu);
}

// "2 h 31 min ±30 %", "≥ 3 min"; without the start-up, which has its own column.
struct cell view_time(struct doc *doc, const struct bill *b)
{
    char time[48];
    bill_time_words(b, time, sizeof time);
    return (struct cell){
        .kind = CELL_TIME,
        .text = doc_text(doc, "%s%s%s", time, b->spread ? " " : "", b->spread ? b->spread : "")};
}

const char *view_machine(struct doc *doc, const struct bill *b)
{
    struct buf text = {0};
    verdict_add_offer(&text, b);
    return doc_take(doc, &text);
}

// What of a limit it misses.
static const char *limit_words(const struct bill *b)
{
    return same_text(b->deadline, "missed")                ? "late"
           : b->deadline && !same_text(b->deadline, "met") ? "perhaps late"
           : same_text(b->budget, "missed")                ? "over budget"
           : b->budget && !same_text(b->budget, "met")     ? "perhaps over budget"
                                                           : NULL;
}

// The words stand beside both prices: they say which of them they are for where that matters.
static const char *row_limit(struct doc *doc, const struct answer_row *row)
{
    const char *words = limit_words(row->bill);
    const char *spot = row->spot ? limit_words(row->spot) : words;
    return !words ? "" : same_text(words, spot) ? words : doc_text(doc, "on demand %s", words);
}

// Nobody looks for the price of a whole month in the column on demand.
static const char *machine_name(struct doc *doc, const struct bill *b)
{
    return !b->short_name                  ? b->offer
           : same_text(b->kind, "monthly") ? doc_text(doc, "%s:monthly", b->short_name)
                                           : b->short_name;
}

// Under an assumed rule it may cost up to started hours.
static bool is_assumed(const struct bill *b)
{
    return b && b->by_hours.known && (double)b->by_hours.nano > 1.05 * (double)bill_total(b);
}

// Without an interval, which --offer has; under an assumed rule that is all that is known.
struct cell view_price(struct doc *doc, const struct bill *b)
{
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    struct cell cell = {.kind = CELL_AMOUNT};
    if (b)
        cell = view_cost(doc, b);
    if (is_assumed(b) && !bill_is_bound(b)) {
        bill_amount(b, amount, interval);
        cell.text = doc_text(doc, "%s", interval);
        cell.local.known = false;
    }
    cell.sub = NULL;
    return cell;
}

static size_t count_old(const struct answer *answer)
{
    size_t old = 0;
    for (size_t i = 0; i < answer->count; i++)
        old += answer->rows[i].old;
    return old;
}

// Where some rows lead and others are at older prices, that column tells them apart.
static struct cell seen_cell(struct doc *doc, const struct bill *b, bool apart)
{
    return cell_text(!apart || is_bought(b)     ? NULL
                     : b->price_own.v           ? "yours"
                     : !b->price_age_days.known ? "unknown"
                     : b->price_age_days.v == 0
                         ? "today"
                         : doc_text(doc, "%lld d ago", (long long)b->price_age_days.v));
}

// Columns whose cells would be the same in every row; a fact below the table says it once.
struct common {
    bool gpu, time, startup;
};

static struct common common_of(const struct answer *answer)
{
    struct common c = {answer->count > 1, answer->count > 1, answer->count > 1};
    const struct bill *first = answer->rows[0].bill;
    for (size_t i = 1; i < answer->count; i++) {
        const struct bill *b = answer->rows[i].bill;
        char time[48], other[48];
        bill_time_words(first, time, sizeof time);
        bill_time_words(b, other, sizeof other);
        c.gpu &= first->gpu && same_text(b->gpu, first->gpu) && b->gpus.v == first->gpus.v &&
                 b->gpus_used.v == first->gpus_used.v && b->machines.v == first->machines.v;
        c.time &= same_text(time, other) && same_text(b->spread, first->spread);
        c.startup &= b->startup_s.v == first->startup_s.v;
    }
    return c;
}

// On a page the GPU is the row's name, and the machine stands below it.
static void add_rows(struct doc *doc, const struct answer *answer, const struct common *common,
                     bool page, bool full_names)
{
    const bool apart = count_old(answer) > 0;
    doc_table(doc, "Machines");
    for (size_t i = 0; i < answer->count; i++) {
        const struct answer_row *row = &answer->rows[i];
        const struct bill *b = row->bill;
        doc_row(doc, row->old ? DOC_PALE : DOC_NORMAL);
        if (page || !common->gpu)
            doc_cell(doc, COLUMN("GPU"), view_gpu(doc, b));
        doc_cell(doc, COLUMN("machine", .least = 26, .joined = page ? "" : NULL),
                 (struct cell){CELL_OFFER, .text = full_names ? b->offer : machine_name(doc, b),
                               .sub = b->offer});
        if (!common->time)
            doc_cell(doc, COLUMN("time"), view_time(doc, b));
        if (!common->startup)
            doc_cell(
                doc, COLUMN("start-up", .brief = "start", .priority = 2),
                cell_number(CELL_TIME, b->startup_s.v > 0 ? b->startup_s : (struct maybe_real){0}));
        doc_cell(doc, COLUMN("memory"), view_memory(doc, b));
        doc_cell(doc, COLUMN("link"),
                 cell_text(b->machines.v < 2 ? NULL
                           : b->link         ? b->link
                                             : "unknown"));
        doc_cell(doc, COLUMN("on demand"), view_price(doc, row->demand));
        doc_cell(doc, COLUMN("spot"), view_price(doc, row->spot));
        doc_cell(doc, COLUMN("price seen", "seen", .priority = 1), seen_cell(doc, b, apart));
        doc_cell(doc, COLUMN("owed in all"), view_owed(doc, b));
        doc_cell(doc, COLUMN("with you"), view_waiting(b));
        doc_cell(doc, COLUMN(page ? "limits" : ""), cell_text(row_limit(doc, row)));
    }
}

// "28 of 80 GB" on each GPU, of a plan from a model's description.
struct cell view_memory(struct doc *doc, const struct bill *b)
{
    const struct bill_model *m = &b->model;
    const double gb = 0x1p30; // as GPUs are sold
    return cell_text(m->memory_bytes.known
                         ? doc_text(doc, "%.0f of %.0f GB%s", (double)m->memory_bytes.v / gb,
                                    (double)m->gpu_memory_bytes.v / gb, b->gpu_memory ? "?" : "")
                         : NULL);
}

// What the rows have in common, unless the title says it.
static const char *common_words(struct doc *doc, const struct quote *quote,
                                const struct answer *answer, const struct common *common)
{
    const struct bill *b = answer->rows[0].bill;
    struct buf text = {0};
    if (quote->given && !quote->model.name)
        return NULL;
    if (common->gpu)
        buf_adds(&text, view_gpu(doc, b).text);
    if (common->time)
        buf_printf(&text, "%s%s", text.len > 0 ? ", " : "", view_time(doc, b).text);
    return doc_take(doc, &text);
}

// ---- the facts

static const char *memory_words(struct doc *doc, const struct quote *quote, const struct run *run,
                                const struct answer *answer)
{
    int64_t short_of = 0;
    bool gpus = false, unsure = false;
    for (size_t i = 0; i < answer->count; i++) {
        gpus |= answer->rows[i].bill->gpu != NULL;
        unsure |= answer->rows[i].bill->gpu_memory != NULL;
    }
    for (size_t i = 0; i < quote->left_out.count; i++)
        if (strcmp(quote->left_out.items[i].reason, ESTIMATE_NO_MEMORY) == 0)
            short_of += quote->left_out.items[i].count.v;
    if (!gpus || quote->given || !run)
        return NULL;
    const int64_t peak = estimate_memory_need(run);
    const char *need = peak == 0 ? "on a GPU: unknown, as no run recorded it"
                                 : doc_text(doc, "%s on a GPU: %s all of these",
                                            units_bytes(peak).s, unsure ? "may not fit" : "fits");
    return short_of == 0 ? need
           : short_of == 1
               ? doc_text(doc, "%s; one offer has too little", need)
               : doc_text(doc, "%s; %lld offers have too little", need, (long long)short_of);
}

// Beside times of other runs: why that of the run asked for, on CPUs, is none of them.
static const char *noise_words(struct doc *doc, const struct run *run, const struct answer *answer)
{
    const char *noise =
        run && run->taints.count > 0 && run->use.gpus.v == 0 ? run->taints.items[0] : NULL;
    for (size_t i = 0; noise && i < answer->count; i++)
        if (same_text(answer->rows[i].bill->run, run->id))
            noise = NULL;
    return noise ? doc_text(doc, "%s: the run's own time is not used", noise) : NULL;
}

// When the prices of the rows that lead were seen.
static const char *price_words(struct doc *doc, const struct quote *quote,
                               const struct answer *answer, const struct common *common,
                               bool said_above, bool page)
{
    const char *first = NULL, *last = NULL;
    bool spot = false, bound = false, estimated = false, assumed = false;
    for (size_t i = 0; i < answer->count; i++) {
        const struct bill *both[] = {answer->rows[i].demand, answer->rows[i].spot};
        spot |= both[1] && !bill_is_bound(both[1]);
        bound |= both[1] && bill_is_bound(both[1]);
        for (int k = 0; k < 2; k++) {
            const char *date = both[k] ? both[k]->price_date : NULL;
            estimated |= both[k] && both[k]->price_estimated.v;
            assumed |= is_assumed(both[k]);
            if (!date || answer->rows[i].old || both[k]->price_own.v || is_bought(both[k]))
                continue;
            first = !first || strcmp(date, first) < 0 ? date : first;
            last = !last || strcmp(date, last) > 0 ? date : last;
        }
    }
    const size_t old = count_old(answer);
    const char *below = old == 0   ? ""
                        : old == 1 ? "; that of the last row is older"
                                   : doc_text(doc, "; those of the last %zu rows are older", old);
    if (!first)
        return doc_text(doc, "yours; without tax%s", below);
    const bool said = said_above && quote->prices_of && strncmp(first, quote->prices_of, 10) == 0 &&
                      strncmp(last, quote->prices_of, 10) == 0; // in the title
    struct buf text = {0};
    buf_adds(&text, "USD without tax");
    if (!said && strcmp(first, last) == 0)
        buf_printf(&text, ", seen on %.10s", first);
    else if (!said)
        buf_printf(&text, ", seen from %.10s to %.10s", first, last);
    if (common->startup && answer->rows[0].bill->startup_s.v > 0) {
        char startup[48];
        clock_words((int64_t)(answer->rows[0].bill->startup_s.v * 1e9), startup, sizeof startup);
        buf_printf(&text, ", with %s of start-up", startup);
    }
    buf_printf(&text, "%s%s%s%s%s", below,
               spot            ? "; spot with interruptions"
               : bound && page ? "; ≥ spot without interruptions, whose rate is unknown"
               : bound && !answer->bounds ? "; ≥ interruptions unknown"
                                          : "",
               quote->prices_of && !quote->date && !page ? "; newer: 'fare prices update'" : "",
               estimated ? "; ~ nobody published it" : "",
               assumed ? "; ranges: by the second to by started hours, the rule is unknown" : "");
    return doc_take(doc, &text);
}

// The exchange rates of the amounts shown; rows of one day differ only in how many they use.
static const char *exchange_words(const struct answer *answer)
{
    const char *most = NULL;
    for (size_t i = 0; i < answer->count; i++) {
        const struct bill *both[] = {answer->rows[i].demand, answer->rows[i].spot};
        for (int k = 0; k < 2; k++)
            if (both[k] && both[k]->exchange && (!most || strlen(both[k]->exchange) > strlen(most)))
                most = both[k]->exchange;
    }
    return most;
}

static const char *hidden_words(struct doc *doc, const struct quote *quote,
                                const struct answer *answer, bool page)
{
    const struct answer_hidden *h = &answer->hidden;
    const struct {
        size_t count;
        const char *what;
    } all[] = {{h->old - count_old(answer), page ? "at older prices" : "old"},
               {answer->bounds ? 0 : h->unknown, page ? "unknown (≥)" : "unknown"},
               {h->doubtful, "doubtful"},
               {h->idle, page ? "with idle GPUs" : "partly idle"}};
    const bool partly =
        quote->estimated.known && quote->estimated.v > (int64_t)quote->estimates.count;
    struct buf text = {0};
    int64_t left_out = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].count > 0)
            buf_printf(&text, "%s%zu%s %s",
                       text.len > 0     ? ", "
                       : partly && page ? "at least "
                                        : "",
                       all[i].count, partly && !page ? "+" : "", all[i].what);
    for (size_t i = 0; i < quote->left_out.count; i++)
        left_out += quote->left_out.items[i].count.v;
    if (left_out > 0)
        buf_printf(&text, "%s%lld unfit", text.len > 0 ? ", " : "", (long long)left_out);
    buf_adds(&text, text.len > 0 && !page ? ": --all" : "");
    return doc_take(doc, &text);
}

// How the first row trains, as planned or pinned.
static const char *assumed_words(struct doc *doc, const struct quote *quote,
                                 const struct answer *answer)
{
    const struct quote_model *m = &quote->model;
    const struct bill *b = answer->rows[0].bill;
    return !m->name || !b->model.layout
               ? NULL
               : doc_text(doc, "%s, %s, sequences of %s", b->model.layout, m->precision,
                          units_grouped(short_text("%lld", (long long)m->sequence.v).s).s);
}

// On how many offers a model does not fit, and what would make it fit on the first of them.
static const char *small_words(struct doc *doc, const struct quote *quote)
{
    for (size_t i = 0; quote->model.name && i < quote->left_out.count; i++) {
        const struct quote_left_out *l = &quote->left_out.items[i];
        if (strcmp(l->reason, ESTIMATE_NO_MEMORY) == 0)
            return doc_text(doc, "%s: %.*s %s", units_count(l->count.v, "offer").s,
                            (int)strcspn(l->examples.items[0], "@:"), l->examples.items[0], l->why);
    }
    return NULL;
}

// A run on a CPU leaves all times open; a minute on a machine that can be started from here tells.
static const struct bill *to_try(const struct answer *answer)
{
    for (size_t i = 0; answer->bounds && i < answer->count; i++) {
        const struct bill *b = answer->rows[i].bill;
        if (b->gpu && bill_time_is_bound(b) && b->short_name && !same_text(b->kind, "monthly") &&
            b->provider && listing_in_sky(b->provider, NULL))
            return b;
    }
    return NULL;
}

static const char *next_words(struct doc *doc, const struct answer *answer, const char *date,
                              const char *command)
{
    const struct answer_row *lead = NULL;
    const struct bill *minute = date ? NULL : to_try(answer);
    struct buf text = {0};
    for (size_t i = 0; i < answer->count; i++)
        if (!is_bought(answer->rows[i].bill) && !answer->rows[i].old &&
            (!lead || answer->rows[i].bill->place.v < lead->bill->place.v))
            lead = &answer->rows[i];
    if (!lead)
        return NULL;
    if (minute)
        return doc_text(doc, "rent one for a minute: fare run --on sky:%s --sample -- …",
                        minute->short_name);
    if (command)
        buf_printf(&text, "%s ", command);
    if (answer->machines > answer->count)
        buf_adds(&text, "--more: every machine; ");
    buf_printf(&text, "%s ", lead->bill->certainty ? "--explain" : "--offer");
    verdict_add_offer(&text, lead->bill);
    buf_adds(&text, lead->bill->certainty ? ": its estimate" : ": its bill");
    return doc_take(doc, &text);
}

// Whoever pays that much has often agreed on other prices.
static const char *contract_words(const struct answer *answer)
{
    const int64_t most = 3000 * MONEY_UNIT;
    bool dear = answer->count > 0;
    for (size_t i = 0; i < answer->count; i++)
        dear &= bill_total(answer->rows[i].bill) >= most && !answer->rows[i].bill->price_own.v;
    return dear ? "rates are often lower: put yours into rates.csv" : NULL;
}

static void add_answer(struct doc *doc, const struct quote *quote, const struct run *run,
                       size_t most, const char *command, bool page, bool full_names)
{
    SCOPED(answer_release) struct answer answer = {0};
    doc->failed |= answer_make(quote, most, &answer, NULL) != 0;
    if (!doc->failed && answer.count > 0) {
        const struct common common = common_of(&answer);
        add_rows(doc, &answer, &common, page, full_names);
        doc_fact(doc, "Each", common_words(doc, quote, &answer, &common));
        doc_fact(doc, "Assumed", assumed_words(doc, quote, &answer));
        doc_fact(doc, "Too small", small_words(doc, quote));
        doc_fact(doc, "Memory", memory_words(doc, quote, run, &answer));
        doc_fact(doc, "Noise", noise_words(doc, run, &answer));
        doc_fact(doc, "Prices",
                 price_words(doc, quote, &answer, &common, page || (!command && !quote->model.name),
                             page));
        doc_fact(doc, "Contract", contract_words(&answer));
        doc_fact(doc, "Exchange", exchange_words(&answer));
        if (!quote->model.name || page) // which --more and --all show
            doc_fact(doc, "Not shown", hidden_words(doc, quote, &answer, page));
        doc_fact(doc, "Next", page ? NULL : next_words(doc, &answer, quote->date, command));
    } else if (!doc->failed) {
        doc_fact(doc, "Not shown", hidden_words(doc, quote, &answer, page));
    }
}

void view_answer(struct doc *doc, const struct quote *quote, const struct run *run, size_t most,
                 const char *command, bool full_names)
{
    add_answer(doc, quote, run, most, command, false, full_names);
}

void view_answer_page(struct doc *doc, const struct quote *quote, const struct run *run)
{
    add_answer(doc, quote, run, ANSWER_ROWS, NULL, true, false);
}
