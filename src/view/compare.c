// SPDX-License-Identifier: Apache-2.0
#include "view/compare.h"

#include <string.h>

#include "advise/compare.h"
#include "advise/compare_estimates.h"
#include "advise/difference.h"
#include "record/flat.h"

// ---- values

static struct cell figure(enum cell_kind kind, const struct compare_figure *f)
{
    return (struct cell){.kind = kind, .value = f->value, .low = f->low, .high = f->high};
}

struct cell compare_time(const struct compare_row *row)
{
    struct cell cell = figure(CELL_TIME, &row->time_s);
    bool projected = row->kind && strcmp(row->kind, "projected") == 0;
    cell.mark = projected ? "~" : compare_estimated(row) ? "≈" : NULL;
    return cell;
}

static struct cell amount(const struct compare_row *row, struct maybe_money usd)
{
    return (struct cell){
        .kind = CELL_AMOUNT, .amount = usd, .mark = row->cost.lower_bound.v ? "≥" : NULL};
}

struct cell compare_cost(const struct compare_row *row)
{
    const struct compare_cost *cost = &row->cost;
    struct cell cell = amount(row, cost->usd);
    cell.least = cost->low_usd;
    cell.most = cost->high_usd;
    cell.currency = cost->local.known || cost->exchange ? cost->local_currency : NULL;
    cell.local = cost->local;
    return cell;
}

// "faster with 97 % confidence"; where none is shown, `what` says of what: "time: no ...".
static struct cell against(struct doc *doc, const struct compare_row *row, const char *what,
                           const struct compare_against *a)
{
    struct cell cell = {.kind = CELL_RATIO, .value = a->ratio, .low = a->low, .high = a->high};
    bool shown = a->confidence.v >= DIFFERENCE_SHOWN;
    cell.text = row->base.known && a->ratio.known ? "base" : NULL;
    if (a->verdict)
        cell.verdict = doc_text(doc, "%s%s%s", shown ? "" : what, shown ? "" : ": ", a->verdict);
    return cell;
}

// "167 ×", of the machine that the source compared with.
static struct cell speed(const struct compare_row *row)
{
    return (struct cell){.kind = CELL_SCORE, .value = row->relative_speed, .flag = " ×"};
}

// "290 ms, 4.14 ×"
static struct cell part_of_l1(struct doc *doc, const struct compare_row *row,
                              const struct compare_figure *ms, const struct compare_against *a)
{
    struct cell cell = figure(CELL_STEP, ms);
    if (a->ratio.known && !row->base.known)
        cell.flag = doc_text(doc, ", %.3g ×", a->ratio.v);
    return cell;
}

static struct cell quality(struct doc *doc, const struct compare_row *row)
{
    if (row->accuracy.value.known || !row->metric)
        return figure(CELL_SHARE, &row->accuracy);
    struct cell cell = figure(CELL_SCORE, &row->quality);
    cell.mark = doc_text(doc, "%.40s ", row->metric);
    return cell;
}

static struct cell energy(struct doc *doc, const struct compare_power *power)
{
    struct cell cell = {.kind = CELL_NUMBER, .value = power->kwh};
    if (power->kwh.known)
        cell.sub = doc_text(doc, "%.0f W, %s", power->watts.v, power->how);
    return cell;
}

// "k80 + tensorflow"; below it what tells it from others of that name.
static struct cell name(struct doc *doc, const struct compare_row *row)
{
    const struct compare_row bare = {.machine = row->machine, .framework = row->framework};
    struct buf text = {0}, sub = {0};
    compare_label(&bare, &text);
    buf_adds(&sub, row->detail ? row->detail : "");
    if (row->runs.v > 1)
        buf_printf(&sub, "%s%lld runs", sub.len > 0 ? "; " : "", (long long)row->runs.v);
    return (struct cell){.text = doc_take(doc, &text), .sub = doc_take(doc, &sub)};
}

// ---- the table

// What all rows of a workload decide together.
struct heads {
    bool costed, scored, framed;
};

