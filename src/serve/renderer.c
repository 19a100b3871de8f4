// SPDX-License-Identifier: Apache-2.0
#include "serve/renderer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

enum {
    MAKERS = 8,
    WRITERS = 2,    // of the makers at once: a ledger that is locked must not stop reading
    KEPT_MOST = 64, // answers
    KEPT_BYTES_MOST = 1 << 20, // of one; longer ones are made anew
    LEAVING_S = 3,
};

#define FRESH_NS NS_PER_S       // made anew when it is older,
#define OLD_NS   (2 * NS_PER_S) // until then given to others, but no longer than this

// An answer: asked for, being made, then kept for a while.
struct sheet {
    struct sheet *next;
    struct buf key; // of its address; empty: for one request alone
    size_t users;   // calls that hold on to it, and the list
    struct call *waiting;
    bool writes, taken, made;
    unsigned status;
    struct MHD_Response *response; // null where there was no memory for it
    int64_t made_ns;
};

struct desk {
    pthread_mutex_t lock; // of what follows
    pthread_cond_t laid;  // a sheet, or the end
    pthread_cond_t left;  // the last call
    struct sheet *sheets; // as they came
    struct sheet **end;
    size_t calls;   // that hold a sheet
    size_t writing; // makers
    bool closing;
    pthread_t makers[MAKERS];
    size_t maker_count;
};

// ---- sheets; all under the lock

static void let_go(struct sheet *sheet)
{
    if (--sheet->users > 0)
        return;
    if (sheet->response)
        mhd.destroy_response(sheet->response);
    buf_release(&sheet->key);
    free(sheet);
}

static void drop(struct desk *desk, struct sheet **link)
{
    struct sheet *sheet = *link;
    *link = sheet->next;
    if (desk->end == &sheet->next)
        desk->end = link;
    let_go(sheet);
}

// Of those that are made only what is not too old stays, and not too much of it: the newest.
static void clear(struct desk *desk)
{
    int64_t now = clock_now_ns();
    size_t made = 0;
    for (const struct sheet *sheet = desk->sheets; sheet; sheet = sheet->next)
        made += sheet->made;
    for (struct sheet **link = &desk->sheets; *link;) {
        struct sheet *sheet = *link;
        bool over = sheet->made && (sheet->key.len == 0 || !sheet->response || made > KEPT_MOST ||
                                    now - sheet->made_ns >= OLD_NS);
        made -= over;
        if (over)
            drop(desk, link);
        else
            link = &sheet->next;
    }
}

static bool is_for(const struct sheet *sheet, const struct buf *key)
{
    return key->len > 0 && sheet->key.len == key->len &&
           memcmp(buf_str(&sheet->key), buf_str(key), key->len) == 0;
}

// What was made within the last second; otherwise what is being made, or while that lasts what it
// will replace, so that of many only one waits. Null: nobody has begun.
static struct sheet *find(const struct desk *desk, const struct buf *key)
{
    int64_t now = clock_now_ns();
    struct sheet *old = NULL, *coming = NULL;
    for (struct sheet *sheet = desk->sheets; sheet; sheet = sheet->next) {
        if (!is_for(sheet, key))
            continue;
        if (!sheet->made)
            coming = sheet;
        else if (now - sheet->made_ns < FRESH_NS)
            return sheet;
        else
            old = sheet;
    }
    return coming && old ? old : coming;
}

// A new one, at the end; it takes the key.
static struct sheet *lay(struct desk *desk, struct buf *key)
{
    struct sheet *sheet = calloc(1, sizeof *sheet);
    if (!sheet)
        return NULL;
    sheet->key = *key;
    *key = (struct buf){0};
    sheet->users = 1;
    *desk->end = sheet;
    desk->end = &sheet->next;
    pthread_cond_signal(&desk->laid);
    return sheet;
}

// ---- who asks

// The address, and how much was pushed before: what was made earlier is no longer right.
static void key_of(const struct call *call, struct buf *key)
{
    const struct request *request = &call->request;
    struct site *site = request->site;
    if (!route_reads(&call->asked))
        return;
    pthread_mutex_lock(&site->lock);
    buf_printf(key, "%lld ", (long long)site->pushes);
    pthread_mutex_unlock(&site->lock);
    frame_escape(key, call->asked.path);
    for (size_t i = 0; i < request->query_count; i++)
        frame_pair(key, i ? "&" : "?", &request->query[i]);
    if (key->failed) // then for itself alone
        buf_release(key);
}

// On its sheet, which is made or will be; false where there is none to be had.
static bool sit_down(struct desk *desk, struct call *call, struct buf *key)
{
    clear(desk);
    struct sheet *sheet = find(desk, key);
    if (!sheet && !desk->closing)
        sheet = lay(desk, key);
    if (!sheet)
        return false;
    sheet->writes = !route_reads(&call->asked);
    sheet->users++;
    desk->calls++;
    call->sheet = sheet;
    if (!sheet->made) {
        call->next = sheet->waiting;
        sheet->waiting = call;
        mhd.suspend_connection(call->connection); // before a maker can wake it
    }
    return true;
}

