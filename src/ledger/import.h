// SPDX-License-Identifier: Apache-2.0
// import: reads other programs' logs as runs, and invoices. Each format is one file that ends in
// one such table.
//
// A log says little about its machine, so the caller can add facts. The run's id is a hash of the
// rest of the record: the same log with the same additions is the same run, and importing it
// twice adds nothing. Values that neither log nor caller gives are absent.
#ifndef FARE_LEDGER_IMPORT_H
#define FARE_LEDGER_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "ledger/spend.h"
#include "record/run.h"

enum { IMPORT_MAX = 64 << 20 }; // bytes in a log

struct import_options { // all may be null or 0
    const char *name;   // for a run that the log does not name
    const char *workload;
    const char *framework;
    const char *machine;
    const char *gpu;
    int64_t gpus;
    const char *provider;
    const char *price_per_hour;     // USD; stored as the label price_per_hour_usd
    const char *price_per_gpu_hour; // the same for each GPU of a run
    const char *started;
    const char **labels; // key=value
    size_t label_count;
};

// Takes what a log holds, one after the other; the caller releases it.
typedef int import_run_fn(void *arg, struct run *run, struct err *err);
typedef int import_charge_fn(void *arg, struct ledger_charge *charge, struct err *err);

// A log has one of three readers. import_runs() adds to runs their name, source and the caller's
// options, and an id where they have none. The file name `file` may hold a hint. ERR_FORMAT names
// the line.
struct importer {
    const char *name;
    const char *about;
    // True if a log that starts with `text` has this format.
    bool (*knows)(const char *text, size_t len);
    // Adds the log's runs to `out`.
    int (*read)(const char *file, const char *text, size_t len, struct runs *out, struct err *err);
    // (instead) For logs of many runs. `says` gets sentences about what was left out.
    int (*read_each)(const char *file, const char *text, size_t len, import_run_fn *put, void *arg,
                     struct buf *says, struct err *err);
    // (instead) Lines of an invoice; the id lacks the number of its occurrence.
    int (*read_charges)(const char *file, const char *text, size_t len, import_charge_fn *put,
                        void *arg, struct err *err);
};

// The importers, in the order in which they are tried: one row each.
#define IMPORTERS(ROW)                                                                             \
    ROW(keras)                                                                                     \
    ROW(dawnbench)                                                                                 \
    ROW(mllog)                                                                                     \
    ROW(hyperfine)                                                                                 \
    ROW(sacct)                                                                                     \
    ROW(focus)
#define ROW(name) extern const struct importer importer_##name;
IMPORTERS(ROW)
#undef ROW
extern const struct importer *const importers[]; // null-terminated

const struct importer *importer_find(const char *name); // null if there is none
const struct importer *importer_guess(const char *text, size_t len);

// Reads a log and passes on its runs, completed; each is released afterwards unless put() has
// zeroed it. `says` is optional.
int import_runs(const struct importer *importer, const char *file, const char *text, size_t len,
                const struct import_options *options, import_run_fn *put, void *arg,
                struct buf *says, struct err *err) MUST_USE;

// The same into a list.
int import_log(const struct importer *importer, const char *file, const char *text, size_t len,
               const struct import_options *options, struct runs *out, struct err *err) MUST_USE;

// The rest is for the importers. Adds or replaces a label.
int import_label(struct run *run, const char *key, const char *value, struct err *err) MUST_USE;
// Parses a whole string such as "12.5". "", "nan" and "inf" are absent; false for anything else.
bool import_number(const char *text, struct maybe_real *out);
// Converts `value` units of `unit_s` seconds to nanoseconds; absent if negative or over 100 years.
struct maybe_int import_ns(double value, double unit_s);
// The file name without folder and extension ("v5.0" of "logs/v5.0.txt"), cut to `size` bytes.
void import_stem(const char *file, char *out, size_t size);
size_t import_stem_len(const char *base); // of a file name without folder

// Parses JSON; the caller releases it. Null on error, with the reason in `err` and its line in
// `line`.
json_t *import_json(const char *text, size_t len, int *line, struct err *err) MUST_USE;

#endif
