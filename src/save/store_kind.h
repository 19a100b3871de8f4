// SPDX-License-Identifier: Apache-2.0
// store_kind: what a kind of store does; for store.c and the kinds (others include store.h).
#ifndef FARE_SAVE_STORE_KIND_H
#define FARE_SAVE_STORE_KIND_H

#include <stdatomic.h>

#include "save/store.h"

// The same as the functions of store.h, on the kind's own state. All slots but the optional ones
// are required.
struct store_kind {
    int (*open)(void **state, const char *place, const struct store_options *options,
                struct err *err);
    void (*free)(void *state);
    int (*get)(void *state, const char *name, size_t max, struct buf *out, int64_t deadline_ns,
               struct err *err);
    int (*put)(void *state, const char *name, const void *bytes, size_t len, int64_t deadline_ns,
               struct err *err);
    int (*create)(void *state, const char *name, const void *bytes, size_t len, bool *created,
                  int64_t deadline_ns, struct err *err);
    int (*remove)(void *state, const char *name, int64_t deadline_ns, struct err *err);
    int (*list)(void *state, const char *under, struct store_list *list, int64_t deadline_ns,
                struct err *err);
    int (*send)(void *state, struct store_file *file, int64_t deadline_ns, struct err *err);
    int (*fetch)(void *state, struct store_file *file, int64_t deadline_ns, struct err *err);
    int (*forget)(void *state, const char *name, int64_t deadline_ns, struct err *err);
    void (*rest)(void *state); // (optional) by default there is nothing to drop
    bool always_exclusive;     // `create` needs no trial
};
extern const struct store_kind store_folder, store_s3;

// A failure with the local file. ERR_MISSING and ERR_FORMAT speak of the object, so it is neither.
int store_local(int rc, struct err *err) MUST_USE;

// Whether `name` can be the name of an object.
bool store_name_fits(const char *name);

int store_list_add(struct store_list *list, const char *name, int64_t bytes,
                   struct err *err) MUST_USE;

// The bytes of part `index`, from 0.
int64_t store_part_len(int64_t file_bytes, int64_t index);

// Reads a part of the local file and compares it with its sum. ERR_FORMAT: the file has changed.
int store_part_read(int fd, const struct store_file *file, int64_t index, void *into,
                    struct err *err) MUST_USE;
bool store_part_right(const struct store_file *file, int64_t index, const void *bytes);

// Every byte, at an offset of an open file.
int store_write_at(int fd, const char *bytes, int64_t len, int64_t at, const char *path,
                   struct err *err) MUST_USE;

// ---- Parts on several threads

struct store_work {
    const struct store_file *file;
    int64_t count; // of parts
    bool *done;    // parts that need nothing; set as others get done
    int threads;
    // Does one part, in any thread; `buffer` has room for one.
    int (*one)(void *context, int64_t index, void *buffer, const atomic_bool *stop,
               struct err *err);
    void *context;
};
// The first failure ends the others soon and is what comes back.
int store_work(const struct store_work *work, struct err *err) MUST_USE;

#endif
