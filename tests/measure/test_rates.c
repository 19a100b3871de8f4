// SPDX-License-Identifier: Apache-2.0
// Rates that are kept for a kind of machine and carried by later runs, and how check prints them.
#include "measure/rates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/check.h"
#include "test.h"

static char folder[] = "/tmp/fare-rates-XXXXXX";

static int begin(void **state)
{
    (void)state;
    return mkdtemp(folder) ? setenv("XDG_DATA_HOME", folder, 1) : -1;
}

static int end(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

// What an H200 gave with cuBLAS and with a copy, and a driver that failed in tf32.
#define H200                                                                                       \
    "{\"measured_at\": \"2026-11-16T12:00:00Z\", \"fingerprint\": \"00ff00ff00ff00ff\", "          \
    "\"list\": [{\"device\": \"cpu\", \"operation\": \"multiply-add\", \"per_s\": 2.5e9, "         \
    "\"unit\": \"op/s\", \"threads\": 1}, {\"device\": \"cpu\", \"operation\": \"product\", "      \
    "\"precision\": \"f32\", \"per_s\": 1.25e12, \"unit\": \"flop/s\", \"size\": 2048, "           \
    "\"threads\": 16, \"by\": \"oneDNN 2.6.3 avx512_core\"}, "                                     \
    "{\"device\": \"gpu 0\", \"operation\": \"copy\", \"per_s\": 4.216e12, \"unit\": "             \
    "\"byte/s\", \"size\": 268435456}, {\"device\": \"gpu 0\", \"name\": \"NVIDIA H200\", "        \
    "\"operation\": \"product\", \"precision\": \"tf32\", \"unit\": \"flop/s\", "                  \
    "\"problem\": \"cuLaunchKernel: lost\"}, {\"device\": \"gpu 0\", \"name\": \"NVIDIA H200\", "  \
    "\"operation\": \"product\", \"precision\": \"bf16\", \"per_s\": 7.87e14, \"unit\": "          \
    "\"flop/s\", \"size\": 4096, \"by\": \"some kernel\", \"share_of_peak\": 0.796}]}"

// The same with fare's kernels that crashed, and two precisions of a library.
#define BOTH                                                                                       \
    "{\"measured_at\": \"2026-11-16T12:00:00Z\", \"fingerprint\": \"00ff00ff00ff00ff\", "          \
    "\"list\": [{\"device\": \"gpu 0\", \"operation\": \"product\", \"by\": "                      \
    "\"fare's kernels\", \"problem\": \"signal SIGSEGV\"}, {\"device\": \"gpu 0\", "               \
    "\"operation\": \"product\", \"precision\": \"f32\", \"per_s\": 5.1e13, \"unit\": "            \
    "\"flop/s\", \"size\": 8192, \"by\": \"cuBLASLt 13.1.0\", \"share_of_peak\": 0.761}, "         \
    "{\"device\": \"gpu 0\", \"operation\": \"product\", \"precision\": \"fp8\", \"unit\": "       \
    "\"flop/s\", \"by\": \"cuBLASLt 13.1.0\", \"problem\": \"status 14\"}]}"

static void put(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/fare", folder);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/fare/rates", folder);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/fare/rates/%s.json", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static struct machine_rates recall(const char *fingerprint)
{
    struct machine_rates rates = {0};
    struct err err = {0};
    assert_ok(rates_recall(fingerprint, &rates, &err), &err);
    return rates;
}

TEST(kept_and_recalled)
{
    struct err err = {0};
    struct machine_rates none = recall("00ff00ff00ff00ff");
    assert_int_equal(none.list.count, 0);
    assert_null(none.measured_at);
    put("00ff00ff00ff00ff", H200);
    struct machine_rates rates = recall("00ff00ff00ff00ff");
    assert_int_equal(rates.list.count, 5);
    assert_string_equal(rates.measured_at, "2026-11-16T12:00:00Z");
    assert_string_equal(rates.list.items[2].operation, "copy");
    assert_true(rates.list.items[2].per_s.v == 4.216e12);
    // Kept for another kind, and recalled for that alone.
    free(rates.fingerprint);
    rates.fingerprint = strdup("aa00");
    assert_ok(rates_keep(&rates, &err), &err);
    struct machine_rates again = recall("aa00");
    assert_int_equal(again.list.count, 5);
    assert_string_equal(again.list.items[1].by, "oneDNN 2.6.3 avx512_core");
    assert_int_equal(recall("aa01").list.count, 0);
    record_release(machine_rates_fields, &rates);
    record_release(machine_rates_fields, &again);
}

TEST(damaged_files_are_ignored)
{
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "null",
        "\xff\xfe",
        "{\"list\": 5}",
        "{\"fingerprint\": \"bb\", \"list\": [{\"per_s\": -5}]}",
        "{\"fingerprint\": \"cc\", \"list\": []}", // another machine's
        "{\"list\": [{\"device\": \"cpu\", \"per_s\": 1}]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put("bb", bad[i]);
        struct machine_rates rates = recall("bb");
        if (rates.fingerprint)
            fail_msg("%s", bad[i]);
        assert_int_equal(rates.list.count, 0);
    }
    assert_int_equal(recall(NULL).list.count, 0);
    assert_int_equal(recall("../rates/00ff00ff00ff00ff").list.count, 0); // no way out of the folder
    struct err err = {0};
    struct machine_rates astray = {.fingerprint = strdup("../x")};
    assert_int_equal(rates_keep(&astray, &err), ERR_FORMAT);
    free(astray.fingerprint);
}