static struct heads heads_of(const struct compare_workload *w)
{
    struct heads heads = {0};
    for (size_t i = 0; i < w->rows.count; i++) {
        heads.costed |= w->rows.items[i].cost.usd.known;
        heads.scored |= w->rows.items[i].metric != NULL;
        const char *framework = w->rows.items[i].framework;
        heads.framed |= framework && strcmp(framework, "-") != 0;
    }
    return heads;
}

static void add_notes(struct doc *doc, const struct compare_row *row)
{
    for (size_t i = 0; i < row->notes.count; i++) {
        bool unpriced = strcmp(row->notes.items[i], COMPARE_UNPRICED) == 0;
        doc_note(doc, row->notes.items[i], unpriced ? ": --price NAME=USD_PER_HOUR sets it" : NULL);
    }
}

static void add_row(struct doc *doc, const struct heads *heads, const struct compare_row *row)
{
    const char *right = heads->scored ? "quality" : "accuracy";
    doc_row(doc, DOC_NORMAL);
    doc_cell(doc, COLUMN(heads->framed ? "machine + framework" : "machine", .least = 34),
             name(doc, row));
    doc_cell(doc, COLUMN("time", .what = ""), compare_time(row));
    doc_cell(doc, COLUMN("speed", NULL, "as fast", 8), speed(row));
    // A phone has room for the cost or the ratio of times.
    doc_cell(doc, COLUMN("time ÷ base", "time ÷", "of the base's time", heads->costed),
             against(doc, row, "time", &row->time));
    doc_cell(doc, COLUMN("transfer", NULL, "transfer", 8),
             part_of_l1(doc, row, &row->transfer_ms, &row->transfer));
    doc_cell(doc, COLUMN("calculation", NULL, "calculation", 7),
             part_of_l1(doc, row, &row->calculation_ms, &row->calculation));
    doc_cell(doc, COLUMN("cost, $", "cost $", "USD"), compare_cost(row));
    doc_cell(doc, COLUMN("cost ÷ base", "cost ÷", "of the base's cost", 2),
             against(doc, row, "cost", &row->money));
    doc_cell(doc, COLUMN("power, $", "power $", "USD of power", 7), amount(row, row->power.usd));
    doc_cell(doc, COLUMN("kWh", NULL, "kWh", 9), energy(doc, &row->power));
    // Nobody pays for one l1 alone.
    doc_cell(doc, COLUMN("per $", NULL, "trainings for a dollar", 3),
             row->calculation_ms.value.known ? (struct cell){.kind = CELL_NUMBER}
                                             : figure(CELL_NUMBER, &row->trainings_per_usd));
    doc_cell(doc, COLUMN(right, NULL, right, 4), quality(doc, row));
    doc_cell(doc, COLUMN("GPU use", "GPU", "use of the GPUs", 5),
             figure(CELL_PERCENT, &row->gpu_percent));
    doc_cell(doc, COLUMN("of spec", "spec", "of the specification", 6),
             figure(CELL_SHARE, &row->share_of_peak));
    doc_cell(doc, COLUMN("tokens/s", NULL, "tokens/s", 10),
             cell_number(CELL_NUMBER, row->tokens_per_s));
    doc_cell(doc, COLUMN("MFU", NULL, "MFU", 10), cell_number(CELL_SHARE, row->mfu));
    doc_cell(doc, COLUMN("J per Mtoken", NULL, "J per million tokens", 11),
             cell_number(CELL_SCORE, row->joules_per_mtoken));
    doc_cell(doc, COLUMN("$ per Mtoken", NULL, "USD per million tokens", 11),
             amount(row, row->usd_per_mtoken));
    add_notes(doc, row);
}

