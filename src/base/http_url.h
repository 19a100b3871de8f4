// SPDX-License-Identifier: Apache-2.0
// http_url: addresses, for http.c alone (others include http.h).
//
// file:///path is read here and not by libcurl, which would wait for ever on a named pipe.
#ifndef FARE_BASE_HTTP_URL_H
#define FARE_BASE_HTTP_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"

enum http_scheme { HTTP_SCHEME_BAD, HTTP_SCHEME_HTTP, HTTP_SCHEME_FILE };

// HTTP_SCHEME_BAD sets `err`: an address that is neither http nor https (nor file, if allowed).
enum http_scheme http_scheme(const char *url, bool allow_file, struct err *err);

// A regular file of up to `max` bytes named by file:///path or file://localhost/path, with %XX.
int http_file_read(const char *url, int64_t max, struct buf *out, struct err *err) MUST_USE;
int http_file_copy(const char *url, int64_t max, struct fs_writer *to, int64_t *copied,
                   struct err *err) MUST_USE;

#endif
