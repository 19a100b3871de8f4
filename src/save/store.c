// SPDX-License-Identifier: Apache-2.0
#include "save/store.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bounds.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "save/store_kind.h"

#define STORE_PART_BYTES ((int64_t)8 << 20) // of a part; larger ones from 70 GiB on

#define PAUSE_FIRST_MS 200
#define PAUSE_MOST_MS  10000

struct pause pause_begin(int64_t first_ms, int64_t deadline_ns, const atomic_bool *stop)
{
    return (struct pause){first_ms ? first_ms : PAUSE_FIRST_MS, deadline_ns, stop};
}

bool pause_wait(struct pause *pause)
{
    uint32_t random;
    rng_entropy(&random, sizeof random);
    int64_t full_ns = pause->next_ms * NS_PER_MS;
    int64_t end_ns = clock_now_ns() + full_ns / 2 + (int64_t)(random % 1024) * (full_ns / 2048);
    if (pause->deadline_ns && end_ns >= pause->deadline_ns)
        return false;
    pause->next_ms = pause->next_ms * 2 < PAUSE_MOST_MS ? pause->next_ms * 2 : PAUSE_MOST_MS;
    for (int64_t left_ns; (left_ns = end_ns - clock_now_ns()) > 0;) {
        if (pause->stop && atomic_load(pause->stop))
            return false;
        clock_sleep_ns(left_ns < 50 * NS_PER_MS ? left_ns : 50 * NS_PER_MS);
    }
    return true;
}

// ---- Parts of a file on several threads; the calling thread waits, and reports the progress.

#define THREADS_MAX 32
#define REPORT_MS   100

struct part_pool {
    const struct store_work *work;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int64_t next;       // part to look at
    int64_t done_bytes; // of the file
    int running;        // threads
    atomic_bool stop;
    int rc;
    struct err err;
};

static void parts_fail(struct part_pool *pool, int rc, const struct err *err)
{
    if (pool->rc == 0) {
        pool->rc = rc;
        pool->err = *err;
    }
    atomic_store(&pool->stop, true);
}

// The next part that is not done, or -1. With the lock.
static int64_t store_take(struct part_pool *pool)
{
    const struct store_work *work = pool->work;
    while (pool->next < work->count && work->done[pool->next])
        pool->next++;
    return pool->next < work->count && !atomic_load(&pool->stop) ? pool->next++ : -1;
}

