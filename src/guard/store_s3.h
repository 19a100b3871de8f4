// SPDX-License-Identifier: Apache-2.0
// store_s3: what the two files of the store in a bucket share.
#ifndef FARE_GUARD_STORE_S3_H
#define FARE_GUARD_STORE_S3_H

#include "guard/store_kind.h"

// "cannot VERB 'NAME'", for errors.
#define DOING_BYTES (STORE_NAME_BYTES + 40)
#define DOING(text, verb, name)                                                                    \
    char text[DOING_BYTES];                                                                        \
    snprintf(text, sizeof text, "cannot %s '%s'", verb, name)

// As in store.h; `state` is a struct s3.
int bucket_size(void *state, const char *name, int64_t *bytes, int64_t deadline_ns,
                struct err *err) MUST_USE;
int bucket_send(void *state, struct store_file *file, int64_t deadline_ns,
                struct err *err) MUST_USE;
int bucket_forget(void *state, const char *name, int64_t deadline_ns, struct err *err) MUST_USE;

#endif
