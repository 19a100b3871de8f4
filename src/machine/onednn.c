// SPDX-License-Identifier: Apache-2.0
#include "machine/onednn.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/tree.h"

#define SYMBOL(need, result, name, args) {"dnnl_" #name, offsetof(struct libdnnl, name), need},
static const struct dl_symbol symbols[] = {LIBDNNL_FUNCTIONS(SYMBOL)};

static const char *const names[] = {"libdnnl.so.2", NULL};

const struct dl_spec libdnnl_spec = {
    .what = "oneDNN",
    .variable = "FARE_ONEDNN",
    .names = names,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .hint = "install libdnnl2, or use the engine 'ref'",
};

// ==== onednn ====
// The functions down to trial_child() run in the child, which prints each result at once ("kernel
// brg:avx512_core"), so that a crash keeps the earlier lines.

#define TRIAL_LIMIT_MS 10000 // takes about 50; longer on a first read from a slow disk

enum {
    SIDE = 64, // matrix side, and channels of the convolution
    IMAGE = 8, // pixels per side
    WINDOW = 3 // with a border of one
};

_Static_assert(IMAGE *IMAGE == SIDE, "images and matrices have the same size");

// Row-major: images [y][x][channel], weights [out][in][y][x].
static float source[IMAGE * IMAGE * SIDE], weights[SIDE * SIDE * WINDOW * WINDOW],
    result[IMAGE * IMAGE * SIDE], expected[IMAGE * IMAGE * SIDE];
static uint16_t source_bf16[IMAGE * IMAGE * SIDE], weights_bf16[SIDE * SIDE * WINDOW * WINDOW];

static const struct trial {
    const char *operation;
    dnnl_data_type_t type;
    bool convolution;
} trials[ONEDNN_TRIALS] = {
    {"f32 matmul", dnnl_f32, false},
    {"bf16 matmul", dnnl_bf16, false},
    {"bf16 convolution", dnnl_bf16, true},
};

static void fill_pattern(float *to, uint16_t *to_bf16, size_t count, unsigned step)
{
    // -2 to 2 are exact in bfloat16, and their products and sums in f32, so results must match bit
    // for bit.
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        to[i] = (float)((i * step + i / 61) % 5) - 2;
        memcpy(&bits, &to[i], sizeof bits);
        to_bf16[i] = (uint16_t)(bits >> 16);
    }
}

static void expect_matmul(void)
{
    for (int m = 0; m < SIDE; m++)
        for (int k = 0; k < SIDE; k++)
            for (int n = 0; n < SIDE; n++)
                expected[m * SIDE + n] += source[m * SIDE + k] * weights[k * SIDE + n];
}

static float convolve_at(int y, int x, int out)
{
    float sum = 0;
    for (int dy = 0; dy < WINDOW; dy++)
        for (int dx = 0; dx < WINDOW; dx++) {
            int sy = y + dy - 1, sx = x + dx - 1;
            if (sy < 0 || sy >= IMAGE || sx < 0 || sx >= IMAGE)
                continue;
            for (int in = 0; in < SIDE; in++)
                sum += source[(sy * IMAGE + sx) * SIDE + in] *
                       weights[((out * SIDE + in) * WINDOW + dy) * WINDOW + dx];
        }
    return sum;
}

static void expect_convolution(void)
{
    for (int y = 0; y < IMAGE; y++)
        for (int x = 0; x < IMAGE; x++)
            for (int out = 0; out < SIDE; out++)
                expected[(y * IMAGE + x) * SIDE + out] = convolve_at(y, x, out);
}

struct trial_session {
    const struct libdnnl *api;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_memory_desc_t source, weights, weights_any, result;
};

