// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/driver.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/dl.h"
#include "base/tree.h"
#include "engine/cuda/driver_parts.h"
#include "engine/cuda/ptx.h"

#define NEED(name)                                                                                 \
    {                                                                                              \
#name, offsetof(struct api, name), DL_REQUIRED                                             \
    }
#define MAY(name)                                                                                  \
    {                                                                                              \
#name, offsetof(struct api, name), DL_OPTIONAL                                             \
    }
static const struct dl_symbol symbols[] = {
    NEED(cuInit),
    MAY(cuGetErrorName),
    MAY(cuGetErrorString),
    NEED(cuDriverGetVersion),
    NEED(cuDeviceGetCount),
    NEED(cuDeviceGet),
    NEED(cuDeviceGetName),
    NEED(cuDeviceGetAttribute),
    NEED(cuDeviceTotalMem_v2),
    NEED(cuDevicePrimaryCtxRetain),
    NEED(cuCtxSetCurrent),
    NEED(cuStreamCreate),
    NEED(cuStreamDestroy_v2),
    NEED(cuStreamSynchronize),
    NEED(cuMemGetInfo_v2),
    NEED(cuMemAlloc_v2),
    NEED(cuMemFree_v2),
    NEED(cuMemHostAlloc),
    NEED(cuMemFreeHost),
    MAY(cuMemHostRegister_v2),
    MAY(cuMemHostUnregister),
    NEED(cuMemsetD8Async),
    NEED(cuMemcpyHtoDAsync_v2),
    NEED(cuMemcpyDtoHAsync_v2),
    NEED(cuModuleLoadDataEx),
    NEED(cuModuleGetFunction),
    NEED(cuFuncSetAttribute),
    NEED(cuLaunchKernel),
    MAY(cuGraphCreate), // those that CUDA 10 brought: see has_graphs()
    MAY(cuGraphAddKernelNode),
    MAY(cuGraphInstantiateWithFlags),
    MAY(cuGraphInstantiate_v2),
    MAY(cuGraphInstantiate),
    MAY(cuGraphLaunch),
    MAY(cuGraphDestroy),
    MAY(cuGraphExecDestroy),
    NEED(cuEventCreate),
    NEED(cuEventDestroy_v2),
    NEED(cuEventRecord),
    NEED(cuEventSynchronize),
    NEED(cuStreamWaitEvent),
    NEED(cuEventElapsedTime),
};

enum { // CUresult, those that get words of their own
    OUT_OF_MEMORY = 2,
    STUB_LIBRARY = 34,
    NO_DEVICE = 100,
    UNSUPPORTED_PTX = 222,
};
enum {
    ATTRIBUTE_PROCESSORS = 16,
    ATTRIBUTE_MAJOR = 75,
    ATTRIBUTE_MINOR = 76,
    ATTRIBUTE_SHARED = 97
};
enum { FUNCTION_SHARED_BYTES = 8 };
enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6 };
enum { STREAM_NON_BLOCKING = 1, EVENT_NO_TIME = 2 };

#define PIECES_MAX       8192
#define LEAST_CAPABILITY 60

enum { IMAGES = 3, MODULES }; // a module for each precision, and one for images in bf16

// The driver, the GPU and the kernels of each precision, opened once and kept until the process
// ends: the driver has threads of its own that outlive a call, and compiling takes seconds.
static struct opened {
    pthread_mutex_t lock;
    struct api api;
    struct dl dl;
    bool open;
    int device;
    void *context, *modules[MODULES];
    struct cuda_about about;
} opened = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int failed(const struct api *api, int code, const char *call, struct err *err)
{
    const char *name = NULL, *words = NULL;
    if (!api->cuGetErrorName || api->cuGetErrorName(code, &name) != 0 || !name)
        name = "an error without a name";
    if (!api->cuGetErrorString || api->cuGetErrorString(code, &words) != 0 || !words)
        words = "";
    return err_set(err, ERR_FAIL, "the GPU: %s says %s (%d)%s%s", call, name, code,
                   *words ? ": " : "", words);
}

