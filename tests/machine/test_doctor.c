// SPDX-License-Identifier: Apache-2.0
// The doctor judges records, so each case is a record: a healthy machine finds nothing, and one
// change to it finds just what that change is about.
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/probe.h"
#include "record/tree.h"

static const char healthy[] =
    "{\"fare\":{\"debug\":false},"
    "\"cpu\":{\"model\":\"X\",\"threads\":16,\"usable_cpus\":16.0,\"governor\":\"performance\","
    "\"isa\":[{\"name\":\"avx2\",\"advertised\":true,\"works\":true}],"
    "\"libraries\":[{\"name\":\"oneDNN\",\"version\":\"2.6.3\",\"kernels\":["
    "{\"operation\":\"bf16 matmul\",\"works\":true,\"kernel\":\"brgemm\"}]}]},"
    "\"memory\":{\"total_bytes\":68719476736,\"usable_bytes\":68719476736,\"swap_used_bytes\":0,"
    "\"shm_total_bytes\":34359738368},"
    "\"disk\":{\"kind\":\"local\",\"filesystem\":\"ext4\",\"rotational\":false,\"free_bytes\":"
    "107374182400},"
    "\"system\":{\"on_battery\":false,\"load_1min\":0.2,\"steal_percent\":0.1},"
    "\"gpus\":[{\"index\":0,\"vendor\":\"nvidia\",\"name\":\"H100\",\"pci_address\":\"0000:17:00."
    "0\",\"works\":true,\"use_percent\":"
    "0,\"performance_state\":0,\"pcie_generation\":1,\"pcie_generation_max\":5,\"pcie_width\":16,"
    "\"pcie_width_max\":16,\"power_limit_mw\":700000,\"power_limit_default_mw\":700000,"
    "\"persistence\":true,\"mig\":false,\"processes\":[]}],"
    "\"where\":{\"spot\":false}}";

// The healthy record with `changes` merged into it: objects key by key, lists item by item.
static void merge(json_t *into, json_t *changes)
{
    const char *key;
    json_t *value;
    json_object_foreach(changes, key, value)
    {
        json_t *old = json_object_get(into, key);
        if (json_is_object(value) && json_is_object(old)) {
            merge(old, value);
        } else if (json_is_array(value) && json_is_array(old) && json_array_size(old) > 0 &&
                   json_is_object(json_array_get(value, 0))) {
            merge(json_array_get(old, 0), json_array_get(value, 0));
        } else {
            json_object_set(into, key, value);
        }
    }
}

static void diagnose(const char *changes, struct machine *machine)
{
    struct err err = {0};
    json_t *record = json_loads(healthy, 0, NULL);
    json_error_t where;
    json_t *change = json_loads(changes, 0, &where);
    if (!change)
        fail_msg("%s in %s", where.text, changes);
    merge(record, change);
    assert_ok(record_from_tree(machine_fields, record, machine, &err), &err);
    json_decref(record);
    json_decref(change);
    assert_ok(machine_diagnose(machine, &err), &err);
}

