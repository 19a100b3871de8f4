// SPDX-License-Identifier: Apache-2.0
// The cost by offer: the answer in sentences, a table of the training asked for, measured and
// estimated rows in one order, how to read it, offers left out, and tables of other trainings.
#include "view/quote.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/answer.h"
#include "advise/estimate/rates.h"
#include "advise/verdict_words.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "bill/bill.h"
#include "book/listing.h"
#include "view/html.h"

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

// ---- one row

// Facts that all rows share are stated once.
struct common {
    bool run;       // one run gives all times: no letters
    bool framework; // and year
    bool basis;     // and no estimate: it is not said
    bool places;    // not one of them: some names are told apart by their places
};

static struct common common_of(const struct bill **rows)
{
    struct common c = {true, true, true, false};
    for (size_t i = 0; rows[i]; i++) {
        const struct bill *b = rows[i];
        c.run &= same_text(rows[0]->run, b->run);
        c.framework &= same_text(rows[0]->framework, b->framework) && rows[0]->year.v == b->year.v;
        c.basis &= !b->certainty && same_text(rows[0]->basis, b->basis);
    }
    return c;
}

// "estimated ±20 %", what is in doubt, and what it misses.
static struct cell basis_cell(const struct bill *b, const struct common *common)
{
    struct cell cell = {.text = ""};
    const char *basis = common->basis ? NULL : b->certainty ? b->certainty : b->basis;
    const char *doubt = quote_doubt(b);
    const bool late = same_text(b->deadline, "missed"), dear = same_text(b->budget, "missed");
    const bool met = !b->deadline || same_text(b->deadline, "met");
    const bool afforded = !b->budget || same_text(b->budget, "met");
    const struct chip chips[] = {
        {b->certainty ? PART_PLAIN : PART_NOTE, basis},
        {PART_BAD, b->spot.never_ends.v ? "never ends" : NULL},
        {PART_WAIT, doubt                 ? doubt
                    : b->tariff_assumed.v ? "rule assumed"
                                          : NULL},
        {late ? PART_BAD : PART_WAIT, met    ? NULL
                                      : late ? "late"
                                             : "perhaps late"},
        {dear ? PART_BAD : PART_WAIT, afforded ? NULL
                                      : dear   ? "over budget"
                                               : "perhaps over budget"},
    };
    for (size_t i = 0, n = 0; i < sizeof chips / sizeof *chips; i++)
        if (chips[i].text)
            cell.chips[n++] = chips[i];
    return cell;
}

static struct cell time_cell(struct doc *doc, const struct bill *b)
{
    char time[48];
    bill_time_words(b, time, sizeof time);
    return (struct cell){.kind = CELL_TIME, .text = doc_text(doc, "%s", time)};
}

static struct cell startup_cell(const struct bill *b)
{
    return cell_number(CELL_TIME, b->startup_s.v > 0 ? b->startup_s : (struct maybe_real){0});
}

struct cell view_cost(struct doc *doc, const struct bill *b)
{
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    struct cell cell = {.kind = CELL_AMOUNT,
                        .amount = some_money(bill_total(b)),
                        .mark = b->price_estimated.v ? "~" : bill_mark(b),
                        .text = b->spot.never_ends.v ? "never ends" : NULL,
                        .currency = b->local_currency,
                        .local = b->local_total};
    bill_amount(b, amount, interval);
    if (bill_is_bound(b)) { // "from 0.12": no end is known
        cell.text = doc_text(doc, "%s%s", b->price_estimated.v ? "~" : "", amount);
        cell.sub = *interval ? doc_text(doc, "%s", interval) : NULL;
    } else {
        cell.least = b->low;
        cell.most = b->high;
    }
    return cell;
}

static struct cell bar_cell(struct doc *doc, const struct bill *b)
{
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    bill_amount(b, amount, interval);
    return (struct cell){.kind = CELL_BAR,
                         .text = doc_text(doc, "%s", amount),
                         .amount = some_money(bill_total(b)),
                         .bar = {.value = (double)bill_total(b) / MONEY_UNIT,
                                 .low = b->low.known ? money_real(b->low).v : 1,
                                 .high = money_real(b->high).v,
                                 .startup = bill_share(b, BILL_STARTUP),
                                 .idle = bill_share(b, BILL_IDLE),
                                 .estimated = b->certainty != NULL}};
}

static struct cell amount_cell(const char *mark, struct maybe_money amount)
{
    return (struct cell){.kind = CELL_AMOUNT, .mark = mark, .amount = amount};
}