int cuda_done(const struct api *api, int code, const char *call, struct err *err)
{
    return code == 0 ? 0 : failed(api, code, call, err);
}

// ---- opening ----

static int open_library(struct opened *o, struct err *err)
{
    static const char *const names[] = {"libcuda.so.1", NULL};
    static const struct dl_spec spec = {
        .what = "the NVIDIA driver",
        .variable = "FARE_CUDA",
        .names = names,
        .dirs = dl_vendor_dirs,
        .symbols = symbols,
        .symbol_count = sizeof symbols / sizeof *symbols,
        .hint = "it comes with the GPU's driver; 'fare check' tells what is there, --engine cpu "
                "trains without it",
    };
    int rc = dl_open(&o->dl, &spec, &o->api, err);
    if (rc == 0 || !o->dl.broken)
        return rc;
    if (err)
        err->code = ERR_FAIL; // it is there
    return ERR_FAIL;
}

static int capability(const struct cuda_about *about)
{
    return 10 * about->major + about->minor;
}

// The driver that takes the kernels' text for this GPU: PTX 6.3 came with CUDA 10.0, 7.0 with 11.0.
static int least_driver(const struct cuda_about *about)
{
    return capability(about) >= 80 ? 11000 : 10000;
}

static bool has_graphs(const struct api *api)
{
    return api->cuGraphCreate && api->cuGraphAddKernelNode && api->cuGraphLaunch &&
           api->cuGraphDestroy && api->cuGraphExecDestroy &&
           (api->cuGraphInstantiateWithFlags || api->cuGraphInstantiate_v2 ||
            api->cuGraphInstantiate);
}

static int too_old(const struct cuda_about *about, const char *but, struct err *err)
{
    int least = least_driver(about);
    return err_set(err, ERR_FAIL,
                   "%s has compute capability %d.%d and its driver is for CUDA %d.%d%s; fare's "
                   "kernels need capability %d.%d and, for this GPU, CUDA %d.%d or newer",
                   about->name, about->major, about->minor, about->driver / 1000,
                   about->driver % 1000 / 10, but, LEAST_CAPABILITY / 10, LEAST_CAPABILITY % 10,
                   least / 1000, least % 1000 / 10);
}

static int read_facts(struct opened *o, struct err *err)
{
    struct cuda_about *about = &o->about;
    size_t memory = 0;
    int rc = CALL(o, cuDriverGetVersion, err, &about->driver);
    if (rc == 0)
        rc = CALL(o, cuDeviceGet, err, &o->device, 0);
    if (rc == 0)
        rc = CALL(o, cuDeviceGetName, err, about->name, (int)sizeof about->name, o->device);
    if (rc == 0)
        rc = CALL(o, cuDeviceGetAttribute, err, &about->major, ATTRIBUTE_MAJOR, o->device);
    if (rc == 0)
        rc = CALL(o, cuDeviceGetAttribute, err, &about->minor, ATTRIBUTE_MINOR, o->device);
    if (rc == 0)
        rc =
            CALL(o, cuDeviceGetAttribute, err, &about->processors, ATTRIBUTE_PROCESSORS, o->device);
    if (rc == 0)
        rc = CALL(o, cuDeviceGetAttribute, err, &about->shared, ATTRIBUTE_SHARED, o->device);
    if (rc == 0)
        rc = CALL(o, cuDeviceTotalMem_v2, err, &memory, o->device);
    about->memory = (int64_t)memory;
    // For tests of the kernels for older and for smaller GPUs.
    const char *other = getenv("FARE_CUDA_CAPABILITY");
    int64_t as;
    if (rc == 0 && other && text_int(other, &as) && as > 0 && as < capability(about)) {
        about->major = (int)as / 10;
        about->minor = (int)as % 10;
        about->shared = (as < 80 ? 48 : 99) << 10;
    }
    if (rc == 0 && (capability(about) < LEAST_CAPABILITY || about->driver < least_driver(about)))
        rc = too_old(about, "", err);
    else if (rc == 0 && !has_graphs(&o->api))
        rc = too_old(about, " and has no graphs of kernels", err);
    return rc;
}

