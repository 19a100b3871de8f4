// SPDX-License-Identifier: Apache-2.0
// Every allocation fails once: an error comes back, nothing leaks, nothing is passed over.
#include "oom.h"

#include "machine/bandwidth.h"
#include "recorded.h"

TEST(reading_gpus)
{
    static const char *const trees[] = {"eight-h100",       "mig-a100",  "driver-mismatch",
                                        "nvidia-no-driver", "throttled", "amd-mi",
                                        "amd-no-driver"};
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        char root[256];
        struct probe probe = recorded(trees[i], root);
        OOM_EACH
        {
            struct err err = {0};
            struct machine machine = {0};
            probe.tree.failed = false;
            int rc = probe_gpus(&probe, &machine, &err);
            machine_release(&machine);
            OOM_EXPECT(rc, &err);
        }
    }
}

TEST(measuring_bandwidth)
{
    static const char *const behaviours[] = {"devices=2 free=2097152", "cuMemAlloc_v2=719",
                                             "cuInit=802"};
    char root[256];
    struct probe probe = recorded("eight-h100", root);
    use_library("FARE_CUDA", "fake_cuda.so");
    for (size_t i = 0; i < sizeof behaviours / sizeof *behaviours; i++) {
        setenv("FARE_FAKE_CUDA", behaviours[i], 1);
        OOM_EACH
        {
            struct err err = {0};
            struct machine machine = {0};
            struct machine_gpu gpu = {.vendor = NULL};
            char vendor[] = "nvidia";
            gpu.vendor = vendor;
            machine.gpus.items = &gpu;
            machine.gpus.count = 1;
            int rc = cuda_bandwidth(&probe, &machine, &err);
            machine.gpus.items = NULL;
            machine.gpus.count = 0;
            machine_release(&machine);
            OOM_EXPECT(rc, &err);
        }
    }
}
