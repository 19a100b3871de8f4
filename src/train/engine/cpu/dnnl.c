// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cpu/dnnl.h"

#include <assert.h>
#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "train/engine/cpu/team.h"
#include "train/engine/shared.h"
#include "machine/onednn.h"
#include "record/machine.h"

static struct libdnnl api;
static dnnl_engine_t engine; // null until dnn_open() succeeds
static dnnl_stream_t stream;

static const char *status_words(dnnl_status_t status)
{
    switch (status) {
    case dnnl_out_of_memory:
        return "out of memory";
    case dnnl_invalid_arguments:
        return "invalid arguments";
    case dnnl_unimplemented:
        return "not implemented";
    default:
        return "run-time error";
    }
}

static int dnn_failed(struct err *err, const char *what, const char *call, dnnl_status_t status)
{
    if (status == dnnl_out_of_memory)
        return err_memory(err);
    return err_set(err, status == dnnl_unimplemented ? ERR_MISSING : ERR_FAIL, "oneDNN: %s%s%s: %s",
                   what ? what : "", what ? ": " : "", call, status_words(status));
}

// Runs the call; if it fails, returns an error that names it.
#define CALL(what, call)                                                                           \
    do {                                                                                           \
        dnnl_status_t call_status = api.call;                                                      \
        if (call_status != dnnl_success)                                                           \
            return dnn_failed(err, what, "dnnl_" #call, call_status);                              \
    } while (0)

// ---- opening ----

// What the children found. A child forked after our threads started would lack them, so it uses one
// thread.
static struct {
    bool tried;
    bool bf16, capped;
    char problem[128];
} trial;

static void read_trial(const struct machine_cpu *cpu)
{
    trial.bf16 = cpu->libraries.count > 0;
    for (size_t i = 0; i < cpu->libraries.count; i++) {
        const struct machine_library *library = &cpu->libraries.items[i];
        int works = 0;
        for (size_t k = 0; k < library->kernels.count; k++) {
            const struct machine_kernel *kernel = &library->kernels.items[k];
            if (strncmp(kernel->operation, "bf16", 4) != 0)
                continue;
            if (kernel->works.known && kernel->works.v) {
                works++;
                trial.capped |= kernel->cap != NULL;
            } else if (!trial.problem[0] && kernel->problem) {
                size_t length = strnlen(kernel->problem, sizeof trial.problem - 1);
                memcpy(trial.problem, kernel->problem, length);
            }
        }
        trial.bf16 = works == ONEDNN_TRIALS - 1; // all but the one in f32
    }
}

static int try_kernels(struct err *err)
{
    if (trial.tried)
        return 0;
    struct onednn onednn;
    SCOPED(machine_release) struct machine machine = {0};
    int threads = team_size();
    team_set(1);
    int rc = onednn_start(&onednn, true, err);
    if (rc == 0)
        rc = onednn_finish(&onednn, &machine.cpu, err);
    onednn_kill(&onednn);
    team_set(threads);
    if (rc == 0) {
        read_trial(&machine.cpu);
        trial.tried = true;
    }
    return rc;
}

static bool advertises_amx(void)
{
    unsigned int a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & 1u << 24);
}

int dnn_open(struct err *err)
{
    struct dl_spec spec = libdnnl_spec;
    static struct dl dl; // stays open
    spec.user = LIBDNNL_TRAIN;
    if (engine)
        return 0;
    if (advertises_amx())
        TRY(try_kernels(err));
    if (!dl.handle)
        TRY(dl_open(&dl, &spec, &api, err));
    // Keep a user's own cap: setting one here would replace it.
    if (trial.capped && !getenv("ONEDNN_MAX_CPU_ISA") && !getenv("DNNL_MAX_CPU_ISA"))
        CALL(NULL, set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16));
    CALL(NULL, engine_create(&engine, dnnl_cpu, 0));
    CALL(NULL, stream_create(&stream, engine, dnnl_stream_default_flags));
    return 0;
}

