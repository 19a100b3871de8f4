// SPDX-License-Identifier: Apache-2.0
// A stand-in for the CUDA driver. Memory and copies are real; kernels do nothing. With
// FAKE_GPU_RUN=1 it runs them, far more slowly than a GPU (ptx/ptx.h); the launches of a graph then
// run in any order that its dependencies allow, a different one for each FAKE_GPU_ORDER=N. With
// FAKE_GPU_RUN=2 it also finds data races between launches or blocks (ptx/memory.h).
// FAKE_GPU_FAIL=CALL:N makes the Nth call of that name fail, and every later one, with the code
// FAKE_GPU_CODE (999). FAKE_GPU_MEMORY sets its bytes, FAKE_GPU_CAPABILITY and FAKE_GPU_DRIVER its
// versions, FAKE_GPU_PROCESSORS their number (132), FAKE_GPU_MS the time between two events (1 ms).
// FAKE_GPU_LATE=1 does nothing before the host waits for it (fake_streams.h).
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/engine/cuda/kernels.h"
#include "train/engine/fake_streams.h"
#include "train/engine/ptx/memory.h"
#include "train/engine/ptx/ptx.h"
#include "train/engine/ptx/tensor_map.h"

static int64_t used;

static int64_t number(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text ? atoll(text) : otherwise;
}

static int fails(const char *call)
{
    static int seen;
    const char *text = getenv("FAKE_GPU_FAIL");
    size_t len = strlen(call);
    if (!text || strncmp(text, call, len) != 0 || text[len] != ':')
        return 0;
    return ++seen >= atoi(text + len + 1) ? (int)number("FAKE_GPU_CODE", 999) : 0;
}
#define CALL()                                                                                     \
    do {                                                                                           \
        int code = fails(__func__);                                                                \
        if (code)                                                                                  \
            return code;                                                                           \
    } while (0)

int cuInit(unsigned flags)
{
    (void)flags;
    CALL();
    return 0;
}

int cuGetErrorName(int code, const char **name)
{
    *name = code == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_UNKNOWN";
    return 0;
}

int cuGetErrorString(int code, const char **text)
{
    (void)code;
    *text = "said the stand-in";
    return 0;
}

int cuDriverGetVersion(int *version)
{
    *version = (int)number("FAKE_GPU_DRIVER", 13000);
    return 0;
}

int cuDeviceGetCount(int *count)
{
    CALL();
    *count = 1;
    return 0;
}

int cuDeviceGet(int *device, int index)
{
    *device = index;
    return 0;
}

int cuDeviceGetName(char *name, int bytes, int device)
{
    (void)device;
    snprintf(name, (size_t)bytes, "Stand-in");
    return 0;
}

// Of the CUDA C++ programming guide: shared memory that a block may have.
static int64_t shared_most(void)
{
    static const struct {
        int64_t capability, kib;
    } most[] = {{120, 99}, {90, 227}, {89, 99}, {87, 163}, {86, 99}, {80, 163}, {75, 64}, {70, 96}};
    int64_t capability = number("FAKE_GPU_CAPABILITY", 90);
    for (size_t i = 0; i < sizeof most / sizeof *most; i++)
        if (capability >= most[i].capability)
            return most[i].kib * 1024;
    return 48 * 1024;
}

int cuDeviceGetAttribute(int *value, int what, int device)
{
    (void)device;
    int capability = (int)number("FAKE_GPU_CAPABILITY", 90);
    *value = what == 75   ? capability / 10
             : what == 76 ? capability % 10
             : what == 97 ? (int)shared_most()
                          : (int)number("FAKE_GPU_PROCESSORS", 132);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = (size_t)1 << 34;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    (void)device;
    CALL();
    *context = context;
    return 0;
}

int cuCtxSetCurrent(void *context)
{
    (void)context;
    return 0;
}

int cuStreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    CALL();
    return new_stream(stream);
}

int cuStreamDestroy_v2(void *stream)
{
    end_stream(stream);
    return 0;
}

int cuStreamSynchronize(void *stream)
{
    CALL();
    return finish_all(stream);
}

// Others need the processor more than who asks over and over.
static int asked(int code)
{
    if (code == NOT_READY)
        pause_a_little();
    return code;
}

int cuStreamQuery(void *stream)
{
    CALL();
    return asked(run_all(stream));
}

