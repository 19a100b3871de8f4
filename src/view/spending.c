// SPDX-License-Identifier: Apache-2.0
#include "view/spending.h"

#include <string.h>

#include "advise/spend/budget.h"
#include "advise/spend/use.h"
#include "record/flat.h"

struct units_text spending_amount_in(struct maybe_money amount, const char *currency)
{
    char plain[MONEY_BYTES] = "-";
    if (amount.known)
        money_short_in(amount.nano, currency, plain);
    return units_grouped(plain); // sums are large: "1,310.73"
}

struct units_text spending_amount(struct maybe_money usd)
{
    return spending_amount_in(usd, "USD");
}

// ---- cells

static struct cell sum_in(struct doc *doc, struct maybe_money amount, const char *currency)
{
    struct cell cell = {.kind = CELL_AMOUNT, .amount = amount};
    if (amount.known)
        cell.text = doc_text(doc, "%s", spending_amount_in(amount, currency).s);
    return cell;
}

static struct cell sum(struct doc *doc, struct maybe_money usd)
{
    return sum_in(doc, usd, "USD");
}

static struct cell spent(struct doc *doc, struct maybe_money usd)
{
    struct cell cell = sum(doc, usd);
    cell.text = usd.known ? cell.text : "unknown";
    return cell;
}

// No bar for the total.
static struct cell bar(const struct spending_row *row, bool total)
{
    return (struct cell){.kind = CELL_BAR,
                         .amount = total ? (struct maybe_money){0} : row->usd,
                         .bar = {.value = money_real(row->usd).v, .low = 1}};
}

// Hours from one hour on: "34.4 h".
static struct cell time_of(struct doc *doc, const struct spending_row *row)
{
    struct cell cell = cell_number(CELL_TIME, row->time_s);
    if (row->time_s.v >= 3600)
        cell.text = doc_text(doc, "%.1f h", row->time_s.v / 3600);
    return cell;
}

static struct cell gpu_hours(struct doc *doc, const struct spending_row *row)
{
    const double hours = row->gpu_hours.v;
    struct cell cell = {.kind = CELL_NUMBER};
    if (hours > 0)
        cell.text = doc_text(doc, hours < 10 ? "%.2f" : "%.1f", hours);
    return cell;
}

static struct cell count_of(struct maybe_int count)
{
    return count.v > 0 ? cell_count(count) : (struct cell){.kind = CELL_COUNT};
}

static struct cell key_cell(const struct spending_row *row, const char *name, bool first,
                            bool total)
{
    int key = 0;
    while (spend_keys[key] && strcmp(spend_keys[key], name) != 0)
        key++;
    const char *value = spend_value(row, (enum spend_key)key);
    return cell_text(total                  ? (first ? "total" : "")
                     : value                ? value
                     : key == SPEND_PROJECT ? "(none)"
                                            : "(unknown)");
}

// ---- sums

static void add_sum(struct doc *doc, const struct spending *s, const struct spending_row *row,
                    bool brief)
{
    const bool total = row == &s->total;
    doc_row(doc, total ? DOC_TOTAL : DOC_NORMAL);
    for (size_t k = 0; k < s->by.count; k++)
        doc_cell(doc, COLUMN(s->by.items[k], .least = 10),
                 key_cell(row, s->by.items[k], k == 0, total));
    doc_cell(doc, COLUMN("runs"), cell_count(row->runs));
    if (!brief) {
        doc_cell(doc, COLUMN("of unknown cost", "unknown", .priority = 1), count_of(row->unknown));
        doc_cell(doc, COLUMN("time", .priority = 3), time_of(doc, row));
        doc_cell(doc, COLUMN("GPU-hours", .priority = 2), gpu_hours(doc, row));
    }
    doc_cell(doc, COLUMN(s->charges.known && !brief ? "predicted USD" : "USD"),
             spent(doc, row->usd));
    doc_cell(doc, COLUMN("to scale", .priority = 4), bar(row, total));
    if (brief)
        return;
    if (s->local_currency)
        doc_cell(doc, COLUMN(s->local_currency), sum_in(doc, row->local, s->local_currency));
    doc_cell(doc, COLUMN("invoiced USD", "invoiced"), sum(doc, row->invoiced_usd));
    doc_cell(doc, COLUMN("difference"), sum(doc, row->difference_usd));
}