static void *part_thread(void *pool_)
{
    struct part_pool *pool = pool_;
    const struct store_work *work = pool->work;
    struct err err = {0};
    SCOPED(free_pointer) void *buffer = malloc((size_t)store_part_bytes(work->file->bytes));
    int rc = buffer ? 0 : err_memory(&err);
    pthread_mutex_lock(&pool->lock);
    for (int64_t part; rc == 0 && (part = store_take(pool)) >= 0;) {
        pthread_mutex_unlock(&pool->lock);
        rc = work->one(work->context, part, buffer, &pool->stop, &err);
        pthread_mutex_lock(&pool->lock);
        work->done[part] = rc == 0;
        pool->done_bytes += rc == 0 ? store_part_len(work->file->bytes, part) : 0;
    }
    if (rc != 0)
        parts_fail(pool, rc, &err);
    pool->running--;
    pthread_cond_signal(&pool->moved);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

// Until all threads have ended. With the lock.
static void watch(struct part_pool *pool)
{
    const struct store_file *file = pool->work->file;
    while (pool->running > 0) {
        (void)moment_wait(&pool->moved, &pool->lock, clock_now_ns() + REPORT_MS * NS_PER_MS);
        int64_t done = pool->done_bytes;
        pthread_mutex_unlock(&pool->lock);
        bool go_on = !file->progress || file->progress(file->context, done);
        pthread_mutex_lock(&pool->lock);
        if (!go_on && pool->running > 0) {
            struct err err = {0};
            err_set(&err, ERR_FAIL, "stopped");
            parts_fail(pool, ERR_FAIL, &err);
        }
    }
}

int store_work(const struct store_work *work, struct err *err)
{
    pthread_t threads[THREADS_MAX];
    struct part_pool pool = {.work = work};
    int started = 0, wanted = work->threads < THREADS_MAX ? work->threads : THREADS_MAX;
    int64_t open = 0;
    for (int64_t i = 0; i < work->count; i++) {
        pool.done_bytes += work->done[i] ? store_part_len(work->file->bytes, i) : 0;
        open += !work->done[i];
    }
    wanted = open < wanted ? (int)open : wanted;
    pthread_mutex_init(&pool.lock, NULL);
    moment_init(&pool.moved);
    pthread_mutex_lock(&pool.lock);
    while (started < wanted && pthread_create(&threads[started], NULL, part_thread, &pool) == 0)
        started++, pool.running++;
    if (started == 0 && wanted > 0)
        pool.rc = err_errno(&pool.err, EAGAIN, "cannot start a thread");
    watch(&pool);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_cond_destroy(&pool.moved);
    pthread_mutex_destroy(&pool.lock);
    if (pool.rc != 0 && err && !err->code)
        *err = pool.err;
    return pool.rc;
}

// ---- The store

#define PARTS_MOST 9000 // S3 takes 10,000

struct store {
    const struct store_kind *kind;
    void *state;
    char *shown;
    pthread_mutex_t lock;
    int exclusive; // -1: not tried yet
};

bool store_name_fits(const char *name)
{
    size_t len = strlen(name);
    if (len == 0 || len >= STORE_NAME_BYTES || name[len - 1] == '/')
        return false;
    for (const char *p = name; *p; p++) {
        bool begins = p == name || p[-1] == '/';
        if (!isalnum((unsigned char)*p) && !strchr("._-/", *p))
            return false;
        if (begins && (*p == '/' || *p == '.'))
            return false;
    }
    return true;
}

int store_open(struct store **out, const char *place, const struct store_options *options,
               struct err *err)
{
    bool s3 = strncmp(place, "s3:", 3) == 0;
    if (!place[0])
        return err_set(err, ERR_USAGE, "no folder or s3://bucket/prefix is given to save to");
    if (!s3 && strstr(place, "://"))
        return err_set(err, ERR_USAGE, "'%.200s' is neither a folder nor s3://bucket/prefix",
                       place);
    struct store *store = calloc(1, sizeof *store);
    if (!store)
        return err_memory(err);
    pthread_mutex_init(&store->lock, NULL);
    store->kind = s3 ? &store_s3 : &store_folder;
    store->exclusive = store->kind->always_exclusive ? 1 : -1;
    store->shown = text_copy(place, err);
    int rc = store->shown ? store->kind->open(&store->state, place, options, err) : ERR_MEMORY;
    if (rc != 0)
        store_free(store);
    else
        *out = store;
    return rc;
}

void store_free(struct store *store)
{
    if (!store)
        return;
    if (store->state)
        store->kind->free(store->state);
    pthread_mutex_destroy(&store->lock);
    free(store->shown);
    free(store);
}

const char *store_shown(const struct store *store)
{
    return store->shown;
}

void store_rest(struct store *store)
{
    if (store->kind->rest)
        store->kind->rest(store->state);
}

// No small call lasts without end, whatever its caller waits for: a server may drip.
static int64_t until(int64_t deadline_ns, size_t bytes)
{
    int64_t most_ns = clock_now_ns() + BOUND_STORE_NS + (int64_t)(bytes / BOUND_SLOWEST) * NS_PER_S;
    return deadline_ns && deadline_ns < most_ns ? deadline_ns : most_ns;
}

int store_get(struct store *store, const char *name, size_t max, struct buf *out,
              int64_t deadline_ns, struct err *err)
{
    return store->kind->get(store->state, name, max, out, until(deadline_ns, max), err);
}

int store_put(struct store *store, const char *name, const void *bytes, size_t len,
              int64_t deadline_ns, struct err *err)
{
    assert(store_name_fits(name));
    return store->kind->put(store->state, name, bytes, len, until(deadline_ns, len), err);
}

// An answer may get lost after the server has done its work; the next try is then refused by what
// the first one wrote.
int store_create(struct store *store, const char *name, const void *bytes, size_t len,
                 bool *created, int64_t deadline_ns, struct err *err)
{
    SCOPED(buf_release) struct buf there = {0};
    assert(store_name_fits(name));
    *created = false;
    deadline_ns = until(deadline_ns, len);
    int rc = store->kind->create(store->state, name, bytes, len, created, deadline_ns, err);
    if (rc == 0 && !*created) {
        struct err why = {0};
        rc = store->kind->get(store->state, name, len + 1, &there, deadline_ns, &why);
        *created = rc == 0 && there.len == len && memcmp(buf_str(&there), bytes, len) == 0;
        if (rc == ERR_MISSING || rc == ERR_FORMAT) // longer than ours, or gone again
            rc = 0;
        if (rc != 0)
            err_pass(err, rc, &why);
    }
    return rc;
}

int store_delete(struct store *store, const char *name, int64_t deadline_ns, struct err *err)
{
    assert(store_name_fits(name));
    return store->kind->remove(store->state, name, until(deadline_ns, 0), err);
}

int store_list(struct store *store, const char *under, struct store_list *list, int64_t deadline_ns,
               struct err *err)
{
    return store->kind->list(store->state, under, list, until(deadline_ns, 0), err);
}

int store_send(struct store *store, struct store_file *file, int64_t deadline_ns, struct err *err)
{
    assert(store_name_fits(file->name));
    file->sent_bytes = 0;
    return store->kind->send(store->state, file, deadline_ns, err);
}

int store_local(int rc, struct err *err)
{
    if (rc != ERR_MISSING && rc != ERR_FORMAT)
        return rc;
    if (err)
        err->code = ERR_IO;
    return ERR_IO;
}

int store_fetch(struct store *store, struct store_file *file, int64_t deadline_ns, struct err *err)
{
    file->sent_bytes = 0;
    return store->kind->fetch(store->state, file, deadline_ns, err);
}

int store_forget(struct store *store, const char *name, int64_t deadline_ns, struct err *err)
{
    assert(store_name_fits(name));
    return store->kind->forget(store->state, name, until(deadline_ns, 0), err);
}

// ---- Trials

static void trial_name(const char *what, char out[STORE_NAME_BYTES])
{
    uint64_t random;
    rng_entropy(&random, sizeof random);
    snprintf(out, STORE_NAME_BYTES, "lease/%s-%016llx", what, (unsigned long long)random);
}

int store_check(struct store *store, int64_t deadline_ns, struct err *err)
{
    char name[STORE_NAME_BYTES];
    SCOPED(buf_release) struct buf back = {0};
    struct err why = {0};
    trial_name("check", name);
    int rc = store_put(store, name, name, strlen(name), deadline_ns, err);
    if (rc == 0)
        rc = store_get(store, name, sizeof name, &back, deadline_ns, err);
    if (rc == 0 && strcmp(buf_str(&back), name) != 0)
        rc =
            err_set(err, ERR_FORMAT, "'%s' gives back other bytes than were written", store->shown);
    int removed = store_delete(store, name, deadline_ns, &why);
    if (rc == 0 && removed != 0)
        rc = err_pass(err, removed, &why);
    if (rc != 0 && rc != ERR_MEMORY)
        err_context(err, "cannot save to '%s'", store->shown);
    return rc;
}

static int try_exclusive(struct store *store, bool *exclusive, int64_t deadline_ns, struct err *err)
{
    char name[STORE_NAME_BYTES];
    struct err why = {0};
    bool first = false, second = false;
    trial_name("trial", name);
    int rc = store->kind->create(store->state, name, "1", 1, &first, deadline_ns, err);
    if (rc == 0 && first)
        rc = store->kind->create(store->state, name, "2", 1, &second, deadline_ns, err);
    *exclusive = rc == 0 && first && !second;
    if (rc == ERR_FORMAT) { // a server that refuses conditions has none
        if (err)
            *err = (struct err){0};
        rc = 0;
    }
    (void)!store_delete(store, name, deadline_ns, &why); // it holds one byte: not worth failing
    return rc;
}

int store_exclusive(struct store *store, bool *exclusive, int64_t deadline_ns, struct err *err)
{
    pthread_mutex_lock(&store->lock);
    int rc = 0;
    *exclusive = store->exclusive == 1;
    if (store->exclusive < 0) {
        rc = try_exclusive(store, exclusive, deadline_ns, err);
        if (rc == 0)
            store->exclusive = *exclusive;
    }
    pthread_mutex_unlock(&store->lock);
    return rc;
}

int store_json(json_t *json, struct buf *out, struct err *err)
{
    SCOPED(free_pointer) char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    if (!text)
        return err_memory(err);
    buf_adds(out, text);
    return buf_check(out, err);
}

// ---- Lists and parts

int store_list_add(struct store_list *list, const char *name, int64_t bytes, struct err *err)
{
    if (list->count >= BOUND_LIST_NAMES) {
        err_set(err, ERR_FORMAT,
                "there are over %d objects beside '%s': no job of fare's has as many",
                BOUND_LIST_NAMES, name);
        return err_hint(err, "save each job to a folder or prefix of its own; is anything else "
                             "saved there?");
    }
    TRY(array_grow(&list->items, list->count, &list->cap, sizeof *list->items, err));
    char *copy = text_copy(name, err);
    if (!copy)
        return ERR_MEMORY;
    list->items[list->count++] = (struct store_entry){copy, bytes};
    return 0;
}

void store_list_release(struct store_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].name);
    free(list->items);
    *list = (struct store_list){0};
}