// Ends the trial if the call fails, and prints its name.
#define CALL(call)                                                                                 \
    do {                                                                                           \
        dnnl_status_t call_status = s->api->call;                                                  \
        if (call_status != dnnl_success)                                                           \
            return failed(#call, call_status);                                                     \
    } while (0)

static bool failed(const char *call, dnnl_status_t status)
{
    const char *words = status == dnnl_unimplemented       ? "unimplemented"
                        : status == dnnl_out_of_memory     ? "out of memory"
                        : status == dnnl_invalid_arguments ? "invalid arguments"
                                                           : "run-time error";
    // An unimplemented operation is no fault.
    if (status == dnnl_unimplemented && strncmp(call, "primitive_desc_create", 21) == 0)
        dprintf(STDOUT_FILENO, "problem unimplemented\n");
    else
        dprintf(STDOUT_FILENO, "problem %.*s: %s\n", (int)strcspn(call, "("), call, words);
    return false;
}

static bool describe_memory(struct trial_session *s, const struct trial *trial)
{
    const dnnl_dims_t matrix = {SIDE, SIDE};
    const dnnl_dims_t image = {1, SIDE, IMAGE, IMAGE};
    const dnnl_dims_t windows = {SIDE, SIDE, WINDOW, WINDOW};
    int dims = trial->convolution ? 4 : 2;
    dnnl_format_tag_t tag = trial->convolution ? dnnl_nhwc : dnnl_ab;
    dnnl_format_tag_t weights_tag = trial->convolution ? dnnl_oihw : dnnl_ab;
    const dnnl_dim_t *side = trial->convolution ? image : matrix;
    const dnnl_dim_t *weights_side = trial->convolution ? windows : matrix;
    CALL(memory_desc_init_by_tag(&s->source, dims, side, trial->type, tag));
    CALL(memory_desc_init_by_tag(&s->weights, dims, weights_side, trial->type, weights_tag));
    CALL(memory_desc_init_by_tag(&s->weights_any, dims, weights_side, trial->type,
                                 dnnl_format_tag_any));
    CALL(memory_desc_init_by_tag(&s->result, dims, side, dnnl_f32, tag));
    return true;
}

static bool make_primitive(struct trial_session *s, const struct trial *trial,
                           dnnl_primitive_desc_t *pd)
{
    const dnnl_dims_t ones = {1, 1};
    union {
        dnnl_matmul_desc_t matmul;
        dnnl_convolution_desc_t convolution;
    } op;
    if (trial->convolution)
        CALL(convolution_forward_desc_init(&op.convolution, dnnl_forward_training,
                                           dnnl_convolution_direct, &s->source, &s->weights_any,
                                           NULL, &s->result, ones, ones, ones));
    else
        CALL(matmul_desc_init(&op.matmul, &s->source, &s->weights_any, NULL, &s->result));
    CALL(primitive_desc_create(pd, &op, NULL, s->engine, NULL));
    const char *kernel = NULL;
    if (s->api->primitive_desc_query(*pd, dnnl_query_impl_info_str, 0, (void *)&kernel) ==
            dnnl_success &&
        kernel)
        dprintf(STDOUT_FILENO, "kernel %s\n", kernel);
    return true;
}

// Reorders the weights into the layout the library chose, then computes.
static bool compute(struct trial_session *s, const struct trial *trial, dnnl_primitive_desc_t pd)
{
    bool bf16 = trial->type == dnnl_bf16;
    const dnnl_memory_desc_t *chosen =
        s->api->primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    dnnl_memory_t from, to, in, out;
    dnnl_primitive_desc_t reorder_pd;
    dnnl_primitive_t reorder, primitive;
    CALL(memory_create(&in, &s->source, s->engine, bf16 ? (void *)source_bf16 : source));
    CALL(memory_create(&from, &s->weights, s->engine, bf16 ? (void *)weights_bf16 : weights));
    CALL(memory_create(&to, chosen, s->engine, DNNL_MEMORY_ALLOCATE));
    CALL(memory_create(&out, &s->result, s->engine, result));

    CALL(reorder_primitive_desc_create(&reorder_pd, &s->weights, s->engine, chosen, s->engine,
                                       NULL));
    CALL(primitive_create(&reorder, reorder_pd));
    const dnnl_exec_arg_t moves[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    CALL(primitive_execute(reorder, s->stream, 2, moves));

    CALL(primitive_create(&primitive, pd));
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, in}, {DNNL_ARG_WEIGHTS, to}, {DNNL_ARG_DST, out}};
    CALL(primitive_execute(primitive, s->stream, 3, args));
    CALL(stream_wait(s->stream));
    return true;
}

static bool try_library(struct trial_session *s, const struct trial *trial)
{
    dnnl_primitive_desc_t pd;
    CALL(engine_create(&s->engine, dnnl_cpu, 0));
    CALL(stream_create(&s->stream, s->engine, dnnl_stream_default_flags));
    if (!describe_memory(s, trial) || !make_primitive(s, trial, &pd) || !compute(s, trial, pd))
        return false;
    bool right = true;
    for (size_t i = 0; i < sizeof result / sizeof *result; i++)
        right &= result[i] == expected[i]; // false for NaN
    dprintf(STDOUT_FILENO, right ? "right\n" : "wrong\n");
    return right;
}

struct trial_order {
    const struct trial *trial;
    bool capped;
};

static int trial_child(void *order_)
{
    const struct trial_order *order = order_;
    setenv("OMP_NUM_THREADS", "1", 1);
    unsetenv("ONEDNN_VERBOSE"); // it would mix with our lines
    unsetenv("DNNL_VERBOSE");
    if (order->capped)
        setenv("ONEDNN_MAX_CPU_ISA", ONEDNN_CAP, 1);
    const char *cap = getenv("ONEDNN_MAX_CPU_ISA");
    cap = cap ? cap : getenv("DNNL_MAX_CPU_ISA");
    if (cap && *cap)
        dprintf(STDOUT_FILENO, "cap %s\n", cap);

    struct libdnnl api;
    struct dl dl;
    struct dl_spec spec = libdnnl_spec;
    spec.user = LIBDNNL_TRIAL;
    if (dl_open(&dl, &spec, &api, NULL) != 0) {
        dprintf(STDOUT_FILENO, "absent\n");
        return 1;
    }
    const dnnl_version_t *version = api.version();
    dprintf(STDOUT_FILENO, "version %d.%d.%d\npath %s\n", version->major, version->minor,
            version->patch, dl.path);
    fill_pattern(source, source_bf16, sizeof source / sizeof *source, 3);
    fill_pattern(weights, weights_bf16, sizeof weights / sizeof *weights, 7);
    if (order->trial->convolution)
        expect_convolution();
    else
        expect_matmul();
    struct trial_session session = {.api = &api};
    return try_library(&session, order->trial) ? 0 : 1;
}

