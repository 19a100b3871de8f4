// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cuda/driver.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tree.h"
#include "train/engine/cuda/modules.h"
#include "version.h"

enum {
    ATTRIBUTE_PROCESSORS = 16,
    ATTRIBUTE_MAJOR = 75,
    ATTRIBUTE_MINOR = 76,
    ATTRIBUTE_SHARED = 97
};
enum { FUNCTION_SHARED_BYTES = 8 };

#define PIECES_MAX       8192
#define LEAST_CAPABILITY 60

// libcuda, the GPU and its kernels are opened once and kept until the process ends: libcuda has
// threads that outlive a call, and compiling kernels takes time.
static struct opened {
    pthread_mutex_t lock;
    struct libcuda api;
    struct dl dl;
    bool open;
    int device;
    void *context;
    struct gpu_about about;
    struct modules modules;
} opened = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int cuda_failed(const struct libcuda *api, int code, const char *call, struct err *err)
{
    const char *name = NULL, *words = NULL;
    if (!api->cuGetErrorName || api->cuGetErrorName(code, &name) != 0 || !name)
        name = "an unnamed error";
    if (!api->cuGetErrorString || api->cuGetErrorString(code, &words) != 0 || !words)
        words = "";
    return err_set(err, ERR_FAIL, "the GPU: %s failed with %s (%d)%s%s", call, name, code,
                   *words ? ": " : "", words);
}

int cuda_check(const struct libcuda *api, int code, const char *call, struct err *err)
{
    return code == 0 ? 0 : cuda_failed(api, code, call, err);
}

// ---- opening ----

static int open_library(struct opened *o, struct err *err)
{
    struct dl_spec spec = libcuda_spec;
    spec.user = LIBCUDA_TRAIN;
    int rc = dl_open(&o->dl, &spec, &o->api, err);
    if (rc == 0 || !o->dl.broken)
        return rc;
    if (err)
        err->code = ERR_FAIL; // it exists
    return ERR_FAIL;
}

static int capability(const struct gpu_about *about)
{
    return 10 * about->major + about->minor;
}

// The oldest driver that compiles our PTX for this GPU: PTX 6.3 came with CUDA 10.0, 7.0 with 11.0.
static int least_driver(const struct gpu_about *about)
{
    return capability(about) >= 80 ? 11000 : 10000;
}

static bool has_graphs(const struct libcuda *api)
{
    return api->cuGraphCreate && api->cuGraphAddKernelNode && api->cuGraphLaunch &&
           api->cuGraphDestroy && api->cuGraphExecDestroy &&
           (api->cuGraphInstantiateWithFlags || api->cuGraphInstantiate_v2 ||
            api->cuGraphInstantiate);
}

int cuda_too_old(const struct gpu_about *about, const char *also, struct err *err)
{
    int least = least_driver(about);
    return err_set(err, ERR_FAIL,
                   "%s has compute capability %d.%d and its driver is for CUDA %d.%d%s; fare's "
                   "kernels need capability %d.%d and, for this GPU, CUDA %d.%d or newer",
                   about->name, about->major, about->minor, about->driver / 1000,
                   about->driver % 1000 / 10, also, LEAST_CAPABILITY / 10, LEAST_CAPABILITY % 10,
                   least / 1000, least % 1000 / 10);
}

static int read_facts(struct opened *o, int number, struct err *err)
{
    struct gpu_about *about = &o->about;
    size_t memory = 0;
    TRY(CALL(o, cuDriverGetVersion, err, &about->driver));
    TRY(CALL(o, cuDeviceGet, err, &o->device, number));
    TRY(CALL(o, cuDeviceGetName, err, about->name, (int)sizeof about->name, o->device));
    TRY(CALL(o, cuDeviceGetAttribute, err, &about->major, ATTRIBUTE_MAJOR, o->device));
    TRY(CALL(o, cuDeviceGetAttribute, err, &about->minor, ATTRIBUTE_MINOR, o->device));
    TRY(CALL(o, cuDeviceGetAttribute, err, &about->processors, ATTRIBUTE_PROCESSORS, o->device));
    TRY(CALL(o, cuDeviceGetAttribute, err, &about->shared, ATTRIBUTE_SHARED, o->device));
    TRY(CALL(o, cuDeviceTotalMem_v2, err, &memory, o->device));
    about->memory = (int64_t)memory;
    about->maps = o->api.cuTensorMapEncodeTiled && o->api.cuTensorMapEncodeIm2col;
    o->modules.real = capability(about);
    // Tests of the kernels for older and smaller GPUs set this.
    const char *other = getenv("FARE_CUDA_CAPABILITY");
    int64_t as;
    if (other && text_int(other, &as) && as > 0 && as < capability(about)) {
        about->major = (int)as / 10;
        about->minor = (int)as % 10;
        about->shared = (as < 80 ? 48 : 99) << 10;
    }
    if (capability(about) < LEAST_CAPABILITY || about->driver < least_driver(about))
        return cuda_too_old(about, "", err);
    return has_graphs(&o->api) ? 0 : cuda_too_old(about, " without CUDA graphs", err);
}

