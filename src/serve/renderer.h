// SPDX-License-Identifier: Apache-2.0
// renderer: worker threads that render answers, and a short-lived cache of them.
//
// libmicrohttpd's threads send finished answers and hand all other requests to the workers.
// Identical requests share one render. An answer is reused for one second. After that it is
// rendered again. Of a page with many viewers all get the old answer until the new one is there, so
// that nobody waits: for another second, or while the new one is being rendered, up to ten. Without
// many viewers the first request waits for the new answer. A slow page delays only its own viewers.
// Changes by other programs show up after at most two seconds and the time of a render, pushed runs
// at once. All cached answers together have a limit too.
//
// An address never has all workers, and a limited number of renders that wait. Two workers are kept
// for pages without the ledger. Heavy pages, such as quotes, are rendered three at a time. A render
// is dropped if all its clients have left.
#ifndef FARE_SERVE_RENDERER_H
#define FARE_SERVE_RENDERER_H

#include "serve/mhd.h"
#include "serve/request.h"

// One incoming request. It must stay in place while it waits.
struct render_call {
    uint8_t from[8]; // the client's address; of IPv6, its network
    int fd;          // its socket
    struct request request;
    struct http_head head;
    struct answer answer; // if refused
    struct buf body;
    size_t body_reserved; // bytes of memory promised to the body, see server.c
    bool writes, refused, too_long, crowded;
    struct MHD_Connection *connection;
    struct render *render;    // owned by the renderer
    struct render_call *next; // the next one that waits for the same render
};

struct renderer;
int renderer_new(struct renderer **out, struct err *err) MUST_USE;

// Sends the answer, or suspends the connection: libmicrohttpd calls again once the answer is done.
// Call both only from its callbacks.
enum MHD_Result renderer_answer(struct renderer *renderer, struct render_call *call);
// The call is over, with or without its answer.
void renderer_leave(struct renderer *renderer, struct render_call *call);

// Finishes started renders, refuses those that wait and new calls, and waits up to a second for
// answers being sent. Call it before stopping the daemon, which must not have suspended
// connections. Null is fine.
void renderer_close(struct renderer *renderer);
void renderer_free(struct renderer *renderer); // after the daemon; null is fine

// The response with its headers; takes over the answer's text. Null if out of memory.
struct MHD_Response *renderer_response(struct answer *answer);

#endif