int dnn_try_bf16(struct err *err)
{
    int rc = try_kernels(err);
    if (rc == 0 && !trial.bf16) {
        rc = err_set(err, ERR_MISSING, "oneDNN's bfloat16 kernels do not work here%s%s",
                     trial.problem[0] ? ": " : "", trial.problem);
        err_hint(err, "use --precision f32");
    }
    return rc;
}

int dnn_block(void)
{
    // Instruction sets are sums of bits; the newer ones hold those of AVX-512 (core).
    dnnl_cpu_isa_t isa = api.get_effective_cpu_isa();
    return (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core ? 16 : 8;
}

bool dnn_describe(char *version, size_t version_size, char *kernels, size_t kernels_size)
{
    static const struct {
        dnnl_cpu_isa_t isa;
        const char *name;
    } sets[] = {
        {dnnl_cpu_isa_avx512_core_amx, "avx512_core_amx"},
        {dnnl_cpu_isa_avx512_core_bf16, "avx512_core_bf16"},
        {dnnl_cpu_isa_avx512_core_vnni, "avx512_core_vnni"},
        {dnnl_cpu_isa_avx512_core, "avx512_core"},
        {dnnl_cpu_isa_avx2, "avx2"},
        {dnnl_cpu_isa_avx, "avx"},
        {dnnl_cpu_isa_sse41, "sse41"},
    };
    if (!engine)
        return false;
    const dnnl_version_t *v = api.version();
    snprintf(version, version_size, "%d.%d.%d", v->major, v->minor, v->patch);
    snprintf(kernels, kernels_size, "unknown");
    dnnl_cpu_isa_t isa = api.get_effective_cpu_isa();
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if ((isa & sets[i].isa) == sets[i].isa) {
            snprintf(kernels, kernels_size, "%s", sets[i].name);
            break;
        }
    return true;
}

dnnl_format_tag_t dnn_image_tag(void)
{
    return dnn_block() == 16 ? dnnl_nChw16c : dnnl_nChw8c;
}

// ---- descriptions ----

dnnl_memory_desc_t dnn_tensor(int dims, const int64_t *dim, bool bf16, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t md;
    dnnl_status_t status =
        api.memory_desc_init_by_tag(&md, dims, dim, bf16 ? dnnl_bf16 : dnnl_f32, tag);
    assert(status == dnnl_success);
    (void)status;
    return md;
}

bool dnn_same(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b)
{
    return api.memory_desc_equal(a, b);
}

size_t dnn_bytes(const dnnl_memory_desc_t *md)
{
    return api.memory_desc_get_size(md);
}

int64_t dnn_offset(const dnnl_memory_desc_t *md, const int64_t *at)
{
    const dnnl_blocking_desc_t *blocking = &md->format_desc.blocking;
    assert(md->format_kind == dnnl_blocked);
    int64_t outer[DNNL_MAX_NDIMS], offset = md->offset0, inner = 1;
    for (int i = 0; i < md->ndims; i++)
        outer[i] = at[i] + md->padded_offsets[i];
    for (int b = blocking->inner_nblks - 1; b >= 0; b--) { // the innermost is the last
        int64_t size = blocking->inner_blks[b], dim = blocking->inner_idxs[b];
        offset += outer[dim] % size * inner;
        outer[dim] /= size;
        inner *= size;
    }
    for (int i = 0; i < md->ndims; i++)
        offset += outer[i] * blocking->strides[i];
    return offset;
}

// ---- primitives ----

// What is done with a result: nothing, relu, or it is added to what is there. Primitives have their
// scratch memory from a plan, products from the library.
enum form { PRIMITIVE, WITH_RELU, PRODUCT, PRODUCT_ADDED };

static int make_attr(dnnl_primitive_attr_t *attr, enum form form, struct err *err)
{
    CALL(NULL, primitive_attr_create(attr));
    if (form <= WITH_RELU)
        CALL(NULL, primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user));
    if (form == PRIMITIVE || form == PRODUCT)
        return 0;
    dnnl_post_ops_t ops;
    CALL(NULL, post_ops_create(&ops));
    dnnl_status_t status = form == WITH_RELU
                               ? api.post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_relu, 0, 0)
                               : api.post_ops_append_sum(ops, 1.0f);
    if (status == dnnl_success)
        status = api.primitive_attr_set_post_ops(*attr, ops);
    api.post_ops_destroy(ops);
    return status == dnnl_success
               ? 0
               : dnn_failed(err, NULL, "dnnl_primitive_attr_set_post_ops", status);
}