static int open_gpu(struct opened *o, int number, struct err *err)
{
    if (o->open)
        return 0;
    if (!o->dl.handle)
        TRY(open_library(o, err));
    int count = 0, code = o->api.cuInit(0);
    if (code == 0)
        code = o->api.cuDeviceGetCount(&count);
    if (code == CUDA_NO_DEVICE || code == CUDA_STUB_LIBRARY || (code == 0 && count == 0))
        return err_set(err, ERR_MISSING, "the NVIDIA driver shows no GPU to this process");
    if (code != 0)
        return cuda_failed(&o->api, code, "cuInit", err);
    // Slurm may show each process its own GPU alone.
    if (count == 1)
        number = 0;
    if (number >= count)
        return err_set(err, ERR_USAGE,
                       "process %d of this machine has no GPU: the driver shows %d of them", number,
                       count);
    TRY(read_facts(o, number, err));
    TRY(CALL(o, cuDevicePrimaryCtxRetain, err, &o->context, o->device));
    o->modules.api = &o->api;
    o->modules.about = &o->about;
    o->open = true;
    return 0;
}

static int check_precision(const struct opened *o, enum engine_precision precision, struct err *err)
{
    if (modules_have(&o->modules, precision))
        return 0;
    return err_set(err, ERR_USAGE, "%s cannot calculate in %s: that needs compute capability 8.0",
                   o->about.name, precision == ENGINE_TF32 ? "tf32" : "bf16");
}

int cuda_attach(struct err *err)
{
    pthread_mutex_lock(&opened.lock);
    int rc = CALL(&opened, cuCtxSetCurrent, err, opened.context);
    pthread_mutex_unlock(&opened.lock);
    return rc;
}

static int cuda_look(int number, enum engine_precision precision, struct gpu_about *about,
                     struct err *err)
{
    struct opened *o = &opened;
    pthread_mutex_lock(&o->lock);
    int rc = open_gpu(o, number, err);
    if (rc == 0)
        rc = check_precision(o, precision, err);
    *about = o->about;
    pthread_mutex_unlock(&o->lock);
    return rc;
}

static bool cuda_library(int index, struct engine_library *library)
{
    static const char *const names[] = {"CUDA driver", "own kernels", "NCCL"};
    memset(library, 0, sizeof *library);
    if (index > 2 || (index == 2 && !*nccl_version()))
        return false;
    snprintf(library->name, sizeof library->name, "%s", names[index]);
    pthread_mutex_lock(&opened.lock);
    const struct gpu_about *about = &opened.about;
    if (index == 0) {
        snprintf(library->version, sizeof library->version, "%d.%d", about->driver / 1000,
                 about->driver % 1000 / 10);
        snprintf(library->kernels, sizeof library->kernels, "sm_%d%d", about->major, about->minor);
    } else if (index == 1) {
        snprintf(library->version, sizeof library->version, "%s", FARE_VERSION);
        snprintf(library->kernels, sizeof library->kernels, "%s",
                 opened.modules.from_pack > 0 ? "machine code" : "PTX");
    } else {
        snprintf(library->version, sizeof library->version, "%s", nccl_version());
    }
    pthread_mutex_unlock(&opened.lock);
    return true;
}

static int open_shared(struct cuda *cuda, int number, struct err *err)
{
    struct opened *o = &opened;
    pthread_mutex_lock(&o->lock);
    int rc = open_gpu(o, number, err);
    if (rc == 0)
        rc = CALL(o, cuCtxSetCurrent, err, o->context);
    if (rc == 0)
        rc = check_precision(o, cuda->gpu.precision, err);
    cuda->api = o->api;
    cuda->gpu.about = o->about;
    pthread_mutex_unlock(&o->lock);
    return rc;
}

