// SPDX-License-Identifier: Apache-2.0
// serve: the ledger and the book as web pages.
//
// Pages are rendered on the server, without scripts; each has a JSON version whose address ends in
// .json. libmicrohttpd speaks HTTP. Clients on other machines need a token, unless everything is
// public; writing always needs one. Clients are not trusted: request sizes are limited, and a
// request must end within half a minute.
#ifndef FARE_SERVE_SERVE_H
#define FARE_SERVE_SERVE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/field.h"

#define SERVE_DEFAULT  "127.0.0.1:8732"
#define SERVE_BODY_MAX (16 << 20) // bytes of records in one request

struct serve_options {
    const char *listen;     // ADDRESS:PORT, PORT, [V6]:PORT; port 0: any free port
    const char *ledger;     // as in ledger.h
    const char *book;       // as in book_open()
    const char *token_file; // (optional) holds the token, 16 characters or more
    bool everyone;          // reading never needs a token
    // (optional) Called with a line for each internal error, from several threads.
    void (*complain)(const char *line);
};

// The strings in `options` must live until serve_stop(). ERR_USAGE if other machines can reach the
// address and there is neither a token nor `everyone`.
struct serve;
int serve_start(struct serve **out, const struct serve_options *options, struct err *err) MUST_USE;

// Ends requests that take too long. Call it about once a second.
void serve_tend(struct serve *serve);

// Answers the requests in progress, then stops. Null is fine.
void serve_stop(struct serve *serve);

#define SERVING_SCHEMA "fare.serving/1"
struct serving { // `fare serve --json` prints it when ready
    char *schema;
    char *url;
};
extern const struct field serving_fields[];

// "http://127.0.0.1:8732/"
void serve_url(const struct serve *serve, struct buf *out);

// Reads a token from a file: one line of 16 to 512 printable characters. ERR_USAGE if other users
// can read or write the file. The caller releases the token.
int serve_token(const char *path, struct buf *token, struct err *err) MUST_USE;

#endif