int64_t store_part_bytes(int64_t file_bytes)
{
    int64_t mib = INT64_C(1) << 20, least = (file_bytes + PARTS_MOST - 1) / PARTS_MOST;
    return least <= STORE_PART_BYTES ? STORE_PART_BYTES : (least + mib - 1) / mib * mib;
}

int64_t store_part_count(int64_t file_bytes)
{
    int64_t part = store_part_bytes(file_bytes);
    return (file_bytes + part - 1) / part;
}

int64_t store_part_len(int64_t file_bytes, int64_t index)
{
    int64_t part = store_part_bytes(file_bytes), left = file_bytes - index * part;
    return left < part ? left : part;
}

bool store_part_right(const struct store_file *file, int64_t index, const void *bytes)
{
    struct sha256 sha;
    uint8_t sum[SHA256_BYTES];
    sha256_init(&sha);
    sha256_add(&sha, bytes, (size_t)store_part_len(file->bytes, index));
    sha256_done(&sha, sum);
    return memcmp(sum, file->parts[index], sizeof sum) == 0;
}

int store_part_read(int fd, const struct store_file *file, int64_t index, void *into,
                    struct err *err)
{
    int64_t from = index * store_part_bytes(file->bytes), len = store_part_len(file->bytes, index);
    for (int64_t have = 0; have < len;) {
        ssize_t got = pread(fd, (char *)into + have, (size_t)(len - have), from + have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, errno, "cannot read '%s'", file->path);
        if (got == 0)
            return err_set(err, ERR_FORMAT, "'%s' became shorter while it was saved", file->path);
        have += got;
    }
    if (!store_part_right(file, index, into))
        return err_set(err, ERR_FORMAT, "'%s' changed while it was saved", file->path);
    return 0;
}

int store_write_at(int fd, const char *bytes, int64_t len, int64_t at, const char *path,
                   struct err *err)
{
    while (len > 0) {
        ssize_t put = pwrite(fd, bytes, (size_t)len, at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return err_errno(err, errno, "cannot write '%s'", path);
        bytes += put, len -= put, at += put;
    }
    return 0;
}
