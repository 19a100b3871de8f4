// SPDX-License-Identifier: Apache-2.0
// request: declarations shared by the server's own files.
#ifndef FARE_SERVE_REQUEST_H
#define FARE_SERVE_REQUEST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"
#include "bill/market.h"
#include "view/run_list.h"
#include "serve/serve.h"

enum { OPEN_LEDGERS_MOST = 8, OPEN_MARKETS_MOST = 3, QUERY_MOST = 128, DAMAGED_MOST = 32 };

// State shared by all requests.
struct site {
    struct serve_options options;
    bool has_token;
    bool reading_guarded;        // reading needs a token too
    bool only_local;             // refuse host names other than localhost, see host_is_ours()
    uint8_t token[SHA256_BYTES]; // its hash
    pthread_mutex_t lock;        // guards the rest
    struct ledger *ledgers[OPEN_LEDGERS_MOST]; // open and idle
    size_t ledger_count;
    struct market *markets[OPEN_MARKETS_MOST]; // open and idle, of these files
    size_t market_count;
    uint64_t market_stamp;                 // of the files, see market_stamp()
    int64_t push_tokens_milli, push_at_ns; // rate limit, see push.c
    struct buf metrics, metrics_stamp;     // cached, with the ledger_stamp() of its runs
    int64_t metrics_ns;                    // when it was made
    int64_t pushes;                        // that added runs; part of the renderer's key
    struct board *board;                   // figures about all runs, see board.h
    struct run_rows *rows;                 // of the list, made before; null: none
    uint64_t damaged[DAMAGED_MOST];        // hashes of the damaged records named last
    size_t damaged_count;                  // all that were named
};

// Reads the token. `local`: only this machine can reach the server; otherwise ERR_USAGE unless
// reading is guarded or public. Call site_release() even if it fails; the strings in `options` must
// live until then.
int site_init(struct site *site, const struct serve_options *options, bool local,
              struct err *err) MUST_USE;
void site_release(struct site *site);
// Checks at the start that the ledger can be read; creates it if runs may be pushed.
int site_check(struct site *site, struct err *err) MUST_USE;
// True if this is the token; compares in constant time. Null is fine.
bool site_knows(const struct site *site, const char *token);

// Names a damaged record, once; see ledger_on_damage().
void site_say_damaged(void *site, const char *id, const char *why);

// Checks that the ledger can be read. It is the server's, so that no error is the client's fault:
// ERR_TIMEOUT, ERR_MEMORY or ERR_IO.
int site_reach(struct site *site, struct desk *desk, struct err *err) MUST_USE;

// The ledger and the market of a request's desk: open ones, lent when they are first asked for. The
// prices are read again when a file of them has changed. site_give_back() keeps them open for the
// next request, unless something failed on them, and empties the desk.
int site_ledger(struct site *site, struct desk *desk, struct ledger **out,
                struct err *err) MUST_USE;
int site_market(struct site *site, struct desk *desk, struct market **out,
                struct err *err) MUST_USE;
void site_give_back(struct site *site, struct desk *desk, int rc);

struct parameter {
    const char *key, *value;
};

struct request {
    struct site *site;
    struct desk *desk; // set by route_answer()
    const char *route; // the path of the route; null: none
    const char *rest;  // the path after it
    bool json;         // answer with JSON
    struct parameter query[QUERY_MOST];
    size_t query_count;
    const char *body;
    size_t body_len;
};

int request_ledger(const struct request *request, struct ledger **out, struct err *err) MUST_USE;
int request_market(const struct request *request, struct market **out, struct err *err) MUST_USE;

// The first non-empty value with this name, or null.
const char *request_value(const struct request *request, const char *key);

// Reads the parameters that these rows name, with "_" for "-"; a flag is "yes" or "no".
struct opt;
int request_read(const struct request *request, const struct opt *rows, void *values,
                 struct err *err) MUST_USE;

struct answer {
    int status;
    const char *type;
    struct buf text;
    const char *allow;    // 405
    bool challenge, wait; // 401; 429 and 503
};

