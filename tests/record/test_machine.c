// SPDX-License-Identifier: Apache-2.0
// What `fare check --json` printed on a real machine with an H200 (tests/machine/records) is read
// back whole. The expected figures are those nvidia-smi 580.159 showed on it at the same time.
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "machine/probe.h"
#include "record/tree.h"

static json_t *load(const char *name, struct machine *machine)
{
    char path[512];
    snprintf(path, sizeof path, "%s/machine/records/%s.json", TESTS_DIR, name);
    json_error_t where;
    json_t *json = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    if (!json)
        fail_msg("%s: %s", path, where.text);
    struct err err = {0};
    assert_ok(record_from_tree(machine_fields, json, machine, &err), &err);
    return json;
}

TEST(nothing_is_lost)
{
    static const char *const names[] = {"h200-idle", "h200-busy", "h200-bandwidth",
                                        "h200-libraries"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct err err = {0};
        struct machine machine = {0};
        json_t *json = load(names[i], &machine);
        assert_string_equal(machine.schema, MACHINE_SCHEMA);
        struct buf text = {0};
        assert_ok(record_to_text(machine_fields, &machine, &text, &err), &err);
        json_t *again = json_loads(buf_str(&text), 0, NULL);
        assert_true(json_equal(json, again));
        json_decref(json);
        json_decref(again);
        buf_release(&text);
        machine_release(&machine);
    }
}

// The numbers are those that Python got from the same files by ctypes: 91400 and 91900, 22803 and
// 22809, and 130100, of which the names tell more.
TEST(agrees_with_ctypes)
{
    static const char *const expected[][2] = {{"cuBLASLt", "13.1.0.3"}, {"cuDNN", "9.14.0"},
                                              {"NCCL", "2.28.3"},       {"cuBLASLt", "13.1.0.3"},
                                              {"cuDNN", "9.19.0"},      {"NCCL", "2.28.9"}};
    struct machine machine = {0};
    json_decref(load("h200-libraries", &machine));
    assert_int_equal(machine.gpu_libraries.count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(machine.gpu_libraries.items[i].name, expected[i][0]);
        assert_string_equal(machine.gpu_libraries.items[i].version, expected[i][1]);
        assert_null(machine.gpu_libraries.items[i].problem);
    }
    machine_release(&machine);
}

TEST(agrees_with_nvidia_smi)
{
    struct machine machine = {0};
    json_decref(load("h200-busy", &machine));
    assert_int_equal(machine.gpus.count, 1);
    const struct machine_gpu *gpu = &machine.gpus.items[0];
    assert_string_equal(gpu->name, "NVIDIA H200");
    assert_string_equal(gpu->driver, "580.159.04");
    assert_string_equal(gpu->cuda, "13.0");
    assert_string_equal(gpu->pci_address, "0000:00:06.0");
    assert_int_equal(gpu->memory_total_bytes.v, INT64_C(143771) << 20);
    assert_int_equal(gpu->pcie_generation.v, 5);
    assert_int_equal(gpu->pcie_generation_max.v, 5);
    assert_int_equal(gpu->pcie_width.v, 16);
    assert_int_equal(gpu->pcie_width_max.v, 16);
    assert_int_equal(gpu->clock_sm_max_mhz.v, 1980);
    assert_int_equal(gpu->clock_memory_mhz.v, 3201);
    assert_int_equal(gpu->power_limit_mw.v, 700000);
    assert_int_equal(gpu->power_limit_default_mw.v, 700000);
    assert_int_equal(gpu->performance_state.v, 0);
    assert_true(gpu->ecc.v);
    assert_false(gpu->mig.v);
    assert_true(gpu->persistence.v);
    assert_true(gpu->use_percent.v >= 99);
    assert_int_equal(gpu->processes.count, 1);
    assert_string_equal(gpu->processes.items[0].name, "python3");
    assert_int_equal(gpu->throttling.count, 1); // clocks_event_reasons.active 0x4
    machine_release(&machine);
}
