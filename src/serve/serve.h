// SPDX-License-Identifier: Apache-2.0
// serve: the ledger and the book as web pages.
//
// Pages are made on the server, without scripts; each has a twin that ends in .json. HTTP is
// libmicrohttpd's. Whoever is not on this machine needs a token, unless everything is public;
// without a token nobody can write. Clients are not trusted: what they send has a size, and a
// request has to be over within half a minute, however slowly it comes.
#ifndef FARE_SERVE_SERVE_H
#define FARE_SERVE_SERVE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/field.h"

#define SERVE_DEFAULT  "127.0.0.1:8732"
#define SERVE_BODY_MAX (16 << 20) // bytes of records in one request

struct serve_options {
    const char *listen;     // ADDRESS:PORT, PORT, [V6]:PORT; port 0: one that is free
    const char *ledger;     // as in ledger.h
    const char *book;       // as book_open() takes it
    const char *token_file; // (optional) holds the token, 16 characters or more
    bool everyone;          // reading needs no token wherever it comes from
    // (optional) Gets a line about each request that failed by our fault; from several threads.
    void (*complain)(const char *line);
};

// The texts of `options` must live until serve_stop(). ERR_USAGE where an address that others can
// reach has neither a token nor `everyone`.
struct serve;
int serve_start(struct serve **out, const struct serve_options *options, struct err *err) MUST_USE;

// Ends requests that take too long; to be called about once a second.
void serve_tend(struct serve *serve);

// Requests that are being answered are finished. Null is fine.
void serve_stop(struct serve *serve);

#define SERVING_SCHEMA "fare.serving/1"
struct serving { // what `fare serve --json` prints when it is ready
    char *schema;
    char *url;
};
extern const struct field serving_fields[];

// "http://127.0.0.1:8732/"
void serve_url(const struct serve *serve, struct buf *out);

// Reads a token from a file: a line of 16 to 512 printable characters. Released by the caller.
int serve_token(const char *path, struct buf *token, struct err *err) MUST_USE;

#endif
