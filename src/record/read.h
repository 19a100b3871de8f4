// SPDX-License-Identifier: Apache-2.0
// read: a record from JSON text, in one pass and without a tree in between.
//
// For whoever reads records by the hundred thousand: about ten times as fast as a JSON library and
// record_from_json(), which give the same record from the same text (a fuzz target compares them).
// Stricter in one thing: a key of the table that is given twice is an error.
#ifndef FARE_RECORD_READ_H
#define FARE_RECORD_READ_H

#include "record/field.h"

// `text` is one JSON object and nothing else but white space; `len` bytes, no NUL needed. Fills a
// zeroed record, or, with a null `record`, only checks. Keys that the table does not know are
// checked for being JSON and passed over. ERR_FORMAT says where or in which member: "byte 17:
// expected
// ':'", "cpu.sockets: expected an integer". On failure the record can still be released.
int record_from_text(const struct field *fields, const char *text, size_t len, void *record,
                     struct err *err) MUST_USE;

// Checks only, and that the table's numbers are within their ranges too: "phases: wall_ns: -1 is no
// time: expected 0 to 100 years".
int record_judge_text(const struct field *fields, const char *text, size_t len,
                      struct err *err) MUST_USE;

// The same for a text that was checked before, as the ledger's are: values of keys that the table
// does not know are passed over by their brackets and quotes, several times as fast. Of a text that
// was not checked, what is in such values may be no JSON; nothing else differs.
int record_from_kept(const struct field *fields, const char *text, size_t len, void *record,
                     struct err *err) MUST_USE;

// The same for files that people write: a key that the table does not know is an error, since a
// misspelt one would silently count for nothing: "tariffs[0]: 'minimum' is not known".
int record_from_text_strict(const struct field *fields, const char *text, size_t len, void *record,
                            struct err *err) MUST_USE;

#endif