// Fills `answer`, whose status (200) and type (HTML or JSON) are set. ERR_USAGE becomes 400,
// ERR_MISSING 404, ERR_TIMEOUT 503, any other error 500.
typedef int page_fn(const struct request *request, struct answer *answer, struct err *err);

// The pages: one row each. Its path (a final slash: more follows), what reads it and (optional)
// what writes to it; whether it has JSON, needs the ledger, and takes tens of milliseconds and
// megabytes; its parameters (routes.c), and (optional) the form to enter them.
// clang-format off
#define ROUTES(ROW) \
    ROW("/", page_home, NULL, false, true, false, of_runs, form_list) \
    ROW("/runs", page_list, page_push, true, true, false, of_runs, form_list) \
    ROW("/runs/", page_run, NULL, true, true, true, nothing, NULL) \
    ROW("/compare", page_compare, NULL, true, true, true, of_compare, NULL) \
    ROW("/prices", page_prices, NULL, true, false, false, of_prices, form_prices) \
    ROW("/offer", page_offer_history, NULL, true, false, false, of_offer, NULL) \
    ROW("/provider", page_provider, NULL, true, true, false, of_offer, NULL) \
    ROW("/gpu", page_gpu, NULL, true, false, false, of_offer, NULL) \
    ROW("/quote", page_quote, NULL, true, true, true, of_quote, form_quote) \
    ROW("/spend", page_spend, NULL, true, true, true, of_spend, form_spend) \
    ROW("/metrics", page_metrics, NULL, false, true, true, nothing, NULL)
// clang-format on
#define ROW(path, read, ...) page_fn read;
ROUTES(ROW)
#undef ROW
page_fn page_push;

// Writes a page's form, filled with the values of the request.
typedef void form_fn(struct buf *out, const struct request *request);
form_fn form_list, form_prices, form_quote, form_spend;

// The address of a run's page, for run_list.h.
void list_run_link(struct buf *out, const char *id);

// Running runs (pages_live.c). live_list() writes them as a section of the list or as JSON items;
// live_run() writes the page of the requested run if it is running.
int live_list(const struct request *request, struct ledger *ledger, struct buf *out,
              struct err *err) MUST_USE;
int live_run(const struct request *request, struct answer *answer, bool *found,
             struct err *err) MUST_USE;
int live_runs(struct ledger *ledger, struct runs *out, struct err *err) MUST_USE; // all of them

// Appends a paragraph for each budget that is nearly spent (pages_spend.c).
int spend_warnings(const struct request *request, struct ledger *ledger, struct buf *out,
                   struct err *err) MUST_USE;

struct http_head {
    const char *method, *path, *host;
    bool bearer, basic; // the token came this way
};
bool route_reads(const struct http_head *head); // GET or HEAD
struct route_cost {
    bool ledger; // the page needs the ledger
    bool heavy;  // it takes tens of milliseconds, and megabytes
};
struct route_cost route_cost(const struct http_head *head);
// True if the request is refused whatever its body; `answer` is then filled.
bool route_refuses(struct request *request, const struct http_head *head, struct answer *answer);
void route_answer(struct request *request, const struct http_head *head, struct answer *answer);
void route_error(const struct request *request, struct answer *answer, int status,
                 const char *says);

// The start of every page up to its heading, a link to its JSON (`path` + ".json"; `path` must be
// safe in attributes), and the end.
void frame_begin(struct buf *out, const struct request *request, const char *title);
void frame_begin_live(struct buf *out, const struct request *request, const char *title,
                      int refresh_s); // reloads itself
void frame_json_link(struct buf *out, const struct request *request, const char *path);
void frame_end(struct buf *out);

// Appends `before`, then "key=value" of an address.
void frame_pair(struct buf *out, const char *before, const struct parameter *parameter);

// Appends "13,421"; as a cell of a table.
void frame_count(struct buf *out, int64_t count);

// A text field of a form, filled with the request's value.
void frame_field(struct buf *out, const struct request *request, const char *name,
                 const char *label, const char *example);

// A choice of a form, with the request's chosen.
struct frame_choice {
    const char *value, *words;
};
void frame_choose(struct buf *out, const struct request *request, const char *name,
                  const char *label, const struct frame_choice *choices, size_t count);

#endif