TEST(one_change_one_finding)
{
    static const struct {
        const char *changes, *id, *level, *evidence;
    } cases[] = {
        {"{\"fare\":{\"debug\":true}}", "debug-build", "problem", "debug build"},
        {"{\"cpu\":{\"usable_cpus\":2.5,\"limit_cpus\":2.5}}", "cpu-limit", "warning",
         "2.5 of the machine's 16 CPUs (cgroup quota)"},
        {"{\"cpu\":{\"usable_cpus\":8.0}}", "cpu-limit", "warning", "affinity"},
        {"{\"cpu\":{\"governor\":\"powersave\"}}", "cpu-governor", "warning", "powersave"},
        {"{\"cpu\":{\"isa\":[{\"name\":\"amx_bf16\",\"works\":false,\"problem\":\"signal "
         "SIGILL\"}]}}",
         "isa-faults", "problem", "amx_bf16"},
        {"{\"cpu\":{\"libraries\":[{\"kernels\":[{\"operation\":\"bf16 convolution\",\"works\":"
         "false,\"problem\":\"signal SIGILL\"}]}]}}",
         "library-faults", "problem", "oneDNN 2.6.3: bf16 convolution fails"},
        {"{\"memory\":{\"limit_bytes\":8589934592}}", "memory-limit", "note",
         "8 GiB of the machine's 64 GiB"},
        {"{\"memory\":{\"swap_used_bytes\":1073741824}}", "swap-used", "warning", "1 GiB"},
        {"{\"memory\":{\"shm_total_bytes\":67108864}}", "shm-small", "warning", "64 MiB"},
        {"{\"disk\":{\"kind\":\"network\",\"filesystem\":\"nfs4\"}}", "disk-network", "warning",
         "nfs4"},
        {"{\"disk\":{\"kind\":\"memory\"}}", "disk-memory", "note", "memory"},
        {"{\"disk\":{\"rotational\":true}}", "disk-rotational", "note", "on a hard disk"},
        {"{\"disk\":{\"free_bytes\":1073741824}}", "disk-full", "warning", "1 GiB"},
        {"{\"system\":{\"on_battery\":true}}", "on-battery", "warning", "battery"},
        {"{\"system\":{\"load_1min\":9.3}}", "cpu-busy", "warning", "9.3"},
        {"{\"system\":{\"steal_percent\":7.5}}", "cpu-steal", "warning", "7.5 %"},
        {"{\"gpus\":[{\"works\":false,\"problem\":\"no driver is loaded\"}]}", "gpu-no-driver",
         "problem", "GPU 0 (H100) does not work: no driver is loaded"},
        {"{\"gpus\":[{\"works\":false,\"problem\":\"driver and library version mismatch\"}]}",
         "gpu-driver-mismatch", "problem", "mismatch"},
        {"{\"gpus\":[{\"use_percent\":97,\"pcie_generation\":5}]}", "gpu-busy-without-process",
         "problem", "97 %"},
        {"{\"gpus\":[{\"processes\":[{\"pid\":1,\"name\":\"python\"}]}]}", "gpu-busy", "warning",
         "1 process, first python"},
        {"{\"gpus\":[{\"throttling\":[\"hw thermal slowdown\"]}]}", "gpu-throttled", "warning",
         "hw thermal slowdown"},
        {"{\"gpus\":[{\"throttling\":[\"sw power cap\"]}]}", "gpu-power-cap", "note",
         "at its power limit"},
        {"{\"gpus\":[{\"throttling\":[\"sw power cap\",\"hw slowdown\"]}]}", "gpu-throttled",
         "warning", "sw power cap"},
        {"{\"gpus\":[{\"power_limit_mw\":400000}]}", "gpu-power-limit", "warning", "400 W"},
        {"{\"gpus\":[{\"persistence\":false}]}", "gpu-persistence", "note", "persistence"},
        {"{\"gpus\":[{\"mig\":true,\"mig_instances\":[{\"name\":\"1g.10gb\"}]}]}", "gpu-mig",
         "note", "1 of them"},
        {"{\"bandwidth\":{\"gpus\":[{\"pci_address\":\"0000:17:00.0\",\"pcie_generation_loaded\":3,"
         "\"pcie_width_loaded\":16}]}}",
         "pcie-narrow", "warning", "PCIe 3.0 x16 under load, but supports PCIe 5.0 x16"},
        {"{\"gpus\":[{\"works\":false,\"problem\":\"nvmlDeviceGetName: GPU is lost\"}]}",
         "gpu-lost", "problem", "lost"},
        {"{\"cpu\":{\"libraries\":[{\"kernels\":[{\"operation\":\"f32 matmul\",\"cap\":\"ALL\","
         "\"works\":false,\"problem\":\"wrong result\"}]}]}}",
         "library-faults", "problem", "wrong result"},
        {"{\"where\":{\"spot\":true,\"provider\":\"aws\"}}", "spot", "note", "aws"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct machine machine = {0};
        diagnose(cases[i].changes, &machine);
        if (machine.findings.count != 1)
            fail_msg("%s: %zu findings", cases[i].changes, machine.findings.count);
        const struct machine_finding *f = &machine.findings.items[0];
        assert_string_equal(f->id, cases[i].id);
        assert_string_equal(f->level, cases[i].level);
        if (!strstr(f->evidence, cases[i].evidence))
            fail_msg("'%s' is not in '%s'", cases[i].evidence, f->evidence);
        assert_true(strlen(f->consequence) > 10);
        assert_true(strlen(f->remedy) > 5);
        machine_release(&machine);
    }
}

TEST(healthy_and_unknown_machines_find_nothing)
{
    // An idle GPU's link is down to save power; what a library does not offer is no fault; and
    // what is not known is no finding.
    static const char *const cases[] = {
        "{}",
        "{\"cpu\":{\"libraries\":[{\"kernels\":[{\"works\":false,\"problem\":\"unimplemented\"}]}]"
        "}}",
        "{\"cpu\":{\"isa\":[{\"name\":\"amx_tile\",\"advertised\":false,\"works\":false}]}}",
        "{\"bandwidth\":{\"gpus\":[{\"pci_address\":\"0000:17:00.0\",\"pcie_generation_loaded\":5,"
        "\"pcie_width_loaded\":16}]}}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct machine machine = {0};
        diagnose(cases[i], &machine);
        if (machine.findings.count > 0)
            fail_msg("%s: %s", cases[i], machine.findings.items[0].evidence);
        machine_release(&machine);
    }
    struct err err = {0};
    struct machine unknown = {0};
    assert_ok(machine_diagnose(&unknown, &err), &err);
    assert_int_equal(unknown.findings.count, 0);
}

TEST(problems_come_first)
{
    struct machine machine = {0};
    diagnose("{\"where\":{\"spot\":true},\"disk\":{\"kind\":\"network\"},\"fare\":{\"debug\":true},"
             "\"gpus\":[{\"works\":false}]}",
             &machine);
    assert_int_equal(machine.findings.count, 4);
    assert_string_equal(machine.findings.items[0].level, "problem");
    assert_string_equal(machine.findings.items[1].level, "problem");
    assert_string_equal(machine.findings.items[2].level, "warning");
    assert_string_equal(machine.findings.items[3].level, "note");
    machine_release(&machine);
}

TEST(a_working_cap_is_the_remedy)
{
    struct machine machine = {0};
    struct err err = {0};
    const char *text =
        "{\"cpu\":{\"libraries\":[{\"name\":\"oneDNN\",\"version\":\"2.6.3\",\"kernels\":["
        "{\"operation\":\"bf16 matmul\",\"works\":false,\"problem\":\"signal SIGILL\"},"
        "{\"operation\":\"bf16 matmul\",\"cap\":\"AVX512_CORE_BF16\",\"works\":true}]}]}}";
    json_t *json = json_loads(text, 0, NULL);
    assert_ok(record_from_tree(machine_fields, json, &machine, &err), &err);
    json_decref(json);
    assert_ok(machine_diagnose(&machine, &err), &err);
    assert_int_equal(machine.findings.count, 1);
    assert_non_null(
        strstr(machine.findings.items[0].remedy, "ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16"));
    assert_non_null(strstr(machine.findings.items[0].evidence, "AMX"));
    machine_release(&machine);
}