static void assert_printed(const char *rates, const char *const *lines, size_t count)
{
    struct out out = {.width = 200};
    struct machine machine = {0};
    put("00ff00ff00ff00ff", rates);
    machine.rates = recall("00ff00ff00ff00ff");
    check_text(&out, &machine);
    for (size_t i = 0; i < count; i++)
        if (!strstr(buf_str(&out.text), lines[i]))
            fail_msg("no line '%s' in\n%s", lines[i], buf_str(&out.text));
    out_release(&out);
    machine_release(&machine);
}

TEST(check_prints_them)
{
    static const char *const lines[] = {
        "          one thread 2.5 billion multiply-adds/s\n",
        "          matrix product f32 1.25 TFLOP/s (2048 × 2048), by oneDNN 2.6.3 avx512_core, 16 "
        "threads\n",
        "          GPU 0 copy within its memory 4.22 TB/s, 256 MiB\n",
        "          GPU 0 matrix product tf32 not measured: cuLaunchKernel: lost, bf16 787 TFLOP/s "
        "(4096 × 4096, 80 % of the data sheet), by some kernel\n",
    };
    assert_printed(H200, lines, sizeof lines / sizeof *lines);
    static const char *const both[] = {
        "          GPU 0 matrix product not measured: signal SIGSEGV, by fare's kernels\n",
        "          GPU 0 matrix product f32 51 TFLOP/s (8192 × 8192, 76 % of the data sheet), fp8 "
        "not measured: status 14, by cuBLASLt 13.1.0\n",
    };
    assert_printed(BOTH, both, sizeof both / sizeof *both);
}

// ---- measuring, with stand-ins for the driver and for cuBLASLt

static char program[4096];

static char *beside(const char *file)
{
    char path[8192];
    snprintf(path, sizeof path, "%.*s../%s", (int)(strrchr(program, '/') + 1 - program), program,
             file);
    return strdup(path);
}

static void add_library(struct machine *machine, const char *name, const char *file)
{
    struct machine_gpu_library *l = LIST_ADD(&machine->gpu_libraries, NULL);
    assert_non_null(l);
    l->name = strdup(name);
    l->path = beside(file);
}

// A round of 50 products of 4096 takes a millisecond by the stand-in's clock. NVIDIA's data sheet
// of the H200, half of what it gives with sparsity: 67, 494.5, 989.5, 989.5 and 1979 TFLOP/s.
TEST(the_first_library_that_works)
{
    static const struct {
        const char *precision;
        double tflops;
    } sheet[] = {{"f32", 67}, {"tf32", 494.5}, {"bf16", 989.5}, {"f16", 989.5}, {"fp8", 1979}};
    struct machine machine = {.fingerprint = strdup("ab")};
    struct err err = {0};
    struct machine_gpu_bandwidth *gpu = LIST_ADD(&machine.bandwidth.gpus, NULL);
    assert_non_null(gpu);
    gpu->name = strdup("NVIDIA H200");
    gpu->index = some_int(0);
    char *driver = beside("train/engine/fake_gpu.so");
    setenv("FARE_CUDA", driver, 1);
    setenv("FAKE_GPU_MEMORY", "268435456", 1);
    free(driver);
    add_library(&machine, "NCCL", "train/engine/fake_cublas.so");
    add_library(&machine, "cuBLASLt", "train/engine/absent.so");
    add_library(&machine, "cuBLASLt", "machine/fake_library.so");
    add_library(&machine, "cuBLASLt", "train/engine/fake_cublas.so");
    assert_ok(rates_measure(&machine, &err), &err);
    int found = 0;
    for (size_t i = 0; i < machine.rates.list.count; i++) {
        const struct machine_rate *r = &machine.rates.list.items[i];
        if (!r->by || strncmp(r->by, "cuBLASLt", 8) != 0)
            continue;
        assert_in_range(found, 0, 4);
        if (r->problem)
            fail_msg("%s", r->problem);
        assert_string_equal(r->by, "cuBLASLt 13.1.0");
        assert_string_equal(r->precision, sheet[found].precision);
        assert_string_equal(r->device, "gpu 0");
        assert_false(r->threads.known);
        double rate = 2 * pow(4096, 3) * 50 / 1e-3;
        assert_true(fabs(r->per_s.v / rate - 1) < 1e-6);
        assert_true(fabs(r->share_of_peak.v / (rate / sheet[found].tflops / 1e12) - 1) < 2e-3);
        found++;
    }
    assert_int_equal(found, 5);
    machine_release(&machine);
}

int main(int argc, char **argv)
{
    (void)argc;
    snprintf(program, sizeof program, "%s", argv[0]);
    return run_all_tests(begin, end);
}