static int open_gpu(struct opened *o, struct err *err)
{
    if (o->open)
        return 0;
    int rc = o->dl.handle ? 0 : open_library(o, err), count = 0;
    if (rc != 0)
        return rc;
    int code = o->api.cuInit(0);
    if (code == 0)
        code = o->api.cuDeviceGetCount(&count);
    if (code == NO_DEVICE || code == STUB_LIBRARY || (code == 0 && count == 0))
        return err_set(err, ERR_MISSING, "the NVIDIA driver shows no GPU to this process");
    if (code != 0)
        return failed(&o->api, code, "cuInit", err);
    rc = read_facts(o, err);
    if (rc == 0)
        rc = CALL(o, cuDevicePrimaryCtxRetain, err, &o->context, o->device);
    o->open = rc == 0;
    return rc;
}

// The kernels' text for this GPU.
static int find_kernels(const struct opened *o, int which, const char **ptx, struct err *err)
{
    const struct cuda_about *about = &o->about;
    *ptx = which == IMAGES ? ptx_for_images(capability(about))
                           : ptx_for(capability(about), (enum engine_precision)which);
    if (*ptx)
        return 0;
    return err_set(err, ERR_USAGE, "%s cannot calculate in %s: that needs compute capability 8.0",
                   about->name, which == ENGINE_TF32 ? "tf32" : "bf16");
}

static int load_kernels(struct opened *o, int which, struct err *err)
{
    char log[2048] = "";
    int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    const char *ptx;
    if (o->modules[which])
        return 0;
    int rc = find_kernels(o, which, &ptx, err);
    if (rc != 0)
        return rc;
    int code = o->api.cuModuleLoadDataEx(&o->modules[which], ptx, 2, options, values);
    if (code == UNSUPPORTED_PTX)
        return too_old(&o->about, " and does not take fare's kernels", err);
    if (code == 0)
        return 0;
    failed(&o->api, code, "cuModuleLoadDataEx", err);
    return err_hint(err, "the driver's compiler says: %s", log);
}

int cuda_look(enum engine_precision precision, struct cuda_about *about, struct err *err)
{
    struct opened *o = &opened;
    const char *ptx;
    pthread_mutex_lock(&o->lock);
    int rc = open_gpu(o, err);
    if (rc == 0)
        rc = find_kernels(o, (int)precision, &ptx, err);
    *about = o->about;
    pthread_mutex_unlock(&o->lock);
    return rc;
}

static int open_shared(struct cuda *cuda, struct err *err)
{
    struct opened *o = &opened;
    pthread_mutex_lock(&o->lock);
    int rc = open_gpu(o, err);
    if (rc == 0)
        rc = CALL(o, cuCtxSetCurrent, err, o->context);
    if (rc == 0)
        rc = load_kernels(o, cuda->precision, err);
    cuda->api = o->api;
    cuda->about = o->about;
    cuda->module = o->modules[cuda->precision];
    pthread_mutex_unlock(&o->lock);
    return rc;
}

int cuda_open_images(struct cuda *cuda, struct err *err)
{
    struct opened *o = &opened;
    pthread_mutex_lock(&o->lock);
    int rc = load_kernels(o, IMAGES, err);
    cuda->images = o->modules[IMAGES];
    pthread_mutex_unlock(&o->lock);
    return rc;
}