// What a commitment owes in all, in its own currency.
struct cell view_owed(struct doc *doc, const struct bill *b)
{
    struct cell cell = {.kind = CELL_AMOUNT, .text = b->committed.unknown ? "unknown" : NULL};
    char amount[MONEY_BYTES];
    if (b->committed_months.known && b->committed.known) {
        money_short_in(b->committed.nano, b->currency, amount);
        cell.text = doc_text(doc, "%s", amount);
    }
    return cell;
}

struct cell view_waiting(const struct bill *b)
{
    struct maybe_money sum = b->waiting;
    sum.known = sum.known && money_add(bill_total(b), sum.nano, &sum.nano, NULL) == 0;
    return amount_cell(bill_mark(b), sum);
}

static struct cell seen_cell(struct doc *doc, const struct bill *b)
{
    const char *text = b->price_own.v ? "yours"
                                      : doc_text(doc, "%lld d%s", (long long)b->price_age_days.v,
                                                 b->price_old.v ? " OLD" : "");
    return (struct cell){.kind = CELL_DATE,
                         .text = text,
                         .sub = b->price_date ? doc_text(doc, "%.10s", b->price_date) : NULL};
}

// "runpod/h200:spot"; with its place "aws/g5.xlarge@us-east-1:spot".
static const char *offer_name(struct doc *doc, const struct bill *b, bool place)
{
    const size_t full = b->short_name ? strlen(b->provider) + 1 + strlen(b->name) : 0;
    return !b->short_name ? b->offer
           : place        ? doc_text(doc, "%s%s", b->short_name, b->offer + full)
                          : view_machine(doc, b);
}

static void add_row(struct doc *doc, const struct bill_rows *of, const struct common *common,
                    const struct bill *b, bool place, size_t source)
{
    const bool with = !common->framework && !of->training;
    doc_row(doc, DOC_NORMAL);
    doc_cell(doc, COLUMN("GPU", .least = 9), view_gpu(doc, b));
    doc_cell(
        doc, COLUMN("offer", .joined = "", .least = common->places ? 30 : 18),
        (struct cell){CELL_OFFER, .text = of->full_names ? b->offer : offer_name(doc, b, place)});
    doc_cell(doc, COLUMN("", .joined = "", .priority = of->training ? 0 : 11),
             cell_text(of->training ? of->quote->workload : ""));
    doc_cell(doc, COLUMN("certainty", .joined = "", .priority = 1), basis_cell(b, common));
    doc_cell(doc, COLUMN("with", .joined = "with ", .least = 7, .priority = 7),
             cell_text(with ? b->framework : ""));
    doc_cell(doc, COLUMN("year", .joined = "", .priority = 8),
             cell_text(with && b->year.known ? doc_text(doc, "%lld", (long long)b->year.v) : ""));
    doc_cell(
        doc, COLUMN("run", .joined = "run ", .priority = 9),
        cell_text(of->sources && !common->run ? doc_text(doc, "%c", (char)('a' + source)) : ""));
    doc_cell(doc, COLUMN("time"), time_cell(doc, b));
    doc_cell(doc, COLUMN("start-up", .joined = "start-up ", .priority = 6), startup_cell(b));
    doc_cell(doc, COLUMN("USD", .interval = "interval"), view_cost(doc, b));
    doc_cell(doc, COLUMN("to scale", .priority = 1), bar_cell(doc, b));
    doc_cell(doc, COLUMN("USD/Mtoken", .priority = 2),
             amount_cell(bill_mark(b), b->usd_per_mtoken));
    doc_cell(doc, COLUMN("owed in all"), view_owed(doc, b));
    doc_cell(doc, COLUMN("before credit", .priority = 3), amount_cell("", b->before_credit));
    doc_cell(doc, COLUMN("with you"), view_waiting(b));
    doc_cell(doc, COLUMN("seen", .priority = 3), seen_cell(doc, b));
}

// ---- the runs that the times are from

// The number of the run that gives row `i` its time, in the order of the rows; `*first`: no row
// before it has the same.
static size_t source_of(const struct bill **rows, size_t i, bool *first)
{
    size_t number = 0;
    *first = true;
    for (size_t k = 0; k < i; k++) {
        bool new_one = true;
        for (size_t m = 0; m < k; m++)
            new_one &= !same_text(rows[m]->run, rows[k]->run);
        if (same_text(rows[k]->run, rows[i]->run)) {
            *first = false;
            return number;
        }
        number += new_one;
    }
    return number;
}

