// SPDX-License-Identifier: Apache-2.0
// request: what the parts of the server share; not for others.
#ifndef FARE_SERVE_REQUEST_H
#define FARE_SERVE_REQUEST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"
#include "ledger/ledger.h"
#include "serve/serve.h"

enum { LEDGERS_KEPT = 8, QUERY_MOST = 128 };

// What is served, and to whom.
struct site {
    struct serve_options options;
    bool has_token;
    bool reading_guarded;        // a token is needed for reading too
    bool only_here;              // names other than this machine's are refused, see host_is_ours()
    uint8_t token[SHA256_BYTES]; // its sum
    pthread_mutex_t lock;        // of what follows
    struct ledger *ledgers[LEDGERS_KEPT];
    size_t ledger_count;
    int64_t push_tokens_milli, push_at_ns; // how many requests may write now
    struct buf metrics, metrics_stamp;     // the last ones, and of which runs
    int64_t metrics_ns;                    // when
    int64_t pushes; // that added something: answers from before are no longer right
};

// Reads the token; `here`: only this machine can reach it. ERR_USAGE where others would read every
// run. Released in any case; the texts of `options` must live until then.
int site_init(struct site *site, const struct serve_options *options, bool here,
              struct err *err) MUST_USE;
void site_release(struct site *site);
// Whether the ledger can be read, before anybody asks; where runs may be pushed it is made.
int site_check(struct site *site, struct err *err) MUST_USE;
// In a time that tells nothing about the token. Null is none.
bool site_knows(const struct site *site, const char *token);

// A ledger for the time of a request; given back, it is kept for the next. One on which something
// failed is closed instead.
int site_ledger(struct site *site, struct ledger **out, struct err *err) MUST_USE;
void site_give_back(struct site *site, struct ledger *ledger, bool failed);

struct parameter {
    const char *key, *value;
};

struct request {
    struct site *site;
    const char *rest; // what follows the route's path
    bool json;        // the twin is asked for
    struct parameter query[QUERY_MOST];
    size_t query_count;
    const char *body;
    size_t body_len;
};

// The first value of that name that is not empty, or null.
const char *request_value(const struct request *request, const char *key);

struct answer {
    int status;
    const char *type;
    struct buf text;
    const char *allow;    // 405
    bool challenge, wait; // 401; 429
};

// Fills `answer`, of which the status is 200 and the type HTML, or JSON where that is asked for,
// before; or fails: ERR_USAGE is then 400, ERR_MISSING 404, all else 500.
typedef int page_fn(const struct request *request, struct answer *answer, struct err *err);
page_fn page_list, page_run, page_compare, page_metrics, page_push, page_prices, page_offer_history,
    page_quote;

// The form of a page, with what was asked for in it.
typedef void form_fn(struct buf *out, const struct request *request);
form_fn form_list, form_prices, form_quote;

// Runs that go on (pages_live.c): those that there are, as a section of the list, or as the items
// of a list in JSON; and the page of the one that is asked for, where it is one of them.
int live_list(const struct request *request, struct ledger *ledger, struct buf *out,
              struct err *err) MUST_USE;
int live_run(const struct request *request, struct answer *answer, bool *found,
             struct err *err) MUST_USE;

struct asked {
    const char *method, *path, *host;
    bool bearer, basic; // it came with the token, in that way
};
bool route_reads(const struct asked *asked); // GET or HEAD
// Whether the request will be refused whatever its body is; then `answer` is filled.
bool route_refuses(struct request *request, const struct asked *asked, struct answer *answer);
void route_answer(struct request *request, const struct asked *asked, struct answer *answer);
void route_error(const struct request *request, struct answer *answer, int status,
                 const char *says);

// The beginning of every page, to its heading; the way to its JSON, whose address is `path` (right
// within attributes) with ".json"; and the end.
void frame_begin(struct buf *out, const char *title);
void frame_begin_live(struct buf *out, const char *title, int refresh_s); // loads itself again
void frame_twin(struct buf *out, const struct request *request, const char *path);
void frame_end(struct buf *out);

// Appends a part of an address, with everything but letters, digits and -._~ as %XX: right within
// attributes too.
void frame_escape(struct buf *out, const char *text);

// Appends "key=value" of an address, with `before` in front of it.
void frame_pair(struct buf *out, const char *before, const struct parameter *parameter);

// A text field of a form, with what was asked for in it.
void frame_field(struct buf *out, const struct request *request, const char *name,
                 const char *label, const char *example);

#endif
