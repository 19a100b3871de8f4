// SPDX-License-Identifier: Apache-2.0
// http: requests through libcurl, several at once, with a deadline that no server can exceed.
//
// libcurl is opened on first use. Answers are untrusted: their size has a cap, redirects are
// followed only on request and never from https to http, and no other schemes are used except, on
// request, file. A server that hangs in name resolution, connect, header or body costs no more than
// the time limit. https needs the host's CA certificates; the bundle carries none, and an error
// says where they were looked for. A certificate that does not hold is ERR_USAGE: asking again is
// of no use. Error texts show addresses without user, password and query, which may hold
// credentials.
//
// Proxies come from the environment (http_proxy, https_proxy, no_proxy), unless switched off.
#ifndef FARE_BASE_HTTP_H
#define FARE_BASE_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"

#define HTTP_DEFAULT_MAX ((size_t)16 << 20) // bytes of an answer, unless told otherwise

// One request and its outcome. Zero it, fill in the first part, pass it to http_all(). Whatever the
// first part points to stays the caller's and must live until that returns.
struct http_call {
    const char *method; // null: "GET"
    const char *url;
    const char *const *headers; // (optional) null-terminated: "Name: value"
    const void *body;           // (optional)
    size_t body_len;
    size_t max_bytes;        // 0: HTTP_DEFAULT_MAX; a longer answer is an error
    int64_t timeout_ms;      // 0: only the deadline counts
    bool no_proxy;           // go there directly, whatever the environment says
    bool follow;             // up to five redirects
    bool allow_file;         // file:///path may stand for http
    int64_t connect_ms;      // (optional) longest time to connect
    int64_t stall_ms;        // (optional) longest time without a byte in either direction
    const atomic_bool *stop; // (optional) set by another thread: the call ends soon, with ERR_FAIL
    const char *ca_file;     // (optional) CA certificates for https; null: http_ca_file()

    // (optional) Signs the request (AWS signature version 4): "aws:amz:REGION:s3". Needs `user`,
    // the key's id, `password`, the key, and the caller's own header x-amz-content-sha256. Write
    // the query as it is signed: names sorted, each with "=", values encoded.
    const char *sigv4, *user, *password;

    // (optional) Starts only when `after`, another call of the same set, has ended, well or not.
    // `before` may then still change this call (a header from the other's answer); when it says
    // false, the call is not made and ends with ERR_MISSING.
    const struct http_call *after;
    bool (*before)(struct http_call *call);
    void *context; // for `before`

    struct err err; // code 0: a complete answer, of any status
    int status;     // 200, 404, ...; 0: none came, or it was a file
    bool too_long;  // `err` is about `max_bytes`
    struct buf answer;
    struct buf head; // header lines of the last answer, each ending in "\r\n"
};

void http_call_release(struct http_call *call); // what came back; a zeroed struct is fine

// The value of a header of the answer, trimmed; false: not there, or longer than `size` - 1.
bool http_header(const struct http_call *call, const char *name, char *out, size_t size);

// Makes all calls at once and returns by `deadline_ns` (of clock_now_ns(); 0: none). The outcome of
// each is in its `err`. Fails only when nothing could be tried: no libcurl, no memory.
int http_all(struct http_call *calls, size_t count, int64_t deadline_ns, struct err *err) MUST_USE;

// Keeps connections open from one set of calls to the next: many small requests to one server cost
// one connection and one reading of the CA certificates. For one thread at a time.
struct http_session;
struct http_session *http_session_new(struct err *err) MUST_USE;
void http_session_free(struct http_session *session); // null is fine
int http_all_in(struct http_session *session, struct http_call *calls, size_t count,
                int64_t deadline_ns, struct err *err) MUST_USE;

// A file from the net, which appears under its name whole or not at all.
struct http_download {
    const char *url;
    const char *path;
    const char *const *headers; // (optional) null-terminated
    int64_t max_bytes;
    int64_t timeout_ms; // 0: no limit on the whole
    int64_t stall_ms;   // longest time without a byte; 0: 30 s
    bool allow_file;
    // (optional) Called as bytes arrive and ten times a second; `total` is 0 while not known.
    // False gives up.
    bool (*progress)(void *context, int64_t done, int64_t total);
    void *context;
};
int http_download(const struct http_download *download, struct err *err) MUST_USE;

// Several at once, by `deadline_ns` (0: none). The outcome of each is in its call, which is zeroed
// before and released by the caller afterwards: `err`, `status` and `head`. Only a 200 (or a file)
// makes or replaces the file; after a 304, the answer to a conditional request, `err` is 0 too.
int http_download_all(const struct http_download *downloads, struct http_call *calls, size_t count,
                      int64_t deadline_ns, struct err *err) MUST_USE;

// The CA certificates below `root` ("" for this machine): what SSL_CERT_FILE or CURL_CA_BUNDLE
// names, else where distributions put them. ERR_MISSING says where it looked.
int http_ca_file(const char *root, struct buf *out, struct err *err) MUST_USE;

// The address for display: without user, password, query and control characters.
#define HTTP_SHOWN_BYTES 160
void http_shown(const char *url, char out[HTTP_SHOWN_BYTES]);

// ==== http_url ====
// Addresses, for http.c alone (others include http.h).
//
// file:///path is read here and not by libcurl, which would wait for ever on a named pipe.

enum http_scheme { HTTP_SCHEME_BAD, HTTP_SCHEME_HTTP, HTTP_SCHEME_FILE };

// HTTP_SCHEME_BAD sets `err`: an address that is neither http nor https (nor file, if allowed).
enum http_scheme http_scheme(const char *url, bool allow_file, struct err *err);

// A regular file of up to `max` bytes named by file:///path or file://localhost/path, with %XX.
int http_file_read(const char *url, int64_t max, struct buf *out, struct err *err) MUST_USE;
int http_file_copy(const char *url, int64_t max, struct fs_writer *to, int64_t *copied,
                   struct err *err) MUST_USE;

#endif
