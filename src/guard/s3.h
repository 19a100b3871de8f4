// SPDX-License-Identifier: Apache-2.0
// s3: signed requests to one bucket, tried again where that helps, refusals in plain words.
//
// Requests are signed by libcurl (base/http.h). A bucket is addressed as a part of the path at a
// given endpoint, and of the host's name at Amazon. Connections stay open between requests. Any
// number of threads may ask at once.
#ifndef FARE_GUARD_S3_H
#define FARE_GUARD_S3_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/http.h"
#include "guard/store.h"

struct s3;

// `place` is "s3://bucket[/prefix]".
int s3_open(struct s3 **out, const char *place, const struct store_options *options,
            struct err *err) MUST_USE;
void s3_free(struct s3 *s3);

void s3_rest(struct s3 *s3); // closes all connections that are not in use, but one

const char *s3_prefix(const struct s3 *s3); // "" or "prefix/", as keys begin
int s3_parallel(const struct s3 *s3);

struct s3_request {
    const char *method; // null: GET
    const char *name;   // of the object, below the prefix; null: the bucket itself
    const char *query;  // (optional) sorted, encoded, each name with "="
    const char *header; // (optional) "Range: bytes=0-99", "If-None-Match: *"
    const void *body;   // (optional)
    size_t body_len;
    const char *body_sha256; // (optional) hexadecimal, where it is known already
    size_t max_bytes;        // of the answer; 0: 4 MiB
    const atomic_bool *stop; // (optional)
    int64_t deadline_ns;
    int tries; // (optional) 0: STORE_TRIES
};

// Makes the request. 0: an answer of any status that trying again does not better is in `call`,
// which the caller releases (zero it first). Codes of store.h otherwise.
int s3_ask(struct s3 *s3, const struct s3_request *request, struct http_call *call,
           struct err *err) MUST_USE;

// The same where the status must be `status` (200, or another below 300); else s3_refused().
int s3_must(struct s3 *s3, const struct s3_request *request, const char *doing,
            struct http_call *call, struct err *err) MUST_USE;

// Turns an answer into an error: credentials, clock, bucket, region, room. Missing objects are
// ERR_MISSING. `doing`: "cannot write 'x'".
int s3_refused(struct s3 *s3, const struct http_call *call, const char *doing, struct err *err);

// Appends `text` as it stands in a query's value; `keep_slash` as in a path.
void s3_encode(const char *text, bool keep_slash, struct buf *out);

#endif
