// SPDX-License-Identifier: Apache-2.0
// Whether a training fits into other GPUs. Expectations are worked out by hand: PyTorch's allocator
// held 1.33 times what was in use, so a training that needs 12 GiB shows 16; 70 billion weights of
// 16 bits are 140 GB, and eight GPUs of 16 GiB have 137.4 GB.
#include "advise/estimate/rates.h"

#include <string.h>

#include "test.h"

// Nobody releases or changes the texts of these records.
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wincompatible-pointer-types-discards-qualifiers"
#else
#pragma GCC diagnostic ignored "-Wdiscarded-qualifiers"
#endif

#define GIB (INT64_C(1) << 30)

static struct device a4000 = {.name = "RTXA4000", .memory_mib = 16 << 10},
                     h100 = {.name = "H100", .memory_mib = 80 << 10},
                     l40s = {.name = "L40S", .memory_mib = 48 << 10};

static enum estimate_fit on(const struct run *run, const struct device *from, int from_gpus,
                            const struct device *to, int gpus, char why[200])
{
    const struct estimate_place here = {.device = from, .gpus = from_gpus},
                                there = {.device = to, .gpus = gpus};
    return estimate_memory(run, &here, &there, why);
}

TEST(what_fits_is_not_refused)
{
    char why[200];
    struct run run = {.framework = "command"};
    static const struct {
        double needs; // GiB in use
        enum estimate_fit fit;
    } cases[] = {{11, ESTIMATE_FITS},         // 14.6 held
                 {12.1, ESTIMATE_FIT_UNSURE}, // 16.1
                 {15.9, ESTIMATE_FIT_UNSURE}, // 21.1: it fits
                 {17.5, ESTIMATE_FITS_NOT}};  // 23.3
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run.use.gpu_memory_peak_bytes = some_int((int64_t)(1.33 * cases[i].needs * (double)GIB));
        assert_int_equal(on(&run, &h100, 1, &a4000, 1, why), cases[i].fit);
    }
    run.use.gpu_memory_peak_bytes = some_int(20 * GIB);
    assert_int_equal(on(&run, &h100, 1, &a4000, 1, why), ESTIMATE_FIT_UNSURE);
    assert_string_equal(why, "may not suffice: the run held 20 GiB, of which some may be its "
                             "allocator's cache; the RTXA4000 has 16 GiB");
    run.framework = "fare"; // whose engine keeps nothing
    assert_int_equal(on(&run, &h100, 1, &a4000, 1, why), ESTIMATE_FITS_NOT);
}

TEST(unknown_is_said)
{
    char why[200];
    struct run run = {.framework = "command"};
    assert_int_equal(on(&run, NULL, 0, &a4000, 1, why), ESTIMATE_FIT_UNKNOWN);
    assert_string_equal(why, "unknown: the run was on a CPU, and the RTXA4000 has 16 GiB");
    // What ran on an H100 needs at most what it has.
    assert_int_equal(on(&run, &h100, 1, &h100, 1, why), ESTIMATE_FITS);
    assert_int_equal(on(&run, &h100, 1, &h100, 8, why), ESTIMATE_FITS);
    assert_int_equal(on(&run, &h100, 8, &h100, 1, why), ESTIMATE_FIT_UNKNOWN); // it may be divided
    assert_int_equal(on(&run, &h100, 1, &l40s, 1, why), ESTIMATE_FIT_UNKNOWN);
    assert_string_equal(why, "unknown, and the L40S has 48 GiB");
    assert_int_equal(on(&run, &h100, 1, &(struct device){.name = "new"}, 1, why),
                     ESTIMATE_FIT_UNKNOWN);
    // To a CPU, or to a GPU that nobody knows.
    assert_int_equal(on(&run, &h100, 1, &h100, 0, why), ESTIMATE_FITS);
    assert_int_equal(on(&run, &h100, 1, NULL, 1, why), ESTIMATE_FITS);
}

TEST(seventy_billion_weights)
{
    char *qlora[] = {"python", "tune.py", "--model=Llama-2-70b-hf", "--load-in-4bit"};
    char why[200];
    struct run run = {.framework = "command", .workload = "llama2_70b_lora"};
    assert_int_equal(on(&run, NULL, 0, &a4000, 8, why), ESTIMATE_FITS_NOT);
    assert_string_equal(why, "its weights alone take 130 GiB, 8 × RTXA4000 have 128 GiB");
    assert_int_equal(on(&run, NULL, 0, &h100, 1, why), ESTIMATE_FITS_NOT);
    assert_int_equal(on(&run, NULL, 0, &l40s, 8, why), ESTIMATE_FIT_UNKNOWN);
    run = (struct run){.framework = "command", .command = {qlora, 4, true}};
    assert_int_equal(on(&run, NULL, 0, &h100, 1, why), ESTIMATE_FIT_UNKNOWN); // 35 GB
    assert_int_equal(on(&run, NULL, 0, &a4000, 2, why), ESTIMATE_FITS_NOT);
    static const char *const no_size[] = {"resnet50", "8x7b", "70bert", "v1.70b2", "", "b", "70"};
    for (size_t i = 0; i < sizeof no_size / sizeof *no_size; i++) {
        run = (struct run){.framework = "command", .name = no_size[i]};
        assert_int_equal(on(&run, NULL, 0, &a4000, 1, why), ESTIMATE_FIT_UNKNOWN);
    }
}