// "run 2026... (batch 32, cifar10), with fare, 2026, measured"
static void add_source(const struct quote *quote, const struct bill *bill,
                       const struct common *common, struct buf *out)
{
    advice_whose(quote, bill, out);
    if (common->framework && bill->framework)
        buf_printf(out, ", with %s", bill->framework);
    if (common->framework && bill->year.known)
        buf_printf(out, ", %lld", (long long)bill->year.v);
    if (common->basis && bill->basis)
        buf_printf(out, ", %s", bill->basis);
}

// Below the table: the run that gives the times; of several, those whose letters stand in the rows.
static void add_sources(struct doc *doc, const struct bill_rows *of, const struct common *common)
{
    for (size_t i = 0; of->rows[i] && (i == 0 || !common->run); i++) {
        struct buf text = {0};
        bool first;
        size_t number = source_of(of->rows, i, &first);
        if (!first)
            continue;
        if (common->run)
            buf_adds(&text, "Times are those of ");
        else
            buf_printf(&text, "%c: ", (char)('a' + number));
        add_source(of->quote, of->rows[i], common, &text);
        buf_adds(&text, common->run ? "." : "");
        const char *line = doc_take(doc, &text);
        if (common->run)
            doc_say(doc, DOC_ASIDE, line);
        else
            doc_item(doc, line);
    }
}

// ---- how to read the rows

enum note {
    NOTE_OLD,
    NOTE_ASSUMED,
    NOTE_INCOMPLETE,
    NOTE_PRICE,
    NOTE_APART,
    NOTE_ESTIMATED,
    NOTE_MEMORY_UNKNOWN,
    NOTE_MEMORY_UNSURE,
    NOTE_FROM_CPU,
    NOTE_AT_LEAST,
    NOTE_REPLAYED,
    NOTE_COMMITTED,
    NOTE_PERHAPS,
    NOTE_PALE,
    NOTES
};

static const char at_least[] =
    "≥ a lower bound, and so is its time: how often this spot machine is "
    "taken away is unknown. --mtbi or --trace counts interruptions.";
static const char *const note_words[NOTES] = {
    [NOTE_OLD] = "OLD: " PART_SEEN_OLD "; 'fare prices update' fetches newer ones.",
    [NOTE_ASSUMED] = "Rule assumed: the provider's is unknown; --offer shows the one assumed.",
    [NOTE_INCOMPLETE] = "≥ a lower bound: the provider's rule lacks the price of something you "
                        "asked for; --offer shows what.",
    [NOTE_PRICE] = "~ the price is an estimate: nobody published it. --offer shows its source.",
    [NOTE_APART] =
        "Offers that may be called cheapest come first, then the others, each with the "
        "lowest bill first; but an assumed rule counts as one by started hours, an "
        "estimate comes after measured bills that it overlaps, and bills with an unknown "
        "part or a doubtful price come last.",
    [NOTE_ESTIMATED] = "Estimated and rough: no run on such a machine; ± or × is how far the "
                       "training's time may be off, with 90 %. --explain OFFER shows why.",
    [NOTE_MEMORY_UNKNOWN] = MEMORY_UNKNOWN,
    [NOTE_MEMORY_UNSURE] = MEMORY_UNSURE,
    [NOTE_FROM_CPU] = verdict_from_cpu,
    [NOTE_AT_LEAST] = at_least,
    [NOTE_REPLAYED] = "Bills and times of other spot machines are means with interruptions, their "
                      "intervals 10 to 90 %: --offer shows them.",
    [NOTE_COMMITTED] = "With an amount owed in all, the price is that of a commitment, which costs "
                       "that much over its term, used or not; --offer shows its source. The other "
                       "rows are pay-as-you-go.",
    [NOTE_PERHAPS] = "Perhaps late or over budget: at the end of its interval, or as a lower bound "
                     "(≥).",
    [NOTE_PALE] = "Pale parts of a bar are start-up, at its left end, and idle time up to the end "
                  "of what is charged, at its right end.",
};

// Texts of which each is said once.
static void add_text(const char **texts, size_t *count, const char *text)
{
    enum { MOST = 8 };
    for (size_t i = 0; text && i < *count; i++)
        text = strcmp(texts[i], text) == 0 ? NULL : text;
    if (text && *count < MOST)
        texts[(*count)++] = text;
}

