// SPDX-License-Identifier: Apache-2.0
#include "record/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "record/reconcile.h"

#define RECORD_TABLES
#include "record/run.def"

const char *const run_ends[] = {"finished", "sampled", "stopped", "interrupted",
                                "failed",   "killed",  NULL};

int run_begin_record(struct run *run, int64_t date_s, struct err *err)
{
    char iso[CLOCK_ISO_BYTES], id[48];
    clock_iso(date_s, iso);
    unsigned char random[6];
    rng_entropy(random, sizeof random);
    // 2026-11-15T07:45:12Z → 20261115T074512Z-3f9a2c81d04e
    snprintf(id, sizeof id, "%.4s%.2s%.2sT%.2s%.2s%.2sZ-%02x%02x%02x%02x%02x%02x", iso, iso + 5,
             iso + 8, iso + 11, iso + 14, iso + 17, random[0], random[1], random[2], random[3],
             random[4], random[5]);
    return TEXTS_SET(err, {&run->schema, RUN_SCHEMA}, {&run->id, id}, {&run->started, iso});
}

// "NVIDIA H200"; several models are joined.
static int set_gpus(struct run_machine *to, const struct machine *machine, struct err *err)
{
    struct buf names = {0};
    const struct machine_gpu *last = NULL;
    int64_t count = 0;
    for (size_t i = 0; i < machine->gpus.count; i++) {
        const struct machine_gpu *gpu = &machine->gpus.items[i];
        if (!gpu->name)
            continue;
        if (!last || strcmp(last->name, gpu->name) != 0)
            buf_printf(&names, "%s%s", last ? " + " : "", gpu->name);
        if (!last) {
            to->gpu_memory_bytes = gpu->memory_total_bytes;
            if (text_set(&to->driver, gpu->driver, err) != 0)
                names.failed = true;
        }
        last = gpu;
        count++;
    }
    int rc = buf_check(&names, err);
    if (rc == 0 && names.len > 0)
        rc = text_set(&to->gpu, buf_str(&names), err);
    if (machine->gpus.known)
        to->gpus = some_int(count);
    buf_release(&names);
    return rc;
}

int run_set_machine(struct run *run, const struct machine *machine, struct err *err)
{
    struct run_machine *to = &run->machine;
    to->usable_cpus = machine->cpu.usable_cpus;
    to->memory_bytes = machine->memory.usable_bytes;
    int rc = TEXTS_SET(err, {&to->fingerprint, machine->fingerprint},
                       {&to->cpu, machine->cpu.model}, {&to->provider, machine->where.provider},
                       {&to->instance_type, machine->where.instance_type},
                       {&to->region, machine->where.region},
                       {&to->virtualisation, machine->system.virtualisation},
                       {&to->container, machine->system.container});
    return rc != 0 ? rc : set_gpus(to, machine, err);
}

void run_hashed_name(const char *name, char out[RUN_HASHED_BYTES])
{
    char hex[SHA256_HEX_BYTES];
    sha256_hex_of(name, strlen(name), hex);
    snprintf(out, RUN_HASHED_BYTES, "sha256:%.16s", hex);
}

const char *run_label(const struct run *run, const char *key)
{
    for (size_t i = 0; i < run->labels.count; i++)
        if (run->labels.items[i].key && strcmp(run->labels.items[i].key, key) == 0)
            return run->labels.items[i].value;
    return NULL;
}

double run_relative_speed(const struct run *run)
{
    const char *text = run_label(run, "relative_speed");
    char *end = NULL;
    double speed = text && run_label(run, "relative_to") ? strtod(text, &end) : 0;
    return end && end != text && *end == '\0' && speed > 1e-6 && speed < 1e9 ? speed : 0;
}

const struct run_quality *run_score(const struct run *run)
{
    const struct run_quality *first = run->quality.count > 0 ? run->quality.items : NULL;
    return first && !run->test_accuracy.known && first->metric && first->value.known ? first : NULL;
}

void run_quality_words(const struct run *run, char out[RUN_QUALITY_BYTES])
{
    size_t len = 0;
    out[0] = '\0';
    if (run->test_accuracy.known)
        snprintf(out, RUN_QUALITY_BYTES, "%.2f %%", run->test_accuracy.v * 100);
    for (size_t i = 0; run_score(run) && i < run->quality.count && len < RUN_QUALITY_BYTES; i++) {
        const struct run_quality *q = &run->quality.items[i];
        if (q->metric && q->value.known)
            len += (size_t)snprintf(out + len, RUN_QUALITY_BYTES - len, "%s%.30s %.4g",
                                    len > 0 ? ", " : "", q->metric, q->value.v);
    }
}

