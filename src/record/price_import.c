// SPDX-License-Identifier: Apache-2.0
#include "record/price_import.h"

#include "record/table.h"

#define T struct price_note
static const struct field note_fields[] = {
    TEXT(why, "what is wrong with the rows"),
    BOOL(left_out, "true: skipped; false: imported anyway"),
    INT(rows, "number of rows"),
    INT(line, "line of the first row"),
    TEXT(example, "contents of the first row"),
    FIELD_END,
};
#undef T

#define T struct price_file
static const struct field file_fields[] = {
    TEXT(file, "path or address"),
    TEXT(format, "format"),
    TEXT(date, "date of its prices; of a history, the last date"),
    TEXT(error, "why nothing was imported"),
    INT(rows, "rows in the file"),
    INT(offers, "prices or interruption rates imported"),
    FIELD_SUB(FIELD_LIST, T, notes, note_fields, "rows skipped or corrected"),
    FIELD_END,
};
#undef T

#define T struct price_import
const struct field price_import_fields[] = {
    TEXT(schema, "`" PRICE_IMPORT_SCHEMA "`"),
    FIELD_SUB(FIELD_LIST, T, files, file_fields, "one per file"),
    INT(new_offers, "new offers"),
    INT(changed_prices, "changed prices, each added with its date"),
    INT(leaps, "changed prices more than ten times higher or lower than before"),
    INT(seen_again, "unchanged prices"),
    INT(doubles, "duplicate prices of an offer on one date; the lowest was imported"),
    FIELD_END,
};
#undef T