static void note_row(struct bill_notes *notes, const struct bill *b, const struct bill *before)
{
    const bool found[NOTES] = {
        [NOTE_OLD] = b->price_old.v,
        [NOTE_ASSUMED] = b->tariff_assumed.v,
        [NOTE_INCOMPLETE] = b->incomplete.v,
        [NOTE_PRICE] = b->price_estimated.v,
        [NOTE_APART] = before && bill_total(b) < bill_total(before),
        [NOTE_ESTIMATED] = b->certainty && !bill_time_is_bound(b),
        [NOTE_MEMORY_UNKNOWN] = same_text(b->gpu_memory, "unknown"),
        [NOTE_MEMORY_UNSURE] = same_text(b->gpu_memory, "unsure"),
        [NOTE_FROM_CPU] = bill_time_is_bound(b),
        [NOTE_AT_LEAST] = b->spot.lower_bound.v,
        [NOTE_REPLAYED] = b->spot.method != NULL,
        [NOTE_COMMITTED] = b->committed.known || b->committed.unknown,
        [NOTE_PERHAPS] = same_text(b->deadline, "met at the middle") ||
                         same_text(b->budget, "met at the middle"),
        [NOTE_PALE] = bill_share(b, BILL_STARTUP) + bill_share(b, BILL_IDLE) > 0,
    };
    const double s = b->startup_s.v;
    for (size_t i = 0; i < NOTES; i++)
        notes->found |= (unsigned int)found[i] << i;
    notes->unnamed += b->processor_unknown.v;
    notes->startup_low_s = notes->rows == 0 || s < notes->startup_low_s ? s : notes->startup_low_s;
    notes->startup_high_s = s > notes->startup_high_s ? s : notes->startup_high_s;
    notes->rows++;
    add_text(notes->doubts, &notes->doubt_count,
             b->price_doubt          ? b->price_doubt
             : b->price_impossible.v ? doubt_power_words
                                     : NULL);
    add_text(notes->exchange, &notes->exchange_count, b->exchange);
}

static void say_startup(struct doc *doc, const struct bill_notes *notes)
{
    char low[48], high[48];
    clock_words((int64_t)(notes->startup_low_s * 1e9), low, sizeof low);
    clock_words((int64_t)(notes->startup_high_s * 1e9), high, sizeof high);
    bool range = strcmp(low, high) != 0, some = notes->startup_low_s > 0;
    if (notes->startup_high_s > 0)
        doc_say(doc, DOC_ASIDE,
                doc_text(doc,
                         "The times include start-up (%s%s%s): --offer shows the source of each "
                         "figure, --boot 0 leaves it out.",
                         !some   ? "up to "
                         : range ? low
                                 : "",
                         some && range ? " to " : "", high));
}

void view_bill_notes(struct doc *doc, struct bill_notes *notes)
{
    struct buf doubts = {0};
    for (unsigned int i = 0; i < NOTES; i++)
        if (notes->found & ~notes->said & 1u << i)
            doc_say(doc, i == NOTE_PALE ? DOC_DRAWN : DOC_ASIDE, note_words[i]);
    for (size_t i = notes->doubts_said; i < notes->doubt_count; i++)
        buf_printf(&doubts, "%s%s", doubts.len == 0 ? "Listed last: the price is " : "; or ",
                   notes->doubts[i]);
    buf_adds(&doubts, doubts.len > 0 ? "." : "");
    doc_say(doc, DOC_ASIDE, doc_take(doc, &doubts));
    if (notes->unnamed > 0)
        doc_say(doc, DOC_ASIDE,
                doc_text(doc,
                         "The processors of %s above are unknown: the times assume one in the "
                         "middle of the device table, and are rougher.",
                         units_count((int64_t)notes->unnamed, "offer").s));
    if (!notes->startup_said)
        say_startup(doc, notes);
    for (size_t i = notes->exchange_said; i < notes->exchange_count; i++)
        doc_say(doc, DOC_ASIDE, notes->exchange[i]);
    notes->said = notes->found;
    notes->unnamed = 0;
    notes->startup_said |= notes->startup_high_s > 0;
    notes->doubts_said = notes->doubt_count;
    notes->exchange_said = notes->exchange_count;
}

void html_at_least(struct buf *out)
{
    html_paragraph(out, "mute", at_least);
}

// ---- tables

// The number of rows that have each row's short name, so that only their places tell them apart.
static int count_alike(struct doc *doc, const struct bill **rows, size_t *alike)
{
    SCOPED(index_release) struct index names = {0};
    size_t count = 0, number;
    while (rows[count])
        count++;
    SCOPED(free_pointer) size_t *numbers = calloc(2 * count + 1, sizeof *numbers);
    if (!numbers)
        return ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const char *name = view_machine(doc, rows[i]);
        TRY(index_number(&names, name, strlen(name), &number, NULL));
        numbers[i] = number;
        numbers[count + number]++;
    }
    for (size_t i = 0; i < count; i++)
        alike[i] = numbers[count + numbers[i]];
    return 0;
}