static int make_desc(struct dnn_primitive *p, const char *what, const_dnnl_op_desc_t op,
                     enum form form, const struct dnn_primitive *hint, struct err *err)
{
    dnnl_primitive_attr_t attr = NULL;
    p->what = what;
    int rc = make_attr(&attr, form, err);
    if (rc == 0) {
        dnnl_status_t status =
            api.primitive_desc_create(&p->desc, op, attr, engine, hint ? hint->desc : NULL);
        if (status != dnnl_success) {
            p->desc = NULL;
            rc = dnn_failed(err, what, "dnnl_primitive_desc_create", status);
        }
    }
    if (attr)
        api.primitive_attr_destroy(attr);
    return rc;
}

static const dnnl_memory_desc_t *optional(const dnnl_memory_desc_t *md)
{
    return md->ndims ? md : NULL;
}

int dnn_conv(struct dnn_primitive *p, enum dnn_way way, const struct dnn_conv *c,
             const struct dnn_primitive *hint, struct err *err)
{
    static const char *const names[] = {"convolution forward", "convolution backward data",
                                        "convolution backward weights"};
    const char *what = names[way];
    dnnl_convolution_desc_t op;
    if (way == DNN_FORWARD)
        CALL(what, convolution_forward_desc_init(&op, dnnl_forward_training, c->algorithm, &c->src,
                                                 &c->weights, optional(&c->bias), &c->dst,
                                                 c->strides, c->pad_before, c->pad_after));
    else if (way == DNN_DATA)
        CALL(what,
             convolution_backward_data_desc_init(&op, c->algorithm, &c->src, &c->weights, &c->dst,
                                                 c->strides, c->pad_before, c->pad_after));
    else
        CALL(what, convolution_backward_weights_desc_init(&op, c->algorithm, &c->src, &c->weights,
                                                          optional(&c->bias), &c->dst, c->strides,
                                                          c->pad_before, c->pad_after));
    return make_desc(p, what, &op, way == DNN_FORWARD && c->relu ? WITH_RELU : PRIMITIVE, hint,
                     err);
}

int dnn_dense(struct dnn_primitive *p, enum dnn_way way, const struct dnn_dense *d,
              const struct dnn_primitive *hint, struct err *err)
{
    static const char *const names[] = {"inner product forward", "inner product backward data",
                                        "inner product backward weights"};
    const char *what = names[way];
    dnnl_inner_product_desc_t op;
    if (way == DNN_FORWARD)
        CALL(what, inner_product_forward_desc_init(&op, dnnl_forward_training, &d->src, &d->weights,
                                                   optional(&d->bias), &d->dst));
    else if (way == DNN_DATA)
        CALL(what, inner_product_backward_data_desc_init(&op, &d->src, &d->weights, &d->dst));
    else
        CALL(what, inner_product_backward_weights_desc_init(&op, &d->src, &d->weights,
                                                            optional(&d->bias), &d->dst));
    return make_desc(p, what, &op, way == DNN_FORWARD && d->relu ? WITH_RELU : PRIMITIVE, hint,
                     err);
}

int dnn_multiply(const struct dnn_product *p, struct err *err)
{
    CALL("product", sgemm(p->a.turned ? 'T' : 'N', p->b.turned ? 'T' : 'N', p->size.m, p->size.n,
                          p->size.k, 1.0F, p->a.at, p->a.row, p->b.at, p->b.row,
                          p->add ? 1.0F : 0.0F, p->c.at, p->c.row));
    return 0;
}