int cuMemGetInfo_v2(size_t *left, size_t *all)
{
    *all = (size_t)number("FAKE_GPU_MEMORY", 2000000000);
    *left = *all - (size_t)used;
    return 0;
}

int cuMemAlloc_v2(uint64_t *ptr, size_t bytes)
{
    CALL();
    if (used + (int64_t)bytes > number("FAKE_GPU_MEMORY", 2000000000))
        return 2;
    void *memory = memory_give(bytes);
    if (!memory)
        return 2;
    used += (int64_t)bytes;
    *ptr = (uint64_t)(uintptr_t)memory;
    return 0;
}

int cuMemFree_v2(uint64_t ptr)
{
    (void)run_everything();
    used -= (int64_t)memory_take_back((void *)(uintptr_t)ptr);
    return 0;
}

int cuMemHostAlloc(void **ptr, size_t bytes, unsigned flags)
{
    (void)flags;
    CALL();
    *ptr = memory_give(bytes);
    return *ptr ? 0 : 2;
}

int cuMemFreeHost(void *ptr)
{
    (void)run_everything();
    (void)memory_take_back(ptr);
    return 0;
}

static int run_set(const struct op *op)
{
    memset((void *)(uintptr_t)op->to, op->value, op->bytes);
    return 0;
}

static int run_copy(const struct op *op)
{
    const void *from = op->own ? op->own : (const void *)(uintptr_t)op->from;
    memcpy((void *)(uintptr_t)op->to, from, op->bytes);
    return 0;
}

// Page-locked, or on the GPU.
static bool is_given(uint64_t address)
{
    return memory_find(address).to != 0;
}

int cuMemsetD8Async(uint64_t ptr, unsigned char value, size_t bytes, void *stream)
{
    CALL();
    return enqueue(stream, (struct op){.run = run_set, .to = ptr, .value = value, .bytes = bytes});
}

// Ordinary memory is read before the call returns.
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    CALL();
    struct op op = {.run = run_copy, .to = to, .from = (uint64_t)(uintptr_t)from, .bytes = bytes};
    if (!is_given(op.from) && !(op.own = malloc(bytes + 1)))
        return 2;
    if (op.own)
        memcpy(op.own, from, bytes);
    return enqueue(stream, op);
}

// And written.
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    CALL();
    int code = enqueue(
        stream,
        (struct op){.run = run_copy, .to = (uint64_t)(uintptr_t)to, .from = from, .bytes = bytes});
    return code || is_given((uint64_t)(uintptr_t)to) ? code : finish_all(stream);
}

// ---- tensor maps: of numbers of 16 or 32 bits, as the engine uses them ----

static int encode(void *out, int type, unsigned rank, void *base, const uint64_t *sizes,
                  const uint64_t *pitches, const uint32_t *each, int interleave, int swizzle,
                  int fill, struct tensor_map map)
{
    map.magic = TENSOR_MAP;
    map.rank = (uint8_t)rank;
    map.bytes = type == 7 ? 4 : 2;
    map.swizzle = (uint8_t)swizzle;
    map.base = (uint64_t)(uintptr_t)base;
    if ((uintptr_t)out % 64 || (type != 6 && type != 7 && type != 9) || rank < 1 ||
        rank > TENSOR_RANK || map.base % 16 || interleave != 0 || swizzle < 0 || swizzle > 3 ||
        fill != 0 || (swizzle && map.box[0] * map.bytes != 16 << swizzle))
        return 1;
    for (unsigned i = 0; i < rank; i++) {
        if (sizes[i] == 0 || sizes[i] > UINT32_MAX || map.box[i] > 1024 || each[i] < 1 ||
            each[i] > 8 || (i > 0 && pitches[i - 1] % 16))
            return 1;
        map.size[i] = (uint32_t)sizes[i];
        map.each[i] = (uint8_t)each[i];
        map.pitch[i > 0 ? i - 1 : 0] = i > 0 ? pitches[i - 1] : 0;
    }
    memset(out, 0, 128);
    memcpy(out, &map, sizeof map);
    return 0;
}

