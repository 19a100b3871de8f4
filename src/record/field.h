// SPDX-License-Identifier: Apache-2.0
// field: describes a record's members in a table, which drives its JSON.
//
// Every record that rooms share (machine, run, offer, bill) is a plain struct and a const table of
// its fields. The table drives writing and reading JSON, releasing memory, and docs/json.md.
// record/begin.def makes both from one list.
//
// An unknown value is absent: a null text, a number or list whose `known` is false, an object
// without known members. JSON leaves absent values out; there is no null, and no zero that means
// "unknown". A number that is not finite (a diverged loss) is absent too, and so is one that is
// read and lies outside its range: code that computes with a record meets no absurd figures. In a
// zeroed struct everything is absent; it can be released.
#ifndef FARE_RECORD_FIELD_H
#define FARE_RECORD_FIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/money.h"

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

// An amount of money in nano-units (base/money.h), 0 unless known. Its currency is another member,
// or the name's.
struct maybe_money {
    int64_t nano;
    bool known;
    bool unknown; // asked for, but nobody knows it: "unknown" in JSON
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

static inline struct maybe_money some_money(int64_t nano)
{
    return (struct maybe_money){.nano = nano, .known = true};
}
static inline int64_t money_or(struct maybe_money amount, int64_t otherwise)
{
    return amount.known ? amount.nano : otherwise;
}

// An amount in whole units, for drawings and ratios.
struct maybe_real money_real(struct maybe_money amount);

// The amount with all its decimals, and as people read it (money_short()); "" without one.
struct money_words {
    char s[MONEY_BYTES];
};
struct money_words money_exact(struct maybe_money amount);
struct money_words money_brief(struct maybe_money amount);

// The head of every list; LIST_OF() has the same layout.
struct list {
    void *items;
    size_t count;
    bool known; // it was read: if empty, write [] instead of nothing
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
    FIELD_OBJECT, // an embedded struct, described by `sub`
    FIELD_LIST,   // LIST_OF(struct ...), described by `sub` and `sub_size`
    FIELD_TEXTS,  // LIST_OF(char *)
    FIELD_REALS,  // LIST_OF(double), all finite
    FIELD_AMOUNT, // struct maybe_money; in JSON a text with all its decimals: "12.50"
};

// Bounds of a text (bytes) and of a list (items) that declare none of their own. Reading a longer
// one is an error, so that a record takes no more memory than its table allows. The text's is the
// longest argument of a command on Linux; NAME_MOST is for names.
enum { TEXT_MOST = 128 << 10, NAME_MOST = 1024, LIST_MOST = 1000 };

// The valid range of a number, or of an amount of money.
struct field_range {
    double least, most;
    const char *not_so; // error text: "out of range: expected 0 to 100 years"
};

// Times in these units, from 0 to 100 years; shares from 0 to 1; percentages from 0 to 100.
extern const struct field_range range_s, range_ms, range_us, range_ns;
extern const struct field_range range_share, range_percent;

// Counts up to 10^18 (an exabyte), devices and processes up to 10 million, quantities up to 10^30,
// other numbers within those of f32. Larger than any run has, small enough to compute with.
extern const struct field_range range_count, range_devices, range_quantity, range_real;

// Amounts and prices of a run, 0 to 1,000,000,000 USD: no training was ever billed as much, and
// nine of them still fit money.h.
#define AMOUNT_MOST_USD 1000000000
extern const struct field_range range_amount;

// Other amounts: whatever money.h has room for.
extern const struct field_range range_money;

// Whether a text is an amount beyond AMOUNT_MOST_USD, or too large for money.h; not one that is no
// amount.
bool amount_too_large(const char *text);

struct field {
    const char *name; // the JSON key, with its unit last: "size_bytes"; null ends a table
    enum field_kind kind;
    size_t at;
    const struct field *sub;
    size_t sub_size;
    const char *doc;                 // one line for docs/json.md
    const struct field_range *range; // of numbers and amounts; null: any
    size_t most;                     // bytes of a text, items of a list; 0: TEXT_MOST, LIST_MOST
};

// Behind the text come bounds, if any: `.most = NAME_MOST`, `.range = &range_ns`.
#define FIELD(kind_, type, member, ...)                                                            \
    {                                                                                              \
        .name = #member, .kind = kind_, .at = offsetof(type, member), .doc = __VA_ARGS__           \
    }
#define FIELD_SUB(kind_, type, member, table, ...)                                                 \
    {                                                                                              \
        .name = #member, .kind = kind_, .at = offsetof(type, member), .sub = table,                \
        .sub_size = sizeof(*((type *)0)->member.items), .doc = __VA_ARGS__                         \
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

// ERR_FORMAT if a text of this field, or a list, is beyond its bound: "name: more than 1024 bytes",
// "epoch_list: more than 10000 items".
int field_bound_text(const struct field *field, size_t bytes, struct err *err) MUST_USE;
int field_bound_list(const struct field *field, size_t count, struct err *err) MUST_USE;

// The same for every list of a record in memory, but for lists of numbers.
int record_bound(const struct field *fields, const void *record, struct err *err) MUST_USE;

// Whether a number lies within the field's range; always, without a range.
bool field_fits(const struct field *field, double value);

// The amount that a text is; absent if it is none, or out of the field's range.
struct maybe_money field_amount(const struct field *field, const char *text);

// A text beyond its bound is written cut, with "..." at its end; a list of numbers (step times) is
// thinned evenly.
//
// Appends JSON text, indented by two, keys in the table's order.
int record_to_text(const struct field *fields, const void *record, struct buf *out,
                   struct err *err) MUST_USE;

// Appends JSON on one line, without spaces or a final newline.
int record_to_line(const struct field *fields, const void *record, struct buf *out,
                   struct err *err) MUST_USE;

// Appends JSON of jansson's, with the same digits.
int json_to_text(const json_t *json, size_t flags, struct buf *out, struct err *err) MUST_USE;

// Some members of a record, to read them alone and fast: with a table that is made of `of` when it
// is first asked for, by any thread. `members` names them with blanks between: "id machine.gpu"; an
// object or list that is named is there with all it has.
struct record_part {
    const struct field *of;
    const char *members;
    bool without;             // all but these; outermost ones only
    bool any_amount;          // amounts may be out of range: for who has to name those
    struct field fields[128]; // the rest is record_part()'s
    size_t count;
};
const struct field *record_part(struct record_part *part);

// Copies a record into a zeroed one, which can be released even after a failure. Like JSON, it
// leaves out numbers that are not finite.
int record_copy(const struct field *fields, const void *record, void *copy,
                struct err *err) MUST_USE;

void record_release(const struct field *fields, void *record);

// Replaces a text member. Control characters (base/utf8.h) and invalid UTF-8 become '?', because
// device names and metadata may hold anything; surrounding white space is trimmed. Empty or null
// becomes null.
//
// Like a buf's, a failure of these functions, texts_add() and texts_take() sticks: in `err`. It can
// only be a lack of memory, so a function that sets many texts may ignore what each returns and
// look at err->code once, at its end; `err` must not be null then.
int text_set(char **member, const char *text, struct err *err);

// text_set() from a buffer, which it checks and releases.
int text_take(char **member, struct buf *text, struct err *err);

// text_set() for several members: TEXTS_SET(err, {&run->id, id}, {&run->name, name}).
struct text_pair {
    char **to;
    const char *from;
};
int texts_set(const struct text_pair *pairs, size_t count, struct err *err);
#define TEXTS_SET(err, ...)                                                                        \
    texts_set((const struct text_pair[]){__VA_ARGS__},                                             \
              sizeof((const struct text_pair[]){__VA_ARGS__}) / sizeof(struct text_pair), err)

// Appends a zeroed item and returns it; null if memory runs out. A list that grows by it has room
// for the next power of two, and so has no items from elsewhere.
void *list_add(void *list, size_t item_size, struct err *err) MUST_USE;
#define LIST_ADD(list, err) list_add((list), sizeof *(list)->items, (err))
int texts_add(void *texts, const char *text, struct err *err);  // an empty one: nothing
int texts_take(void *texts, struct buf *text, struct err *err); // releases `text`
int reals_set(void *reals, const double *values, size_t count, struct err *err) MUST_USE;

// The table as Markdown rows ("| `cpu.sockets` | integer | ... |"), for docs/json.md.
void record_document(const struct field *fields, const char *prefix, struct buf *out);

#endif
