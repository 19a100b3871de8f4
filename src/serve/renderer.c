// SPDX-License-Identifier: Apache-2.0
#include "serve/renderer.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "render/markup.h"

enum {
    WORKERS = 8,
    WRITERS = 2,     // workers that may write at once: a locked ledger must not stop reading
    WITH_LEDGER = 6, // workers that may use the ledger: one that hangs must not stop the rest
    LEDGER_PER_ADDRESS = 4,      // workers for one client address: pages with the ledger,
    OTHERS_PER_ADDRESS = 2,      // and pages without
    HEAVY = 3,                   // heavy pages at once: each takes megabytes
    HEAVY_PER_ADDRESS = 2,       // of one client address
    WAITING_MOST = 256,          // renders of one client address that wait
    CACHED_MOST = 64,            // answers
    CACHED_BYTES_MOST = 1 << 20, // longer answers are not cached
    CACHED_BYTES_ALL = 16 << 20, // of all that are cached
    CLOSING_S = 1,
};

#define CROWDED  "Too many requests from your address are waiting."
#define STOPPING "The server is stopping."

#define FRESH_NS   NS_PER_S        // an older answer is rendered again,
#define OLD_NS     (2 * NS_PER_S)  // and serves others meanwhile, up to this age,
#define HELD_NS    (10 * NS_PER_S) // or up to this one, if the next is already being rendered
#define POPULAR_NS (NS_PER_S / 4)  // an answer used so lately has many clients

// What a render that no call waits for is about: a copy.
struct asked {
    struct request request;
    struct http_head head;
    char texts[];
};

// An answer: queued, being rendered, then cached.
struct render {
    struct render *next;
    struct buf key; // its address; empty: for one request alone
    size_t users;   // calls that use it, plus one for the list
    struct render_call *waiting;
    struct asked *asked;                                 // null: what the first that waits asks for
    uint8_t from[sizeof((struct render_call *)0)->from]; // who asked first
    bool writes, has_ledger, heavy, started, done;
    bool replaced; // by one that is queued or being rendered
    unsigned status;
    struct MHD_Response *response; // null: out of memory
    size_t bytes;
    int64_t done_ns, used_ns;
};

struct renderer {
    pthread_mutex_t lock;   // guards the rest
    pthread_cond_t added;   // a render was added, or the renderer closes
    pthread_cond_t idle;    // the last call has left
    struct render *renders; // in order of arrival
    struct render **end;
    size_t calls; // calls attached to a render
    const struct render *running[WORKERS];
    size_t running_count;
    bool closing;
    pthread_t workers[WORKERS];
    size_t worker_count;
};

// ---- renders; the caller holds the lock

static void unref(struct render *render)
{
    if (--render->users > 0)
        return;
    if (render->response)
        mhd.destroy_response(render->response);
    buf_release(&render->key);
    free(render->asked);
    free(render);
}

static void drop_render(struct renderer *r, struct render **link)
{
    struct render *render = *link;
    *link = render->next;
    if (r->end == &render->next)
        r->end = link;
    unref(render);
}

// Drops finished renders that cannot be reused: private, failed, old, or the oldest of too many.
static void expire(struct renderer *r)
{
    int64_t now = clock_now_ns();
    size_t done = 0, bytes = 0;
    for (const struct render *render = r->renders; render; render = render->next) {
        done += render->done;
        bytes += render->done ? render->bytes : 0;
    }
    for (struct render **link = &r->renders; *link;) {
        struct render *render = *link;
        bool expired =
            render->done && (render->key.len == 0 || !render->response || done > CACHED_MOST ||
                             bytes > CACHED_BYTES_ALL ||
                             now - render->done_ns >= (render->replaced ? HELD_NS : OLD_NS));
        done -= expired;
        bytes -= expired ? render->bytes : 0;
        if (expired)
            drop_render(r, link);
        else
            link = &render->next;
    }
}

static bool is_for(const struct render *render, const struct buf *key)
{
    return key->len > 0 && render->key.len == key->len &&
           memcmp(buf_str(&render->key), buf_str(key), key->len) == 0;
}