// Of rented machines of several providers: what was rented, the figures, and the cost.
static void add_rented(struct doc *doc, const struct compare_row *row)
{
    const char *some = row->gpus_used.known && row->gpus_used.v < row->gpus.v
                           ? doc_text(doc, "%lld of %lld %s", (long long)row->gpus_used.v,
                                      (long long)row->gpus.v, row->gpu)
                       : row->gpus.v > 1
                           ? doc_text(doc, "%lld × %s", (long long)row->gpus.v, row->gpu)
                           : row->gpu;
    struct cell hours = figure(CELL_SCORE, &row->time_s), memory = {.kind = CELL_SCORE};
    hours.value.v /= 3600, hours.low.v /= 3600, hours.high.v /= 3600;
    memory.value = row->gpu_memory_gib;
    memory.flag = " GB";
    struct cell cost = compare_cost(row);
    if (row->cost.printed)
        cost.text = row->cost.printed;
    doc_row(doc, DOC_NORMAL);
    doc_cell(doc, COLUMN("provider"), cell_text(row->provider));
    doc_cell(doc, COLUMN("type"), cell_text(row->type));
    doc_cell(doc, COLUMN("GPU"), cell_text(some));
    doc_cell(doc, COLUMN("memory", .priority = 1), memory);
    doc_cell(doc, COLUMN("time, h", "time h"), hours);
    doc_cell(doc, COLUMN("accuracy", NULL, NULL, 4), quality(doc, row));
    doc_cell(doc, COLUMN("GPU use", "use", NULL, 5), figure(CELL_PERCENT, &row->gpu_percent));
    doc_cell(doc, COLUMN("cost, $", "cost $"), cost);
    doc_cell(doc, COLUMN("as charged, $", "charged"), cell_amount(row->cost.charged_usd));
    doc_cell(doc, COLUMN("per $", NULL, NULL, 7), figure(CELL_NUMBER, &row->trainings_per_usd));
    doc_cell(doc, COLUMN("instance", NULL, NULL, 6), cell_text(row->instance));
    doc_cell(doc, COLUMN("billed", NULL, NULL, 8), cell_text(row->billed));
    doc_cell(doc, COLUMN("ready in", NULL, NULL, 9), cell_number(CELL_TIME, row->ready_s));
    doc_cell(doc, COLUMN("while stopped", NULL, NULL, 10), cell_text(row->while_stopped));
    add_notes(doc, row);
}

static void add_apart(struct doc *doc, const struct compare_workload *w)
{
    if (w->apart.count > 0)
        doc_say(
            doc, DOC_PLAIN,
            doc_text(doc, "Not comparable%s%s:", w->base ? " with " : "", w->base ? w->base : ""));
    for (size_t i = 0; i < w->apart.count; i++) {
        const struct compare_row *row = &w->apart.items[i];
        const struct cell time = compare_time(row), cost = compare_cost(row);
        struct buf line = {0};
        compare_label(row, &line);
        if (row->runs.v > 1)
            buf_printf(&line, ", %lld runs", (long long)row->runs.v);
        if (cell_known(&time)) {
            buf_adds(&line, ", ");
            cell_words(&time, &line);
        }
        if (cell_known(&cost)) {
            buf_adds(&line, ", $");
            cell_words(&cost, &line);
        }
        for (size_t j = 0; j < row->reasons.count; j++)
            buf_printf(&line, "%s%s", j ? "; " : ": ", row->reasons.items[j]);
        doc_item(doc, doc_take(doc, &line));
    }
}

static const char *heading(struct doc *doc, const struct compare_workload *w)
{
    if (compare_rented(w))
        return doc_text(doc, "%s, on rented machines", w->workload);
    return doc_text(doc, "%s%s%s", w->workload,
                    w->base ? ", against " : ": the base has no run of it", w->base ? w->base : "");
}

void view_compare_workload(struct doc *doc, const struct compare *compare, size_t number, bool said)
{
    const struct compare_workload *w = &compare->workloads.items[number];
    const struct heads heads = heads_of(w);
    if (!said) {
        doc_heading(doc, 0, heading(doc, w));
        doc_say_all(doc, DOC_PLAIN, w->sentences.items, w->sentences.count);
    }
    doc_table(doc, w->workload);
    for (size_t i = 0; i < w->rows.count; i++)
        if (compare_rented(w))
            add_rented(doc, &w->rows.items[i]);
        else
            add_row(doc, &heads, &w->rows.items[i]);
    add_apart(doc, w);
}

