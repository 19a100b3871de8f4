// SPDX-License-Identifier: Apache-2.0
// Two machines of a kind have the same fingerprint; whatever decides speed changes it.
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/probe.h"
#include "record/tree.h"

static const char base[] =
    "{\"cpu\":{\"model\":\"X\",\"sockets\":1,\"cores\":8,\"threads\":16,\"usable_cpus\":16.0,"
    "\"caches\":[{\"level\":3,\"kind\":\"unified\",\"size_bytes\":33554432,\"count\":1}],"
    "\"isa\":[{\"name\":\"avx2\",\"works\":true}]},"
    "\"memory\":{\"usable_bytes\":67280000000,\"available_bytes\":1},"
    "\"system\":{\"virtualisation\":\"kvm\",\"kernel\":\"6.1\",\"load_1min\":0.5},"
    "\"disk\":{\"free_bytes\":5},\"where\":{\"instance_id\":\"i-1\",\"zone\":\"a\"},"
    "\"gpus\":[{\"index\":0,\"name\":\"H100\",\"uuid\":\"GPU-1\",\"pci_address\":\"0000:17:00.0\","
    "\"works\":true,\"memory_total_bytes\":85520809984,\"memory_used_bytes\":0,"
    "\"power_limit_mw\":700000,\"temperature_c\":30,\"driver\":\"535.1\"}]}";

static void fingerprint_of(const char *changes, char out[32])
{
    struct err err = {0};
    struct machine machine = {0};
    json_t *json = json_loads(base, 0, NULL);
    json_t *change = json_loads(changes, 0, NULL);
    assert_non_null(change);
    const char *room, *key;
    json_t *members, *value;
    json_object_foreach(change, room, members)
    {
        json_t *into = json_object_get(json, room);
        if (json_is_array(into)) {
            into = json_array_get(into, 0);
            members = json_array_get(members, 0);
        }
        json_object_foreach(members, key, value) json_object_set(into, key, value);
    }
    assert_ok(record_from_tree(machine_fields, json, &machine, &err), &err);
    assert_ok(machine_fingerprint(&machine, &err), &err);
    assert_int_equal(strlen(machine.fingerprint), 16);
    memcpy(out, machine.fingerprint, 17);
    machine_release(&machine);
    json_decref(json);
    json_decref(change);
}

TEST(same_kind_same_name)
{
    static const char *const changes[] = {
        "{\"gpus\":[{\"uuid\":\"GPU-2\",\"pci_address\":\"0000:65:00.0\",\"temperature_c\":70,"
        "\"memory_used_bytes\":999,\"use_percent\":50,\"driver\":\"550.2\",\"pcie_generation\":1}]"
        "}",
        "{\"system\":{\"kernel\":\"6.8\",\"load_1min\":3.5,\"os\":\"Other\"}}",
        "{\"where\":{\"instance_id\":\"i-2\",\"zone\":\"b\"}}",
        "{\"memory\":{\"usable_bytes\":67240000000,\"available_bytes\":9}}", // another kernel's
                                                                             // share
        "{\"disk\":{\"free_bytes\":77}}",
    };
    char first[32], other[32];
    fingerprint_of("{}", first);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        fingerprint_of(changes[i], other);
        assert_string_equal(other, first);
    }
}

// What machines of 16, 32 and 64 GiB report lies around 97 % of that: no boundary may be there.
TEST(memory_of_a_size_is_one_kind)
{
    static const long long kib[][2] = {
        {16252000, 16253000}, {32500000, 32510000}, {65000000, 65020000}, {131000000, 131900000}};
    for (size_t i = 0; i < sizeof kib / sizeof *kib; i++) {
        char names[2][32], change[100];
        for (int j = 0; j < 2; j++) {
            snprintf(change, sizeof change, "{\"memory\":{\"usable_bytes\":%lld}}",
                     kib[i][j] * 1024);
            fingerprint_of(change, names[j]);
        }
        assert_string_equal(names[0], names[1]);
    }
}

TEST(other_kind_other_name)
{
    static const char *const changes[] = {
        "{\"cpu\":{\"model\":\"Y\"}}",
        "{\"cpu\":{\"threads\":32}}",
        "{\"cpu\":{\"usable_cpus\":4.0}}",
        "{\"cpu\":{\"isa\":[{\"name\":\"avx2\",\"works\":false}]}}",
        "{\"cpu\":{\"caches\":[{\"level\":3,\"size_bytes\":16777216,\"count\":1}]}}",
        "{\"memory\":{\"usable_bytes\":33600000000}}",
        "{\"system\":{\"virtualisation\":\"none\"}}",
        "{\"gpus\":[{\"name\":\"H200\"}]}",
        "{\"gpus\":[{\"power_limit_mw\":500000}]}",
        "{\"gpus\":[{\"memory_total_bytes\":42900000000}]}",
        "{\"gpus\":[{\"works\":false}]}",
        "{\"gpus\":[{\"mig_instances\":[{\"name\":\"1g.10gb\"}]}]}",
    };
    enum { COUNT = sizeof changes / sizeof *changes };
    char names[COUNT + 1][32];
    fingerprint_of("{}", names[0]);
    for (size_t i = 0; i < COUNT; i++) {
        fingerprint_of(changes[i], names[i + 1]);
        for (size_t j = 0; j <= i; j++)
            assert_string_not_equal(names[i + 1], names[j]);
    }
}
