// SPDX-License-Identifier: Apache-2.0
// Sums over ranks: NCCL, its sums in streams and graphs, and waiting for the GPU where another rank
// may have failed. Functions and constants are declared by NCCL's documentation. Handles are opaque
// pointers, 0 is success. Connecting waits for all ranks and cannot be interrupted, so a thread of
// its own does it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/dl.h"
#include "train/engine/cuda/driver.h"
#include "machine/libraries.h"

#define LEAST_VERSION   21400 // graphs of several collectives and other work beside them
#define JOIN_PATIENCE_S 120   // for all ranks to connect
#define LOOK_NS         1000000
#define STEP_PATIENCE_S 600 // for the GPU: no step takes that long
#define POLL_NS         20000

enum { TYPE_F32 = 7, TYPE_F64 = 8, OP_SUM = 0, IN_PROGRESS = 7, ID_BYTES = 128 };
enum { CAPTURE_THREAD_LOCAL = 1 };

struct nccl_id { // ncclUniqueId
    char bytes[ID_BYTES];
};

#define FUNCTIONS(F)                                                                               \
    F(DL_REQUIRED, int, ncclGetVersion, (int *))                                                   \
    F(DL_REQUIRED, int, ncclGetUniqueId, (struct nccl_id *))                                       \
    F(DL_REQUIRED, int, ncclCommInitRank, (void **, int, struct nccl_id, int))                     \
    F(DL_REQUIRED, int, ncclCommDestroy, (void *))                                                 \
    F(DL_REQUIRED, int, ncclCommAbort, (void *))                                                   \
    F(DL_REQUIRED, int, ncclCommGetAsyncError, (void *, int *))                                    \
    F(DL_REQUIRED, int, ncclAllReduce, (const void *, void *, size_t, int, int, void *, void *))   \
    F(DL_OPTIONAL, const char *, ncclGetErrorString, (int))                                        \
    F(DL_OPTIONAL, const char *, ncclGetLastError, (void *))