void view_compare_rates(struct doc *doc, const struct compare *compare)
{
    enum { MOST = 6 };
    struct buf text = {0};
    size_t said = 0;
    for (size_t i = 0; i < compare->workloads.count; i++)
        for (size_t j = 0; j < compare->workloads.items[i].rows.count; j++) {
            const char *rate = compare->workloads.items[i].rows.items[j].cost.exchange;
            if (rate && !strstr(buf_str(&text), rate) && ++said <= MOST)
                buf_printf(&text, "%s%s", said > 1 ? "; " : "", rate);
        }
    if (said > 0)
        buf_adds(&text, said > MOST ? "; and more." : ".");
    doc_say(doc, DOC_ASIDE, doc_take(doc, &text));
}

// Of --rule: what the costs are, and what shows others.
static const struct rule_words {
    const char *rule, *costs, *hint;
} rule_words[] = {
    {"paid", "Costs are as the provider charges, tax left out.",
     "--rule prorated shows rate × time."},
    {"prorated", "Costs are rate × time, tax left out.",
     "--rule paid shows costs as the provider charges."},
    {"published",
     "Costs are as comparisons print them: in the provider's units, months in parts, fees and tax "
     "left out.",
     NULL},
};

static void add_rule(struct doc *doc, const char *rule, enum doc_role role)
{
    for (size_t i = 0; i < sizeof rule_words / sizeof *rule_words; i++)
        if (strcmp(rule_words[i].rule, rule) == 0)
            doc_say(doc, role, role == DOC_HINT ? rule_words[i].hint : rule_words[i].costs);
}

static void add_legend(struct doc *doc, const struct compare *compare)
{
    bool projected = false, estimated = false, unjudged = false, costed = false, rented = true;
    bool charged = false;
    for (size_t i = 0; i < compare->workloads.count; i++) {
        const bool table = compare_rented(&compare->workloads.items[i]);
        rented &= table;
        for (size_t j = 0; j < compare->workloads.items[i].rows.count; j++) {
            const struct compare_row *row = &compare->workloads.items[i].rows.items[j];
            projected |= row->kind && strcmp(row->kind, "projected") == 0;
            estimated |= compare_estimated(row);
            unjudged |= row->time.chance.v;
            costed |= row->cost.usd.known;
            charged |= table && row->cost.charged_usd.known;
        }
    }
    if (projected)
        doc_say(doc, DOC_ASIDE, "~ is projected.");
    if (estimated)
        doc_say(doc, DOC_ASIDE, "≈ is estimated: nobody measured it.");
    if (costed)
        add_rule(doc, compare->rule, DOC_ASIDE);
    if (charged)
        doc_say(doc, DOC_ASIDE, "Charged is by the provider's rules, with whole months and fees.");
    view_compare_rates(doc, compare);
    if (unjudged)
        doc_say(doc, DOC_ASIDE,
                rented ? "One run each: a difference could be chance."
                       : "Where no confidence is given, there is one run each: the difference "
                         "could be chance.");
    if (costed)
        add_rule(doc, compare->rule, DOC_HINT);
}

void view_compare(struct doc *doc, const struct compare *compare)
{
    doc_say_all(doc, DOC_PLAIN, compare->sentences.items, compare->sentences.count);
    for (size_t i = 0; i < compare->workloads.count; i++)
        view_compare_workload(doc, compare, i, false);
    add_legend(doc, compare);
}

// ---- CSV

