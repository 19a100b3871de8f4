// SPDX-License-Identifier: Apache-2.0
#include "record/compare.h"

#define TEXT(m, doc)  FIELD(FIELD_TEXT, T, m, doc)
#define INT(m, doc)   FIELD(FIELD_INT, T, m, doc)
#define REAL(m, doc)  FIELD(FIELD_REAL, T, m, doc)
#define BOOL(m, doc)  FIELD(FIELD_BOOL, T, m, doc)
#define TEXTS(m, doc) FIELD(FIELD_TEXTS, T, m, doc)

#define T struct compare_figure
static const struct field figure_fields[] = {
    REAL(value, "mean over the runs"),
    REAL(low, "where its 95 % interval begins; absent if unknown"),
    REAL(high, "where it ends"),
    FIELD_END,
};
#undef T

#define T struct compare_against
static const struct field against_fields[] = {
    REAL(ratio, "divided by the base's"),
    REAL(low, "where the 95 % interval of the ratio begins"),
    REAL(high, "where it ends"),
    REAL(confidence, "that the two differ at all, 0 to 1"),
    TEXT(verdict,
         "that in words; none below 95 %, of one run each, or where one of the two is noisy"),
    FIELD_END,
};
#undef T

#define T struct compare_price
static const struct field price_fields[] = {
    TEXT(usd_per_hour, "as published; absent if unknown, or if the runs have different prices"),
    TEXT(from, "where it comes from"),
    TEXT(rule, "how it is charged, in words"),
    BOOL(assumed,
         "the provider's rule is unknown: whole seconds, or the offer's months, are assumed"),
    FIELD_END,
};
#undef T

#define T struct compare_cost
static const struct field cost_fields[] = {
    TEXT(usd, "of one whole training, mean over the runs, tax left out"),
    TEXT(low_usd, "where its 95 % interval begins"),
    TEXT(high_usd, "where it ends"),
    INT(nano_usd, "the same in billionths"),
    FIELD_END,
};
#undef T

#define T struct compare_row
static const struct field row_fields[] = {
    TEXT(machine, "the machine's name, or its GPU or processor"),
    TEXT(framework, "what trained it"),
    TEXT(detail, "tells it from other rows of that machine and framework"),
    BOOL(base, "the others are relative to this one"),
    INT(runs, "how many runs"),
    BOOL(noisy, "something disturbed the measurement: there is no verdict on it"),
    BOOL(stopped, "stopped by the user before it was done: it wins nothing"),
    TEXT(kind,
         "measured (trained to the end), projected (from a sample), or relative (only its speed "
         "relative to another's is known)"),
    TEXTS(ids, "the runs, at most 20 of them"),
    FIELD_IN(T, time_s, figure_fields, "of one whole training"),
    FIELD_IN(T, time, against_fields, "the time against the base's"),
    FIELD_IN(T, price, price_fields, "the price of the machine"),
    FIELD_IN(T, cost, cost_fields, "derived from time, price and rule"),
    FIELD_IN(T, money, against_fields, "the cost against the base's"),
    FIELD_IN(T, trainings_per_usd, figure_fields, "whole trainings for one dollar"),
    FIELD_IN(T, accuracy, figure_fields, "on the held-out part at the end, 0 to 1; not of samples"),
    FIELD_IN(T, gpu_percent, figure_fields, "use of the GPUs"),
    FIELD_IN(T, share_of_peak, figure_fields, "operations per second ÷ the specification's"),
    TEXTS(notes, "caveats"),
    TEXTS(reasons, "why it cannot be compared"),
    FIELD_END,
};
#undef T

#define T struct compare_workload
static const struct field workload_fields[] = {
    TEXT(workload, "what was trained"),
    TEXT(base, "the row that the others are relative to; absent if the base has no run of it"),
    TEXTS(sentences, "which is cheapest, which is fastest"),
    FIELD_SUB(FIELD_LIST, T, rows, row_fields, "rows that can be compared, the base first"),
    FIELD_SUB(FIELD_LIST, T, apart, row_fields, "rows that cannot, with reasons"),
    FIELD_END,
};
#undef T

#define T struct compare
const struct field compare_fields[] = {
    TEXT(schema, "`" COMPARE_SCHEMA "`"),
    TEXT(rule, "paid: as the provider charges; prorated: rate × time"),
    TEXT(date, "--date: of the prices"),
    TEXT(base, "as given by --base, or as chosen"),
    INT(runs, "how many runs were read"),
    TEXTS(sentences, "over all workloads"),
    FIELD_SUB(FIELD_LIST, T, workloads, workload_fields, "workload by workload"),
    FIELD_END,
};
#undef T