struct nccl_api {
#define MEMBER(need, type, name, args) type(*name) args;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

struct nccl {
    struct cuda *cuda;
    struct group *group;
    void *comm;
    bool aborted;
    int64_t looked_ns;
};

static struct nccl_library { // opened once and kept: it has threads
    struct dl dl;
    struct nccl_api api;
    int number;
    char version[32];
} library;

const char *nccl_version(void)
{
    return library.version;
}

// `comm` may be null.
static int nccl_failed(void *comm, int code, const char *call, struct err *err)
{
    const struct nccl_api *api = &library.api;
    const char *words = api->ncclGetErrorString ? api->ncclGetErrorString(code) : NULL,
               *more = api->ncclGetLastError ? api->ncclGetLastError(comm) : NULL;
    return err_set(err, ERR_FAIL, "NCCL: %s failed with %s (%d)%s%s", call,
                   words ? words : "an unnamed error", code, more && *more ? ": " : "",
                   more ? more : "");
}

static int nccl_check(const struct nccl *n, int code, const char *call, struct err *err)
{
    return code == 0 || code == IN_PROGRESS ? 0 : nccl_failed(n->comm, code, call, err);
}

// ---- the library ----

static int nccl_available(struct err *err)
{
    enum { FILES = 3 };
#define SYMBOL(need, type, name, args) {#name, offsetof(struct nccl_api, name), need},
    static const struct dl_symbol symbols[] = {FUNCTIONS(SYMBOL)};
#undef SYMBOL
    static const char hint[] =
        "'pip install nvidia-nccl-cu12' brings it, as PyTorch does; FARE_NCCL "
        "names its file, libnccl.so.2";
    char files[FILES][512];
    const char *names[FILES + 2] = {"libnccl.so.2"};
    if (library.number)
        return 0;
    for (int i = 0; i < FILES && library_file("NCCL", i, files[i], sizeof files[i]); i++)
        names[i + 1] = files[i];
    const struct dl_spec spec = {.what = "NCCL, which sums gradients over GPUs,",
                                 .variable = "FARE_NCCL",
                                 .names = names,
                                 .symbols = symbols,
                                 .symbol_count = sizeof symbols / sizeof *symbols,
                                 .hint = hint};
    TRY(dl_open(&library.dl, &spec, &library.api, err));
    int number = 0, code = library.api.ncclGetVersion(&number);
    if (code != 0)
        return nccl_failed(NULL, code, "ncclGetVersion", err);
    library_version(number, 2, library.version, sizeof library.version);
    if (number < LEAST_VERSION) {
        err_set(err, ERR_FAIL, "NCCL %s in '%s' is too old: fare needs %d.%d", library.version,
                library.dl.path, LEAST_VERSION / 10000, LEAST_VERSION / 100 % 100);
        return err_hint(err, "%s", hint);
    }
    library.number = number;
    return 0;
}

// Every rank learns whether all have it, so that none waits for one that cannot come.
static int open_everywhere(struct group *group, struct err *err)
{
    struct answer {
        int code, number;
        char text[200], hint[160];
    } mine = {0}, *all = NULL;
    struct err own = {0};
    int size = group_place(group).size, rc = mine.code = nccl_available(&own);
    mine.number = library.number;
    snprintf(mine.text, sizeof mine.text, "%s", own.text);
    snprintf(mine.hint, sizeof mine.hint, "%s", own.hint);
    if (size > 1) {
        all = calloc((size_t)size, sizeof *all);
        rc = all ? group_gather(group, &mine, sizeof mine, all, err) : err_memory(err);
    } else if (rc != 0) {
        all = &mine;
        rc = 0;
    }
    for (int i = 0; rc == 0 && all && i < size; i++)
        if (all[i].code != 0) {
            rc = size > 1 ? err_set(err, all[i].code, "rank %d: %s", i, all[i].text)
                          : err_set(err, all[i].code, "%s", all[i].text);
            err_hint(err, "%s", all[i].hint);
        } else if (all[i].number != all[0].number) {
            rc = err_set(err, ERR_FAIL, "rank 0 has NCCL %d, rank %d has %d: all need the same",
                         all[0].number, i, all[i].number);
        }
    if (size > 1)
        free(all);
    return rc;
}

// ---- connecting ----

struct joining { // shared with the thread; the last user frees it
    pthread_mutex_t lock;
    struct nccl *nccl;
    struct nccl_id id;
    struct group_place place;
    bool done, left; // the thread is done; nobody waits any more
    int code;
    void *comm;
    struct err err;
};

static void *join_ranks(void *joining_)
{
    struct joining *j = joining_;
    void *comm = NULL;
    int rc = cuda_attach(&j->err), code = 0;
    if (rc == 0)
        code = library.api.ncclCommInitRank(&comm, j->place.size, j->id, j->place.rank);
    pthread_mutex_lock(&j->lock);
    if (rc == 0 && code != 0)
        (void)nccl_failed(NULL, code, "ncclCommInitRank", &j->err);
    j->comm = comm;
    j->done = true;
    bool left = j->left;
    pthread_mutex_unlock(&j->lock);
    if (left)
        free(j);
    return NULL;
}

static int64_t patience_ns(int64_t seconds)
{
    const char *text = getenv("FARE_NCCL_PATIENCE_S");
    int64_t other;
    return 1000000000 * (text && text_int(text, &other) && other > 0 ? other : seconds);
}

// Until the thread is done, a rank fails or time is up.
static int wait_for_join(struct nccl *n, struct joining *j, struct err *err)
{
    int64_t wait_ns = patience_ns(JOIN_PATIENCE_S), until_ns = clock_now_ns() + wait_ns;
    for (;; clock_sleep_ns(LOOK_NS)) {
        int rc = group_check(n->group, err);
        if (rc == 0 && clock_now_ns() > until_ns)
            rc = err_set(err, ERR_TIMEOUT, "NCCL: not all %d ranks connected within %lld s",
                         j->place.size, (long long)(wait_ns / 1000000000));
        pthread_mutex_lock(&j->lock);
        bool done = j->done;
        j->left = !done && rc != 0;
        pthread_mutex_unlock(&j->lock);
        if (!done && rc != 0) // NCCL offers no way to stop it: the thread ends with the process
            return rc;
        if (!done)
            continue;
        n->comm = j->err.code == 0 ? j->comm : NULL;
        rc = j->err.code == 0 ? 0 : err_pass(err, j->err.code, &j->err);
        free(j);
        return rc;
    }
}

static int connect(struct nccl *n, struct err *err)
{
    struct joining *j = calloc(1, sizeof *j);
    if (!j)
        return err_memory(err);
    pthread_mutex_init(&j->lock, NULL);
    j->nccl = n;
    j->place = group_place(n->group);
    struct {
        int code;
        struct nccl_id id;
    } from = {0};
    if (j->place.rank == 0)
        from.code = library.api.ncclGetUniqueId(&from.id);
    int rc = group_broadcast(n->group, &from, sizeof from, err);
    if (rc == 0 && from.code != 0)
        rc = nccl_failed(NULL, from.code, "ncclGetUniqueId", err);
    j->id = from.id;
    pthread_t thread;
    if (rc == 0 && pthread_create(&thread, NULL, join_ranks, j) != 0)
        rc = err_set(err, ERR_FAIL, "cannot start a thread to connect the GPUs");
    if (rc != 0) {
        free(j);
        return rc;
    }
    pthread_detach(thread);
    return wait_for_join(n, j, err);
}

static void nccl_close(struct nccl *n)
{
    if (!n)
        return;
    if (n->comm)
        (void)library.api.ncclCommDestroy(n->comm);
    free(n);
}

static int nccl_open(struct nccl **out, struct cuda *cuda, struct group *group, struct err *err)
{
    *out = NULL;
    struct err own = {0};
    struct nccl *n = calloc(1, sizeof *n);
    if (!n)
        return err_memory(err);
    n->cuda = cuda;
    n->group = group;
    int rc = open_everywhere(group, &own);
    if (rc == 0)
        rc = connect(n, &own);
    if (rc == 0) {
        *out = n;
        return 0;
    }
    group_fail(group, own.text);
    err_pass(err, rc, &own);
    if (*own.hint)
        err_hint(err, "%s", own.hint);
    nccl_close(n);
    return rc;
}

static void nccl_abort(struct nccl *n)
{
    if (!n || n->aborted)
        return;
    n->aborted = true;
    if (n->comm)
        (void)library.api.ncclCommAbort(n->comm);
    n->comm = NULL;
}

// ---- one sum ----

static int nccl_sum(struct nccl *n, void *stream, uint64_t at, int64_t count, bool reals,
                    struct err *err)
{
    void *values = (void *)(uintptr_t)at; // on the GPU
    if (!n->comm)
        return err_set(err, ERR_FAIL, "NCCL: the ranks are no longer connected");
    return nccl_check(n,
                      library.api.ncclAllReduce(values, values, (size_t)count,
                                                reals ? TYPE_F64 : TYPE_F32, OP_SUM, n->comm,
                                                stream),
                      "ncclAllReduce", err);
}

static int nccl_look(struct nccl *n, struct err *err)
{
    int64_t now_ns = clock_now_ns();
    if (now_ns - n->looked_ns < LOOK_NS)
        return 0;
    n->looked_ns = now_ns;
    int code = 0, rc = group_check(n->group, err);
    if (rc == 0 && n->comm && library.api.ncclCommGetAsyncError(n->comm, &code) != 0)
        code = 0;
    if (rc == 0)
        rc = nccl_check(n, code, "a sum over the ranks", err);
    if (rc != 0) {
        if (code != 0 && err)
            group_fail(n->group, err->text);
        nccl_abort(n);
    }
    return rc;
}

// ---- sums in streams and graphs ----

static int cuda_join(struct gpu_context *gpu, struct group *group, struct err *err)
{
    struct cuda *cuda = cuda_of(gpu);
    const struct libcuda *api = &cuda->api;
    const char *alone = getenv("FARE_NCCL_ALONE");
    if (group_place(group).size == 1 && alone && *alone == '0')
        return 0;
    if (!api->cuStreamQuery || !api->cuEventQuery || !api->cuStreamBeginCapture_v2 ||
        !api->cuStreamEndCapture || !api->cuGraphAddChildGraphNode || !api->cuGraphAddEmptyNode ||
        cuda->gpu.about.driver < 11030)
        return cuda_too_old(&cuda->gpu.about, ", too old for several GPUs (11.3)", err);
    TRY(CALL(cuda, cuStreamCreate, err, &cuda->sum_stream, CUDA_STREAM_NON_BLOCKING));
    for (int i = 0; i < 2; i++)
        TRY(CALL(cuda, cuEventCreate, err, &cuda->sum_events[i], CUDA_EVENT_NO_TIME));
    return nccl_open(&cuda->nccl, cuda, group, err);
}

void cuda_leave(struct cuda *cuda)
{
    nccl_close(cuda->nccl);
    cuda->nccl = NULL;
    for (int i = 0; i < 2; i++)
        if (cuda->sum_events[i])
            (void)cuda->api.cuEventDestroy_v2(cuda->sum_events[i]);
    if (cuda->sum_stream)
        (void)cuda->api.cuStreamDestroy_v2(cuda->sum_stream);
}

static void cuda_abandon(struct gpu_context *gpu)
{
    nccl_abort(cuda_of(gpu)->nccl);
}

static int queue_sum(struct cuda *cuda, const struct launch *launch, struct err *err)
{
    return nccl_sum(cuda->nccl, cuda->sum_stream, launch->sum_at, launch->sum_count, launch->reals,
                    err);
}

int cuda_sums_end(struct cuda *cuda, struct err *err)
{
    if (!cuda->sums_open)
        return 0;
    cuda->sums_open = false;
    TRY(CALL(cuda, cuEventRecord, err, cuda->sum_events[1], cuda->sum_stream));
    return CALL(cuda, cuStreamWaitEvent, err, cuda->streams[GPU_KERNELS], cuda->sum_events[1], 0);
}

int cuda_sum(struct cuda *cuda, const struct launch *launch, struct err *err)
{
    if (!cuda->nccl)
        return 0;
    TRY(CALL(cuda, cuEventRecord, err, cuda->sum_events[0], cuda->streams[GPU_KERNELS]));
    TRY(CALL(cuda, cuStreamWaitEvent, err, cuda->sum_stream, cuda->sum_events[0], 0));
    TRY(queue_sum(cuda, launch, err));
    cuda->sums_open = true;
    return launch->forked ? 0 : cuda_sums_end(cuda, err);
}

int cuda_sum_capture(struct cuda *cuda, const struct launch *launch, void **graph, struct err *err)
{
    *graph = NULL;
    TRY(cuda_sum(cuda, launch, err));
    TRY(cuda_sums_end(cuda, err));
    TRY(CALL(cuda, cuStreamBeginCapture_v2, err, cuda->sum_stream, CAPTURE_THREAD_LOCAL));
    int rc = queue_sum(cuda, launch, err);
    int code = cuda->api.cuStreamEndCapture(cuda->sum_stream, graph);
    return rc != 0 ? rc : cuda_check(&cuda->api, code, "cuStreamEndCapture", err);
}

int cuda_wait(struct cuda *cuda, void *stream, void *event, struct err *err)
{
    if (!cuda->nccl)
        return event ? CALL(cuda, cuEventSynchronize, err, event)
                     : CALL(cuda, cuStreamSynchronize, err, stream);
    int64_t wait_ns = patience_ns(STEP_PATIENCE_S), until_ns = clock_now_ns() + wait_ns;
    for (;; clock_sleep_ns(POLL_NS)) {
        int code = event ? cuda->api.cuEventQuery(event) : cuda->api.cuStreamQuery(stream);
        if (code != CUDA_NOT_READY)
            return cuda_check(&cuda->api, code, event ? "cuEventQuery" : "cuStreamQuery", err);
        TRY(nccl_look(cuda->nccl, err));
        if (clock_now_ns() > until_ns) {
            nccl_abort(cuda->nccl);
            return err_set(err, ERR_TIMEOUT, "the GPU did not come to the end of a step in %lld s",
                           (long long)(wait_ns / 1000000000));
        }
    }
}

static int cuda_settle_sums(struct gpu_context *gpu, struct err *err)
{
    return cuda_sums_end(cuda_of(gpu), err);
}

const struct gpu_ranks cuda_ranks = {.available = nccl_available,
                                     .join = cuda_join,
                                     .abandon = cuda_abandon,
                                     .settle = cuda_settle_sums};