void view_bill_rows(struct doc *doc, const struct bill_rows *of, struct bill_notes *notes)
{
    struct common common = common_of(of->rows);
    size_t count = 0;
    while (of->rows[count])
        count++;
    SCOPED(free_pointer) size_t *alike = calloc(count + 1, sizeof *alike);
    doc->failed |= !alike || count_alike(doc, of->rows, alike) != 0;
    if (doc->failed)
        return;
    common.basis &= !of->training;
    for (size_t i = 0; i < count; i++)
        common.places |= alike[i] > 1;
    if (of->label)
        doc_table(doc, of->label);
    for (size_t i = 0; i < count; i++) {
        bool first;
        size_t source = of->sources ? source_of(of->rows, i, &first) : 0;
        add_row(doc, of, &common, of->rows[i], alike[i] > 1, source);
        note_row(notes, of->rows[i], i > 0 ? of->rows[i - 1] : NULL);
    }
    if (of->sources && of->rows[0])
        add_sources(doc, of, &common);
}

// What may lead stands before what may not; each part in the order of bills.
static int put_leading_first(const struct bill **rows)
{
    size_t count = 0, kept = 0, behind = 0;
    while (rows[count])
        count++;
    SCOPED(free_pointer) const struct bill **rest = calloc(count + 1, sizeof *rest);
    if (!rest)
        return ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        if (verdict_can_lead(rows[i]))
            rows[kept++] = rows[i];
        else
            rest[behind++] = rows[i];
    memcpy(rows + kept, rest, behind * sizeof *rest);
    return 0;
}

// Rows of one training; `all` of them, or a few and how to see the rest.
static void add_table(struct doc *doc, const struct quote *of, const char *label, size_t most,
                      bool sources, bool full_names, struct bill_notes *notes)
{
    SCOPED(free_pointer)
    const struct bill **rows =
        most == SIZE_MAX ? quote_rows(of, NULL) : verdict_rows(of, most, NULL);
    size_t shown = 0, all = of->bills.count;
    all += of->estimated.known ? (size_t)of->estimated.v : of->estimates.count;
    doc->failed |= !rows || put_leading_first(rows) != 0;
    if (doc->failed || !rows[0])
        return;
    view_bill_rows(
        doc, &(struct bill_rows){of, rows, label, .sources = sources, .full_names = full_names},
        notes);
    while (rows[shown])
        shown++;
    if (all > shown && !sources)
        doc_say(doc, DOC_PLAIN, doc_text(doc, "%zu more; --all shows them.", all - shown));
    else if (all > shown && of->given)
        doc_say(doc, DOC_ASIDE,
                doc_text(doc,
                         "The lowest bills and the fastest machines, of %zu; --all lists them.",
                         all));
    else if (all > shown)
        doc_say(doc, DOC_ASIDE,
                doc_text(doc,
                         "The lowest bills with and without a run, and the fastest machines. 'fare "
                         "quote %s --all' lists all %zu.",
                         of->run        ? of->run
                         : of->workload ? of->workload
                                        : "RUN",
                         all));
}

// Other trainings, a table for each: they answer another question.
static void add_others(struct doc *doc, const struct quote *quote, size_t most, bool full_names,
                       struct bill_notes *notes)
{
    const struct bill *bills = quote->others.items;
    const size_t count = quote->others.count;
    SCOPED(free_pointer) struct bill *of_one = calloc(count + 1, sizeof *of_one);
    doc->failed |= !of_one;
    if (count == 0 || doc->failed)
        return;
    doc_fold(doc, doc_text(doc, "Other trainings of %s, not comparable with the one %s",
                           quote->workload, quote_count(quote) > 0 ? "above" : "asked for"));
    for (size_t i = 0; i < count; i++) {
        struct quote one = {.bills = {of_one, 0, true}};
        size_t first = 0;
        while (!same_text(bills[first].variant, bills[i].variant))
            first++;
        for (size_t k = i; first == i && k < count; k++)
            if (same_text(bills[k].variant, bills[i].variant))
                of_one[one.bills.count++] = bills[k];
        if (one.bills.count == 0)
            continue;
        const char *variant = bills[i].variant ? bills[i].variant : "";
        doc_say(doc, DOC_PLAIN, doc_text(doc, "%s:", variant));
        add_table(doc, &one, variant, most, false, full_names, notes);
    }
    view_bill_notes(doc, notes);
    doc_unfold(doc);
}

