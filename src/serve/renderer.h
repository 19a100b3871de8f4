// SPDX-License-Identifier: Apache-2.0
// renderer: worker threads that render answers, and a short-lived cache of them.
//
// libmicrohttpd's threads send finished answers and hand all other requests to the workers.
// Identical requests share one render. An answer is reused for one second. After that, the first
// request waits for a new one; until it is done, others get the old one, for at most one more
// second. So a page with many viewers is rendered once a second, and a slow page delays only its
// own viewers. Changes by other programs show up after at most two seconds, pushed runs at once.
#ifndef FARE_SERVE_RENDERER_H
#define FARE_SERVE_RENDERER_H

#include "serve/mhd.h"
#include "serve/request.h"

// One incoming request. It must stay in place while it waits.
struct call {
    struct request request;
    struct http_head head;
    struct answer answer; // if refused
    struct buf body;
    bool refused, too_long;
    struct MHD_Connection *connection;
    struct render *render; // owned by the renderer
    struct call *next;     // the next one that waits for the same render
};

struct renderer;
int renderer_new(struct renderer **out, struct err *err) MUST_USE;

// Sends the answer, or suspends the connection: libmicrohttpd calls again once the answer is done.
// Call both only from its callbacks.
enum MHD_Result renderer_answer(struct renderer *renderer, struct call *call);
// The call is over, with or without its answer.
void renderer_leave(struct renderer *renderer, struct call *call);

// Finishes queued renders and refuses new calls; waits a few seconds for answers being sent. Call
// it before stopping the daemon, which must not have suspended connections. Null is fine.
void renderer_close(struct renderer *renderer);
void renderer_free(struct renderer *renderer); // after the daemon; null is fine

// The response with its headers; takes over the answer's text. Null if out of memory.
struct MHD_Response *renderer_response(struct answer *answer);

#endif
