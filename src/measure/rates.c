// SPDX-License-Identifier: Apache-2.0
#include "measure/rates.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "train/engine/engine.h"
#include "machine/cpu.h"
#include "machine/probe.h"
#include "tables/device.h"
#include "record/read.h"

#define PRODUCTS_MS 60000 // drivers that compile the kernels first need half a minute
#define LIBRARY_MS  20000 // five precisions take 3 s
#define FILE_MAX    ((size_t)1 << 20)
#define GPU         "gpu 0"

// ---- measuring

static struct machine_rate *add_row(struct machine_rates *to, const char *device, const char *name,
                                    const char *operation, const char *unit, struct err *err)
{
    struct machine_rate *row = LIST_ADD(&to->list, err);
    if (!row || TEXTS_SET(err, {&row->device, device}, {&row->name, name},
                          {&row->operation, operation}, {&row->unit, unit}) != 0)
        return NULL;
    return row;
}

// The peak of a GPU; a processor's is of all its cores, of which a rented machine has a few.
static struct maybe_real share_of_peak(const struct machine_rate *row)
{
    struct devices *devices = NULL;
    struct maybe_real share = {0};
    if (strncmp(row->device, "gpu", 3) != 0 || !row->name || devices_open(&devices, NULL) != 0)
        return share;
    const struct device *device = device_find(devices, row->name);
    double peak = device ? 1e9 * device_gflops(device, row->precision) : 0;
    if (peak > 0)
        share = some_real(row->per_s.v / peak);
    devices_close(devices);
    return share;
}

// `rc` and `why`: how measuring ended.
static int add_product(struct machine_rates *to, const char *device, const char *name,
                       const char *precision, const struct engine_product *product, int rc,
                       const char *why, struct err *err)
{
    if (rc == ERR_MISSING || rc == ERR_USAGE)
        return 0;
    struct machine_rate *row = add_row(to, device, name, "product", "flop/s", err);
    if (!row)
        return ERR_MEMORY;
    TRY(TEXTS_SET(err, {&row->precision, precision}, {&row->by, product->kernel}));
    if (rc != 0)
        return text_set(&row->problem, why, err);
    double size = (double)product->size;
    row->per_s = some_real(2 * size * size * size / product->seconds);
    row->size = some_int(product->size);
    row->share_of_peak = share_of_peak(row);
    if (product->threads > 0)
        row->threads = some_int(product->threads);
    return 0;
}

static int add_products(const struct engine *engine, const char *device, const char *name,
                        struct machine_rates *to, struct err *err)
{
    static const enum engine_precision order[] = {ENGINE_F32, ENGINE_TF32, ENGINE_BF16};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const struct engine_options options = {.precision = order[i]};
        struct engine_product product = {0};
        struct err why = {0};
        if (!(engine->precisions & 1U << order[i]))
            continue;
        int rc = engine->product(&options, &product, &why);
        TRY(add_product(to, device, name, engine_precisions[order[i]], &product, rc, why.text,
                        err));
    }
    return 0;
}

static int cpu_products(struct probe *probe, struct machine *machine, struct err *err)
{
    (void)probe;
    return add_products(&engine_cpu, "cpu", machine->cpu.model, &machine->rates, err);
}

// The engine takes the first GPU that CUDA shows.
static int gpu_products(struct probe *probe, struct machine *machine, struct err *err)
{
    (void)probe;
    return add_products(&engine_cuda, GPU, machine->bandwidth.gpus.items[0].name, &machine->rates,
                        err);
}

// The first of the machine's that works here: a library may be too new for the driver. ERR_MISSING:
// there is none.
static int open_blas(const struct engine_blas *blas, const struct machine *machine,
                     struct blas **out, struct err *why)
{
    const char *given = getenv(blas->variable);
    int rc = ERR_MISSING;
    if (given)
        return strcmp(given, "off") == 0 ? rc : blas->open(given, out, why) ? ERR_FAIL : 0;
    for (size_t i = 0; i < machine->gpu_libraries.count && rc != 0; i++) {
        const struct machine_gpu_library *l = &machine->gpu_libraries.items[i];
        if (strcmp(l->name, blas->name) == 0)
            rc = blas->open(l->path, out, why) == 0 ? 0 : ERR_FAIL;
    }
    return rc;
}

static int blas_products(struct probe *probe, struct machine *machine, struct err *err)
{
    (void)probe;
    const struct engine_blas *by = engine_cuda.blas;
    struct machine_rates *to = &machine->rates;
    const char *name = machine->bandwidth.gpus.items[0].name, *precision;
    struct engine_product product = {0};
    struct blas *blas;
    struct err why = {0};
    snprintf(product.kernel, sizeof product.kernel, "%s", by->name);
    int rc = open_blas(by, machine, &blas, &why);
    if (rc != 0)
        return add_product(to, GPU, name, NULL, &product, rc, why.text, err);
    for (int i = 0; rc == 0 && (precision = by->precision(i)); i++) {
        memset(&why, 0, sizeof why);
        int ended = by->product(blas, i, &product, &why);
        rc = add_product(to, GPU, name, precision, &product, ended, why.text, err);
    }
    by->close(blas);
    return rc;
}