int cuda_open(enum engine_precision precision, struct cuda **out, struct err *err)
{
    *out = NULL;
    struct cuda *cuda = calloc(1, sizeof *cuda);
    if (!cuda)
        return err_memory(err);
    cuda->precision = precision;
    cuda->pieces = calloc(PIECES_MAX, sizeof *cuda->pieces);
    int rc = cuda->pieces ? open_shared(cuda, err) : err_memory(err);
    if (rc == 0)
        rc = CALL(cuda, cuStreamCreate, err, &cuda->stream, STREAM_NON_BLOCKING);
    if (rc == 0)
        rc = CALL(cuda, cuStreamCreate, err, &cuda->aside, STREAM_NON_BLOCKING);
    for (int i = 0; rc == 0 && i < 2; i++)
        rc = CALL(cuda, cuEventCreate, err, &cuda->marks[i], 0);
    for (int i = 0; rc == 0 && i < CUDA_POINTS; i++)
        rc = CALL(cuda, cuEventCreate, err, &cuda->points[i], EVENT_NO_TIME);
    for (int i = 0; rc == 0 && i < CUDA_TURNS; i++) {
        rc = CALL(cuda, cuEventCreate, err, &cuda->filled[i], EVENT_NO_TIME);
        if (rc == 0)
            rc = CALL(cuda, cuEventCreate, err, &cuda->used[i], EVENT_NO_TIME);
    }
    if (rc != 0) {
        cuda_close(cuda);
        return rc;
    }
    *out = cuda;
    return 0;
}

// What fails here fails because the GPU is gone already.
void cuda_free(struct cuda *cuda)
{
    for (int i = 0; i < cuda->piece_count; i++)
        (void)cuda->api.cuMemFree_v2(cuda->pieces[i].at);
    cuda->piece_count = 0;
    cuda->given = 0;
}

void cuda_close(struct cuda *cuda)
{
    if (!cuda)
        return;
    const struct api *api = &cuda->api;
    cuda_free(cuda);
    for (int i = 0; i < cuda->host_count; i++)
        (void)api->cuMemFreeHost(cuda->host[i]);
    for (int i = 0; i < 2; i++) {
        if (cuda->marks[i])
            (void)api->cuEventDestroy_v2(cuda->marks[i]);
    }
    for (int i = 0; i < CUDA_POINTS; i++)
        if (cuda->points[i])
            (void)api->cuEventDestroy_v2(cuda->points[i]);
    for (int i = 0; i < CUDA_TURNS; i++) {
        if (cuda->filled[i])
            (void)api->cuEventDestroy_v2(cuda->filled[i]);
        if (cuda->used[i])
            (void)api->cuEventDestroy_v2(cuda->used[i]);
    }
    if (cuda->aside)
        (void)api->cuStreamDestroy_v2(cuda->aside);
    if (cuda->stream)
        (void)api->cuStreamDestroy_v2(cuda->stream);
    free(cuda->pieces);
    free(cuda);
}

enum engine_precision cuda_precision(const struct cuda *cuda)
{
    return cuda->precision;
}

const struct cuda_about *cuda_about(const struct cuda *cuda)
{
    return &cuda->about;
}

// ---- memory ----

static int out_of_memory(struct cuda *cuda, int64_t bytes, struct err *err)
{
    size_t left = 0, all = 0;
    (void)cuda->api.cuMemGetInfo_v2(&left, &all);
    err_set(
        err, ERR_MEMORY,
        "the GPU has not enough memory: %.1f MiB more were asked for, %.1f of %.0f MiB are free",
        (double)bytes / 1048576, (double)left / 1048576, (double)all / 1048576);
    return err_hint(err, "'nvidia-smi' tells who else uses the GPU; a smaller --batch needs less, "
                         "and of l1 smaller --n and --m");
}

int64_t cuda_memory_left(struct cuda *cuda)
{
    size_t left = 0, all = 0;
    return cuda->api.cuMemGetInfo_v2(&left, &all) == 0 ? (int64_t)left : 0;
}

