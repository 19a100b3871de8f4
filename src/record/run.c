// SPDX-License-Identifier: Apache-2.0
#include "record/run.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "record/read.h"
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
    SCOPED(buf_release) struct buf names = {0};
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
    TRY(buf_check(&names, err));
    if (names.len > 0)
        TRY(text_set(&to->gpu, buf_str(&names), err));
    if (machine->gpus.known)
        to->gpus = some_int(count);
    return 0;
}

int run_set_machine(struct run *run, const struct machine *machine, struct err *err)
{
    struct run_machine *to = &run->machine;
    to->usable_cpus = machine->cpu.usable_cpus;
    to->memory_bytes = machine->memory.usable_bytes;
    TRY(TEXTS_SET(err, {&to->fingerprint, machine->fingerprint}, {&to->cpu, machine->cpu.model},
                  {&to->provider, machine->where.provider},
                  {&to->instance_type, machine->where.instance_type},
                  {&to->region, machine->where.region},
                  {&to->virtualisation, machine->system.virtualisation},
                  {&to->container, machine->system.container}));
    return set_gpus(to, machine, err);
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

bool run_throttled(const struct run *run)
{
    for (size_t i = 0; i < run->taints.count; i++)
        if (strstr(run->taints.items[i], RUN_THROTTLED))
            return true;
    return false;
}

bool run_shipped_name(const char *id)
{
    return id && strncmp(id, RUN_SHIPPED, strlen(RUN_SHIPPED)) == 0;
}

bool run_shipped(const struct run *run)
{
    return run->source && run_shipped_name(run->id);
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

// ---- false figures of earlier builds

// The members that tell whether a record has a fault.
static struct record_part signs_part = {
    .of = run_fields,
    .members = "schema account.busy_share account.full_step_ms source step_ms phases projection "
               "use.gpus use.other_cpu_percent step_plot_ms"};

static run_cost_fn *cost_again;

void run_correct_costs(run_cost_fn *cost)
{
    cost_again = cost;
}

static int note(json_t *run, const char *what, struct err *err)
{
    json_t *list = json_object_get(run, "corrected");
    if (!json_is_array(list)) {
        list = json_array();
        if (json_object_set_new(run, "corrected", list) != 0)
            return err_memory(err);
    }
    return json_array_append_new(list, json_string(what)) == 0 ? 0 : err_memory(err);
}

// ---- boot and cost

// Records without a schema are of that time, or of other programs.
static bool is_old(const struct run *s)
{
    return !s->schema || strcmp(s->schema, RUN_SCHEMA) != 0;
}

static bool has_false_boot(const struct run *s)
{
    return s->phases.boot_ns.known && is_old(s);
}

// A start of a saved job was charged for its own time alone.
static bool is_attempt(const json_t *run)
{
    const char *id = json_string_value(json_object_get(run, "id"));
    const json_t *attempts = json_object_get(json_object_get(run, "saving"), "attempts");
    for (size_t i = 0; id && i < json_array_size(attempts); i++) {
        const json_t *attempt = json_array_get(attempts, i);
        const char *of = json_string_value(json_object_get(attempt, "run"));
        if (of && strcmp(of, id) == 0 && json_object_get(attempt, "usd"))
            return true;
    }
    return false;
}

static int to_record(const json_t *json, struct run *run, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    TRY(json_to_text(json, JSON_COMPACT, &text, err));
    return record_from_text(run_fields, buf_str(&text), text.len, run, err);
}

// Of the run or, if it was killed, until then.
static int set_cost(json_t *json, bool ended, struct err *err)
{
    struct run run = {0};
    char usd[MONEY_BYTES];
    if (!cost_again)
        return 0;
    int rc = to_record(json, &run, err);
    int64_t nano = -1;
    if (rc == 0)
        rc = cost_again(&run, &nano, err);
    if (rc == 0 && nano >= 0) {
        json_t *to = json_object_get(json, ended ? "spent" : "live");
        money_text(nano, usd);
        if (json_object_set_new(to, ended ? "usd" : "bill_usd", json_string(usd)) != 0)
            rc = err_memory(err);
    }
    record_release(run_fields, &run);
    return rc;
}

static int mend_boot(const struct run *signs, json_t *run, struct err *err)
{
    static const char *const bills[] = {"bill_usd", "projected_usd", "whole_usd"};
    (void)signs;
    json_t *phases = json_object_get(run, "phases"), *live = json_object_get(run, "live");
    if (json_object_set(run, "idle_before_ns", json_object_get(phases, "boot_ns")) != 0)
        return err_memory(err);
    json_object_del(phases, "boot_ns");
    json_object_del(run, "boot_from");
    TRY(note(run, "boot", err));
    bool ended = !is_attempt(run) && json_object_del(json_object_get(run, "spent"), "usd") == 0;
    bool killed = false;
    for (size_t i = 0; i < sizeof bills / sizeof *bills; i++)
        killed |= json_object_del(live, bills[i]) == 0;
    if (!ended && !killed)
        return 0;
    TRY(note(run, "cost", err));
    return set_cost(run, ended, err);
}

// ---- the interval of a projection

static bool has_reversed_interval(const struct run *s)
{
    const struct run_projection *p = &s->projection;
    return p->low_s.known && p->high_s.known && p->low_s.v > p->high_s.v;
}

static double real_of(const json_t *object, const char *key, double otherwise)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

static int set_real(json_t *object, const char *key, double value, struct err *err)
{
    return json_object_set_new(object, key, json_real(value)) == 0 ? 0 : err_memory(err);
}

// The lower end was the time that the sample had taken, the upper end that of a projection below
// it. The whole takes at least as long as the sample; the upper end stays as far above it.
static int mend_interval(const struct run *signs, json_t *run, struct err *err)
{
    (void)signs;
    json_t *p = json_object_get(run, "projection");
    double low = real_of(p, "low_s", 0), high = real_of(p, "high_s", low);
    double wall = fmin(real_of(p, "wall_s", high), high);
    double least = fmax(low, real_of(p, "after_s", low));
    TRY(set_real(p, "wall_s", least, err));
    TRY(set_real(p, "high_s", least + (high - wall), err));
    return note(run, "interval", err);
}

// The least that the whole can take: the sample without its start, and what was left at a tenth
// less than its fastest stretch, or at half of that where other programs or parts not seen were in
// the way. Earlier builds subtracted the scatter of a short sample without an end.
static double least_s(const struct run *s)
{
    const struct run_projection *p = &s->projection;
    double fastest = s->step_plot_ms.count > 0 ? (double)INFINITY : 0;
    for (size_t i = 0; i < s->step_plot_ms.count; i++)
        fastest = fmin(fastest, s->step_plot_ms.items[i]);
    double share = s->step_ms.v > 0 ? 0.9 * fmin(fastest / s->step_ms.v, 1) : 0;
    if (p->assumption.v || (s->use.gpus.v == 0 && s->use.other_cpu_percent.v >= 10))
        share /= 2;
    return p->after_s.v - p->load_s.v + share * (p->wall_s.v - p->after_s.v);
}

static bool has_impossible_interval(const struct run *s)
{
    const struct run_projection *p = &s->projection;
    return is_old(s) && p->low_s.known && p->after_s.known && p->after_s.v <= p->wall_s.v &&
           p->low_s.v < least_s(s) && !has_reversed_interval(s);
}

static int raise_interval(const struct run *signs, json_t *run, struct err *err)
{
    TRY(set_real(json_object_get(run, "projection"), "low_s", least_s(signs), err));
    return note(run, "interval", err);
}

// ---- the GPU's account of a step

static bool has_account_alone(const struct run *s)
{
    return s->account.busy_share.known && !s->account.full_step_ms.known && is_old(s);
}

static json_t *account_to_json(const struct run_account *account, struct err *err)
{
    const struct run part = {.account = *account};
    SCOPED(buf_release) struct buf text = {0};
    json_t *made = NULL;
    int rc = record_to_line(run_fields, &part, &text, err);
    if (rc == 0 && !(made = json_loadb(text.data, text.len, 0, NULL)))
        err_memory(err);
    return made;
}

// The members that this build knows; others stay.
static int replace_account(json_t *run, const json_t *before, const json_t *after, struct err *err)
{
    json_t *account = json_object_get(run, "account"), *value;
    const char *key;
    json_object_foreach(json_object_get(before, "account"), key, value)
        json_object_del(account, key);
    if (json_object_update(account, json_object_get(after, "account")) != 0)
        return err_memory(err);
    return 0;
}

// One that cannot be read stays as it is.
static int mend_account(const struct run *signs, json_t *json, struct err *err)
{
    (void)signs;
    struct run run = {0};
    json_t *before = NULL, *after = NULL;
    int rc = to_record(json, &run, NULL);
    if (rc == 0) {
        rc = (before = account_to_json(&run.account, err)) ? 0 : ERR_MEMORY;
        if (rc == 0 && run_reconcile(&run))
            rc = note(json, "account", err);
        if (rc == 0)
            rc = (after = account_to_json(&run.account, err)) ? 0 : ERR_MEMORY;
        if (rc == 0)
            rc = replace_account(json, before, after, err);
    } else {
        rc = rc == ERR_MEMORY ? err_memory(err) : 0;
    }
    json_decref(before);
    json_decref(after);
    record_release(run_fields, &run);
    return rc;
}

// ---- epochs that are samples

static bool is_mllog(const struct run *s)
{
    size_t len = s->source ? strlen(s->source) : 0;
    return is_old(s) && len > 7 && strcmp(s->source + len - 7, "(mllog)") == 0;
}

// No benchmark of MLPerf trains as many epochs, and none counts so few samples.
static int mend_epochs(const struct run *signs, json_t *run, struct err *err)
{
    (void)signs;
    json_t *list = json_object_get(run, "epoch_list"), *one;
    size_t i;
    bool had = false;
    json_array_foreach(list, i, one)
    {
        json_t *number = json_object_get(one, "epoch");
        if (!json_is_integer(number) || json_integer_value(number) <= RUN_EPOCHS_MOST)
            continue;
        if (json_object_set(one, "samples", number) != 0)
            return err_memory(err);
        had |= json_object_del(one, "epoch") == 0;
    }
    return had ? note(run, "samples", err) : 0;
}

// ---- all of them

static const struct {
    bool (*found)(const struct run *signs);
    int (*mend)(const struct run *signs, json_t *run, struct err *err);
} faults[] = {{has_false_boot, mend_boot},
              {has_reversed_interval, mend_interval},
              {has_impossible_interval, raise_interval},
              {has_account_alone, mend_account},
              {is_mllog, mend_epochs}};

static int mend(const struct run *signs, const char *text, size_t len, struct buf *out,
                struct err *err)
{
    json_error_t why = {0};
    json_auto_t *run = json_loadb(text, len, 0, &why);
    int rc = 0;
    if (!run) // a failed allocation can look like bad syntax
        return json_error_code(&why) != json_error_numeric_overflow &&
                       record_from_text(record_part(&signs_part), text, len, NULL, NULL) == 0
                   ? err_memory(err)
                   : 0;
    for (size_t i = 0; i < sizeof faults / sizeof *faults && rc == 0; i++)
        if (faults[i].found(signs))
            rc = faults[i].mend(signs, run, err);
    if (rc == ERR_FORMAT) // its reader says what is wrong
        return 0;
    if (rc == 0 && json_object_set_new(run, "schema", json_string(RUN_SCHEMA)) != 0)
        rc = err_memory(err);
    return rc == 0 ? json_to_text(run, JSON_COMPACT, out, err) : rc;
}

int run_correct(const char *text, size_t len, struct buf *out, struct err *err)
{
    // No record of this build has a fault; this is how they begin.
    static const char sound[] = "{\"schema\":\"" RUN_SCHEMA "\"";
    struct run run = {0};
    if (len >= sizeof sound - 1 && memcmp(text, sound, sizeof sound - 1) == 0)
        return 0;
    int rc = record_from_checked(record_part(&signs_part), text, len, &run, NULL);
    bool found = false;
    for (size_t i = 0; i < sizeof faults / sizeof *faults && rc == 0; i++)
        found |= faults[i].found(&run);
    if (rc == 0 && found)
        rc = mend(&run, text, len, out, err);
    else if (rc != ERR_MEMORY)
        rc = 0; // its reader says what is wrong
    else
        rc = err_memory(err);
    record_release(record_part(&signs_part), &run);
    return rc;
}

int run_note(const char *text, size_t len, const char *what, struct buf *out, struct err *err)
{
    json_auto_t *run = json_loadb(text, len, 0, NULL);
    SCOPED(free_pointer) char *words = NULL; // an error may quote half a character
    if (!run)
        return 0;
    TRY(text_set(&words, what, err));
    TRY(note(run, words, err));
    return json_to_text(run, JSON_COMPACT, out, err);
}

bool run_corrected(const struct run *run, const char *what)
{
    for (size_t i = 0; i < run->corrected.count; i++)
        if (strcmp(run->corrected.items[i], what) == 0)
            return true;
    return false;
}