int cuTensorMapEncodeTiled(void *out, int type, unsigned rank, void *base, const uint64_t *sizes,
                           const uint64_t *pitches, const uint32_t *box, const uint32_t *each,
                           int interleave, int swizzle, int promotion, int fill)
{
    struct tensor_map map = {0};
    (void)promotion;
    CALL();
    for (unsigned i = 0; i < rank && i < TENSOR_RANK; i++) {
        if (box[i] < 1 || box[i] > 256)
            return 1;
        map.box[i] = (uint16_t)box[i];
    }
    return encode(out, type, rank, base, sizes, pitches, each, interleave, swizzle, fill, map);
}

int cuTensorMapEncodeIm2col(void *out, int type, unsigned rank, void *base, const uint64_t *sizes,
                            const uint64_t *pitches, const int *lower, const int *upper,
                            unsigned channels, unsigned pixels, const uint32_t *each,
                            int interleave, int swizzle, int promotion, int fill)
{
    struct tensor_map map = {.is_im2col = 1};
    (void)promotion;
    CALL();
    if (rank != 4 || channels > 256 || pixels > 1024)
        return 1;
    for (int i = 0; i < 2; i++) {
        if (lower[i] < -128 || lower[i] > 127 || upper[i] < -128 || upper[i] > 127)
            return 1;
        map.lower[i] = (int8_t)lower[i];
        map.upper[i] = (int8_t)upper[i];
    }
    map.box[0] = (uint16_t)channels;
    map.box[1] = (uint16_t)pixels;
    return encode(out, type, rank, base, sizes, pitches, each, interleave, swizzle, fill, map);
}

// ---- kernels ----

static char complaint[512]; // of the last kernel

struct function {
    const char *name; // which the engine has for good
    const struct ptx_kernel *kernel;
    struct function *next;
    int64_t shared; // bytes that a launch may ask for
};
static struct function *functions;

// The functions of 'fare check --bandwidth'.

int cuDeviceGetPCIBusId(char *out, int bytes, int device)
{
    CALL();
    snprintf(out, (size_t)bytes, "0000:%02X:00.0", 0x1b + device);
    return 0;
}

int cuCtxSynchronize(void)
{
    CALL();
    return run_everything();
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    CALL();
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    CALL();
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return 0;
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    CALL();
    return enqueue(stream, (struct op){.run = run_copy, .to = to, .from = from, .bytes = bytes});
}

static struct module { // kept until the process ends
    struct module *next;
    char text[];
} * modules;

int cuModuleLoadDataEx(void **module, const void *text, unsigned count, int *options, void **values)
{
    (void)count;
    (void)options;
    (void)values;
    CALL();
    if (!strstr(text, ".version"))
        return 218;
    struct module *m = malloc(sizeof *m + strlen(text) + 1);
    if (!m)
        return 2;
    m->next = modules;
    memcpy(m->text, text, strlen(text) + 1);
    modules = m;
    *module = m->text;
    return 0;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    CALL();
    const struct ptx_kernel *kernel = NULL;
    if (number("FAKE_GPU_RUN", 0)) {
        kernel = ptx_kernel(module, name, complaint, sizeof complaint);
        if (!kernel) {
            fprintf(stderr, "stand-in: %s\n", complaint);
            return 500;
        }
    }
    struct function *f = functions;
    while (f && !(f->name == name && f->kernel == kernel))
        f = f->next;
    if (!f) {
        f = malloc(sizeof *f);
        if (!f)
            return 2;
        *f = (struct function){name, kernel, functions, 48 * 1024};
        functions = f;
    }
    *function = f;
    return 0;
}

int cuFuncSetAttribute(void *function, int what, int value)
{
    if (what != 8)
        return 0;
    struct function *f = function;
    if (value + (f->kernel ? ptx_kernel_shared(f->kernel) : 0) > shared_most())
        return 1;
    f->shared = value;
    return 0;
}

int cuFuncGetAttribute(int *value, int what, void *function)
{
    CALL();
    *value = what == 8 ? (int)((struct function *)function)->shared : 0;
    return 0;
}

// Whether to look for data races; it takes time.
static bool looks_at_order(void)
{
    return number("FAKE_GPU_RUN", 0) > 1;
}

static int launch(const struct function *f, unsigned x, unsigned y, unsigned threads,
                  unsigned shared, const void *args)
{
    struct ptx_launch l = {
        x, y, threads, shared, args, memory_find, looks_at_order() ? memory_use : NULL};
    if (!f->kernel || ptx_run(f->kernel, &l, complaint, sizeof complaint))
        return 0;
    fprintf(stderr, "stand-in: %s\n", complaint);
    return 719;
}