// The library keeps the primitives it has made, so that making one again takes microseconds.
int dnn_multiply_bf16(const struct dnn_product *p, const uint16_t *a, const uint16_t *b,
                      struct err *err)
{
    SCOPED(dnn_release) struct dnn_primitive product = {.what = "product"};
    const int64_t m_k[2] = {p->size.m, p->size.k}, k_n[2] = {p->size.k, p->size.n},
                  m_n[2] = {p->size.m, p->size.n};
    dnnl_memory_desc_t src = dnn_tensor(2, m_k, true, p->a.turned ? dnnl_ba : dnnl_ab);
    dnnl_memory_desc_t weights = dnn_tensor(2, k_n, true, p->b.turned ? dnnl_ba : dnnl_ab);
    dnnl_memory_desc_t dst = dnn_tensor(2, m_n, false, dnnl_ab);
    dnnl_matmul_desc_t op;
    assert(p->c.row == p->size.n);
    CALL(product.what, matmul_desc_init(&op, &src, &weights, NULL, &dst));
    TRY(make_desc(&product, product.what, &op, p->add ? PRODUCT_ADDED : PRODUCT, NULL, err));
    TRY(dnn_compile(&product, err));
    // The library takes inputs without const and does not change them.
    TRY(dnn_bind(&product, DNNL_ARG_SRC, &src, (void *)(uintptr_t)a, err));
    TRY(dnn_bind(&product, DNNL_ARG_WEIGHTS, &weights, (void *)(uintptr_t)b, err));
    TRY(dnn_bind(&product, DNNL_ARG_DST, &dst, p->c.at, err));
    return dnn_run(&product, err);
}

int dnn_reorder(struct dnn_primitive *p, const dnnl_memory_desc_t *from,
                const dnnl_memory_desc_t *to, struct err *err)
{
    p->what = "reorder";
    CALL(p->what, reorder_primitive_desc_create(&p->desc, from, engine, to, engine, NULL));
    return 0;
}

dnnl_memory_desc_t dnn_chosen(const struct dnn_primitive *p, dnnl_query_t which)
{
    const dnnl_memory_desc_t *md = api.primitive_desc_query_md(p->desc, which, 0);
    assert(md);
    return *md;
}

bool dnn_is_reference(const struct dnn_primitive *p)
{
    const char *name = NULL;
    return api.primitive_desc_query(p->desc, dnnl_query_impl_info_str, 0, (void *)&name) ==
               dnnl_success &&
           name && strncmp(name, "ref", 3) == 0;
}

size_t dnn_scratch_bytes(const struct dnn_primitive *p)
{
    const dnnl_memory_desc_t *md =
        p->desc ? api.primitive_desc_query_md(p->desc, dnnl_query_scratchpad_md, 0) : NULL;
    return md ? api.memory_desc_get_size(md) : 0;
}

int dnn_compile(struct dnn_primitive *p, struct err *err)
{
    CALL(p->what, primitive_create(&p->primitive, p->desc));
    return 0;
}

int dnn_bind(struct dnn_primitive *p, int arg, const dnnl_memory_desc_t *md, void *data,
             struct err *err)
{
    assert(p->arg_count < DNN_ARGS_MAX);
    dnnl_exec_arg_t *to = &p->args[p->arg_count];
    to->arg = arg;
    CALL(p->what, memory_create(&to->memory, md, engine, data));
    p->arg_count++;
    return 0;
}

int dnn_bind_scratch(struct dnn_primitive *p, void *data, struct err *err)
{
    if (dnn_scratch_bytes(p) == 0)
        return 0;
    dnnl_memory_desc_t md = dnn_chosen(p, dnnl_query_scratchpad_md);
    return dnn_bind(p, DNNL_ARG_SCRATCHPAD, &md, data, err);
}

int dnn_rebind(struct dnn_primitive *p, int arg, const void *data, struct err *err)
{
    for (int i = 0; i < p->arg_count; i++)
        if (p->args[i].arg == arg) {
            // The library takes inputs without const and does not change them.
            CALL(p->what, memory_set_data_handle(p->args[i].memory, (void *)(uintptr_t)data));
            return 0;
        }
    assert(false);
    return 0;
}

int dnn_run(struct dnn_primitive *p, struct err *err)
{
    CALL(p->what, primitive_execute(p->primitive, stream, p->arg_count, p->args));
    return 0;
}

