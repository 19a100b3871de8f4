// SPDX-License-Identifier: Apache-2.0
// Which GPUs a build runs on. Expectations: PyTorch's support matrix (issues 172352 and 190385,
// release notes of 2.8): 12.6 has Maxwell to Hopper, 12.8 and 13.0 begin at Turing.
#include "tables/extras.h"

#include <string.h>

#include "test.h"

static const struct {
    const char *framework, *version, *cuda, *gpu;
    bool runs;
} cases[] = {
    {"pytorch", "2.11.0+cu130", "13.0.96", "V100", false},
    {"pytorch", "2.11.0+cu130", "13.0.96", "T4", true},
    {"pytorch", "2.11.0+cu126", "12.6.77", "V100", true},
    {"pytorch", "2.11.0+cu126", "12.6.77", "P100", true},
    {"pytorch", "2.11.0+cu126", "12.6.77", "B200", false},
    {"pytorch", "2.8.0", NULL, "P100", false}, // a sample on a CPU: the index's wheel
    {"pytorch", "2.7.1", NULL, "P100", true},
    {"pytorch", "1.4.0", NULL, "K80", true}, // nothing is known: it is not refused
    {"fare", NULL, NULL, "K80", false},
    {"fare", NULL, NULL, "P100", true},
    {"fare", NULL, NULL, "MI300X", false},
    {"pytorch", "2.11.0", NULL, "MI300X", true},             // its ROCm build
    {"pytorch", "2.11.0+cu130", "13.0.96", "MI300X", false}, // built for CUDA: no ROCm
    {"mxnet", NULL, "13.0", "V100", false},
    {"mxnet", NULL, "11.0", "MI300X", false}, // in no row of the table
    {NULL, NULL, NULL, "K520", true},
};

static void test_builds(void **state)
{
    (void)state;
    struct support *support = NULL;
    struct devices *devices = NULL;
    struct err err = {0};
    assert_int_equal(support_open(&support, &err), 0);
    assert_int_equal(devices_open(&devices, &err), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct support_ask ask = {cases[i].framework, cases[i].version, cases[i].cuda};
        const struct device *device = device_find(devices, cases[i].gpu);
        char why[SUPPORT_WHY] = "";
        assert_non_null(device);
        if (support_runs(support, &ask, device, why) != cases[i].runs)
            fail_msg("case %zu, %s: %s", i, cases[i].gpu, why);
        assert_int_equal(*why == '\0', cases[i].runs);
    }
    char why[SUPPORT_WHY] = "";
    const struct support_ask ask = {"pytorch", "2.11.0+cu130", "13.0.96"};
    assert_false(support_runs(support, &ask, device_find(devices, "V100"), why));
    assert_string_equal(why, "pytorch 2.11.0 for CUDA 13.0 begins at turing, the V100 is volta");
    devices_close(devices);
    support_close(support);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_builds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