static int start_trial(struct proc *child, const struct trial *trial, bool capped, struct err *err)
{
    struct trial_order order = {trial, capped}; // the child gets a copy
    const struct proc_options options = {.timeout_ms = TRIAL_LIMIT_MS, .keep_max = 4096};
    // If no process can be started, the trial is skipped.
    int rc = proc_start_call(child, trial_child, &order, &options, NULL);
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}

int onednn_start(struct onednn *onednn, bool bf16, struct err *err)
{
    memset(onednn, 0, sizeof *onednn);
    for (int i = 0; i < ONEDNN_TRIALS; i++)
        if (bf16 || trials[i].type == dnnl_f32)
            TRY(start_trial(&onednn->children[i], &trials[i], false, err));
    return 0;
}

// A trial's end, and the lines it printed.
struct trial_answer {
    struct proc_result ended;
    const char *version, *path, *cap, *kernel, *problem;
    bool absent, right, wrong;
};

static void answer_release(struct trial_answer *a)
{
    proc_result_release(&a->ended);
}

static void read_lines(struct trial_answer *a)
{
    char *cursor = a->ended.out.data;
    for (char *line; (line = text_line(&cursor));) {
        const struct {
            const char *key;
            const char **value;
        } keys[] = {{"version ", &a->version},
                    {"path ", &a->path},
                    {"cap ", &a->cap},
                    {"kernel ", &a->kernel},
                    {"problem ", &a->problem}};
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if (strncmp(line, keys[i].key, strlen(keys[i].key)) == 0)
                *keys[i].value = line + strlen(keys[i].key);
        a->absent |= strcmp(line, "absent") == 0;
        a->right |= strcmp(line, "right") == 0;
        a->wrong |= strcmp(line, "wrong") == 0;
    }
}

static int add_kernel(struct machine_library *library, const struct trial *trial,
                      const struct trial_answer *a, struct err *err)
{
    struct machine_kernel *row = LIST_ADD(&library->kernels, err);
    if (!row)
        return ERR_MEMORY;
    SCOPED(buf_release) struct buf words = {0};
    bool ended = a->ended.exited && !a->ended.timed_out;
    if (ended && a->wrong)
        buf_adds(&words, "wrong result");
    else if (ended && a->problem)
        buf_adds(&words, a->problem);
    else if (!ended || !a->right)
        proc_result_words(&a->ended, &words);
    row->works = some_bool(ended && a->right);
    TRY(buf_check(&words, err));
    return TEXTS_SET(err, {&row->operation, trial->operation}, {&row->cap, a->cap},
                     {&row->kernel, a->kernel}, {&row->problem, buf_str(&words)});
}

// Records the trial's result; sets `*again` if a second try is worth it.
static int record_trial(struct proc *child, const struct trial *trial,
                        struct machine_library *library, bool *again, struct err *err)
{
    SCOPED(answer_release) struct trial_answer a = {0};
    *again = false;
    TRY(proc_finish(child, &a.ended, err));
    read_lines(&a);
    *again = !a.absent && !a.right && !a.problem && !a.cap;
    if (a.version && !library->version)
        TRY(text_set(&library->version, a.version, err));
    if (a.path && !library->path)
        TRY(text_set(&library->path, a.path, err));
    return a.absent ? 0 : add_kernel(library, trial, &a, err);
}

static int finish_trials(struct onednn *onednn, struct machine_library *library, struct err *err)
{
    bool again[ONEDNN_TRIALS] = {false};
    for (int i = 0; i < ONEDNN_TRIALS; i++)
        if (onednn->children[i].pid > 0)
            TRY(record_trial(&onednn->children[i], &trials[i], library, &again[i], err));
    for (int i = 0; i < ONEDNN_TRIALS; i++)
        if (again[i])
            TRY(start_trial(&onednn->children[i], &trials[i], true, err));
    for (int i = 0; i < ONEDNN_TRIALS; i++)
        if (again[i] && onednn->children[i].pid > 0)
            TRY(record_trial(&onednn->children[i], &trials[i], library, &again[i], err));
    return 0;
}

int onednn_finish(struct onednn *onednn, struct machine_cpu *cpu, struct err *err)
{
    struct machine_library *library = LIST_ADD(&cpu->libraries, err);
    if (!library)
        return ERR_MEMORY;
    TRY(finish_trials(onednn, library, err));
    if (library->kernels.count == 0)
        cpu->libraries.count--; // not installed
    else
        TRY(text_set(&library->name, "oneDNN", err));
    return 0;
}

void onednn_kill(struct onednn *onednn)
{
    for (int i = 0; i < ONEDNN_TRIALS; i++)
        proc_kill(&onednn->children[i]);
}