static int open_streams(struct cuda *cuda, struct err *err)
{
    for (int i = 0; i < 2; i++)
        TRY(CALL(cuda, cuStreamCreate, err, &cuda->streams[i], CUDA_STREAM_NON_BLOCKING));
    for (int i = 0; i < GPU_EVENTS_ALL; i++)
        TRY(CALL(cuda, cuEventCreate, err, &cuda->events[i],
                 i < GPU_MARKS ? CUDA_EVENT_NO_TIME : 0));
    return 0;
}

// Failures are ignored: then the GPU is gone already.
static void cuda_free(struct gpu_context *gpu)
{
    struct cuda *cuda = cuda_of(gpu);
    for (int i = 0; i < cuda->piece_count; i++)
        (void)cuda->api.cuMemFree_v2(cuda->pieces[i].at);
    cuda->piece_count = 0;
    cuda->allocated = 0;
}

static void cuda_close(struct gpu_context *gpu)
{
    struct cuda *cuda = cuda_of(gpu);
    const struct libcuda *api = &cuda->api;
    cuda_leave(cuda);
    cuda_free(gpu);
    for (int i = 0; i < gpu->host_count; i++)
        (void)api->cuMemFreeHost(gpu->host[i]);
    for (int i = 0; i < GPU_EVENTS_ALL; i++)
        if (cuda->events[i])
            (void)api->cuEventDestroy_v2(cuda->events[i]);
    for (int i = 1; i >= 0; i--)
        if (cuda->streams[i])
            (void)api->cuStreamDestroy_v2(cuda->streams[i]);
    free(cuda->pieces);
    free(cuda);
}

static int cuda_open(int number, enum engine_precision precision, struct gpu_context **out,
                     struct err *err)
{
    *out = NULL;
    struct cuda *cuda = calloc(1, sizeof *cuda);
    if (!cuda)
        return err_memory(err);
    cuda->gpu = (struct gpu_context){.driver = &cuda_driver, .precision = precision};
    cuda->pieces = calloc(PIECES_MAX, sizeof *cuda->pieces);
    int rc = cuda->pieces ? open_shared(cuda, number, err) : err_memory(err);
    if (rc == 0)
        rc = open_streams(cuda, err);
    if (rc != 0) {
        cuda_close(&cuda->gpu);
        return rc;
    }
    *out = &cuda->gpu;
    return 0;
}

// Lines of 128 bytes are swizzled; what is outside the tensor is zero.
static int cuda_map(struct gpu_context *gpu, const struct mapped_tensor *t, void *map,
                    struct err *err)
{
    struct cuda *cuda = cuda_of(gpu);
    enum {
        FLOAT32 = 7,
        BFLOAT16 = 9,
        NO_INTERLEAVE = 0,
        SWIZZLE_128 = 3,
        PROMOTE_256 = 3,
        FILL_ZEROS = 0
    };
    uint64_t size[4] = {0}, pitch[3] = {0};
    uint32_t box[4] = {0}, each[4] = {1, 1, 1, 1};
    for (int i = 0; i < t->rank; i++) {
        size[i] = (uint64_t)t->size[i];
        box[i] = (uint32_t)t->box[i];
        if (i > 0)
            pitch[i - 1] = (uint64_t)t->pitch[i - 1];
    }
    void *at = (void *)(uintptr_t)t->at;
    int type = t->f32 ? FLOAT32 : BFLOAT16;
    if (t->pixels == 0)
        return CALL(cuda, cuTensorMapEncodeTiled, err, map, type, (unsigned)t->rank, at, size,
                    pitch, box, each, NO_INTERLEAVE, SWIZZLE_128, PROMOTE_256, FILL_ZEROS);
    each[1] = each[2] = (uint32_t)t->stride;
    TRY(CALL(cuda, cuTensorMapEncodeIm2col, err, map, type, (unsigned)t->rank, at, size, pitch,
             t->first, t->last, box[0], (uint32_t)t->pixels, each, NO_INTERLEAVE, SWIZZLE_128,
             PROMOTE_256, FILL_ZEROS));
    // Drivers up to CUDA 13.1 set a bit that small tensors must not have (as CUTLASS knows).
    if (gpu->about.driver <= 13010 && t->size[3] * t->pitch[2] < 131072)
        ((uint64_t *)map)[1] &= ~((uint64_t)1 << 21);
    return 0;
}

// ---- memory ----