static const struct flat_column csv_columns[] = {
    {"machine", "machine"},
    {"framework", "framework"},
    {"detail", "detail"},
    {"runs", "runs"},
    {"kind", "kind"},
    {"time_s", "time_s.value"},
    {"time_low_s", "time_s.low"},
    {"time_high_s", "time_s.high"},
    {"time_ratio", "time.ratio"},
    {"time_ratio_low", "time.low"},
    {"time_ratio_high", "time.high"},
    {"time_confidence", "time.confidence"},
    {"time_verdict", "time.verdict"},
    {"usd_per_hour", "price.usd_per_hour"},
    {"price_from", "price.from"},
    {"price_rule", "price.rule"},
    {"cost_usd", "cost.usd"},
    {"cost_low_usd", "cost.low_usd"},
    {"cost_high_usd", "cost.high_usd"},
    {"cost_ratio", "money.ratio"},
    {"cost_ratio_low", "money.low"},
    {"cost_ratio_high", "money.high"},
    {"cost_confidence", "money.confidence"},
    {"cost_verdict", "money.verdict"},
    {"trainings_per_usd", "trainings_per_usd.value"},
    {"trainings_per_usd_low", "trainings_per_usd.low"},
    {"trainings_per_usd_high", "trainings_per_usd.high"},
    {"accuracy", "accuracy.value"},
    {"accuracy_low", "accuracy.low"},
    {"accuracy_high", "accuracy.high"},
    {"gpu_percent", "gpu_percent.value"},
    {"gpu_percent_low", "gpu_percent.low"},
    {"gpu_percent_high", "gpu_percent.high"},
    {"share_of_peak", "share_of_peak.value"},
    {"share_of_peak_low", "share_of_peak.low"},
    {"share_of_peak_high", "share_of_peak.high"},
    {"notes", "notes"},
    {"reasons", "reasons"},
    {"metric", "metric"},
    {"quality", "quality.value"},
    {"quality_low", "quality.low"},
    {"quality_high", "quality.high"},
    {"transfer_ms", "transfer_ms.value"},
    {"transfer_ratio", "transfer.ratio"},
    {"calculation_ms", "calculation_ms.value"},
    {"calculation_ratio", "calculation.ratio"},
    {"power_kwh", "power.kwh"},
    {"power_usd", "power.usd"},
    {"local_currency", "cost.local_currency"},
    {"cost_local", "cost.local"},
    {"cost_low_local", "cost.local_low"},
    {"cost_high_local", "cost.local_high"},
    {"provider", "provider"},
    {"billed", "billed"},
    {"ready_s", "ready_s"},
    {"while_stopped", "while_stopped"},
    {"instance", "instance"},
    {"type", "type"},
    {"gpu", "gpu"},
    {"gpus", "gpus"},
    {"gpus_used", "gpus_used"},
    {"gpu_memory_gib", "gpu_memory_gib"},
    {"cost_charged_usd", "cost.charged_usd"},
    {"cost_printed", "cost.printed"},
    {"relative_speed", "relative_speed"},
};
enum { CSV_COLUMNS = sizeof csv_columns / sizeof *csv_columns };

static void csv_rows(struct csv_writer *w, const char *workload, const struct compare_row *rows,
                     size_t count, const char *role)
{
    const struct field *fields = flat_part(compare_fields, "workloads.rows");
    for (size_t i = 0; i < count; i++) {
        csv_put_text(w, workload);
        csv_put(w, rows[i].base.known ? "base" : role);
        flat_put(w, fields, &rows[i], csv_columns, CSV_COLUMNS);
        csv_end(w);
    }
}

void compare_csv(struct buf *out, const struct compare *compare)
{
    struct csv_writer w = {.out = out};
    csv_put(&w, "workload");
    csv_put(&w, "role");
    flat_heads(&w, csv_columns, CSV_COLUMNS);
    csv_end(&w);
    for (size_t i = 0; i < compare->workloads.count; i++) {
        const struct compare_workload *of = &compare->workloads.items[i];
        csv_rows(&w, of->workload, of->rows.items, of->rows.count, "row");
        csv_rows(&w, of->workload, of->apart.items, of->apart.count, "apart");
    }
}
