// SPDX-License-Identifier: Apache-2.0
// safetensors: tensors by name, in the format of the Python package of that name.
//
// A file is eight bytes of header length (little endian), a JSON header that gives each tensor's
// type, shape and offsets, and the tensors' bytes without gaps. Texts may be attached under
// "__metadata__".
//
// The reader trusts nothing: lengths, offsets, shapes and names are checked when the file is
// opened, so that a file it accepts is complete. It is stricter than the reference implementation
// where the format is (no name twice, '{' first) and refuses names with a NUL. Values are read on
// request, not mapped, so that a file cut off later gives an error and not a SIGBUS. The writer
// writes F32, I64, I32 and U8, and the file appears complete or not at all (base/fs).
#ifndef FARE_TRAIN_CHECKPOINT_SAFETENSORS_H
#define FARE_TRAIN_CHECKPOINT_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"

#define SAFETENSORS_HEADER_MAX 100000000 // bytes; the reference implementation's own cap

enum safetensors_type {
    SAFETENSORS_F32,
    SAFETENSORS_F64,
    SAFETENSORS_F16,
    SAFETENSORS_BF16,
    SAFETENSORS_I64,
    SAFETENSORS_OTHER, // known to the format, but its values cannot be read here
};

struct safetensors_tensor {
    char *name;
    enum safetensors_type type;
    const char *type_name; // "F32", as in the file
    int rank;              // 0: one number
    int64_t *dim;
    int64_t count;  // of numbers: the product of dim
    uint64_t begin; // bytes from the start of the data
    uint64_t bytes;
};

struct safetensors {
    char *path;
    int fd; // open while `path` is set
    uint64_t data_at;
    struct safetensors_tensor *tensors; // by name, in the order of strcmp()
    int count;
    char **texts; // key, value, key, value, ... by key
    int text_count;
};

// ERR_FORMAT for a file that is incomplete or not a safetensors file; the text names the file and
// the fault. After a failure there is nothing to release; a zeroed struct can be released.
int safetensors_open(struct safetensors *st, const char *path, struct err *err) MUST_USE;
void safetensors_release(struct safetensors *st);

// Null where there is none.
const struct safetensors_tensor *safetensors_find(const struct safetensors *st, const char *name);
const char *safetensors_text(const struct safetensors *st, const char *key);

bool safetensors_fits(const struct safetensors_tensor *tensor, int rank, const int64_t *dim);

// The tensor of that name and shape, or an error that says which of the two is wrong.
int safetensors_want(const struct safetensors *st, const char *name, int rank, const int64_t *dim,
                     const struct safetensors_tensor **tensor, struct err *err) MUST_USE;

// Reads tensor->count numbers, rounded to f32 from other types.
int safetensors_floats(const struct safetensors *st, const struct safetensors_tensor *tensor,
                       float *values, struct err *err) MUST_USE;

// A name or text of the file, which is untrusted: up to 64 bytes, no control characters.
void safetensors_printable(struct buf *out, const char *text);

// "32×1×3×3"; "one number" for rank 0.
void safetensors_shape(struct buf *out, int rank, const int64_t *dim);

// A tensor to write: first all names and shapes, then all numbers in the same order.
struct safetensors_entry {
    const char *name;
    int rank;
    const int64_t *dim;
    const char *type; // "U8", "I32" or "I64"; null: F32
};

struct safetensors_text {
    const char *key, *value;
};

struct safetensors_writer {
    struct fs_writer file;
    int64_t left; // bytes still to come
};

// Begin, add all numbers in pieces of any size, as floats or as bytes, then commit; or abandon,
// which leaves no trace, also after a failed add. A failed begin or commit has already abandoned.
// Names that are duplicate or not printable UTF-8 are refused; texts are made printable as those of
// records are (record/field.h).
int safetensors_begin(struct safetensors_writer *w, const char *path,
                      const struct safetensors_text *texts, int text_count,
                      const struct safetensors_entry *entries, int count, struct err *err) MUST_USE;
int safetensors_add(struct safetensors_writer *w, const float *values, int64_t count,
                    struct err *err) MUST_USE;
int safetensors_add_bytes(struct safetensors_writer *w, const void *bytes, int64_t len,
                          struct err *err) MUST_USE;
int safetensors_commit(struct safetensors_writer *w, struct err *err) MUST_USE;
void safetensors_abandon(struct safetensors_writer *w);

// ==== scan ====
// Reads a JSON text (RFC 8259) once from front to back, without building a tree.
//
// For the headers of safetensors files, which are untrusted and may have 100 MB: scanning allocates
// nothing beyond what the caller keeps (a tree of "[[],[],..." costs forty times its text), and a
// lack of memory is never reported as a syntax error, as by jansson's parser. Errors give the byte.
// The caller knows what may come next and asks for it.

#define SCAN_DEPTH_MAX 64 // nesting of skipped values

struct scan {
    const char *text; // the caller's; it must outlive the struct
    size_t len, at;
    size_t origin; // number of the first byte, for errors
};

// Checks that the text is UTF-8; the other functions rely on it.
int scan_init(struct scan *scan, const char *text, size_t len, size_t origin,
              struct err *err) MUST_USE;

// Each skips white space first.

bool scan_is(struct scan *scan, char c); // whether `c` comes next, without reading it

int scan_expect(struct scan *scan, char c, struct err *err) MUST_USE; // reads it

// Lists and objects: after the '[' or '{', call it before each item. 1: another item follows (the
// comma was read); 0: the end (`close` was read); negative: an error.
int scan_item(struct scan *scan, char close, bool first, struct err *err) MUST_USE;

// The text replaces the contents of `out`. A NUL inside is an error.
int scan_text(struct scan *scan, struct buf *out, struct err *err) MUST_USE;
int scan_key(struct scan *scan, struct buf *out, struct err *err) MUST_USE; // and its colon

// A whole number of 0 or more, without exponent, that fits int64_t.
int scan_whole(struct scan *scan, int64_t *out, struct err *err) MUST_USE;

int scan_null(struct scan *scan, struct err *err) MUST_USE;
int scan_skip(struct scan *scan, struct err *err) MUST_USE; // any value
int scan_end(struct scan *scan, struct err *err) MUST_USE;  // fails unless only white space is left

#endif
