// SPDX-License-Identifier: Apache-2.0
#include "record/price_import.h"

#define TEXT(m, doc) FIELD(FIELD_TEXT, T, m, doc)
#define INT(m, doc)  FIELD(FIELD_INT, T, m, doc)
#define BOOL(m, doc) FIELD(FIELD_BOOL, T, m, doc)

#define T struct price_note
static const struct field note_fields[] = {
    TEXT(why, "what is odd about the rows"),
    BOOL(left_out, "whether they were left out, or taken all the same"),
    INT(rows, "how many"),
    INT(line, "line of the first"),
    TEXT(example, "what the first is about"),
    FIELD_END,
};
#undef T

#define T struct price_file
static const struct field file_fields[] = {
    TEXT(file, "path or address"),
    TEXT(format, "its format"),
    TEXT(date, "date of its prices; of a history, the last"),
    TEXT(error, "why nothing of it was taken"),
    INT(rows, "rows in it"),
    INT(offers, "prices, or rates of interruptions, that came of them"),
    FIELD_SUB(FIELD_LIST, T, notes, note_fields, "rows that were left out or corrected"),
    FIELD_END,
};
#undef T

#define T struct price_import
const struct field price_import_fields[] = {
    TEXT(schema, "`" PRICE_IMPORT_SCHEMA "`"),
    FIELD_SUB(FIELD_LIST, T, files, file_fields, "one per file"),
    INT(new_offers, "offers that the book did not have"),
    INT(changed_prices, "prices that changed: a row with its date was added"),
    INT(leaps, "of these, those that are more than ten times as high or low as before"),
    INT(seen_again, "prices that are still what they were"),
    INT(doubles, "further prices for the same thing on the same date: the lowest was taken"),
    FIELD_END,
};
#undef T