// The render of this address: a fresh one; else an old one that has many clients, or whose
// replacement is in progress, so that at most one client waits for it; else the one in progress.
// Null: none. `*old_alone`: it is an old one, and none is in progress.
static struct render *find_render(const struct renderer *r, const struct buf *key, bool *old_alone)
{
    int64_t now = clock_now_ns();
    struct render *old = NULL, *coming = NULL;
    *old_alone = false;
    for (struct render *render = r->renders; render; render = render->next) {
        if (!is_for(render, key))
            continue;
        if (!render->done)
            coming = render;
        else if (now - render->done_ns < FRESH_NS)
            return render;
        else if (render->status == 200)
            old = render;
    }
    if (!old || (!coming && now - old->used_ns >= POPULAR_NS))
        return coming;
    *old_alone = !coming;
    return old;
}

// The one that replaces `render` is there, or will not come.
static void settle(struct renderer *r, const struct render *render)
{
    for (struct render **link = &r->renders; *link;) {
        struct render *old = *link;
        bool same = old != render && old->done && is_for(old, &render->key);
        if (same && render->response) {
            drop_render(r, link);
            continue;
        }
        if (same)
            old->replaced = false;
        link = &old->next;
    }
}

static bool is_from(const struct render *render, const uint8_t *from)
{
    return memcmp(render->from, from, sizeof render->from) == 0;
}

static bool is_crowded(const struct renderer *r, const struct render_call *call)
{
    size_t waiting = 0;
    for (const struct render *render = r->renders; render; render = render->next)
        waiting += !render->started && is_from(render, call->from);
    return waiting >= WAITING_MOST;
}

// Queues a new render, which takes over the key.
static struct render *add_render(struct renderer *r, const struct render_call *call,
                                 struct buf *key)
{
    struct render *render = calloc(1, sizeof *render);
    if (!render)
        return NULL;
    render->key = *key;
    *key = (struct buf){0};
    render->users = 1;
    render->writes = !route_reads(&call->head);
    const struct route_cost cost = route_cost(&call->head);
    render->has_ledger = cost.ledger;
    render->heavy = cost.heavy && !render->writes;
    memcpy(render->from, call->from, sizeof render->from);
    *r->end = render;
    r->end = &render->next;
    pthread_cond_signal(&r->added);
    return render;
}

// A copy of what the call asks for; null if out of memory.
static struct asked *copy_asked(const struct render_call *call)
{
    const struct request *from = &call->request;
    size_t len = strlen(call->head.path) + 1;
    for (size_t i = 0; i < from->query_count; i++)
        len += strlen(from->query[i].key) + strlen(from->query[i].value) + 2;
    struct asked *asked = malloc(sizeof *asked + len);
    if (!asked)
        return NULL;
    char *to = asked->texts;
    asked->request = (struct request){.site = from->site, .body = "", .json = from->json};
    asked->head = (struct http_head){.method = "GET", .path = to};
    to = stpcpy(to, call->head.path) + 1;
    for (size_t i = 0; i < from->query_count; i++) {
        struct parameter *p = &asked->request.query[asked->request.query_count++];
        p->key = to;
        to = stpcpy(to, from->query[i].key) + 1;
        p->value = to;
        to = stpcpy(to, from->query[i].value) + 1;
    }
    return asked;
}

// Queues the replacement of an answer that is no longer fresh; no call waits for it. Without
// memory for it the answer gets too old, and a later call waits for the next.
static void replace_render(struct renderer *r, const struct render_call *call, struct render *old)
{
    SCOPED(buf_release) struct buf key = {0};
    struct asked *asked = copy_asked(call);
    buf_add(&key, buf_str(&old->key), old->key.len);
    struct render *next = asked && !key.failed ? add_render(r, call, &key) : NULL;
    if (next) {
        next->asked = asked;
        old->replaced = true;
    } else {
        free(asked);
    }
}

// ---- calls

// The address and the number of pushes so far, since a push makes earlier answers wrong.
static void key_of(const struct render_call *call, struct buf *key)
{
    const struct request *request = &call->request;
    struct site *site = request->site;
    if (!route_reads(&call->head))
        return;
    pthread_mutex_lock(&site->lock);
    buf_printf(key, "%lld ", (long long)site->pushes);
    pthread_mutex_unlock(&site->lock);
    markup_address(key, call->head.path);
    for (size_t i = 0; i < request->query_count; i++)
        frame_pair(key, i ? "&" : "?", &request->query[i]);
    if (key->failed) // out of memory: render for this request alone
        buf_release(key);
}