// What a real one refuses.
static bool refuses(const struct function *f, unsigned x, unsigned y, unsigned threads,
                    unsigned shared)
{
    return x == 0 || y == 0 || y > 65535 || threads == 0 || threads > 1024 || shared > f->shared;
}

static int run_launch(const struct op *op)
{
    memory_begin();
    memory_launch(0, NULL);
    return launch(op->function, op->x, op->y, op->threads, op->shared, op->args);
}

int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty,
                   unsigned tz, unsigned shared, void *stream, void **args, void **extra)
{
    (void)extra;
    CALL();
    if (ty != 1 || tz != 1 || z != 1 || refuses(function, x, y, tx, shared))
        return 1;
    struct op op = {.run = run_launch, .function = function, .x = x, .y = y, .threads = tx};
    op.shared = shared;
    memcpy(op.args, args[0], sizeof op.args);
    return enqueue(stream, op);
}

// ---- graphs: gathers must be ordered with every launch that uses their samples ----

enum { NODES_MAX = 2048, ARGS = 1900 / 8 }; // ARGS: words that a launch of the engine has room for

// Nodes are numbered. A dependency on a later node ends the program; the same one twice is an
// error.
struct graph {
    int count, room;
    struct call call; // a captured graph has one call, and no nodes
    // Of one that runs: how far it is.
    bool begun;
    int left;
    uint64_t over[NODES_MAX / 64], random;
    struct node {
        const struct function *function; // null: a call
        struct call call;
        unsigned x, y, threads, shared;
        uint64_t args[ARGS];
        uint64_t before[NODES_MAX / 64]; // all that are done when it begins
    } * nodes;
};

int cuGraphCreate(void **graph, unsigned flags)
{
    (void)flags;
    CALL();
    *graph = calloc(1, sizeof(struct graph));
    return *graph ? 0 : 2;
}

struct node_params { // CUDA_KERNEL_NODE_PARAMS_v1
    void *function;
    unsigned grid[3], block[3], shared;
    void **args, **extra;
};

static int add_node(void **node, struct graph *graph, void *const *before, size_t count,
                    struct node new)
{
    for (size_t i = 0; i < count; i++)
        if ((uintptr_t)before[i] < 1 || (uintptr_t)before[i] > (uintptr_t)graph->count)
            abort();
    for (size_t i = 0; i < count; i++) // as the real one
        for (size_t k = 0; k < i; k++)
            if (before[i] == before[k])
                return 1;
    if (graph->count == graph->room) {
        int room = graph->room ? 2 * graph->room : 64;
        struct node *more = realloc(graph->nodes, (size_t)room * sizeof *more);
        if (!more)
            return 2;
        graph->nodes = more;
        graph->room = room;
    }
    struct node *n = &graph->nodes[graph->count++];
    *node = (void *)(uintptr_t)graph->count;
    *n = new;
    for (size_t i = 0; i < count; i++) {
        size_t b = (uintptr_t)before[i] - 1;
        for (size_t w = 0; w < NODES_MAX / 64; w++)
            n->before[w] |= graph->nodes[b].before[w];
        if (b < NODES_MAX) // more are not looked at
            n->before[b / 64] |= (uint64_t)1 << b % 64;
    }
    return 0;
}

int cuGraphAddKernelNode(void **node, void *graph, void *const *before, size_t count,
                         const struct node_params *params)
{
    CALL();
    if (refuses(params->function, params->grid[0], params->grid[1], params->block[0],
                params->shared))
        return 1;
    struct node new = {.function = params->function,
                       .x = params->grid[0],
                       .y = params->grid[1],
                       .threads = params->block[0],
                       .shared = params->shared};
    memcpy(new.args, params->args[0], sizeof new.args);
    return add_node(node, graph, before, count, new);
}

int cuGraphAddChildGraphNode(void **node, void *graph, void *const *before, size_t count,
                             const struct graph *child)
{
    CALL();
    return child->call.run
               ? add_node(node, graph, before, count, (struct node){.call = child->call})
               : 1;
}

static int nothing(void *data)
{
    (void)data;
    return 0;
}

int cuGraphAddEmptyNode(void **node, void *graph, void *const *before, size_t count)
{
    CALL();
    return add_node(node, graph, before, count, (struct node){.call = {.run = nothing}});
}

