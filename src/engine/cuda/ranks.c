// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/ranks.h"

#include <stdlib.h>

#include "base/clock.h"
#include "engine/cuda/driver_parts.h"
#include "engine/cuda/nccl.h"

#define PATIENCE_S 600 // for the GPU: no step takes that long
#define POLL_NS    20000

enum { STREAM_NON_BLOCKING = 1, EVENT_NO_TIME = 2, CAPTURE_THREAD_LOCAL = 1 };

int64_t cuda_rank_batch(const struct group *group, int64_t batch)
{
    int size = group_place(group).size;
    return (batch + size - 1) / size;
}

void cuda_rank_device(const struct group *group, struct device *device)
{
    struct group_place place = group_place(group);
    device->several = place.size > 1 || getenv("FARE_NCCL_ALONE");
    device->rank = place.rank;
    device->ranks = place.size;
}

int cuda_join(struct cuda *cuda, struct group *group, struct err *err)
{
    const struct libcuda *api = &cuda->api;
    const char *alone = getenv("FARE_NCCL_ALONE");
    if (group_place(group).size == 1 && alone && *alone == '0')
        return 0;
    if (!api->cuStreamQuery || !api->cuEventQuery || !api->cuStreamBeginCapture_v2 ||
        !api->cuStreamEndCapture || !api->cuGraphAddChildGraphNode || !api->cuGraphAddEmptyNode || cuda->about.driver < 11030)
        return cuda_too_old(&cuda->about, ", too old for several GPUs (11.3)", err);
    TRY(CALL(cuda, cuStreamCreate, err, &cuda->sum_stream, STREAM_NON_BLOCKING));
    for (int i = 0; i < 2; i++)
        TRY(CALL(cuda, cuEventCreate, err, &cuda->sum_events[i], EVENT_NO_TIME));
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

void cuda_abandon(struct cuda *cuda)
{
    nccl_abort(cuda->nccl);
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
    return CALL(cuda, cuStreamWaitEvent, err, cuda->stream, cuda->sum_events[1], 0);
}

int cuda_sum(struct cuda *cuda, const struct launch *launch, struct err *err)
{
    if (!cuda->nccl)
        return 0;
    TRY(CALL(cuda, cuEventRecord, err, cuda->sum_events[0], cuda->stream));
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
    int64_t patience_ns = nccl_patience_ns(PATIENCE_S), until_ns = clock_now_ns() + patience_ns;
    for (;; clock_sleep_ns(POLL_NS)) {
        int code = event ? cuda->api.cuEventQuery(event) : cuda->api.cuStreamQuery(stream);
        if (code != CUDA_NOT_READY)
            return cuda_check(&cuda->api, code, event ? "cuEventQuery" : "cuStreamQuery", err);
        TRY(nccl_look(cuda->nccl, err));
        if (clock_now_ns() > until_ns) {
            nccl_abort(cuda->nccl);
            return err_set(err, ERR_TIMEOUT, "the GPU did not come to the end of a step in %lld s",
                           (long long)(patience_ns / 1000000000));
        }
    }
}