// Attaches the call to a render and suspends its connection until that is done. False if closing,
// crowded or out of memory.
static bool attach(struct renderer *r, struct render_call *call, struct buf *key)
{
    expire(r);
    bool old_alone;
    struct render *render = find_render(r, key, &old_alone);
    call->crowded = !render && is_crowded(r, call);
    if (!render && !r->closing && !call->crowded)
        render = add_render(r, call, key);
    if (!render)
        return false;
    if (old_alone && !r->closing && !is_crowded(r, call))
        replace_render(r, call, render);
    render->used_ns = clock_now_ns();
    render->users++;
    r->calls++;
    call->render = render;
    if (!render->done) {
        call->next = render->waiting;
        render->waiting = call;
        mhd.suspend_connection(call->connection); // before a worker can wake it
    }
    return true;
}

static enum MHD_Result refuse(struct render_call *call)
{
    call->answer.wait = true;
    route_error(&call->request, &call->answer, 429, CROWDED);
    struct MHD_Response *response = renderer_response(&call->answer);
    if (!response)
        return MHD_NO;
    enum MHD_Result result = mhd.queue_response(call->connection, 429, response);
    mhd.destroy_response(response);
    return result;
}

enum MHD_Result renderer_answer(struct renderer *r, struct render_call *call)
{
    SCOPED(buf_release) struct buf key = {0};
    bool attached = call->render != NULL;
    if (!attached)
        key_of(call, &key);
    pthread_mutex_lock(&r->lock);
    if (!attached)
        attached = attach(r, call, &key);
    const struct render *render = call->render;
    bool done = attached && render->done;
    pthread_mutex_unlock(&r->lock);
    if (attached && !done)
        return MHD_YES;
    if (call->crowded)
        return refuse(call);
    // Out of memory closes the connection.
    return done && render->response
               ? mhd.queue_response(call->connection, render->status, render->response)
               : MHD_NO;
}

void renderer_leave(struct renderer *r, struct render_call *call)
{
    if (!call->render)
        return;
    pthread_mutex_lock(&r->lock);
    unref(call->render);
    if (--r->calls == 0)
        pthread_cond_signal(&r->idle);
    pthread_mutex_unlock(&r->lock);
    call->render = NULL;
}

// ---- workers

static void wake_waiting(struct render *render)
{
    struct render_call *next;
    for (struct render_call *call = render->waiting; call; call = next) {
        next = call->next; // once awake, the call may be freed
        mhd.resume_connection(call->connection);
    }
    render->waiting = NULL;
}