void dnn_release(struct dnn_primitive *p)
{
    for (int i = 0; i < p->arg_count; i++)
        api.memory_destroy(p->args[i].memory);
    if (p->primitive)
        api.primitive_destroy(p->primitive);
    if (p->desc)
        api.primitive_desc_destroy(p->desc);
    memset(p, 0, sizeof *p);
}

// ---- a product of square matrices, in the layouts that oneDNN prefers ----

enum { A, B, Y, SCRATCH, PARTS }; // of a product

struct product_job {
    bool bf16;
    struct dnn_primitive primitive;
    void *memory[PARTS];
};

static void product_release(struct product_job *job)
{
    dnn_release(&job->primitive);
    for (int i = 0; i < PARTS; i++) {
        free(job->memory[i]);
        job->memory[i] = NULL;
    }
}

static void *product_memory(size_t bytes)
{
    return aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
}

// Whatever the layout, it is a matrix of such numbers; in bf16 a number is the upper half of an
// f32, so that two of them have one's room.
static int fill_factor(struct product_job *job, int part, const dnnl_memory_desc_t *md,
                       struct err *err)
{
    size_t bytes = dnn_bytes(md), count = bytes / (job->bf16 ? 2 : 4);
    SCOPED(free_pointer) float *values = malloc(count * sizeof *values);
    uint8_t *to = job->memory[part] = product_memory(bytes);
    if (!values || !to)
        return err_memory(err);
    product_fill(values, (int64_t)count);
    if (!job->bf16)
        memcpy(to, values, count * 4);
    for (size_t i = 0; job->bf16 && i < count; i++)
        memcpy(to + 2 * i, (const uint8_t *)&values[i] + 2, 2);
    return 0;
}

static int product_prepare(void *context, int64_t size, struct err *err)
{
    struct product_job *job = context;
    struct dnn_primitive *p = &job->primitive;
    const int64_t dim[2] = {size, size};
    dnnl_memory_desc_t any = dnn_tensor(2, dim, job->bf16, dnnl_format_tag_any);
    const struct dnn_dense dense = {.src = any, .weights = any, .dst = any};
    static const struct {
        dnnl_query_t which;
        int arg;
    } operands[] = {[A] = {dnnl_query_src_md, DNNL_ARG_SRC},
                    [B] = {dnnl_query_weights_md, DNNL_ARG_WEIGHTS},
                    [Y] = {dnnl_query_dst_md, DNNL_ARG_DST}};
    product_release(job);
    TRY(dnn_dense(p, DNN_FORWARD, &dense, NULL, err));
    TRY(dnn_compile(p, err));
    for (int i = A; i <= Y; i++) {
        dnnl_memory_desc_t md = dnn_chosen(p, operands[i].which);
        TRY(fill_factor(job, i, &md, err));
        TRY(dnn_bind(p, operands[i].arg, &md, job->memory[i], err));
    }
    job->memory[SCRATCH] = product_memory(dnn_scratch_bytes(p));
    return job->memory[SCRATCH] ? dnn_bind_scratch(p, job->memory[SCRATCH], err) : err_memory(err);
}

static int product_run(void *context, int64_t times, double *seconds, struct err *err)
{
    struct product_job *job = context;
    int64_t began_ns = clock_now_ns();
    for (int64_t i = 0; i < times; i++)
        TRY(dnn_run(&job->primitive, err));
    *seconds = (double)(clock_now_ns() - began_ns) * 1e-9;
    return 0;
}

int cpu_product(const struct engine_options *options, struct engine_product *out, struct err *err)
{
    struct product_job job = {.bf16 = options->precision == ENGINE_BF16};
    const struct product_work work = {
        .context = &job, .prepare = product_prepare, .run = product_run};
    out->threads = team_set(options->threads);
    TRY(dnn_open(err));
    if (job.bf16)
        TRY(dnn_try_bf16(err));
    int rc = product_time(&work, out, err);
    char version[32], kernels[48];
    if (rc == 0 && dnn_describe(version, sizeof version, kernels, sizeof kernels))
        snprintf(out->kernel, sizeof out->kernel, "oneDNN %s %s", version, kernels);
    product_release(&job);
    return rc;
}