void view_sums(struct doc *doc, const struct spending *s, size_t most, bool brief)
{
    doc_table(doc, "Sums of bills");
    for (size_t i = 0; i < s->rows.count && i < most; i++)
        add_sum(doc, s, &s->rows.items[i], brief);
    if (s->rows.count > 1 && !brief)
        add_sum(doc, s, &s->total, brief);
}

// The words start with a small letter.
static void say_words(struct doc *doc, enum doc_role role, char first, struct buf *words)
{
    if (words->len > 0)
        words->data[0] = first;
    const char *text = doc_take(doc, words);
    if (text)
        doc_say(doc, role, doc_text(doc, "%s.", text));
}

static void add_remarks(struct doc *doc, const struct spending_row *total)
{
    const int64_t unpriced = total->unknown.v - total->out_of_range.v;
    struct buf words = {0};
    if (unpriced > 0)
        doc_say(doc, DOC_ASIDE,
                doc_text(doc,
                         "The cost of %s is unknown, and not in the sums: no price is known for "
                         "%s.",
                         units_count(unpriced, "run").s,
                         unpriced == 1 ? "its machine" : "their machines"));
    if (total->corrected.v > 0)
        doc_say(doc, DOC_ASIDE,
                doc_text(doc,
                         "The cost of %s is corrected: an earlier fare had charged the time that "
                         "the machine was up before.",
                         units_count(total->corrected.v, "run").s));
    suspects_words(total->out_of_range, total->at_least, total->suspect, &words);
    say_words(doc, DOC_ASIDE, 'T', &words);
}

static void add_invoices(struct doc *doc, const struct spending *s)
{
    const struct maybe_money effective = s->total.effective_usd, billed = s->total.invoiced_usd;
    if (!s->charges.known)
        return;
    doc_say(doc, DOC_PLAIN,
            doc_text(doc, "Invoices: %s over %s USD; for no run: %s over %s USD.",
                     units_count(s->charges.v, "line").s, spending_amount(s->charges_usd).s,
                     units_count(s->unmatched_charges.v, "line").s,
                     spending_amount(s->unmatched_usd).s));
    if (s->missing.v > 0)
        doc_say(doc, DOC_PLAIN,
                doc_text(doc, "No invoice has a line for %s%s%s%s, though one covers their time.",
                         units_count(s->missing.v, "run").s,
                         s->missing_usd.known ? " (predicted: " : "",
                         s->missing_usd.known ? spending_amount(s->missing_usd).s : "",
                         s->missing_usd.known ? " USD)" : ""));
    if (effective.known && billed.known && effective.nano != billed.nano)
        doc_say(doc, DOC_PLAIN,
                doc_text(doc,
                         "With commitments spread over their use the invoices charge %s USD for "
                         "the runs.",
                         spending_amount(effective).s));
    if (s->unmatched.count == 0)
        return;
    doc_heading(doc, 0, "Charged, but for no run");
    doc_table(doc, "Lines of invoices that belong to no run");
    for (size_t i = 0; i < s->unmatched.count; i++) {
        const struct spending_charge *c = &s->unmatched.items[i];
        doc_row(doc, DOC_NORMAL);
        doc_cell(doc, COLUMN("resource", .least = 12),
                 cell_text(c->resource ? c->resource : "(none)"));
        doc_cell(doc, COLUMN("provider", .priority = 1), cell_text(c->provider));
        doc_cell(doc, COLUMN("category", .priority = 2), cell_text(c->category));
        doc_cell(doc, COLUMN("lines"), cell_count(c->lines));
        doc_cell(doc, COLUMN("USD"), sum(doc, c->usd));
        doc_cell(doc, COLUMN("what", .least = 12), cell_text(c->what));
    }
}

void view_spending(struct doc *doc, const struct spending *s, size_t most)
{
    view_sums(doc, s, most, false);
    if (s->rows.count > most)
        doc_say(doc, DOC_ASIDE,
                doc_text(doc, "Only the first %zu rows are shown; the JSON has them all.", most));
    add_remarks(doc, &s->total);
    add_invoices(doc, s);
}

// ---- budgets

