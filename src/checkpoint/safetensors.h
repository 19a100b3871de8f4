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
#ifndef FARE_CHECKPOINT_SAFETENSORS_H
#define FARE_CHECKPOINT_SAFETENSORS_H

#include <stdbool.h>
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

#endif
