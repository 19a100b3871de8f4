// SPDX-License-Identifier: Apache-2.0
// Which kernels are loaded, and from what: PTX cut to one kernel, or machine code that may be
// wrong. The driver is in this file, and counts.
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/sha256.h"
#include "train/engine/cuda/modules.h"

static const char machine_code[] = "\177ELF of the test";
static int compiled, packed, refuse_packed, without; // without: machine code has no such function
static char last[1 << 20];                           // the text compiled last

static int load_data(void **module, const void *data, unsigned count, int *options, void **values)
{
    (void)count;
    (void)options;
    (void)values;
    *module = &compiled;
    if (memcmp(data, "\177ELF", 4) == 0) {
        packed++;
        *module = &packed;
        return refuse_packed;
    }
    compiled++;
    assert_in_range(strlen(data), 1, sizeof last - 1);
    memcpy(last, data, strlen(data) + 1);
    return 0;
}

static int get_function(void **function, void *module, const char *name)
{
    char head[128];
    *function = module;
    if (module == &packed)
        return without ? 500 : 0;
    snprintf(head, sizeof head, ".visible .entry %s(", name);
    return strstr(last, head) ? 0 : 500;
}

static const struct libcuda api = {.cuModuleLoadDataEx = load_data,
                                   .cuModuleGetFunction = get_function};

static struct gpu_about about = {.name = "a GPU", .driver = 13000, .major = 9};

static struct modules begin(void)
{
    compiled = packed = refuse_packed = without = 0;
    about.major = 9;
    about.minor = 0;
    return (struct modules){.api = &api, .about = &about, .real = 90};
}

static void finish(struct modules *m)
{
    for (int i = 0; i < PTX_TEXTS_MAX; i++)
        free(m->texts[i].kernels.items);
}

static int occurrences(const char *text, const char *what)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        count++;
    return count;
}

// A text can be cut because its kernels call no functions, and what they share comes first.
TEST(texts_can_be_cut)
{
    struct err err = {0};
    for (int i = 0; i < ptx_text_count; i++) {
        const struct ptx_text *text = &ptx_texts[i];
        struct ptx_kernels all = {0};
        assert_ok(modules_index(text, &all, &err), &err);
        assert_int_equal((int)all.count, occurrences(text->text, ".entry "));
        assert_true(all.count > 0);
        assert_int_equal(occurrences(text->text, ".func "), 0);
        size_t bytes = (size_t)(all.items[0].at - text->text);
        for (size_t k = 0; k < all.count; k++) {
            struct buf cut = {0};
            assert_ok(modules_cut(text, &all, &all.items[k], &cut, &err), &err);
            assert_int_equal(occurrences(cut.data, ".entry "), 1);
            assert_int_equal(occurrences(cut.data, "\n.version "), 1);
            assert_int_equal(occurrences(cut.data, "\n.target "), 1);
            bytes += (size_t)(all.items[k].end - all.items[k].at);
            buf_release(&cut);
        }
        assert_int_equal(bytes, strlen(text->text)); // nothing is lost
        free(all.items);
    }
}

TEST(a_kernel_is_compiled_once_and_alone)
{
    struct err err = {0};
    struct modules m = begin();
    void *function = NULL;
    setenv("FARE_KERNELS", "off", 1);
    assert_ok(modules_find(&m, ENGINE_TF32, "head", &function, &err), &err);
    assert_non_null(function);
    assert_int_equal(occurrences(last, ".entry "), 1);
    assert_ok(modules_find(&m, ENGINE_TF32, "head", &function, &err), &err);
    assert_int_equal(compiled, 1);
    assert_ok(modules_find(&m, ENGINE_BF16, "head", &function, &err), &err); // another text's
    assert_ok(modules_find(&m, ENGINE_BF16, "image_round", &function, &err), &err);
    assert_int_equal(compiled, 3);
    assert_int_equal(m.from_pack, 0);
    finish(&m);
}

TEST(a_kernel_that_is_not_there)
{
    struct err err = {0};
    struct modules m = begin();
    void *function;
    const char *const names[] = {"hea", "heads", "", "image_round"}; // the last is not for tf32
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        err = (struct err){0};
        assert_int_equal(modules_find(&m, ENGINE_TF32, names[i], &function, &err), ERR_FAIL);
        assert_non_null(strstr(err.text, "no such kernel for a GPU, compute capability 9.0"));
    }
    assert_int_equal(compiled, 0);
    finish(&m);
}

TEST(texts_fit_their_gpus)
{
    struct ptx_text all = {.capability = 80, .version = 70, .precision = ENGINE_BF16};
    assert_true(ptx_fits(&all, 80, 11000, ENGINE_BF16));
    assert_true(ptx_fits(&all, 120, 13000, ENGINE_BF16));
    assert_false(ptx_fits(&all, 75, 13000, ENGINE_BF16));
    assert_false(ptx_fits(&all, 80, 10020, ENGINE_BF16)); // PTX 7.0 came with CUDA 11.0
    assert_false(ptx_fits(&all, 80, 11000, ENGINE_TF32));
    // sm_90a runs on 9.0 and nothing else; PTX 8.0 came with CUDA 12.0.
    struct ptx_text hopper = {
        .capability = 90, .alone = true, .version = 80, .precision = ENGINE_BF16};
    assert_true(ptx_fits(&hopper, 90, 12000, ENGINE_BF16));
    assert_false(ptx_fits(&hopper, 100, 13000, ENGINE_BF16));
    assert_false(ptx_fits(&hopper, 90, 11080, ENGINE_BF16));
    struct modules m = begin();
    assert_true(modules_have(&m, ENGINE_BF16));
    about.major = 7;
    assert_false(modules_have(&m, ENGINE_BF16));
    assert_true(modules_have(&m, ENGINE_F32));
}