// ---- offers without a bill

static void list_misfits(struct doc *doc, const struct quote *quote)
{
    doc_table(doc, "Offers left out");
    for (size_t i = 0; i < quote->misfits.count; i++) {
        doc_row(doc, DOC_NORMAL);
        doc_cell(doc, COLUMN("offer"), cell_text(quote->misfits.items[i].offer));
        doc_cell(doc, COLUMN("why"), cell_text(quote->misfits.items[i].why));
    }
}

// The reasons with their numbers and an example; folded if there are offers to look at.
static void add_left_out(struct doc *doc, const struct quote *quote, bool one_by_one)
{
    int64_t all = 0;
    if (quote->left_out.count == 0)
        return;
    for (size_t i = 0; i < quote->left_out.count; i++)
        all += quote->left_out.items[i].count.v;
    doc_fold(doc, doc_text(doc, "%s left out, and why", units_count(all, "offer").s));
    for (size_t i = 0; i < quote->left_out.count; i++) {
        const struct quote_left_out *l = &quote->left_out.items[i];
        doc_item(doc, l->count.v == 1 ? doc_text(doc, "%s: %s", l->examples.items[0], l->why)
                                      : doc_text(doc, "%s: %s, such as %s: %s",
                                                 units_count(l->count.v, "offer").s, l->reason,
                                                 l->examples.items[0], l->why));
    }
    if (one_by_one)
        list_misfits(doc, quote);
    doc_unfold(doc);
}

void view_bills(struct doc *doc, const struct quote *quote, const struct run *run)
{
    struct bill_notes notes = {0};
    if (quote_count(quote) > 0) {
        view_answer_page(doc, quote, run);
        doc_fold(doc, "More offers, bill by bill, and how to read them");
        add_table(doc, quote, quote->workload ? quote->workload : "Offers", VERDICT_ROWS, true,
                  false, &notes);
        view_bill_notes(doc, &notes);
        doc_unfold(doc);
    }
    add_others(doc, quote, VERDICT_ROWS_OTHER, false, &notes);
    add_left_out(doc, quote, true);
}

// ---- the whole answer

// `brief`: above the short answer, whose prices it dates.
static void say_title(struct doc *doc, const struct quote_job *job, bool brief)
{
    const struct quote *q = &job->quote;
    struct buf text = {0};
    const char *label = NULL;
    for (size_t i = 0; i < job->evidence_count && !label; i++)
        label = job->evidence[i].training == 0 ? job->evidence[i].label : NULL;
    if (q->model.name)
        buf_printf(&text,
                   "%s: from the model's description (±%.0f %%); a minute of your script "
                   "makes it exact",
                   q->given, ceil(100 * (exp(q->model.half.v) - 1) - 1e-9));
    else if (q->given)
        buf_printf(&text, "%s, as given", q->given);
    else
        buf_printf(&text, "%s%s%s%s%s", q->workload, brief ? "" : ", the whole training",
                   label ? " (" : "", label ? label : "", label ? ")" : "");
    if (brief && q->prices_of && !q->model.name)
        buf_printf(&text, ", prices of %.10s", q->prices_of);
    else if (q->date)
        buf_printf(&text, ", prices of %s", q->date);
    if (job->ask.wishes.prorated)
        buf_adds(&text, ", prorated (no provider charges this way)");
    doc_heading(doc, 0, doc_take(doc, &text));
}

// What the machines of the table have in common.
static void say_scope(struct doc *doc, const struct quote_job *job)
{
    const struct quote *q = &job->quote;
    struct bill_time time;
    bool several = false;
    for (size_t i = 1; i < q->bills.count && !several; i++)
        several = q->given && !same_text(q->bills.items[i].gpu, q->bills.items[0].gpu);
    if (several && job->ask.among_count == 0)
        doc_say(doc, DOC_PLAIN,
                doc_text(doc,
                         "Each is taken to need that time; a fuller name, such as %s, prices "
                         "one.",
                         job->runs.items[job->runs.count - 1].use.gpu_list.items[0].name));
    if (job->ask.gpus != 0 && !q->given)
        doc_say(doc, DOC_PLAIN,
                doc_text(doc,
                         "On %s, each with the run's batch: as many samples in fewer steps of a "
                         "larger batch, so accuracy may differ.",
                         job->ask.gpus > 0 ? units_count(job->ask.gpus, "GPU").s
                                           : "the number of GPUs that is fastest on each machine"));
    if (q->bills.count > 0 && !job->ask.offer && job->asked && !quote_base(&job->ask, &time))
        doc_say(doc, DOC_PLAIN,
                "The time of the whole training on this run's machine is unknown: the run ended "
                "early and could not be projected. These times are of other runs of the same "
                "training.");
}