enum MHD_Result desk_ask(struct desk *desk, struct call *call)
{
    struct buf key = {0};
    bool seated = call->sheet != NULL;
    if (!seated)
        key_of(call, &key);
    pthread_mutex_lock(&desk->lock);
    if (!seated)
        seated = sit_down(desk, call, &key);
    const struct sheet *sheet = call->sheet;
    bool made = seated && sheet->made;
    pthread_mutex_unlock(&desk->lock);
    buf_release(&key);
    if (seated && !made)
        return MHD_YES;
    // Without memory the connection ends.
    return made && sheet->response
               ? mhd.queue_response(call->connection, sheet->status, sheet->response)
               : MHD_NO;
}

void desk_leave(struct desk *desk, struct call *call)
{
    if (!call->sheet)
        return;
    pthread_mutex_lock(&desk->lock);
    let_go(call->sheet);
    if (--desk->calls == 0)
        pthread_cond_signal(&desk->left);
    pthread_mutex_unlock(&desk->lock);
    call->sheet = NULL;
}

// ---- who makes

static void wake(struct sheet *sheet)
{
    struct call *next;
    for (struct call *call = sheet->waiting; call; call = next) {
        next = call->next; // awake, it may be over at once
        mhd.resume_connection(call->connection);
    }
    sheet->waiting = NULL;
}

// Without the lock: nobody else touches a sheet that is taken but to wait there.
static void make(struct desk *desk, struct sheet *sheet)
{
    struct call *call = sheet->waiting;
    struct answer answer = {0};
    sheet->taken = true;
    desk->writing += sheet->writes;
    pthread_mutex_unlock(&desk->lock);
    route_answer(&call->request, &call->asked, &answer);
    bool keep = answer.text.len <= KEPT_BYTES_MOST;
    unsigned status = (unsigned)answer.status;
    struct MHD_Response *response = desk_response(&answer);
    pthread_mutex_lock(&desk->lock);
    sheet->status = status;
    sheet->response = response;
    sheet->made_ns = clock_now_ns();
    sheet->made = true;
    desk->writing -= sheet->writes;
    if (!keep)
        buf_release(&sheet->key);
    wake(sheet);
    clear(desk);
}

static void *make_pages(void *arg)
{
    struct desk *desk = arg;
    pthread_mutex_lock(&desk->lock);
    for (;;) {
        struct sheet *sheet = desk->sheets;
        while (sheet && (sheet->taken || (sheet->writes && desk->writing >= WRITERS)))
            sheet = sheet->next;
        if (sheet)
            make(desk, sheet);
        else if (desk->closing)
            break;
        else
            pthread_cond_wait(&desk->laid, &desk->lock);
    }
    pthread_mutex_unlock(&desk->lock);
    return NULL;
}

// ---- beginning and end

int desk_new(struct desk **out, struct err *err)
{
    struct desk *desk = calloc(1, sizeof *desk);
    if (!desk)
        return err_memory(err);
    desk->end = &desk->sheets;
    pthread_mutex_init(&desk->lock, NULL);
    pthread_cond_init(&desk->laid, NULL);
    pthread_cond_init(&desk->left, NULL);
    int failed = 0;
    while (desk->maker_count < MAKERS && failed == 0) {
        failed = pthread_create(&desk->makers[desk->maker_count], NULL, make_pages, desk);
        desk->maker_count += failed == 0;
    }
    if (desk->maker_count == 0) { // fewer will do
        desk_free(desk);
        return err_errno(err, failed, "cannot start a thread");
    }
    *out = desk;
    return 0;
}

void desk_close(struct desk *desk)
{
    if (!desk)
        return;
    pthread_mutex_lock(&desk->lock);
    desk->closing = true;
    pthread_cond_broadcast(&desk->laid);
    pthread_mutex_unlock(&desk->lock);
    for (size_t i = 0; i < desk->maker_count; i++)
        pthread_join(desk->makers[i], NULL);
    desk->maker_count = 0;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LEAVING_S;
    pthread_mutex_lock(&desk->lock);
    while (desk->calls > 0 && pthread_cond_timedwait(&desk->left, &desk->lock, &until) == 0)
        ;
    pthread_mutex_unlock(&desk->lock);
}

void desk_free(struct desk *desk)
{
    if (!desk)
        return;
    while (desk->sheets)
        drop(desk, &desk->sheets);
    pthread_cond_destroy(&desk->laid);
    pthread_cond_destroy(&desk->left);
    pthread_mutex_destroy(&desk->lock);
    free(desk);
}

struct MHD_Response *desk_response(struct answer *answer)
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