// The driver gives memory in pieces of 2 MiB, so small ones are cut from larger ones, which grow
// with what was asked for. Under a memory checker each has its own, so that it sees their ends.
static size_t piece_for(const struct cuda *cuda, size_t size)
{
    size_t most = (size_t)1 << 25, least = (size_t)1 << 21;
    size_t piece = cuda->given > most ? most : cuda->given < least ? least : cuda->given;
    return size > piece / 2 || getenv("FARE_CUDA_APART") ? size : piece;
}

static int new_piece(struct cuda *cuda, size_t bytes, struct err *err)
{
    assert(cuda->piece_count < PIECES_MAX);
    struct memory_piece piece = {.rest = bytes};
    int code = cuda->api.cuMemAlloc_v2(&piece.at, bytes);
    if (code == OUT_OF_MEMORY)
        return out_of_memory(cuda, (int64_t)bytes, err);
    if (code != 0)
        return failed(&cuda->api, code, "cuMemAlloc", err);
    piece.next = piece.at;
    cuda->pieces[cuda->piece_count++] = piece;
    cuda->given += bytes;
    return CALL(cuda, cuMemsetD8Async, err, piece.at, 0, bytes, cuda->stream);
}

// Of `size` bytes, zeroed.
static int cut(struct cuda *cuda, size_t size, device_ptr *out, struct err *err)
{
    int i = 0;
    while (i < cuda->piece_count && cuda->pieces[i].rest < size)
        i++;
    int rc = i < cuda->piece_count ? 0 : new_piece(cuda, piece_for(cuda, size), err);
    if (rc == 0) {
        *out = cuda->pieces[i].next;
        cuda->pieces[i].next += size;
        cuda->pieces[i].rest -= size;
    }
    return rc;
}

static size_t room_of(int64_t bytes)
{
    assert(bytes >= 0);
    size_t unit = getenv("FARE_CUDA_APART") ? 16 : 256; // whole vectors are read at the end
    return ((size_t)(bytes > 0 ? bytes : 1) + unit - 1) / unit * unit;
}

int cuda_alloc_zeros(struct cuda *cuda, int64_t bytes, device_ptr *out, struct err *err)
{
    return cut(cuda, room_of(bytes), out, err);
}

int cuda_alloc(struct cuda *cuda, int64_t bytes, device_ptr *out, struct err *err)
{
    size_t size = room_of(bytes);
    int rc = cut(cuda, size, out, err);
    if (rc == 0 && getenv("FARE_CUDA_POISON"))
        rc = CALL(cuda, cuMemsetD8Async, err, *out, 0xff, size, cuda->stream);
    return rc;
}

int cuda_alloc_host(struct cuda *cuda, int64_t bytes, void **out, struct err *err)
{
    assert((size_t)cuda->host_count < sizeof cuda->host / sizeof *cuda->host);
    int rc = CALL(cuda, cuMemHostAlloc, err, out, (size_t)bytes, 0);
    if (rc == 0) {
        cuda->host[cuda->host_count++] = *out;
        memset(*out, 0, (size_t)bytes);
    }
    return rc;
}

bool cuda_pin(struct cuda *cuda, const void *from, int64_t bytes)
{
    return cuda->api.cuMemHostRegister_v2 && cuda->api.cuMemHostUnregister &&
           cuda->api.cuMemHostRegister_v2((void *)(uintptr_t)from, (size_t)bytes, 0) == 0;
}

void cuda_unpin(struct cuda *cuda, const void *from)
{
    (void)cuda->api.cuMemHostUnregister((void *)(uintptr_t)from);
}

int cuda_upload(struct cuda *cuda, device_ptr to, const void *from, int64_t bytes, struct err *err)
{
    return CALL(cuda, cuMemcpyHtoDAsync_v2, err, to, from, (size_t)bytes, cuda->stream);
}

int cuda_download(struct cuda *cuda, void *to, device_ptr from, int64_t bytes, struct err *err)
{
    int rc = CALL(cuda, cuMemcpyDtoHAsync_v2, err, to, from, (size_t)bytes, cuda->stream);
    return rc == 0 ? cuda_sync(cuda, err) : rc;
}

