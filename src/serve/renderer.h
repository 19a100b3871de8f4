// SPDX-License-Identifier: Apache-2.0
// desk: where requests wait for their answers.
//
// libmicrohttpd's threads make no pages: they give answers that are there, and lay the other
// requests on the desk, where makers, threads of its own, take them. Whoever asks for what is being
// made waits for that, and what was made within the last second is given again; when it is older,
// the first to ask waits for the new one and the others get the old one once more, up to another
// second. So many who look at the same page cost one page a second, and a page that takes long
// holds up only those who want it. What other programs write is seen two seconds later, what was
// pushed here at once.
#ifndef FARE_SERVE_DESK_H
#define FARE_SERVE_DESK_H

#include "serve/mhd.h"
#include "serve/request.h"

// One request as it comes in. It stands still while it waits: what it points to lives that long.
struct call {
    struct request request;
    struct asked asked;
    struct answer answer; // of one that is refused
    struct buf body;
    bool refused, too_long;
    struct MHD_Connection *connection;
    struct sheet *sheet; // where it waits, or waited; the desk's
    struct call *next;   // another that waits there
};

struct desk;
int desk_new(struct desk **out, struct err *err) MUST_USE;

// Gives the answer, or lets the connection wait: libmicrohttpd then calls again when it is made.
// Both only from its callback.
enum MHD_Result desk_ask(struct desk *desk, struct call *call);
// The call is over, whether or not it got its answer.
void desk_leave(struct desk *desk, struct call *call);

// Everything that waits is made, and whoever asks from now on gets nothing; answers that are on
// their way have a moment. To be called before the daemon is stopped, which must not have
// connections that wait. Null is fine, for both.
void desk_close(struct desk *desk);
void desk_free(struct desk *desk); // after the daemon

// What is sent. The answer's text is taken over. Null where there is no memory.
struct MHD_Response *desk_response(struct answer *answer);

#endif