// ---- calls of the stand-in for NCCL ----

static int run_call(const struct op *op)
{
    memory_begin();
    memory_launch(0, NULL);
    return op->call.run(op->call.data);
}

int fakeGpuCall(void *stream_, int (*run)(void *data), void *data)
{
    struct stream *stream = stream_;
    struct call call = {run, data};
    if (!stream->captures)
        return enqueue(stream, (struct op){.run = run_call, .call = call});
    if (stream->captured.run)
        return 1; // one is enough
    stream->captured = call;
    return 0;
}

// Such a call uses memory of the GPU; 0 if that is allowed now.
int fakeGpuUse(uint64_t from, size_t bytes, bool writes)
{
    struct ptx_memory piece = memory_find(from);
    int other = 0;
    if (piece.to == 0 || from + bytes > piece.to) {
        fprintf(stderr, "stand-in: a sum over ranks of memory that was not given\n");
        return 700;
    }
    for (uint64_t at = from; looks_at_order() && at < from + bytes; at += 4)
        if (!memory_use(&piece, &at, 1, 4, 0, writes, &other)) {
            fprintf(stderr, "stand-in: a sum over ranks and launch %d have no order\n", other);
            return 719;
        }
    return 0;
}

int cuStreamBeginCapture_v2(void *stream_, int mode)
{
    struct stream *stream = stream_;
    (void)mode;
    CALL();
    stream->captures = true;
    stream->captured = (struct call){0};
    return 0;
}

int cuStreamEndCapture(void *stream_, struct graph **out)
{
    struct stream *stream = stream_;
    stream->captures = false;
    CALL();
    *out = calloc(1, sizeof **out);
    if (!*out)
        return 2;
    (*out)->call = stream->captured;
    return 0;
}

static int in_order(const struct graph *graph, int a, int b)
{
    return (graph->nodes[a].before[b / 64] >> b % 64 & 1) ||
           (graph->nodes[b].before[a / 64] >> a % 64 & 1);
}

static int uses(const struct node *n, const void *from, int64_t bytes)
{
    for (int i = 0; from && i < ARGS; i++)
        if (n->args[i] >= (uintptr_t)from && n->args[i] < (uintptr_t)from + (uint64_t)bytes)
            return 1;
    return 0;
}

static const char *name_of(const struct node *node)
{
    return node->function ? node->function->name : "a sum over ranks";
}

static int races(const struct graph *graph)
{
    for (int i = 0; i < graph->count; i++) {
        struct cuda_gather g;
        const char *name = name_of(&graph->nodes[i]);
        if (!strstr(name, "gather") || strstr(name, "embed"))
            continue;
        memcpy(&g, graph->nodes[i].args, sizeof g);
        for (int k = 0; k < graph->count; k++) {
            const struct node *n = &graph->nodes[k];
            int shared = uses(n, g.now, sizeof *g.now) || uses(n, g.labels, g.batch * 4) ||
                         uses(n, g.time ? NULL : g.image, (int64_t)g.batch * g.sample_pitch * 4) ||
                         uses(n, g.time ? g.out_tokens : NULL, (int64_t)g.batch * g.time * 4);
            if (k != i && shared && !in_order(graph, i, k)) {
                fprintf(stderr, "node %d (%s) and node %d (%s) have no order\n", i, name, k,
                        name_of(n));
                return 1;
            }
        }
    }
    return 0;
}

// The next node whose dependencies are done, none of `not`: the first one, or one chosen at random.
static int next_node(const struct graph *graph, const uint64_t * not, uint64_t *random)
{
    int ready = 0, chosen = -1;
    for (int i = 0; i < graph->count; i++) {
        uint64_t waits = (graph->over[i / 64] | not [i / 64]) >> i % 64 & 1;
        for (size_t w = 0; w < NODES_MAX / 64; w++)
            waits |= graph->nodes[i].before[w] & ~graph->over[w];
        if (waits)
            continue;
        if (*random == 0)
            return i;
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        if ((*random >> 33) % (uint64_t)++ready == 0)
            chosen = i;
    }
    return chosen;
}

static const struct graph *running;

static bool is_before(int other, int node)
{
    return other >= NODES_MAX || (running->nodes[node].before[other / 64] >> other % 64 & 1);
}

