// SPDX-License-Identifier: Apache-2.0
#include "machine/bandwidth_cuda.h"

#include <dlfcn.h>

#include "recorded.h"

// What the stand-in's devices still hold, asked of the very copy that was used.
static int still_held(void)
{
    void *library = dlopen(getenv("FARE_CUDA"), RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(library);
    int (*live)(void);
    void *address = dlsym(library, "fake_cuda_live");
    assert_non_null(address);
    memcpy(&live, &address, sizeof live);
    int held = live();
    dlclose(library);
    return held;
}

static char root[256];

static struct machine measure(const char *behaviour, bool with_gpu)
{
    struct err err = {0};
    struct machine machine = {0};
    struct probe probe = recorded("eight-h100", root);
    if (with_gpu) {
        struct machine_gpu *gpu = LIST_ADD(&machine.gpus, &err);
        assert_ok(text_set(&gpu->vendor, "nvidia", &err), &err);
    }
    use_library("FARE_CUDA", "fake_cuda.so");
    setenv("FARE_FAKE_CUDA", behaviour, 1);
    assert_ok(cuda_bandwidth(&probe, &machine, &err), &err);
    assert_int_equal(still_held(), 0);
    return machine;
}

// Copies of memory take time and move bytes: between 1 MB/s and 10 TB/s on any machine.
static void assert_rate(struct maybe_real rate)
{
    assert_true(rate.known);
    assert_true(rate.v > 1e6 && rate.v < 1e13);
}

static void every_direction_is_measured(void **state)
{
    (void)state;
    struct machine machine = measure("devices=2", true);
    assert_int_equal(machine.bandwidth.gpus.count, 2);
    for (int i = 0; i < 2; i++) {
        const struct machine_gpu_bandwidth *row = &machine.bandwidth.gpus.items[i];
        assert_known(row->index, i);
        assert_string_equal(row->name, i ? "Memory Pretending 1" : "Memory Pretending 0");
        assert_rate(row->to_device_pinned_bytes_per_s);
        assert_rate(row->to_device_pageable_bytes_per_s);
        assert_rate(row->from_device_pinned_bytes_per_s);
        assert_rate(row->from_device_pageable_bytes_per_s);
        assert_rate(row->device_copy_bytes_per_s);
        assert_known(row->device_copy_bytes, 2 << 20); // a quarter of its 8 MiB
        assert_null(row->problem);
    }
    // The first is at 0000:1b:00.0, which the management library knows; it has none at 1c.
    assert_known(machine.bandwidth.gpus.items[0].pcie_generation_loaded, 5);
    assert_known(machine.bandwidth.gpus.items[0].pcie_width_loaded, 16);
    assert_absent(machine.bandwidth.gpus.items[1].pcie_generation_loaded);
    machine_release(&machine);
}

static void short_memory_means_smaller_copies(void **state)
{
    (void)state;
    // 3 MiB free: 1 MiB is what fits twice. Pinned memory is scarce too.
    struct machine machine = measure("free=3145728 pinned=2097152", true);
    assert_rate(machine.bandwidth.gpus.items[0].to_device_pinned_bytes_per_s);
    assert_null(machine.bandwidth.gpus.items[0].problem);
    machine_release(&machine);
    machine = measure("free=1000", true); // nothing fits
    assert_string_equal(machine.bandwidth.gpus.items[0].problem,
                        "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY");
    assert_absent(machine.bandwidth.gpus.items[0].to_device_pinned_bytes_per_s);
    machine_release(&machine);
}

static void a_failing_call_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *behaviour, *problem;
        bool pinned, pageable;
    } cases[] = {
        {"cuDeviceGet=719", "cuDeviceGet: CUDA_ERROR_LAUNCH_FAILED", false, false},
        {"cuDevicePrimaryCtxRetain=2", "cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY", false,
         false},
        {"cuCtxSetCurrent@1=719", "cuCtxSetCurrent: CUDA_ERROR_LAUNCH_FAILED", false, false},
        {"cuMemGetInfo_v2=719", "cuMemGetInfo_v2: CUDA_ERROR_LAUNCH_FAILED", false, false},
        {"cuMemAlloc_v2=719", "cuMemAlloc_v2: CUDA_ERROR_LAUNCH_FAILED", false, false},
        {"cuMemHostAlloc=2", "cuMemHostAlloc: CUDA_ERROR_OUT_OF_MEMORY", false, true},
        {"cuMemcpyHtoD_v2=719", "cuMemcpyHtoD_v2: CUDA_ERROR_LAUNCH_FAILED", false, false},
        {"cuMemcpyHtoD_v2@4=719", "cuMemcpyHtoD_v2: CUDA_ERROR_LAUNCH_FAILED", false, false},
        {"cuMemcpyHtoD_v2@8=719", "cuMemcpyHtoD_v2: CUDA_ERROR_LAUNCH_FAILED", true, false},
        {"cuMemcpyDtoH_v2=12345", "cuMemcpyDtoH_v2: error 12345", true, true},
        {"cuCtxSynchronize=719", "cuCtxSynchronize: CUDA_ERROR_LAUNCH_FAILED", false, false},
        {"cuMemcpyHtoDAsync_v2=719", "cuMemcpyHtoDAsync_v2: CUDA_ERROR_LAUNCH_FAILED", true, true},
        {"cuMemcpyDtoDAsync_v2@40=719", "cuMemcpyDtoDAsync_v2: CUDA_ERROR_LAUNCH_FAILED", true,
         true},
        {"cuMemAlloc_v2@3=2", "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY", true, true},
        {"cuDeviceGetName=719", "cuDeviceGetName: CUDA_ERROR_LAUNCH_FAILED", true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        struct machine machine = {0};
        struct probe probe = recorded("eight-h100", root);
        use_library("FARE_CUDA", "fake_cuda.so");
        setenv("FARE_FAKE_CUDA", cases[i].behaviour, 1);
        assert_ok(cuda_bandwidth(&probe, &machine, &err), &err);
        assert_int_equal(machine.bandwidth.gpus.count, 1);
        const struct machine_gpu_bandwidth *row = &machine.bandwidth.gpus.items[0];
        assert_known(row->index, 0);
        assert_non_null(row->problem);
        assert_string_equal(row->problem, cases[i].problem);
        assert_int_equal(row->to_device_pinned_bytes_per_s.known, cases[i].pinned);
        assert_int_equal(row->to_device_pageable_bytes_per_s.known, cases[i].pageable);
        if (!strstr(cases[i].behaviour, "cuCtxSetCurrent"))
            assert_int_equal(still_held(), 0);
        machine_release(&machine);
    }
}

