// SPDX-License-Identifier: Apache-2.0
// import: other programs' logs as runs; one file per format ends in one such table.
//
// A log says little about where it was made: the caller adds what it knows. A record made here
// has an id that is a sum over the rest of it, so the same log with the same additions is the same
// run, and importing it twice adds nothing. Nothing is invented: what neither log nor caller
// says is absent.
#ifndef FARE_LEDGER_IMPORT_H
#define FARE_LEDGER_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "record/run.h"

enum { IMPORT_MAX = 64 << 20 }; // bytes of a log

struct import_options { // all may be null or 0
    const char *workload;
    const char *framework;
    const char *machine;
    const char *gpu;
    int64_t gpus;
    const char *provider;
    const char *price_per_hour; // USD; kept as the label price_per_hour_usd
    const char *started;
    const char **labels; // key=value
    size_t label_count;
};

struct importer {
    const char *name;
    const char *about;
    // Whether a text that begins so is of this format.
    bool (*knows)(const char *text, size_t len);
    // Adds its runs to `out`, without id, source or what the caller knows. `file` is the log's
    // name, which may tell something. ERR_FORMAT names the line.
    int (*read)(const char *file, const char *text, size_t len, struct runs *out, struct err *err);
};
extern const struct importer importer_keras, importer_dawnbench, importer_mllog, importer_hyperfine;
extern const struct importer *const importers[]; // null-terminated

const struct importer *importer_find(const char *name); // null where there is none
const struct importer *importer_guess(const char *text, size_t len);

// Reads a log and finishes its runs.
int import_log(const struct importer *importer, const char *file, const char *text, size_t len,
               const struct import_options *options, struct runs *out, struct err *err) MUST_USE;

// For the importers. A label, added or replaced; a price is checked.
int import_label(struct run *run, const char *key, const char *value, struct err *err) MUST_USE;
// "12.5", whole; an empty text, "nan" and "inf" are absent. False for anything else.
bool import_number(const char *text, struct maybe_real *out);
// Seconds or hours as nanoseconds; absent where they are negative or over 100 years.
struct maybe_int import_ns(double value, double unit_s);
// The file's name without folders and ending, up to `size` bytes.
void import_stem(const char *file, char *out, size_t size);

// JSON, to be released; null with what is wrong, or "out of memory", in `err`, and where in `line`.
json_t *import_json(const char *text, size_t len, int *line, struct err *err) MUST_USE;

// A text that csv_init() reads.
struct import_source {
    const char *text;
    size_t len, at;
};
ptrdiff_t import_source_read(void *arg, void *into, size_t room, struct err *err);

#endif
