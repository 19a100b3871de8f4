// SPDX-License-Identifier: Apache-2.0
// field: a record's members as a table, from which its JSON comes, both ways.
//
// Every record that rooms hand on (machine, run, offer, bill) is a plain struct plus a const
// table of its fields. From the table come writing and reading JSON, releasing memory, and the
// page docs/json.md; so a member is declared twice (struct and table) and nowhere else.
//
// A value that is not known is absent: a null text, a number or list whose `known` is false, an
// object with no known member. Absent values are left out of the JSON; there is no null
// and no zero that means "unknown". A number that is not finite (a loss that ran away) is written
// as absent too: JSON has no word for it. A zeroed struct has everything absent and can be
// released.
#ifndef FARE_RECORD_FIELD_H
#define FARE_RECORD_FIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct maybe_int {
    int64_t v;
    bool known;
};
struct maybe_real {
    double v;
    bool known;
};
struct maybe_bool {
    bool v;
    bool known;
};

static inline struct maybe_int some_int(int64_t v)
{
    return (struct maybe_int){v, true};
}
static inline struct maybe_real some_real(double v)
{
    return (struct maybe_real){v, true};
}
static inline struct maybe_bool some_bool(bool v)
{
    return (struct maybe_bool){v, true};
}

// The beginning of every list: the generated members below have the same layout.
struct list {
    void *items;
    size_t count;
    bool known; // it was looked at: an empty one is then written as [], not left out
};
#define LIST_OF(type)                                                                              \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count;                                                                              \
        bool known;                                                                                \
    }

enum field_kind {
    FIELD_TEXT,   // char *, on the heap
    FIELD_INT,    // struct maybe_int
    FIELD_REAL,   // struct maybe_real
    FIELD_BOOL,   // struct maybe_bool
    FIELD_OBJECT, // a struct in place, described by `sub`
    FIELD_LIST,   // LIST_OF(struct ...), described by `sub` and `sub_size`
    FIELD_TEXTS,  // LIST_OF(char *)
    FIELD_REALS,  // LIST_OF(double), all finite
};

// What a number may be, for records that others wrote.
struct field_range {
    double least, most;
    const char *not_so; // of one that is not within: "no time: expected 0 to 100 years"
};

struct field {
    const char *name; // the JSON key; a unit comes last: "size_bytes". Null ends a table
    enum field_kind kind;
    size_t at;
    const struct field *sub;
    size_t sub_size;
    const char *doc;                 // one line for docs/json.md
    const struct field_range *range; // of numbers; null: any
};

#define FIELD(kind_, type, member, doc_)                                                           \
    {                                                                                              \
        .name = #member, .kind = kind_, .at = offsetof(type, member), .doc = doc_                  \
    }
#define FIELD_SUB(kind_, type, member, table, doc_)                                                \
    {                                                                                              \
        .name = #member, .kind = kind_, .at = offsetof(type, member), .sub = table,                \
        .sub_size = sizeof(*((type *)0)->member.items), .doc = doc_                                \
    }
#define FIELD_IN(type, member, table, doc_)                                                        \
    {                                                                                              \
        .name = #member, .kind = FIELD_OBJECT, .at = offsetof(type, member), .sub = table,         \
        .sub_size = sizeof(((type *)0)->member), .doc = doc_                                       \
    }
#define FIELD_END                                                                                  \
    {                                                                                              \
        .name = NULL                                                                               \
    }

// A new reference, with the keys in the table's order; null and `err` when there is no memory.
json_t *record_to_json(const struct field *fields, const void *record, struct err *err) MUST_USE;

// The same as text, indented by two, appended to `out`.
int record_to_text(const struct field *fields, const void *record, struct buf *out,
                   struct err *err) MUST_USE;

// And on one line, without spaces or a line feed at its end.
int record_to_line(const struct field *fields, const void *record, struct buf *out,
                   struct err *err) MUST_USE;

// Fills a zeroed record. Unknown keys are passed over (a newer fare wrote them); a known key with
// a value of the wrong type is ERR_FORMAT and names its path: "cpu.sockets: expected an integer".
// On failure the record can still be released.
int record_from_json(const struct field *fields, json_t *json, void *record,
                     struct err *err) MUST_USE;

void record_release(const struct field *fields, void *record);

bool record_is_empty(const struct field *fields, const void *record);

// Replaces a text member. The copy is valid UTF-8 without characters that steer (base/utf8.h),
// whatever came in (a device name or a metadata answer may hold anything): they and bad bytes
// become
// '?', white space at both ends goes. An empty one, or null, becomes null.
int text_set(char **member, const char *text, struct err *err) MUST_USE;

// Grows a list by one zeroed item and returns it; null when there is no memory.
void *list_add(void *list, size_t item_size, struct err *err) MUST_USE;
#define LIST_ADD(list, err) list_add((list), sizeof *(list)->items, (err))
int texts_add(void *texts, const char *text, struct err *err) MUST_USE;
int reals_set(void *reals, const double *values, size_t count, struct err *err) MUST_USE;

// The table as Markdown rows ("| `cpu.sockets` | integer | ... |"), for docs/json.md.
void record_document(const struct field *fields, const char *prefix, struct buf *out);

#endif