void view_budget(struct doc *doc, const struct budget_state *state)
{
    struct buf words = {0};
    budget_words(state, &words);
    say_words(doc, DOC_PLAIN, 'B', &words);
}

// "project:bert", as --budget has it.
static const char *whose(struct doc *doc, const struct budget_state *b)
{
    if (strcmp(b->kind, "all") == 0)
        return "all";
    return doc_text(doc, "%s:%s", b->kind, b->name ? b->name : "(each)");
}

void view_budgets(struct doc *doc, const struct budgets *budgets, size_t most)
{
    const size_t count = budgets->budgets.count < most ? budgets->budgets.count : most;
    int64_t corrected = 0;
    bool projected = false;
    doc_table(doc, "Budgets");
    for (size_t i = 0; i < count; i++) {
        const struct budget_state *b = &budgets->budgets.items[i];
        const bool exceeded = b->share.v >= 1;
        doc_row(doc, exceeded ? DOC_BAD : b->share.v >= BUDGET_LOW ? DOC_WARN : DOC_NORMAL);
        doc_cell(doc, COLUMN("budget", .least = 14), cell_text(whose(doc, b)));
        doc_cell(doc, COLUMN("period"), cell_text(b->period));
        doc_cell(doc, COLUMN("amount"), sum_in(doc, b->amount, b->currency));
        doc_cell(doc, COLUMN("spent"), sum_in(doc, b->spent, b->currency));
        doc_cell(doc, COLUMN("share"),
                 (struct cell){.kind = CELL_PERCENT,
                               .value = {b->share.v * 100, b->share.known},
                               .sub = exceeded ? "exceeded" : NULL});
        doc_cell(doc, COLUMN("left", .priority = 2), sum_in(doc, b->left, b->currency));
        doc_cell(doc, COLUMN("projected"), sum_in(doc, b->projected, b->currency));
        doc_cell(doc, COLUMN("currency", .priority = 3), cell_text(b->currency));
        doc_cell(doc, COLUMN("of unknown cost", "unknown", .priority = 1), count_of(b->unknown));
        projected |= b->projected.known;
        corrected = b->corrected.v > corrected ? b->corrected.v : corrected;
    }
    if (projected)
        doc_say(doc, DOC_ASIDE, "Projected: at the end of the period, at the rate so far.");
    if (corrected > 0)
        doc_say(doc, DOC_ASIDE,
                doc_text(doc, "Up to %s in a budget had a false cost, which was computed again.",
                         units_count(corrected, "run").s));
    for (size_t i = 0; i < count; i++)
        if (budgets->budgets.items[i].suspect)
            view_budget(doc, &budgets->budgets.items[i]);
}

// ---- CSV

void spending_csv(struct buf *out, const struct spending *s)
{
    static const struct flat_column sums[] = {{"runs", "runs"},           {"failed", "failed"},
                                              {"unknown", "unknown"},     {"time_s", "time_s"},
                                              {"gpu_hours", "gpu_hours"}, {"usd", "usd"}};
    static const struct flat_column more[] = {{"local", "local"},
                                              {"invoiced", "invoiced"},
                                              {"invoiced_usd", "invoiced_usd"},
                                              {"effective_usd", "effective_usd"},
                                              {"predicted_usd", "predicted_usd"},
                                              {"difference_usd", "difference_usd"},
                                              {"corrected", "corrected"}};
    enum { SUMS = sizeof sums / sizeof *sums, MORE = sizeof more / sizeof *more };
    const struct field *fields = flat_part(spending_fields, "rows");
    struct flat_column keys[SPEND_KEYS];
    struct csv_writer w = {.out = out};
    for (size_t k = 0; k < s->by.count; k++)
        keys[k] = (struct flat_column){s->by.items[k], s->by.items[k]};
    flat_heads(&w, keys, s->by.count);
    flat_heads(&w, sums, SUMS);
    csv_put(&w, "local_currency");
    flat_heads(&w, more, MORE);
    csv_end(&w);
    for (size_t i = 0; i < s->rows.count; i++) {
        const struct spending_row *row = &s->rows.items[i];
        flat_put(&w, fields, row, keys, s->by.count);
        flat_put(&w, fields, row, sums, SUMS);
        csv_put(&w, s->local_currency);
        flat_put(&w, fields, row, more, MORE);
        csv_end(&w);
    }
}