static int out_of_memory(struct cuda *cuda, int64_t bytes, struct err *err)
{
    size_t left = 0, all = 0;
    (void)cuda->api.cuMemGetInfo_v2(&left, &all);
    err_set(err, ERR_MEMORY,
            "the GPU has not enough memory: %.1f MiB more are needed, %.1f of %.0f MiB are free",
            (double)bytes / 1048576, (double)left / 1048576, (double)all / 1048576);
    return err_hint(err, "'nvidia-smi' shows who else uses the GPU; a smaller --batch needs less, "
                         "as do smaller --n and --m of l1");
}

static int64_t cuda_memory_left(struct gpu_context *gpu)
{
    size_t left = 0, all = 0;
    return cuda_of(gpu)->api.cuMemGetInfo_v2(&left, &all) == 0 ? (int64_t)left : 0;
}

// libcuda allocates in pieces of 2 MiB, so small requests share pieces, which grow with the total.
// FARE_CUDA_APART gives each request its own, so that a memory checker sees where it ends.
static size_t piece_for(const struct cuda *cuda, size_t size)
{
    size_t most = (size_t)1 << 25, least = (size_t)1 << 21;
    size_t piece = cuda->allocated > most    ? most
                   : cuda->allocated < least ? least
                                             : cuda->allocated;
    return size > piece / 2 || getenv("FARE_CUDA_APART") ? size : piece;
}

static int new_piece(struct cuda *cuda, size_t bytes, struct err *err)
{
    assert(cuda->piece_count < PIECES_MAX);
    struct memory_piece piece = {.rest = bytes};
    int code = cuda->api.cuMemAlloc_v2(&piece.at, bytes);
    if (code == CUDA_OUT_OF_MEMORY)
        return out_of_memory(cuda, (int64_t)bytes, err);
    if (code != 0)
        return cuda_failed(&cuda->api, code, "cuMemAlloc", err);
    piece.next = piece.at;
    cuda->pieces[cuda->piece_count++] = piece;
    cuda->allocated += bytes;
    return CALL(cuda, cuMemsetD8Async, err, piece.at, 0, bytes, cuda->streams[GPU_KERNELS]);
}

// Zeroed.
static int cut(struct cuda *cuda, size_t size, device_ptr *out, struct err *err)
{
    int i = 0;
    while (i < cuda->piece_count && cuda->pieces[i].rest < size)
        i++;
    if (i == cuda->piece_count)
        TRY(new_piece(cuda, piece_for(cuda, size), err));
    *out = cuda->pieces[i].next;
    cuda->pieces[i].next += size;
    cuda->pieces[i].rest -= size;
    return 0;
}

static size_t padded_size(int64_t bytes)
{
    assert(bytes >= 0);
    size_t unit = getenv("FARE_CUDA_APART") ? 16 : 256; // kernels read whole vectors
    return ((size_t)(bytes > 0 ? bytes : 1) + unit - 1) / unit * unit;
}

static int cuda_alloc(struct gpu_context *gpu, int64_t bytes, bool zeroed, device_ptr *out,
                      struct err *err)
{
    struct cuda *cuda = cuda_of(gpu);
    size_t size = padded_size(bytes);
    TRY(cut(cuda, size, out, err));
    if (!zeroed && getenv("FARE_CUDA_POISON"))
        TRY(CALL(cuda, cuMemsetD8Async, err, *out, 0xff, size, cuda->streams[GPU_KERNELS]));
    return 0;
}

static int cuda_alloc_host(struct gpu_context *gpu, int64_t bytes, void **out, struct err *err)
{
    return CALL(cuda_of(gpu), cuMemHostAlloc, err, out, (size_t)bytes, 0);
}

static bool cuda_pin(struct gpu_context *gpu, const void *from, int64_t bytes)
{
    const struct libcuda *api = &cuda_of(gpu)->api;
    return api->cuMemHostRegister_v2 && api->cuMemHostUnregister &&
           api->cuMemHostRegister_v2((void *)(uintptr_t)from, (size_t)bytes, 0) == 0;
}

static void cuda_unpin(struct gpu_context *gpu, const void *from)
{
    (void)cuda_of(gpu)->api.cuMemHostUnregister((void *)(uintptr_t)from);
}

static int cuda_upload(struct gpu_context *gpu, enum gpu_stream stream, device_ptr to,
                       const void *from, int64_t bytes, struct err *err)
{
    struct cuda *cuda = cuda_of(gpu);
    return CALL(cuda, cuMemcpyHtoDAsync_v2, err, to, from, (size_t)bytes, cuda->streams[stream]);
}