// "--gpu h100, --region eu and --kind spot": what the offers were chosen by; null: nothing.
static const char *filter_words(struct doc *doc, const struct quote_ask *ask)
{
    char gpus[24] = "", age[24] = "";
    struct buf text = {0};
    snprintf(gpus, sizeof gpus, "%d%s", ask->gpus, ask->exact_gpus ? "" : "+");
    snprintf(age, sizeof age, "%dd", ask->max_age);
    const struct {
        const char *option, *value;
    } all[] = {{"gpu", ask->gpu},
               {"gpus", ask->gpus < 0   ? "any"
                        : ask->gpus > 0 ? gpus
                                        : NULL},
               {"provider", ask->provider},
               {"region", ask->region},
               {"kind", ask->kind ? offer_kind_word(*ask->kind) : NULL},
               {"max-age", ask->max_age != QUOTE_MAX_AGE ? age : NULL}};
    size_t left = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        left += all[i].value != NULL;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].value)
            continue;
        left--;
        buf_printf(&text, "--%s %s%s", all[i].option, all[i].value,
                   left > 1    ? ", "
                   : left == 1 ? " and "
                               : "");
    }
    return doc_take(doc, &text);
}

static const char *no_time_words(struct doc *doc, const struct run *run)
{
    if (run_failed(run))
        return doc_text(doc, "The time of the whole training is unknown: the run failed%s%s.",
                        run->problem ? ": " : "", run->problem ? run->problem : "");
    if (run_label(run, "relative_speed"))
        return "Only relative speeds of this training are known, no times, so there is no bill. "
               "'fare compare' shows relative costs.";
    return run->workload ? "The time of the whole training is unknown: the run ended early and "
                           "could not be projected. 'fare run WORKLOAD --full' trains all of it."
                         : "The time of the whole training is unknown: the run ended early and "
                           "could not be projected. Give --total-steps or --total-epochs, or run "
                           "it to its end with 'fare run -- COMMAND'.";
}

// Why there is no bill; null: an advice says it.
static const char *why_none(struct doc *doc, const struct quote_job *job)
{
    const struct quote *q = &job->quote;
    const struct run *run = job->runs.count > 0 ? &job->runs.items[0] : NULL;
    struct quote_ask ask = job->ask;
    ask.gpus = q->given && !ask.model ? 0 : ask.gpus; // the sentence names them
    const char *filters = filter_words(doc, &ask), *name = q->run ? q->run : q->workload;
    struct bill_time time;
    char words[48];
    if (!run)
        return "You have no run of this workload, and none is published. 'fare run' measures one.";
    if (ask.model)
        return doc_text(doc, "No offer in the book has a GPU%s%s.", filters ? " and matches " : "",
                        filters ? filters : "");
    if (q->given)
        return q->outdated ? NULL
                           : doc_text(doc,
                                      "No offer in the book has %s%s%s. 'fare prices %s' lists "
                                      "offers with this GPU.",
                                      run->machine.name, filters ? " and matches " : "",
                                      filters ? filters : "", run->use.gpu_list.items[0].name);
    if (!job->asked && q->others.count > 0 && job->ask.offer)
        return doc_text(doc,
                        "%s was measured only for other trainings of %s. 'fare quote %s --offer "
                        "%s' shows the one with the lowest bill, line by line.",
                        job->ask.offer, q->workload, q->others.items[0].run, job->ask.offer);
    if (!job->asked && q->others.count > 0)
        return doc_text(doc, "Such machines were measured only for other trainings of %s.",
                        q->workload);
    if (filters && q->not_measured.v > 0)
        return doc_text(doc, "No run matches %s. 'fare quote %s' shows the machines with a run.",
                        filters, name);
    if (filters)
        return q->outdated ? NULL
                           : doc_text(doc,
                                      "No offer in the book matches %s. 'fare prices' lists the "
                                      "book, 'fare quote %s' shows the machines with a run.",
                                      filters, name);
    if (!bill_time_of(run, &time))
        return no_time_words(doc, run);
    clock_words(time.total_ns, words, sizeof words);
    return doc_text(doc, "The whole training takes %s on the machine measured (%s).%s", words,
                    advice_machine(&job->ask) ? advice_machine(&job->ask) : "unknown",
                    q->outdated ? ""
                                : " No offer in the book is known to be this machine: name one "
                                  "with --offer PROVIDER/NAME.");
}