const char *run_gpu_name(const struct run *run)
{
    static const char *const common[] = {"NVIDIA ", "GeForce ", "Tesla ", "Quadro "};
    const char *gpu = run->machine.gpu;
    for (size_t i = 0; gpu && i < sizeof common / sizeof *common; i++)
        if (strncmp(gpu, common[i], strlen(common[i])) == 0)
            gpu += strlen(common[i]);
    return gpu;
}

const char *run_place(const struct run *run)
{
    const struct run_machine *m = &run->machine;
    bool on_cpu =
        (run->use.gpus.known && run->use.gpus.v == 0) ||
        (run->engine && (strcmp(run->engine, "cpu") == 0 || strcmp(run->engine, "ref") == 0));
    const char *gpu = on_cpu ? NULL : run_gpu_name(run);
    return m->name ? m->name : gpu ? gpu : m->instance_type ? m->instance_type : m->cpu;
}

void run_derive(struct run *run)
{
    run_reconcile(run);
    double ms = run->steady.step_ms.known ? run->steady.step_ms.v : run->step_ms.v;
    if (run->step_flops.known && ms > 0)
        run->use.flops_per_s = some_real(run->step_flops.v / (ms / 1e3));
    if (run->step_tokens.known && ms > 0)
        run->tokens_per_s = some_real((double)run->step_tokens.v / (ms / 1e3));
    // Power during the steps only, without start-up.
    double before_s = 0, watts = 0;
    int64_t looks = 0;
    const struct maybe_int before[] = {run->phases.setup_ns, run->phases.kernels_ns,
                                       run->phases.load_ns, run->phases.device_ns};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        before_s += before[i].known ? (double)before[i].v / 1e9 : 0;
    for (size_t i = 0; i < run->samples.count; i++) {
        const struct run_sample *sample = &run->samples.items[i];
        if (sample->power_w.known && sample->at_s.known && sample->at_s.v >= before_s) {
            watts += sample->power_w.v;
            looks++;
        }
    }
    if (looks > 0 && ms > 0)
        run->use.joules_per_step = some_real(watts / (double)looks * ms / 1e3);
    if (run->use.joules_per_step.known && run->step_tokens.known && run->step_tokens.v > 0)
        run->use.joules_per_mtoken =
            some_real(run->use.joules_per_step.v / (double)run->step_tokens.v * 1e6);
}

bool run_million_tokens(const struct run *run, int64_t nano, int64_t *each)
{
    if (!run->step_tokens.known || !run->total_steps.known || run->step_tokens.v < 1 ||
        run->total_steps.v < 1 || run->total_steps.v > INT64_MAX / run->step_tokens.v)
        return false;
    return money_scale(nano, 1000000, run->step_tokens.v * run->total_steps.v, MONEY_HALF_EVEN,
                       each, NULL) == 0;
}

int64_t run_ordered_ns(const struct run *run)
{
    bool ordered = run->boot_from && strcmp(run->boot_from, RUN_BOOT_ORDERED) == 0;
    return ordered && run->phases.boot_ns.known ? run->phases.boot_ns.v : 0;
}

int run_taint(struct run *run, const char *text, struct err *err)
{
    for (size_t i = 0; i < run->taints.count; i++)
        if (strcmp(run->taints.items[i], text) == 0)
            return 0;
    return texts_add(&run->taints, text, err);
}

bool run_failed(const struct run *run)
{
    return run->ended && strcmp(run->ended, "failed") == 0;
}

bool run_shipped(const struct run *run)
{
    return run->source && run->id && strncmp(run->id, "published-", 10) == 0;
}

bool run_unknown_device(const struct run *run)
{
    const struct run_machine *m = &run->machine;
    return run->source && !run_shipped(run) && !m->gpu && !m->gpus.known && !m->cpu &&
           !run->use.gpus.known;
}

bool run_given(const struct run *run)
{
    return run->ended && strcmp(run->ended, RUN_GIVEN) == 0;
}

bool run_stopped(const struct run *run)
{
    return run->ended && (strcmp(run->ended, "stopped") == 0 || strcmp(run->ended, "killed") == 0 ||
                          strcmp(run->ended, "interrupted") == 0);
}
