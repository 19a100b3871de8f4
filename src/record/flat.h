// SPDX-License-Identifier: Apache-2.0
// flat: members of a record as the fields of a CSV line, each named by its path.
//
//     static const struct flat_column columns[] = {{"time_s", "time_s.value"}, {"runs", "runs"}};
//     flat_heads(&csv, columns, 2);
//     for (each row) {
//         flat_put(&csv, flat_part(compare_fields, "workloads.rows"), row, columns, 2);
//         csv_end(&csv);
//     }
//
// Numbers and amounts have all their digits, texts are never a formula in a spreadsheet, a list of
// texts is joined by "; ", and what is absent is empty.
#ifndef FARE_RECORD_FLAT_H
#define FARE_RECORD_FLAT_H

#include "base/csv.h"
#include "record/field.h"

struct flat_column {
    const char *head;
    const char *path; // "cost.low_usd"; must exist
};

// The table of a member's own members.
const struct field *flat_part(const struct field *fields, const char *path);

// Both append fields to the line; the caller ends it.
void flat_heads(struct csv_writer *w, const struct flat_column *columns, size_t count);
void flat_put(struct csv_writer *w, const struct field *fields, const void *record,
              const struct flat_column *columns, size_t count);

#endif