static int run_node(const struct graph *graph, int at)
{
    const struct node *n = &graph->nodes[at];
    memory_launch(at, is_before);
    int code = !n->function ? n->call.run(n->call.data)
               : number("FAKE_GPU_RUN", 0)
                   ? launch(n->function, n->x, n->y, n->threads, n->shared, n->args)
                   : 0;
    for (int k = 0; code && code != NOT_READY && k < graph->count && k < NODES_MAX; k++)
        fprintf(stderr, "stand-in: launch %d of the graph is %s%s\n", k, name_of(&graph->nodes[k]),
                k == at            ? ", this one"
                : is_before(k, at) ? ", before it"
                                   : "");
    return code;
}

// Nodes that are not ready are left for later; others go on meanwhile.
static int run_graph(struct graph *graph)
{
    running = graph;
    if (!graph->begun) {
        memory_begin();
        memset(graph->over, 0, sizeof graph->over);
        graph->random = (uint64_t)number("FAKE_GPU_ORDER", 0);
        graph->left = graph->count;
        graph->begun = true;
    }
    uint64_t not [NODES_MAX / 64] = {0};
    while (graph->left > 0) {
        int at = graph->count > NODES_MAX ? graph->count - graph->left
                                          : next_node(graph, not, &graph->random);
        int code = at < 0 ? NOT_READY : run_node(graph, at);
        if (at >= 0 && code == NOT_READY && graph->count <= NODES_MAX) {
            not [at / 64] |= (uint64_t)1 << at % 64;
            continue;
        }
        if (code)
            return code;
        graph->left--;
        if (at < NODES_MAX)
            graph->over[at / 64] |= (uint64_t)1 << at % 64;
    }
    graph->begun = false;
    return 0;
}

#ifdef FAKE_GPU_OLD // as CUDA 10 called it
int cuGraphInstantiate(void **exec, void *graph, void **node, char *log, size_t bytes)
{
    (void)node;
    (void)log;
    (void)bytes;
#else
int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
    (void)flags;
#endif
    CALL();
    const struct graph *made = graph;
    if (made->count <= NODES_MAX && races(made))
        return 1;
    struct graph *copy = malloc(sizeof *copy);
    if (!copy)
        return 2;
    *copy = *made;
    copy->nodes = malloc((size_t)made->count * sizeof *made->nodes + 1);
    if (!copy->nodes) {
        free(copy);
        return 2;
    }
    memcpy(copy->nodes, made->nodes, (size_t)made->count * sizeof *made->nodes);
    *exec = copy;
    return 0;
}

static int run_exec(const struct op *op)
{
    return run_graph(op->function);
}

int cuGraphLaunch(void *exec, void *stream)
{
    CALL();
    return enqueue(stream, (struct op){.run = run_exec, .function = exec});
}

int cuGraphDestroy(void *graph)
{
    free(((struct graph *)graph)->nodes);
    free(graph);
    return 0;
}

int cuGraphExecDestroy(void *exec)
{
    (void)run_everything();
    return cuGraphDestroy(exec);
}

int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof(struct event));
    return *event ? 0 : 2;
}

int cuEventDestroy_v2(void *event)
{
    (void)run_everything();
    free(event);
    return 0;
}

int cuEventRecord(void *event_, void *stream)
{
    struct event *event = event_;
    CALL();
    if (event->stream && event->stream != stream) // it is of the last one alone
        (void)finish_until(event, event->recorded);
    event->stream = stream;
    return enqueue(stream, (struct op){.records = event, .number = ++event->recorded});
}

int cuEventSynchronize(void *event_)
{
    struct event *event = event_;
    CALL();
    return finish_until(event, event->recorded);
}

int cuEventQuery(void *event_)
{
    struct event *event = event_;
    CALL();
    return asked(run_until(event, event->recorded));
}

int cuStreamWaitEvent(void *stream, void *event_, unsigned flags)
{
    struct event *event = event_;
    (void)flags;
    CALL();
    return enqueue(stream, (struct op){.waits = event, .number = event->recorded});
}

int cuEventElapsedTime(float *ms, void *from, void *to)
{
    (void)from;
    (void)to;
    const char *text = getenv("FAKE_GPU_MS");
    *ms = text ? strtof(text, NULL) : 1;
    return 0;
}
