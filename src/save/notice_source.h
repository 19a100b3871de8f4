// SPDX-License-Identifier: Apache-2.0
// notice_source: one source of termination notices; internal to notice.c, the sources and their
// tests. A source with `ask` is asked from a thread of its own, again and again.
#ifndef FARE_SAVE_NOTICE_SOURCE_H
#define FARE_SAVE_NOTICE_SOURCE_H

#include <stdatomic.h>

#include "base/buf.h"
#include "save/notice.h"

#define NOTICE_TOKEN_BYTES 1100
#define NOTICE_NAME_BYTES  256

// What one question found. `known` false: no answer, or none of the source's form.
struct notice_found {
    bool known;
    enum notice_kind kind;
    bool dated; // the machine goes at `date_s`
    int64_t date_s;
    bool counted; // the machine goes in `left_ns`
    int64_t left_ns;
    char words[NOTICE_WORDS];
};

// The state of one source between its questions. The source's own thread alone touches it.
struct notice_asker {
    const char *base;        // the address of the metadata service
    const char *value;       // file: its path
    const atomic_bool *stop; // end at once
    int64_t asked;           // questions so far
    bool standing;           // a notice is in force: ask more often
    // aws: the token as a header, and when it must be renewed; azure: this machine's name
    char token[NOTICE_TOKEN_BYTES];
    int64_t token_until_ns;
    char name[NOTICE_NAME_BYTES];
};

struct notice_source {
    const char *name;
    const char *provider; // "auto" watches it where this is the machine's provider; null: never
    int64_t every_ns;     // between two questions
    int64_t lead_ns;      // usual time from the notice to the end
    int64_t most_ns;      // a date further away, or past, is another clock's: the usual lead counts
    void (*ask)(struct notice_asker *asker, struct notice_found *found); // (optional)
};

// The sources: one row each.
#define NOTICE_SOURCES(ROW)                                                                        \
    ROW(aws)                                                                                       \
    ROW(gcp)                                                                                       \
    ROW(azure)                                                                                     \
    ROW(signal)                                                                                    \
    ROW(file)
#define ROW(name) extern const struct notice_source notice_##name;
NOTICE_SOURCES(ROW)
#undef ROW

// ---- the answers; `status` is HTTP's, `text` the body

void notice_aws_action(int status, const char *text, size_t len, struct notice_found *found);
// Raises NOTICE_NONE to NOTICE_RISK.
void notice_aws_rebalance(int status, const char *text, size_t len, struct notice_found *found);
void notice_gcp_read(int status, const char *text, size_t len, struct notice_found *found);
// `name`: this machine's; empty: every event counts.
void notice_azure_read(int status, const char *text, size_t len, const char *name,
                       struct notice_found *found);
void notice_file_read(const char *text, size_t len, struct notice_found *found);

// "Mon, 19 Sep 2016 18:29:47 GMT" (RFC 1123).
bool notice_date_1123(const char *text, int64_t *date_s);

// "signal", "signal:USR1@120", "signal@25": the signal, and the seconds to the end (0: not given).
int notice_signal_read(const char *word, int *number, int64_t *lead_ns, struct err *err) MUST_USE;

// A GET of base + path with one header, appended to `answer`; returns the status, 0 without one.
int notice_get(const struct notice_asker *asker, const char *path, const char *header,
               int64_t within_ns, struct buf *answer);

#endif
