// SPDX-License-Identifier: Apache-2.0
// One GPU against another: the quotient of the fitted formula, worked out here from the shipped
// tables, beside measured ones.
#include "advise/difference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/compare_cases.h"
#include "advise/estimate/estimate.h"
#include "tables/device.h"
#include "test.h"

#define GPU_RUN(id, gpu, busy, ns)                                                                 \
    "{\"id\":\"" id "\",\"workload\":\"mlp\",\"framework\":\"pytorch\",\"precision\":\"bf16\","    \
    "\"machine\":{\"gpu\":\"" gpu "\",\"gpus\":1},\"batch\":128,\"use\":{\"gpus\":1,\"steady\":"   \
    "{\"gpu_percent\":" busy "}}," FULL(ns) "}"

// The formula of docs/estimating.md for all nets, in bf16.
static double speed(const struct estimate_tables *tables, const struct devices *devices,
                    const char *name)
{
    const struct estimate_model *m = estimate_model(tables, "unknown");
    const struct device *d = device_find(devices, name);
    double base = d->base_mhz > 0 ? d->base_mhz : 0.7 * d->boost_mhz;
    double g = pow(base / d->boost_mhz, m->clock_power);
    return 1 / (m->matrix / (d->bf16_gflops / 1e3 * g * m->matrix_unit_efficiency) +
                m->memory / (d->memory_mbs / 1e3) + m->units / (d->units * d->boost_mhz / 1e3 * g));
}

static void assert_sentence(const char *first, const char *second, const char *sentence)
{
    const char *const texts[] = {first, second, NULL};
    const struct compare_options options = {.base = "a"};
    struct compare compare = {0};
    struct err err = {0};
    bool found = false;
    assert_ok(compare_texts(&options, texts, &compare, &err), &err);
    assert_int_equal(compare.workloads.count, 1);
    const struct compare_workload *w = &compare.workloads.items[0];
    for (size_t i = 0; i < w->sentences.count; i++)
        found |= strncmp(w->sentences.items[i], sentence, strlen(sentence)) == 0;
    for (size_t i = 0; i < w->sentences.count && !found; i++)
        print_message("%s\n", w->sentences.items[i]);
    assert_true(found);
    for (size_t i = 0; i < w->sentences.count && !*sentence; i++)
        assert_null(strstr(w->sentences.items[i], "data sheets"));
    record_release(compare_fields, &compare);
}

TEST(sentences)
{
    struct estimate_tables *tables;
    struct devices *devices;
    struct err err = {0};
    char words[200];
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    assert_ok(devices_open(&devices, &err), &err);
    assert_ok(estimate_tables_open(&tables, &err), &err);
    double faster = speed(tables, devices, "H100") / speed(tables, devices, "A100-80GB");
    double factor = 0; // of GPU-bound runs on another architecture, kind of net unknown
    for (size_t i = 0; i < tables->errors.count; i++) {
        const struct estimate_errors *e = &tables->errors.items[i];
        if (strcmp(e->relation, "other") == 0 && strcmp(e->bound, "gpu") == 0 &&
            strcmp(e->scale, "one") == 0 && strcmp(e->trace, "no") == 0 &&
            strcmp(e->kind, "unknown") == 0)
            factor = e->factor[ESTIMATE_90];
    }
    assert_true(faster > 1.5 && faster < 3 && factor > 1.3 && factor < 2);
#define A     GPU_RUN("a", "NVIDIA A100-SXM4-80GB", "95", "100000000000")
#define START "expected %.2g × (%.2g to %.2g ×) by the data sheets, measured "
    snprintf(words, sizeof words,
             "H100 80GB HBM3 against A100-SXM4-80GB: " START
             "1 ×: the host limits it (its GPU was busy 35 %% of the time).",
             faster, faster / factor, faster * factor);
    assert_sentence(A, GPU_RUN("b", "NVIDIA H100 80GB HBM3", "35", "99000000000"), words);
    snprintf(words, sizeof words,
             "H100 80GB HBM3 against A100-SXM4-80GB: " START "2 ×: as expected.", faster,
             faster / factor, faster * factor);
    assert_sentence(A, GPU_RUN("b", "NVIDIA H100 80GB HBM3", "95", "50000000000"), words);
    snprintf(words, sizeof words,
             "H100 80GB HBM3 against A100-SXM4-80GB: " START
             "1 ×: less than expected; 'fare check --bandwidth' there",
             faster, faster / factor, faster * factor);
    assert_sentence(A, GPU_RUN("b", "NVIDIA H100 80GB HBM3", "95", "99000000000"), words);
    // The same GPU, and one that the table lacks.
    assert_sentence(A, GPU_RUN("b", "NVIDIA A100-SXM4-80GB", "35", "50000000000"), "");
    assert_sentence(A, GPU_RUN("b", "NVIDIA X9000", "35", "50000000000"), "");
    estimate_tables_close(tables);
    devices_close(devices);
}