static void a_driver_that_does_not_start(void **state)
{
    (void)state;
    struct machine machine = measure("cuInit=802", true);
    assert_int_equal(machine.bandwidth.gpus.count, 1);
    assert_absent(machine.bandwidth.gpus.items[0].index);
    assert_string_equal(machine.bandwidth.gpus.items[0].problem,
                        "cuInit: CUDA_ERROR_SYSTEM_NOT_READY");
    machine_release(&machine);
    machine = measure("cuInit=802", false); // without a GPU there is nothing to say
    assert_int_equal(machine.bandwidth.gpus.count, 0);
    machine_release(&machine);
    machine = measure("cuInit=100", true); // CUDA_ERROR_NO_DEVICE
    assert_int_equal(machine.bandwidth.gpus.count, 0);
    machine_release(&machine);
    machine = measure("cuInit=34", true); // CUDA_ERROR_STUB_LIBRARY
    assert_int_equal(machine.bandwidth.gpus.count, 0);
    machine_release(&machine);
    machine = measure("devices=0", true);
    assert_int_equal(machine.bandwidth.gpus.count, 0);
    machine_release(&machine);
}

static void no_driver_is_no_error(void **state)
{
    (void)state;
    struct err err = {0};
    struct machine machine = {0};
    struct probe probe = recorded("eight-h100", root);
    setenv("FARE_CUDA", "/nonexistent/libcuda.so.1", 1);
    assert_ok(cuda_bandwidth(&probe, &machine, &err), &err);
    unsetenv("FARE_CUDA"); // a recorded machine never gets this machine's own
    assert_ok(cuda_bandwidth(&probe, &machine, &err), &err);
    use_library("FARE_CUDA", "fake_nvml.so"); // some other library
    assert_ok(cuda_bandwidth(&probe, &machine, &err), &err);
    assert_int_equal(machine.bandwidth.gpus.count, 0);
}

// Without the management library the figures are there, the link is not.
static void the_link_needs_nvml(void **state)
{
    (void)state;
    struct err err = {0};
    struct machine machine = {0};
    struct probe probe = recorded("eight-h100", root);
    unsetenv("FARE_NVML");
    use_library("FARE_CUDA", "fake_cuda.so");
    setenv("FARE_FAKE_CUDA", "", 1);
    machine.memory.available_bytes = some_int(32 << 20); // an eighth of it is used at most
    machine.memory.usable_bytes = some_int(16 << 20);
    assert_ok(cuda_bandwidth(&probe, &machine, &err), &err);
    assert_rate(machine.bandwidth.gpus.items[0].to_device_pinned_bytes_per_s);
    assert_absent(machine.bandwidth.gpus.items[0].pcie_generation_loaded);
    assert_null(machine.bandwidth.gpus.items[0].problem);
    machine_release(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_direction_is_measured),
        cmocka_unit_test(short_memory_means_smaller_copies),
        cmocka_unit_test(a_failing_call_is_named),
        cmocka_unit_test(a_driver_that_does_not_start),
        cmocka_unit_test(no_driver_is_no_error),
        cmocka_unit_test(the_link_needs_nvml),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