// ---- machine code ----

static char folder[] = "/tmp/fare-modules-XXXXXX";

static void file_of(char path[256], const char *name, const char *arch)
{
    char hash[SHA256_HEX_BYTES] = "";
    for (int i = 0; i < ptx_text_count; i++)
        if (strcmp(ptx_texts[i].name, name) == 0)
            sha256_hex_of(ptx_texts[i].text, strlen(ptx_texts[i].text), hash);
    assert_int_equal(strlen(hash), 64);
    snprintf(path, 256, "%s/%s-%.16s.%s.cubin", folder, name, hash, arch);
}

static void with_file(const char *name, const char *arch, const void *bytes, size_t len)
{
    char path[256];
    struct err err = {0};
    file_of(path, name, arch);
    assert_ok(fs_write(path, bytes, len, &err), &err);
    setenv("FARE_KERNELS", folder, 1);
}

static void without_file(const char *name, const char *arch)
{
    char path[256];
    file_of(path, name, arch);
    assert_int_equal(unlink(path), 0);
}

// Looks for two kernels of a text in a precision; what became of them is in `compiled` and
// `packed`.
static void find_two(struct modules *m)
{
    struct err err = {0};
    void *function;
    assert_ok(modules_find(m, ENGINE_TF32, "head", &function, &err), &err);
    assert_ok(modules_find(m, ENGINE_TF32, "gather", &function, &err), &err);
    finish(m);
}

TEST(machine_code_is_loaded_once)
{
    struct modules m = begin();
    with_file("sm_80_tf32", "sm_90", machine_code, sizeof machine_code);
    find_two(&m);
    assert_int_equal(packed, 1);
    assert_int_equal(compiled, 0);
    assert_int_equal(m.from_pack, 2);
    without_file("sm_80_tf32", "sm_90");
}

TEST(machine_code_that_is_refused)
{
    struct modules m = begin();
    with_file("sm_80_tf32", "sm_90", machine_code, sizeof machine_code);
    refuse_packed = 209;
    find_two(&m);
    assert_int_equal(packed, 1); // not tried again
    assert_int_equal(compiled, 2);
    assert_int_equal(m.from_pack, 0);
    m = begin();
    without = 1; // loads, but lacks the kernels
    find_two(&m);
    assert_int_equal(compiled, 2);
    without_file("sm_80_tf32", "sm_90");
}

TEST(machine_code_of_another_gpu)
{
    with_file("sm_80_tf32", "sm_80", machine_code, sizeof machine_code);
    const struct {
        int real, packed;
    } cases[] = {{80, 1}, {86, 1}, {89, 1}, {90, 0}, {100, 0}, {120, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct modules m = begin();
        m.real = cases[i].real;
        find_two(&m);
        assert_int_equal(packed, cases[i].packed);
        assert_int_equal(compiled, cases[i].packed ? 0 : 2);
    }
    // The text is chosen by a lowered capability, its machine code by the GPU's own.
    with_file("sm_60_f32", "sm_90", machine_code, sizeof machine_code);
    struct modules m = begin();
    struct err err = {0};
    void *function;
    about.major = 6;
    assert_ok(modules_find(&m, ENGINE_F32, "head", &function, &err), &err);
    assert_int_equal(packed, 1);
    finish(&m);
    without_file("sm_60_f32", "sm_90");
    without_file("sm_80_tf32", "sm_80");
}

// Of another version, or with nothing in it.
TEST(files_that_do_not_belong)
{
    char path[256];
    struct err err = {0};
    struct modules m = begin();
    snprintf(path, sizeof path, "%s/sm_80_tf32-0123456789abcdef.sm_90.cubin", folder);
    assert_ok(fs_write(path, machine_code, sizeof machine_code, &err), &err);
    setenv("FARE_KERNELS", folder, 1);
    find_two(&m);
    assert_int_equal(packed, 0);
    assert_int_equal(compiled, 2);
    assert_int_equal(unlink(path), 0);
    setenv("FARE_KERNELS", "/nonexistent/kernels", 1);
    m = begin();
    find_two(&m);
    assert_int_equal(compiled, 2);
    file_of(path, "sm_80_tf32", "sm_90");
    setenv("FARE_KERNELS", folder, 1);
    assert_int_equal(mkdir(path, 0700), 0); // a folder of that name
    m = begin();
    find_two(&m);
    assert_int_equal(packed, 0);
    assert_int_equal(compiled, 2);
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
    assert_non_null(mkdtemp(folder));
    int failed = run_all_tests(NULL, NULL);
    rmdir(folder);
    return failed;
}