// Appends the rows that `part` finds in a child process; `by` if it does not end well.
static int isolated(struct machine *machine, probe_part *part, int64_t limit_ms, const char *device,
                    const char *by, struct err *err)
{
    SCOPED(machine_release) struct machine got = {0};
    struct machine asked = *machine;
    SCOPED(buf_release) struct buf how = {0};
    memset(&asked.rates, 0, sizeof asked.rates); // a shallow copy, with rows of its own
    TRY(probe_isolated(NULL, &asked, part, limit_ms, &got, &how, err));
    if (how.len > 0) {
        struct machine_rate *row = add_row(&machine->rates, device, NULL, "product", NULL, err);
        TRY(row ? TEXTS_SET(err, {&row->problem, buf_str(&how)}, {&row->by, by}) : ERR_MEMORY);
    }
    for (size_t i = 0; i < got.rates.list.count; i++) {
        struct machine_rate *row = LIST_ADD(&machine->rates.list, err);
        if (!row)
            return ERR_MEMORY;
        *row = got.rates.list.items[i];
        memset(&got.rates.list.items[i], 0, sizeof *row);
    }
    return 0;
}

static int add_copy(struct machine_rates *to, const char *device, const char *name,
                    struct maybe_real per_s, struct maybe_int bytes, struct maybe_int threads,
                    struct err *err)
{
    if (!per_s.known)
        return 0;
    struct machine_rate *row = add_row(to, device, name, "copy", "byte/s", err);
    if (!row)
        return ERR_MEMORY;
    row->per_s = per_s;
    row->size = bytes;
    row->threads = threads;
    return 0;
}

int rates_measure(struct machine *machine, struct err *err)
{
    struct machine_rates *to = &machine->rates;
    const struct machine_bandwidth *band = &machine->bandwidth;
    char now[CLOCK_ISO_BYTES], device[32];
    clock_iso(clock_date_s(), now);
    TRY(TEXTS_SET(err, {&to->measured_at, now}, {&to->fingerprint, machine->fingerprint}));
    to->load_1min = machine->system.load_1min;
    to->list.known = true;
    struct machine_rate *thread =
        add_row(to, "cpu", machine->cpu.model, "multiply-add", "op/s", err);
    if (!thread)
        return ERR_MEMORY;
    thread->per_s = some_real(speed_thread());
    thread->threads = some_int(1);
    TRY(add_copy(to, "cpu", machine->cpu.model, band->memory_copy_bytes_per_s,
                 band->memory_copy_bytes, band->memory_threads, err));
    TRY(isolated(machine, cpu_products, PRODUCTS_MS, "cpu", "oneDNN", err));
    for (size_t i = 0; i < band->gpus.count; i++) {
        const struct machine_gpu_bandwidth *gpu = &band->gpus.items[i];
        snprintf(device, sizeof device, "gpu %lld", (long long)gpu->index.v);
        TRY(add_copy(to, device, gpu->name, gpu->device_copy_bytes_per_s, gpu->device_copy_bytes,
                     (struct maybe_int){0}, err));
    }
    if (band->gpus.count == 0 || !band->gpus.items[0].name)
        return 0;
    TRY(isolated(machine, gpu_products, PRODUCTS_MS, GPU, "fare's kernels", err));
    return isolated(machine, blas_products, LIBRARY_MS, GPU, engine_cuda.blas->name, err);
}

// ---- keeping

static int path_of(const char *fingerprint, bool make, struct buf *path, struct err *err)
{
    for (const char *p = fingerprint; *p; p++)
        if (!isxdigit((unsigned char)*p))
            return err_set(err, ERR_FORMAT, "'%s' is no fingerprint", fingerprint);
    TRY(folder_data(path, err));
    buf_adds(path, "/rates");
    if (make)
        TRY(fs_mkdirs_private(buf_str(path), err));
    buf_printf(path, "/%s.json", fingerprint);
    return buf_check(path, err);
}

int rates_keep(const struct machine_rates *rates, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0}, text = {0};
    TRY(path_of(rates->fingerprint, true, &path, err));
    TRY(record_to_text(machine_rates_fields, rates, &text, err));
    return fs_write(buf_str(&path), buf_str(&text), text.len, err);
}

int rates_recall(const char *fingerprint, struct machine_rates *out, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0}, text = {0};
    struct err why = {0};
    int rc = fingerprint ? path_of(fingerprint, false, &path, &why) : ERR_MISSING;
    if (rc == 0)
        rc = fs_read(buf_str(&path), FILE_MAX, &text, &why);
    if (rc == 0)
        rc = record_judge_text(machine_rates_fields, buf_str(&text), text.len, &why);
    if (rc == 0)
        rc = record_from_text(machine_rates_fields, buf_str(&text), text.len, out, &why);
    bool whole = rc == 0 && out->fingerprint && strcmp(out->fingerprint, fingerprint) == 0;
    for (size_t i = 0; whole && i < out->list.count; i++)
        whole = out->list.items[i].device && out->list.items[i].operation;
    if (!whole)
        record_release(machine_rates_fields, out);
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}