// libmicrohttpd does not watch a suspended connection. A client that closed its side counts as
// gone, as with most servers.
static bool has_left(const struct render_call *call)
{
    struct pollfd peer = {.fd = call->fd, .events = POLLRDHUP};
    return poll(&peer, 1, 0) > 0 && (peer.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static bool is_wanted(const struct render *render)
{
    if (render->asked)
        return true;
    for (const struct render_call *call = render->waiting; call; call = call->next)
        if (!has_left(call))
            return true;
    return false;
}

static void stop_running(struct renderer *r, const struct render *render)
{
    size_t i = 0;
    while (r->running[i] != render)
        i++;
    r->running[i] = r->running[--r->running_count];
}

// Releases the lock while it renders: other threads can only attach to a started render.
static void render_one(struct renderer *r, struct render *render)
{
    struct answer answer = {0};
    struct asked *asked = render->asked;
    struct request *request = asked ? &asked->request : &render->waiting->request;
    const struct http_head *head = asked ? &asked->head : &render->waiting->head;
    bool closing = r->closing;
    render->started = true;
    if (!closing && !is_wanted(render)) {
        render->done = true; // without a response
        wake_waiting(render);
        expire(r);
        return;
    }
    r->running[r->running_count++] = render;
    pthread_mutex_unlock(&r->lock);
    if (closing)
        route_error(request, &answer, 503, STOPPING);
    else
        route_answer(request, head, &answer);
    size_t bytes = answer.text.len;
    bool cache = bytes <= CACHED_BYTES_MOST;
    unsigned status = (unsigned)answer.status;
    struct MHD_Response *response = renderer_response(&answer);
    pthread_mutex_lock(&r->lock);
    render->status = status;
    render->response = response;
    render->bytes = bytes;
    render->done_ns = render->used_ns = clock_now_ns();
    render->done = true;
    render->asked = NULL;
    free(asked);
    stop_running(r, render);
    settle(r, render);
    pthread_cond_signal(&r->added); // its end may let several others start
    if (!cache)
        buf_release(&render->key);
    wake_waiting(render);
    expire(r);
}

static bool may_start(const struct renderer *r, const struct render *render)
{
    size_t writing = 0, with_ledger = 0, of_address = 0, heavy = 0, heavy_of_address = 0;
    for (size_t i = 0; i < r->running_count; i++) {
        writing += r->running[i]->writes;
        with_ledger += r->running[i]->has_ledger;
        heavy += r->running[i]->heavy;
        heavy_of_address += r->running[i]->heavy && is_from(r->running[i], render->from);
        of_address +=
            is_from(r->running[i], render->from) && r->running[i]->has_ledger == render->has_ledger;
    }
    return (!render->writes || writing < WRITERS) &&
           (!render->has_ledger || with_ledger < WITH_LEDGER) &&
           (!render->heavy || (heavy < HEAVY && heavy_of_address < HEAVY_PER_ADDRESS)) &&
           of_address < (render->has_ledger ? LEDGER_PER_ADDRESS : OTHERS_PER_ADDRESS);
}

static void *render_work(void *arg)
{
    struct renderer *r = arg;
    pthread_mutex_lock(&r->lock);
    for (;;) {
        struct render *render = r->renders;
        while (render && (render->started || !(r->closing || may_start(r, render))))
            render = render->next;
        if (render)
            render_one(r, render);
        else if (r->closing)
            break;
        else
            pthread_cond_wait(&r->added, &r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

// ---- life cycle

int renderer_new(struct renderer **out, struct err *err)
{
    struct renderer *r = calloc(1, sizeof *r);
    if (!r)
        return err_memory(err);
    r->end = &r->renders;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->added, NULL);
    moment_init(&r->idle);
    int failed = 0;
    while (r->worker_count < WORKERS && failed == 0) {
        failed = pthread_create(&r->workers[r->worker_count], NULL, render_work, r);
        r->worker_count += failed == 0;
    }
    if (r->worker_count == 0) { // some are enough
        renderer_free(r);
        return err_errno(err, failed, "cannot start a thread");
    }
    *out = r;
    return 0;
}

void renderer_close(struct renderer *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->closing = true;
    pthread_cond_broadcast(&r->added);
    pthread_mutex_unlock(&r->lock);
    for (size_t i = 0; i < r->worker_count; i++)
        pthread_join(r->workers[i], NULL);
    r->worker_count = 0;
    int64_t until_ns = clock_now_ns() + CLOSING_S * NS_PER_S;
    pthread_mutex_lock(&r->lock);
    while (r->calls > 0 && moment_wait(&r->idle, &r->lock, until_ns))
        ;
    pthread_mutex_unlock(&r->lock);
}

void renderer_free(struct renderer *r)
{
    if (!r)
        return;
    while (r->renders)
        drop_render(r, &r->renders);
    pthread_cond_destroy(&r->added);
    pthread_cond_destroy(&r->idle);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

struct MHD_Response *renderer_response(struct answer *answer)
{
    static const char *const always[][2] = {
        {"Content-Security-Policy",
         "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
         "frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cache-Control", "no-store"},
    };
    size_t len = answer->text.len;
    char *text = len > 0 ? buf_take(&answer->text, NULL) : NULL;
    buf_release(&answer->text);
    char *fitted = text ? realloc(text, len) : NULL; // a buffer may be twice as large as its text
    text = fitted ? fitted : text;
    struct MHD_Response *response =
        mhd.create_response_from_buffer(text ? len : 0, text ? text : (char *)(uintptr_t) "",
                                        text ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!response) {
        free(text);
        return NULL;
    }
    const char *const own[][2] = {
        {"Content-Type", answer->type},
        {"Allow", answer->allow},
        {"WWW-Authenticate", answer->challenge ? "Basic realm=\"fare\"" : NULL},
        {"Retry-After", answer->wait ? "5" : NULL}};
    bool whole = true;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        whole &= mhd.add_response_header(response, always[i][0], always[i][1]) == MHD_YES;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        whole &= !own[i][1] || mhd.add_response_header(response, own[i][0], own[i][1]) == MHD_YES;
    if (!whole) {
        mhd.destroy_response(response);
        return NULL;
    }
    return response;
}
