// SPDX-License-Identifier: Apache-2.0
// Products by cuBLASLt, with stand-ins for the library and the driver (fake_cublas.c, fake_gpu.c).
#include "train/engine/engine.h"

#include <math.h>

#include "stand_in.h"
#include "test.h"

static char library[4096], another[4096];

static void behave(const char *as, const char *failing)
{
    setenv("FAKE_CUBLAS", as, 1);
    setenv("FAKE_CUBLAS_FAIL", failing, 1);
}

static int measure(int precision, struct engine_product *out, struct err *err)
{
    struct blas *cublas;
    assert_ok(engine_cuda.blas->open(library, &cublas, err), err);
    int rc = engine_cuda.blas->product(cublas, precision, out, err);
    engine_cuda.blas->close(cublas);
    return rc;
}

// A round takes a millisecond by the driver's clock. The first product seems to take one as well,
// so a round of 50 ms has 50.
TEST(all_precisions)
{
    static const char *const names[] = {"f32", "tf32", "bf16", "f16", "fp8"};
    behave("", "");
    for (int i = 0; i < 5; i++) {
        struct engine_product out = {0};
        struct err err = {0};
        assert_string_equal(engine_cuda.blas->precision(i), names[i]);
        assert_ok(measure(i, &out, &err), &err);
        assert_int_equal(out.size, 4096);
        assert_true(fabs(out.seconds / (1e-3 / 50) - 1) < 1e-6);
        assert_string_equal(out.kernel, "cuBLASLt 13.1.0");
    }
    assert_null(engine_cuda.blas->precision(5));
}

TEST(failures_are_told)
{
    static const struct {
        const char *as, *failing;
        int rc;
        const char *words;
    } cases[] = {
        {"", "cublasLtMatmul:14", ERR_FAIL,
         "cublasLtMatmul failed with CUBLAS_STATUS_OF_THE_STAND_IN (14)"},
        {"", "cublasLtMatmulDescCreate:7", ERR_FAIL,
         "cublasLtMatmulDescCreate failed with CUBLAS_STATUS_OF_THE_STAND_IN (7)"},
        {"", "cublasLtMatmulDescSetAttribute:7", ERR_FAIL, "cublasLtMatmulDescSetAttribute"},
        {"", "cublasLtMatrixLayoutCreate:3", ERR_FAIL, "cublasLtMatrixLayoutCreate"},
        {"", "cublasLtMatmulPreferenceCreate:3", ERR_FAIL, "cublasLtMatmulPreferenceCreate"},
        {"", "cublasLtMatmulPreferenceSetAttribute:7", ERR_FAIL,
         "cublasLtMatmulPreferenceSetAttribute"},
        {"", "cublasLtMatmulAlgoGetHeuristic:14", ERR_FAIL, "cublasLtMatmulAlgoGetHeuristic"},
        // The GPU lacks it: no row.
        {"", "cublasLtMatmulAlgoGetHeuristic:15", ERR_MISSING,
         "cublasLtMatmulAlgoGetHeuristic failed with CUBLAS_STATUS_NOT_SUPPORTED (15)"},
        {"none", "", ERR_MISSING, "cuBLASLt 13.1.0 has no algorithm for bf16"},
        {"large", "", ERR_FAIL, "cuBLASLt 13.1.0 wants a workspace of 1073741824 bytes"},
        {"lazy", "", ERR_FAIL, "cuBLASLt 13.1.0 calculates wrongly: 0 instead of"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct engine_product out = {0};
        struct err err = {0};
        behave(cases[i].as, cases[i].failing);
        assert_int_equal(measure(2, &out, &err), cases[i].rc);
        if (strncmp(err.text, cases[i].words, strlen(cases[i].words)) != 0)
            fail_msg("%s", err.text);
        assert_string_equal(out.kernel, "cuBLASLt 13.1.0");
    }
}

TEST(absurd_times_are_told)
{
    static const char *const times[] = {"0", "-1", "1e-9", "nan", "inf"}; // ms
    behave("", "");
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct engine_product out = {0};
        struct err err = {0};
        setenv("FAKE_GPU_MS", times[i], 1);
        assert_int_equal(measure(2, &out, &err), ERR_FAIL);
        assert_string_equal(err.text, i < 4 ? "a matrix product took no time"
                                            : "a matrix product took forever");
    }
    unsetenv("FAKE_GPU_MS");
}

TEST(libraries_that_do_not_open)
{
    struct blas *cublas;
    struct err missing = {0}, incomplete = {0}, old = {0}, broken = {0};
    behave("", "");
    assert_true(engine_cuda.blas->open("/nowhere/libcublasLt.so.13", &cublas, &missing) != 0);
    assert_null(cublas);
    assert_non_null(strstr(missing.text, "cuBLASLt"));
    assert_true(engine_cuda.blas->open(another, &cublas, &incomplete) != 0);
    assert_non_null(strstr(incomplete.text, "has no function cublasLtCreate"));
    behave("old", "");
    assert_int_equal(engine_cuda.blas->open(library, &cublas, &old), ERR_FAIL);
    assert_string_equal(old.text, "cuBLASLt 10.2.2 is older than 11.0");
    behave("", "cublasLtCreate:1");
    assert_int_equal(engine_cuda.blas->open(library, &cublas, &broken), ERR_FAIL);
    assert_non_null(strstr(broken.text, "cublasLtCreate failed with"));
}

// 3 × 64 MiB of f32 do not fit beside the workspace: an error, and memory for the next.
TEST(a_full_gpu)
{
    struct engine_product out = {0};
    struct err err = {0};
    behave("", "");
    setenv("FAKE_GPU_MEMORY", "150000000", 1);
    assert_true(measure(0, &out, &err) != 0);
    assert_non_null(strstr(err.text, "the GPU has not enough memory"));
    struct err none = {0};
    assert_ok(measure(4, &out, &none), &none);
    setenv("FAKE_GPU_MEMORY", "268435456", 1);
}

int main(int argc, char **argv)
{
    (void)argc;
    const char *slash = strrchr(argv[0], '/');
    int len = (int)(slash ? slash - argv[0] : 1);
    const char *folder = slash ? argv[0] : ".";
    snprintf(library, sizeof library, "%.*s/fake_cublas.so", len, folder);
    snprintf(another, sizeof another, "%.*s/../../machine/fake_library.so", len, folder);
    take_stand_in(argv[0]);
    setenv("FAKE_GPU_MEMORY", "268435456", 1);
    return run_all_tests(NULL, NULL);
}
