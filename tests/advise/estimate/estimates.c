// SPDX-License-Identifier: Apache-2.0
// Makes estimates for test_replay.py. Each line on stdin is a JSON object: `run` (a record); `gpu`
// and `gpus` to estimate for (a processor, 0); (optional) `machines`, used in both places; `cpus`,
// `clock_mhz` and `rates` there; `model`: coefficients that replace those of all kinds. Answers
// each with time, low and high for a run of one second, and its class or why there is none.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "advise/estimate/estimate.h"
#include "record/tree.h"

static void replace_model(struct estimate_tables *tables, const json_t *model)
{
    double v[5];
    for (size_t i = 0; i < 5; i++)
        v[i] = json_number_value(json_array_get(model, i));
    for (size_t i = 0; i < tables->models.count; i++) {
        struct estimate_model *m = &tables->models.items[i];
        m->matrix = v[0];
        m->memory = v[1];
        m->units = v[2];
        m->clock_power = v[3];
        m->matrix_unit_efficiency = v[4];
    }
}

static int answer(struct estimate_tables *tables, const struct devices *devices, json_t *asked,
                  struct err *err)
{
    struct run run = {0};
    struct machine_rates rates = {0};
    json_t *model = json_object_get(asked, "model"), *there = json_object_get(asked, "rates");
    int rc = record_from_tree(run_fields, json_object_get(asked, "run"), &run, err);
    if (rc == 0 && there)
        rc = record_from_tree(machine_rates_fields, there, &rates, err);
    if (rc == 0) {
        struct estimate_place from = estimate_place_of(&run, devices);
        struct estimate_place to = {
            .device = device_find(devices, json_string_value(json_object_get(asked, "gpu"))),
            .gpus = (int)json_integer_value(json_object_get(asked, "gpus")),
            .machines = (int)json_integer_value(json_object_get(asked, "machines")),
            .cpus = json_number_value(json_object_get(asked, "cpus")),
            .clock_mhz = json_number_value(json_object_get(asked, "clock_mhz")),
            .rates = there ? &rates : NULL};
        // A processor that the table lacks, with another number of threads.
        struct device same = {.vector_bits = 256, .base_mhz = 2000};
        if (from.gpus == 0 && to.gpus == 0 && !from.device && !to.device)
            from.device = to.device = &same;
        struct estimate e;
        from.machines = to.machines;
        if (model)
            replace_model(tables, model);
        estimate_make(tables, &run, &from, &to, &(struct estimate_time){1, 0, 0}, &e);
        if (e.class)
            printf("%.9g %.9g %.9g %s %s %s %s %s\n", e.time_s, e.low_s, e.high_s,
                   e.class->relation, e.class->bound, e.class->scale, e.class->trace,
                   e.class->kind);
        else
            printf("%.9g %.9g %.9g %s\n", e.time_s, e.low_s, e.high_s, e.why);
    }
    record_release(machine_rates_fields, &rates);
    record_release(run_fields, &run);
    return rc;
}

int main(void)
{
    struct err err = {0};
    struct devices *devices = NULL;
    struct estimate_tables *tables = NULL;
    char *line = NULL;
    size_t size = 0;
    int rc = devices_open(&devices, &err);
    if (rc == 0)
        rc = estimate_tables_open(&tables, &err);
    while (rc == 0 && getline(&line, &size, stdin) > 0) {
        json_t *asked = json_loads(line, 0, NULL);
        rc = asked ? answer(tables, devices, asked, &err) : ERR_FORMAT;
        json_decref(asked);
    }
    if (rc != 0)
        fprintf(stderr, "%s\n", err.text);
    free(line);
    estimate_tables_close(tables);
    devices_close(devices);
    return rc != 0;
}