static int cuda_download(struct gpu_context *gpu, enum gpu_stream stream, void *to, device_ptr from,
                         int64_t bytes, struct err *err)
{
    struct cuda *cuda = cuda_of(gpu);
    return CALL(cuda, cuMemcpyDtoHAsync_v2, err, to, from, (size_t)bytes, cuda->streams[stream]);
}

static int cuda_wait_stream(struct gpu_context *gpu, enum gpu_stream stream, struct err *err)
{
    struct cuda *cuda = cuda_of(gpu);
    return cuda_wait(cuda, cuda->streams[stream], NULL, err);
}

// ---- kernels ----

static int find_kernel(struct cuda *cuda, const char *name, void **function, struct err *err)
{
    pthread_mutex_lock(&opened.lock);
    int rc = modules_find(&opened.modules, cuda->gpu.precision, name, function, err);
    pthread_mutex_unlock(&opened.lock);
    if (rc != 0)
        err_context(err, "kernel '%s'", name);
    return rc;
}

static int cuda_bind(struct gpu_context *gpu, struct launch *launch, struct err *err)
{
    struct cuda *cuda = cuda_of(gpu);
    int rc = 0;
    TRY(find_kernel(cuda, launch->name, &launch->function, err));
    // Never less than before: an earlier launch of the kernel may have asked for more.
    if (launch->shared > 48 * 1024) {
        int allowed = 0;
        rc = CALL(cuda, cuFuncGetAttribute, err, &allowed, FUNCTION_SHARED_BYTES, launch->function);
        if (rc == 0 && allowed < (int)launch->shared)
            rc = CALL(cuda, cuFuncSetAttribute, err, launch->function, FUNCTION_SHARED_BYTES,
                      (int)launch->shared);
    }
    if (rc != 0)
        err_context(err, "kernel '%s'", launch->name);
    return rc;
}

static int cuda_launch(struct gpu_context *gpu, const struct launch *launch, struct err *err)
{
    struct cuda *cuda = cuda_of(gpu);
    void *args[] = {(void *)(uintptr_t)launch->args}; // libcuda only reads them
    if (launch->sum_count > 0)
        return cuda_sum(cuda, launch, err);
    if (launch->join)
        TRY(cuda_sums_end(cuda, err));
    return CALL(cuda, cuLaunchKernel, err, launch->function, launch->x, launch->y, 1,
                launch->threads, 1, 1, launch->shared, cuda->streams[GPU_KERNELS], args, NULL);
}

// ---- events ----

static int cuda_record(struct gpu_context *gpu, enum gpu_stream stream, int event, struct err *err)
{
    struct cuda *cuda = cuda_of(gpu);
    return CALL(cuda, cuEventRecord, err, cuda->events[event], cuda->streams[stream]);
}

static int cuda_follow(struct gpu_context *gpu, enum gpu_stream stream, int event, struct err *err)
{
    struct cuda *cuda = cuda_of(gpu);
    return CALL(cuda, cuStreamWaitEvent, err, cuda->streams[stream], cuda->events[event], 0);
}

static int cuda_wait_event(struct gpu_context *gpu, int event, struct err *err)
{
    struct cuda *cuda = cuda_of(gpu);
    return cuda_wait(cuda, NULL, cuda->events[event], err);
}

static int cuda_between_marks(struct gpu_context *gpu, double *seconds, struct err *err)
{
    struct cuda *cuda = cuda_of(gpu);
    void *const *marks = &cuda->events[GPU_MARKS];
    float ms = 0;
    TRY(CALL(cuda, cuEventSynchronize, err, marks[1]));
    TRY(CALL(cuda, cuEventElapsedTime, err, &ms, marks[0], marks[1]));
    *seconds = (double)ms / 1e3;
    return 0;
}

const struct gpu_driver cuda_driver = {
    .look = cuda_look,
    .open = cuda_open,
    .close = cuda_close,
    .library = cuda_library,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .memory_left = cuda_memory_left,
    .alloc_host = cuda_alloc_host,
    .pin = cuda_pin,
    .unpin = cuda_unpin,
    .upload = cuda_upload,
    .download = cuda_download,
    .wait = cuda_wait_stream,
    .record = cuda_record,
    .follow = cuda_follow,
    .wait_event = cuda_wait_event,
    .between_marks = cuda_between_marks,
    .bind = cuda_bind,
    .launch = cuda_launch,
    .graph_new = cuda_graph_new,
    .graph_free = cuda_graph_free,
    .graph_launch = cuda_graph_launch,
    .map = cuda_map,
    .ranks = &cuda_ranks,
};