// From this one on; an empty list has no place to point to.
static void say_advice(struct doc *doc, const struct quote *q, size_t from)
{
    if (from < q->advice.count)
        doc_say_all(doc, DOC_VERDICT, q->advice.items + from, q->advice.count - from);
}

// Without any bill: why, a price that is too old to count, and the advice.
static void say_none(struct doc *doc, const struct quote_job *job)
{
    const struct quote *q = &job->quote;
    struct bill_time time;
    if (q->misfits.count == 0 || q->not_measured.v > 0)
        doc_say(doc, DOC_VERDICT, why_none(doc, job));
    if (q->outdated)
        doc_say(doc, DOC_VERDICT,
                doc_text(doc, "%s '--max-age %lldd' includes it.", q->advice.items[0],
                         (long long)q->outdated_days.v));
    // With a known time, the first advice is about offers.
    say_advice(doc, q, quote_base(&job->ask, &time));
}

static void say_tax(struct doc *doc, const struct quote_job *job)
{
    const struct quote *q = &job->quote;
    const int64_t left = q->estimated.known && q->left_out.count > 0 ? 0 : q->not_measured.v;
    const char *filters = filter_words(doc, &job->ask);
    doc_say(doc, DOC_PLAIN,
            left <= q->estimated.v
                ? "Tax is left out."
                : doc_text(doc, "%s%s %s %s. Tax is left out.",
                           units_count(left - q->estimated.v, "other offer").s,
                           filters ? " like these" : "", left == 1 ? "has" : "have",
                           q->estimated.known ? "no estimate: no run has a known time" : "no run"));
}

void view_quote(struct doc *doc, const struct quote_job *job)
{
    const struct quote *q = &job->quote;
    const bool all = job->ask.every_region, one = job->ask.offer && quote_count(q) == 1;
    struct bill_notes notes = {0};
    const bool brief = !one && !all && quote_count(q) > 0;
    struct buf answer = {0};
    say_title(doc, job, brief);
    say_scope(doc, job);
    if (one)
        view_bill(doc, quote_at(q, 0));
    if (quote_count(q) == 0)
        say_none(doc, job);
    else if (!brief) // of one bill the first advice is that once more
        say_advice(doc, q, one);
    if (brief) {
        const struct run *run = job->runs.count > 0 ? &job->runs.items[0] : NULL;
        verdict_say_brief(q, &answer);
        doc_say(doc, DOC_VERDICT, doc_take(doc, &answer));
        say_advice(doc, q, 1);
        view_answer(doc, q, run,
                    job->more       ? 0
                    : q->model.name ? ANSWER_ROWS - 1
                                    : ANSWER_ROWS,
                    NULL, job->full_names);
        return;
    }
    if (!one)
        add_table(doc, q, q->given ? q->given : q->workload, SIZE_MAX, false, job->full_names,
                  &notes);
    view_bill_notes(doc, &notes);
    add_others(doc, q, all ? SIZE_MAX : VERDICT_ROWS_OTHER, job->full_names, &notes);
    add_left_out(doc, q, all);
    say_tax(doc, job);
}

// ---- on pages

void html_bills(struct buf *out, const struct quote *quote, const struct run *run)
{
    SCOPED(doc_release) struct doc doc = {0};
    view_bills(&doc, quote, run);
    doc_html(out, &doc, 3);
}

static bool is_said(const struct page *page, const char *sentence)
{
    for (size_t i = 0; page && i < page->verdict.count; i++)
        if (strcmp(page->verdict.items[i], sentence) == 0)
            return true;
    return false;
}

void html_advice(struct buf *out, const struct quote *quote, const struct page *said)
{
    SCOPED(doc_release) struct doc doc = {0};
    for (size_t i = 0; i < quote->advice.count; i++)
        if (!is_said(said, quote->advice.items[i]))
            doc_say(&doc, DOC_VERDICT, quote->advice.items[i]);
    if (quote->bills.count + quote->estimates.count + quote->advice.count == 0)
        doc_say(&doc, DOC_VERDICT, "No known offer fits.");
    doc_html(out, &doc, 3);
}

void html_quote(struct buf *out, const struct quote *quote, const struct page *said, int level)
{
    html_heading(out, level, quote->workload);
    html_advice(out, quote, said);
    html_bills(out, quote, NULL);
}
