// SPDX-License-Identifier: Apache-2.0
// Answers that many ask for are rendered anew while everybody gets the old one; a single client
// gets a new one. libmicrohttpd is a stand-in: connections that note what is done with them. Also
// with each allocation of a call failing.
#include "oom.h"

#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "serve/renderer.h"
#include "serve/site_cases.h"

#define RUN "20260101T000001Z-aaaa"

// ---- a stand-in for libmicrohttpd

struct MHD_Response {
    char *text; // to be freed
    size_t len;
    int users;
    unsigned number; // 1, 2, ... in the order in which they were made
};

struct MHD_Connection {
    bool suspended;
    unsigned status, number; // of the answer
    size_t len;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards all of these
static pthread_cond_t resumed = PTHREAD_COND_INITIALIZER;
static unsigned made, living;

static struct MHD_Response *create_response(size_t len, void *text,
                                            enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *response = malloc(sizeof *response);
    if (!response)
        return NULL;
    pthread_mutex_lock(&lock);
    *response = (struct MHD_Response){.text = mode == MHD_RESPMEM_MUST_FREE ? text : NULL,
                                      .len = len,
                                      .users = 1,
                                      .number = ++made};
    living++;
    pthread_mutex_unlock(&lock);
    return response;
}

static enum MHD_Result add_header(struct MHD_Response *response, const char *name,
                                  const char *value)
{
    (void)response;
    return name && value ? MHD_YES : MHD_NO;
}

static void destroy_response(struct MHD_Response *response)
{
    pthread_mutex_lock(&lock);
    bool last = --response->users == 0;
    living -= last;
    pthread_mutex_unlock(&lock);
    if (last) {
        free(response->text);
        free(response);
    }
}

static enum MHD_Result queue_response(struct MHD_Connection *connection, unsigned status,
                                      struct MHD_Response *response)
{
    connection->status = status;
    connection->number = response->number;
    connection->len = response->len;
    return MHD_YES;
}

static void suspend(struct MHD_Connection *connection)
{
    pthread_mutex_lock(&lock);
    connection->suspended = true;
    pthread_mutex_unlock(&lock);
}

static void resume(struct MHD_Connection *connection)
{
    pthread_mutex_lock(&lock);
    connection->suspended = false;
    pthread_cond_broadcast(&resumed);
    pthread_mutex_unlock(&lock);
}

// ---- calls

static struct site_case site;
static struct renderer *renderer;

struct seen {
    bool waited;
    unsigned status, number;
};

static struct seen ask_for(const char *path, const struct parameter *query, long failing)
{
    struct MHD_Connection connection = {.status = 0};
    struct render_call *call = calloc(1, sizeof *call);
    assert_non_null(call);
    call->fd = -1;
    call->connection = &connection;
    call->request.site = &site.site;
    if (query)
        call->request.query[call->request.query_count++] = *query;
    call->head = (struct http_head){.method = "GET", .path = path, .host = "localhost"};
    oom_hit = false;
    oom_countdown = failing;
    enum MHD_Result result = renderer_answer(renderer, call);
    oom_countdown = -1;
    pthread_mutex_lock(&lock);
    bool waited = result == MHD_YES && connection.status == 0;
    while (connection.suspended)
        pthread_cond_wait(&resumed, &lock);
    pthread_mutex_unlock(&lock);
    if (waited)
        assert_int_equal(renderer_answer(renderer, call), MHD_YES);
    renderer_leave(renderer, call);
    free(call);
    return (struct seen){waited, connection.status, connection.number};
}

static struct seen ask(const char *path, long failing)
{
    return ask_for(path, &(struct parameter){"workload", "cnn"}, failing);
}

static struct seen ask_plain(const char *path, long failing)
{
    return ask_for(path, NULL, failing);
}

static int set_up(void **state)
{
    static const char *const records[] = {SITE_RUN(RUN, "old", "")};
    struct err err = {0};
    (void)state;
    mhd.create_response_from_buffer = create_response;
    mhd.add_response_header = add_header;
    mhd.destroy_response = destroy_response;
    mhd.queue_response = queue_response;
    mhd.suspend_connection = suspend;
    mhd.resume_connection = resume;
    site_case_init(&site, records, 1);
    assert_ok(renderer_new(&renderer, &err), &err);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    renderer_close(renderer);
    renderer_free(renderer);
    site_case_release(&site);
    return living == 0 ? 0 : -1;
}

// Asks every 20 ms for so long: nobody waits, and all get an answer. Returns the last.
static struct seen keep_asking(const char *path, int64_t ms)
{
    struct seen seen = {0};
    for (int64_t until = clock_now_ns() + ms * NS_PER_MS; clock_now_ns() < until;) {
        seen = ask(path, -1);
        assert_false(seen.waited);
        assert_int_equal(seen.status, 200);
        clock_sleep_ns(20 * NS_PER_MS);
    }
    return seen;
}

// Three seconds: a new answer each second, for which nobody waits.
TEST(popular)
{
    struct seen first = ask("/runs", -1);
    assert_true(first.waited);
    assert_int_equal(first.status, 200);
    unsigned before = made;
    struct seen last = keep_asking("/runs", 3400);
    assert_true(last.number > first.number);
    assert_true(made - before >= 2 && made - before <= 3);
}

// Whoever comes back after more than a second sees what is new.
TEST(alone)
{
    struct seen first = ask("/runs.json", -1);
    struct seen again = ask("/runs.json", -1);
    assert_true(first.waited && !again.waited);
    assert_int_equal(first.number, again.number);
    clock_sleep_ns(1100 * NS_PER_MS);
    struct seen later = ask("/runs.json", -1);
    assert_true(later.waited);
    assert_true(later.number > first.number);
}

// A push is seen at once, however many ask.
TEST(pushed)
{
    struct seen first = ask("/runs", -1);
    site.site.pushes++;
    struct seen next = ask("/runs", -1);
    assert_true(next.waited);
    assert_true(next.number > first.number);
}

// An error is not kept any longer than a second.
TEST(failed)
{
    struct seen first = ask("/prices", -1); // has no such parameter
    assert_int_equal(first.status, 400);
    int64_t until = clock_now_ns() + 1100 * NS_PER_MS;
    struct seen seen = first;
    while (clock_now_ns() < until && !seen.waited) {
        clock_sleep_ns(20 * NS_PER_MS);
        seen = ask("/prices", -1);
    }
    assert_true(seen.waited);
    assert_int_equal(seen.status, 400);
}

// Where there is no memory for the next answer, the old one is given all the same. Each address is
// asked for until its answer is old, then once with an allocation of that call failing.
TEST(without_memory)
{
    enum { TRIES = 24 };
    char paths[TRIES][32];
    long hits = 0, n = 0;
    for (; n < TRIES; n++) {
        snprintf(paths[n], sizeof paths[n], "/runs/%.*s", (int)(n / 2) + 8, RUN);
        snprintf(paths[n] + strlen(paths[n]), 8, "%s", n % 2 ? ".json" : "");
    }
    for (int64_t until = clock_now_ns() + 900 * NS_PER_MS; clock_now_ns() < until;) {
        for (n = 0; n < TRIES; n++)
            ask_plain(paths[n], -1);
        clock_sleep_ns(20 * NS_PER_MS);
    }
    clock_sleep_ns(150 * NS_PER_MS);
    for (n = 0; n < TRIES; n++) {
        struct seen seen = ask_plain(paths[n], n);
        assert_true(seen.status == 200 || oom_hit);
        hits += oom_hit;
    }
    assert_true(hits > 3 && hits < TRIES);
}

int main(void)
{
    return run_all_tests(set_up, tear_down);
}