int cuda_sync(struct cuda *cuda, struct err *err)
{
    return CALL(cuda, cuStreamSynchronize, err, cuda->stream);
}

// ---- kernels ----

int cuda_launch_make(struct cuda *cuda, const char *kernel, unsigned x, unsigned y,
                     unsigned threads, unsigned shared, const void *args, size_t size,
                     struct launch *out, struct err *err)
{
    assert(size <= sizeof out->args && x > 0 && y > 0);
    *out = (struct launch){
        .name = kernel, .x = x, .y = y, .threads = threads, .shared = shared, .size = size};
    memcpy(out->args, args, size);
    void *module = strncmp(kernel, "image_", 6) == 0 ? cuda->images : cuda->module;
    int rc = CALL(cuda, cuModuleGetFunction, err, &out->function, module, kernel);
    if (rc == 0 && shared > 48 * 1024)
        rc = CALL(cuda, cuFuncSetAttribute, err, out->function, FUNCTION_SHARED_BYTES, (int)shared);
    if (rc != 0)
        err_context(err, "kernel '%s'", kernel);
    return rc;
}

static int launch_on(struct cuda *cuda, void *stream, const struct launch *launch, struct err *err)
{
    void *args[] = {(void *)(uintptr_t)launch->args}; // which the driver only reads
    return CALL(cuda, cuLaunchKernel, err, launch->function, launch->x, launch->y, 1,
                launch->threads, 1, 1, launch->shared, stream, args, NULL);
}

int cuda_launch(struct cuda *cuda, const struct launch *launch, struct err *err)
{
    return launch_on(cuda, cuda->stream, launch, err);
}

// ---- points ----

int cuda_point(struct cuda *cuda, int which, struct err *err)
{
    return CALL(cuda, cuEventRecord, err, cuda->points[which], cuda->stream);
}

int cuda_wait(struct cuda *cuda, int which, struct err *err)
{
    return CALL(cuda, cuEventSynchronize, err, cuda->points[which]);
}

int cuda_fetch(struct cuda *cuda, void *to, device_ptr from, int64_t bytes, struct err *err)
{
    int rc = CALL(cuda, cuMemcpyDtoHAsync_v2, err, to, from, (size_t)bytes, cuda->aside);
    return rc == 0 ? CALL(cuda, cuStreamSynchronize, err, cuda->aside) : rc;
}

// ---- time ----

int cuda_turn_wait(struct cuda *cuda, int turn, struct err *err)
{
    return CALL(cuda, cuEventSynchronize, err, cuda->used[turn]); // at once where never used
}

int cuda_turn_fill(struct cuda *cuda, int turn, device_ptr to, const void *from, int64_t bytes,
                   struct err *err)
{
    int rc = CALL(cuda, cuMemcpyHtoDAsync_v2, err, to, from, (size_t)bytes, cuda->aside);
    if (rc == 0)
        rc = CALL(cuda, cuEventRecord, err, cuda->filled[turn], cuda->aside);
    return rc == 0 ? CALL(cuda, cuStreamWaitEvent, err, cuda->stream, cuda->filled[turn], 0) : rc;
}

int cuda_turn_used(struct cuda *cuda, int turn, struct err *err)
{
    return CALL(cuda, cuEventRecord, err, cuda->used[turn], cuda->stream);
}

int cuda_mark(struct cuda *cuda, int which, struct err *err)
{
    return CALL(cuda, cuEventRecord, err, cuda->marks[which], cuda->stream);
}

int cuda_between(struct cuda *cuda, double *seconds, struct err *err)
{
    float ms = 0;
    int rc = CALL(cuda, cuEventSynchronize, err, cuda->marks[1]);
    if (rc == 0)
        rc = CALL(cuda, cuEventElapsedTime, err, &ms, cuda->marks[0], cuda->marks[1]);
    *seconds = (double)ms / 1e3;
    return rc;
}
