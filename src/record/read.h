// SPDX-License-Identifier: Apache-2.0
// read: reads a record from JSON text in one pass, without a tree.
//
// About ten times as fast as through jansson's tree, for hundreds of thousands of records. A fuzz
// target holds it against such a reader: they give the same record, except that a duplicate key is
// an error here.
#ifndef FARE_RECORD_READ_H
#define FARE_RECORD_READ_H

#include "record/field.h"

// `text` is one JSON object of `len` bytes, with only white space around it; no NUL is needed.
// Fills a zeroed record; a null `record` only validates. Unknown keys must be valid JSON and are
// ignored. ERR_FORMAT names the place: "byte 17: expected ':'", "cpu.sockets: expected an integer".
// A value out of range stays absent. The record can be released even after a failure.
int record_from_text(const struct field *fields, const char *text, size_t len, void *record,
                     struct err *err) MUST_USE;

// Only validates, including the ranges of numbers and amounts: "phases: wall_ns: -1 is out of
// range: expected 0 to 100 years".
int record_judge_text(const struct field *fields, const char *text, size_t len,
                      struct err *err) MUST_USE;

// For text that was validated before, as in the ledger: values of unknown keys are skipped by
// brackets and quotes, several times as fast.
int record_from_checked(const struct field *fields, const char *text, size_t len, void *record,
                        struct err *err) MUST_USE;

// For files that people write: an unknown key and a value out of range are errors, so that a
// mistake is noticed: "tariffs[0]: 'minimum' is not known".
int record_from_text_strict(const struct field *fields, const char *text, size_t len, void *record,
                            struct err *err) MUST_USE;

// Reads one JSON string of `len` bytes, quotes included, into `to`, without its escapes.
int record_read_string(const char *text, size_t len, struct buf *to, struct err *err) MUST_USE;

#endif
