// SPDX-License-Identifier: Apache-2.0
// Machines made up file by file, with stand-ins for NVIDIA's libraries that really are opened.
#include "machine/libraries.h"

#include "host.h"

enum { PATIENT_MS = 60000 }; // the machine that tests may be slow

// A copy: a link would be the same file.
static void put_library(const struct host *s, const char *path, const char *stand_in, size_t max)
{
    struct buf from = {0}, bytes = {0};
    char full[1024];
    assert_int_equal(fs_program_dir(&from, NULL), 0);
    buf_printf(&from, "/%s", stand_in);
    assert_int_equal(fs_read(buf_str(&from), 64 << 20, &bytes, NULL), 0);
    host_put(s, path, "");
    snprintf(full, sizeof full, "%s%s", s->root, path);
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    size_t len = max && max < bytes.len ? max : bytes.len;
    assert_int_equal(fwrite(buf_str(&bytes), 1, len, file), len);
    assert_int_equal(fclose(file), 0);
    buf_release(&from);
    buf_release(&bytes);
}

static void put_link(const struct host *s, const char *path, const char *target)
{
    char full[1024];
    host_put(s, path, "");
    snprintf(full, sizeof full, "%s%s", s->root, path);
    assert_int_equal(unlink(full), 0);
    assert_int_equal(symlink(target, full), 0);
}

static struct machine find(const struct host *s, const char *const *env, int64_t limit_ms)
{
    struct machine machine = {0};
    struct err err = {0};
    struct probe probe = {.tree = {.root = s->root}, .env = (char *const *)(uintptr_t)env};
    struct libraries *libraries;
    assert_ok(libraries_start(&probe, limit_ms, &libraries, &err), &err);
    assert_ok(libraries_finish(libraries, &machine, &err), &err);
    libraries_free(libraries);
    assert_true(machine.gpu_libraries.known);
    return machine;
}

static void assert_library(const struct machine_gpu_library *l, const char *name,
                           const char *version, const char *path, const char *place,
                           const char *found_by)
{
    assert_string_equal(l->name, name);
    if (version)
        assert_string_equal(l->version, version);
    else
        assert_null(l->version);
    assert_string_equal(l->path, path);
    assert_string_equal(l->place, place);
    assert_string_equal(l->found_by, found_by);
}

// CUDNN_VERSION, CUBLAS_VERSION and NCCL_VERSION_CODE of those releases' headers.
TEST(versions_in_numbers)
{
    static const struct {
        int64_t number;
        int major;
        const char *version;
    } known[] = {
        {91900, 9, "9.19.0"},
        {90100, 9, "9.1.0"},
        {8907, 8, "8.9.7"},
        {7605, 7, "7.6.5"},
        {130100, 13, "13.1.0"},
        {120804, 12, "12.8.4"},
        {111103, 11, "11.11.3"},
        {11402, 11, "11.4.2"},
        {12003, 11, "11.10.3"},
        {10202, 10, "10.2.2"},
        {22809, 2, "2.28.9"},
        {2708, 2, "2.7.8"},
        {0, 2, ""},
        {-22809, 2, ""},
        {7, 9, ""},
        {INT64_MAX, 9, ""},
        {INT64_MIN, 9, ""},
        {91900, 8, ""},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char out[32] = "?";
        library_version(known[i].number, known[i].major, out, sizeof out);
        assert_string_equal(out, known[i].version);
    }
}

TEST(nothing_is_found_where_nothing_is)
{
    struct host s = host_make();
    const char *const env[] = {"PATH=/usr/bin:bin:", "VIRTUAL_ENV=here", "CUDA_HOME=", "HOME=/root",
                               NULL};
    host_put(&s, "/usr/lib/x86_64-linux-gnu/libcudnn.so.9/a", "a folder");
    host_put(&s, "/etc/ld.so.conf", "include ld.so.conf.d/*.conf\nrelative\n\n");
    struct machine machine = find(&s, env, PATIENT_MS);
    assert_int_equal(machine.gpu_libraries.count, 0);
    host_remove(&s);
    machine_release(&machine);
}

TEST(a_recorded_machine_is_not_searched)
{
    struct machine machine = {0};
    struct err err = {0};
    struct probe probe = host_probe(TREE("eight-h100"), NULL);
    struct libraries *libraries;
    assert_ok(libraries_start(&probe, PATIENT_MS, &libraries, &err), &err);
    assert_ok(libraries_finish(libraries, &machine, &err), &err);
    libraries_free(libraries);
    assert_false(machine.gpu_libraries.known);
}

TEST(the_loaders_folders)
{
    struct host s = host_make();
    const char *const env[] = {"LD_LIBRARY_PATH=rel:/a b:/nowhere", NULL};
    put_library(&s, "/a b/libcudnn.so.9", "fake_library.so", 0);
    host_put(&s, "/etc/ld.so.conf.d/x.conf", "# a comment\n/opt/x/lib\n");
    put_library(&s, "/opt/x/lib/libnccl.so.2", "fake_library.so", 0);
    put_library(&s, "/usr/lib64/libcublasLt.so.13", "fake_library.so", 0);
    struct machine machine = find(&s, env, PATIENT_MS);
    assert_int_equal(machine.gpu_libraries.count, 3);
    const struct machine_gpu_library *l = machine.gpu_libraries.items;
    assert_library(&l[0], "cuDNN", "9.19.0", "/a b/libcudnn.so.9", "/a b", "loader");
    assert_library(&l[1], "NCCL", "2.28.9", "/opt/x/lib/libnccl.so.2", "/opt/x/lib", "loader");
    assert_library(&l[2], "cuBLASLt", "13.1.0", "/usr/lib64/libcublasLt.so.13", "/usr/lib64",
                   "loader");
    for (size_t i = 0; i < 3; i++)
        assert_null(l[i].problem);
    host_remove(&s);
    machine_release(&machine);
}

TEST(cuda_folders)
{
    struct host s = host_make();
    const char *const env[] = {"CUDA_HOME=/srv/cuda", NULL};
    put_library(&s, "/srv/cuda/lib64/libnccl.so.2", "fake_library.so", 0);
    put_library(&s, "/usr/local/cuda-13.1/targets/x86_64-linux/lib/libcublasLt.so.13.1.0.3",
                "fake_library.so", 0);
    put_link(&s, "/usr/local/cuda-13.1/targets/x86_64-linux/lib/libcublasLt.so.13",
             "libcublasLt.so.13.1.0.3");
    put_link(&s, "/usr/local/cuda-13.1/lib64", "targets/x86_64-linux/lib");
    put_link(&s, "/usr/local/cuda", "cuda-13.1"); // the same file four times
    put_library(&s, "/opt/cuda/lib64/libcudnn.so.9", "fake_library.so", 0);
    struct machine machine = find(&s, env, PATIENT_MS);
    assert_int_equal(machine.gpu_libraries.count, 3);
    const struct machine_gpu_library *l = machine.gpu_libraries.items;
    assert_library(&l[0], "NCCL", "2.28.9", "/srv/cuda/lib64/libnccl.so.2", "/srv/cuda", "cuda");
    assert_library(&l[1], "cuDNN", "9.19.0", "/opt/cuda/lib64/libcudnn.so.9", "/opt/cuda", "cuda");
    assert_library(&l[2], "cuBLASLt", "13.1.0.3", "/usr/local/cuda/lib64/libcublasLt.so.13",
                   "/usr/local/cuda", "cuda");
    host_remove(&s);
    machine_release(&machine);
}

TEST(python_environments)
{
    struct host s = host_make();
    const char *const env[] = {"PATH=/none:/opt/torch/bin:/usr/bin", "VIRTUAL_ENV=/work/env",
                               "CONDA_PREFIX=/conda", "HOME=/home/u", NULL};
    put_library(&s, "/work/env/lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn.so.9",
                "fake_library.so", 0);
    put_library(&s, "/conda/lib/libcudnn.so.9", "fake_library.so", 0);
    host_put(&s, "/opt/torch/bin/python3.12", "");
    put_link(&s, "/opt/torch/bin/python3", "python3.12");
    put_library(&s, "/opt/torch/lib/python3.12/site-packages/nvidia/cu13/lib/libcublasLt.so.13",
                "fake_library.so", 0);
    put_library(&s, "/home/u/.local/lib/python3.9/site-packages/nvidia/nccl/lib/libnccl.so.2",
                "fake_library.so", 0);
    put_library(&s, "/usr/local/lib/python3.12/dist-packages/nvidia/cudnn/lib/libcudnn.so.8",
                "fake_library.so", 0);
    char program[1024];
    snprintf(program, sizeof program, "%s/opt/torch/bin/python3.12", s.root);
    assert_int_equal(chmod(program, 0755), 0);
    struct machine machine = find(&s, env, PATIENT_MS);
    assert_int_equal(machine.gpu_libraries.count, 5);
    const struct machine_gpu_library *l = machine.gpu_libraries.items;
    assert_library(&l[0], "cuDNN", "9.19.0",
                   "/work/env/lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn.so.9",
                   "/work/env", "python");
    assert_library(&l[1], "cuDNN", "9.19.0", "/conda/lib/libcudnn.so.9", "/conda", "python");
    assert_library(&l[2], "cuBLASLt", "13.1.0",
                   "/opt/torch/lib/python3.12/site-packages/nvidia/cu13/lib/libcublasLt.so.13",
                   "/opt/torch", "python");
    // A file that is called 8 and says 9 is neither.
    assert_library(&l[3], "cuDNN", NULL,
                   "/usr/local/lib/python3.12/dist-packages/nvidia/cudnn/lib/libcudnn.so.8",
                   "/usr/local", "python");
    assert_string_equal(l[3].problem, "cudnnGetVersion returns no version 8");
    assert_library(&l[4], "NCCL", "2.28.9",
                   "/home/u/.local/lib/python3.9/site-packages/nvidia/nccl/lib/libnccl.so.2",
                   "/home/u/.local", "python");
    host_remove(&s);
    machine_release(&machine);
}

TEST(an_environment_is_found_by_what_its_python_is_a_link_to)
{
    struct host s = host_make();
    const char *const env[] = {"PATH=/bin", NULL};
    host_put(&s, "/opt/py/bin/python3", "");
    char program[1024];
    snprintf(program, sizeof program, "%s/opt/py/bin/python3", s.root);
    assert_int_equal(chmod(program, 0755), 0);
    put_link(&s, "/bin/python3", "../opt/py/bin/python3");
    put_library(&s, "/opt/py/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2",
                "fake_library.so", 0);
    struct machine machine = find(&s, env, PATIENT_MS);
    assert_int_equal(machine.gpu_libraries.count, 1);
    assert_library(machine.gpu_libraries.items, "NCCL", "2.28.9",
                   "/opt/py/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2", "/opt/py",
                   "python");
    host_remove(&s);
    machine_release(&machine);
}

#define SITE "/env/lib/python3.12/site-packages/"

// One that crashes, one that is cut off, one that is something else: each is listed with how it
// ended and the version that its package has in its name.
TEST(broken_ones_are_listed)
{
    struct host s = host_make();
    const char *const env[] = {"VIRTUAL_ENV=/env", NULL};
    put_library(&s, SITE "nvidia/cudnn/lib/libcudnn.so.9", "fake_crash.so", 0);
    put_library(&s, SITE "nvidia/cublas/lib/libcublasLt.so.12", "fake_library.so", 500);
    put_library(&s, SITE "nvidia/nccl/lib/libnccl.so.2", "fake_nvml_old.so", 0);
    host_put(&s, SITE "nvidia_cudnn_cu12-8.9.2.26.dist-info/METADATA", ""); // of another
    host_put(&s, SITE "nvidia_cudnn_cu13-9.19.0.56.dist-info/METADATA", "");
    host_put(&s, SITE "nvidia_cudnn_frontend-9.99.dist-inf/METADATA", "");
    host_put(&s, SITE "nvidia_nccl-2.dist-info/METADATA", "");
    struct machine machine = find(&s, env, PATIENT_MS);
    assert_int_equal(machine.gpu_libraries.count, 3);
    const struct machine_gpu_library *l = machine.gpu_libraries.items;
    assert_library(&l[0], "cuBLASLt", NULL, SITE "nvidia/cublas/lib/libcublasLt.so.12", "/env",
                   "python");
    assert_non_null(strstr(l[0].problem, "cannot open cuBLASLt: "));
    assert_library(&l[1], "cuDNN", "9.19.0.56", SITE "nvidia/cudnn/lib/libcudnn.so.9", "/env",
                   "python");
    assert_string_equal(l[1].problem, "signal SIGSEGV");
    assert_library(&l[2], "NCCL", NULL, SITE "nvidia/nccl/lib/libnccl.so.2", "/env", "python");
    assert_non_null(strstr(l[2].problem, "has no function ncclGetVersion"));
    host_remove(&s);
    machine_release(&machine);
}

TEST(one_that_hangs_is_ended)
{
    struct host s = host_make();
    const char *const env[] = {NULL};
    put_library(&s, "/usr/lib64/libcudnn.so.9.1.0", "fake_hang.so", 0);
    put_link(&s, "/usr/lib64/libcudnn.so.9", "libcudnn.so.9.1.0");
    struct machine machine = find(&s, env, 100);
    assert_int_equal(machine.gpu_libraries.count, 1);
    assert_library(machine.gpu_libraries.items, "cuDNN", "9.1.0", "/usr/lib64/libcudnn.so.9",
                   "/usr/lib64", "loader");
    assert_string_equal(machine.gpu_libraries.items[0].problem, "not finished within 100 ms");
    host_remove(&s);
    machine_release(&machine);
}

// It takes long to open, so its name is believed: this one would crash.
TEST(cublaslt_is_not_opened_where_its_name_tells)
{
    struct host s = host_make();
    const char *const env[] = {"VIRTUAL_ENV=/env", NULL};
    put_library(&s, SITE "nvidia/cublas/lib/libcublasLt.so.12", "fake_crash.so", 0);
    host_put(&s, SITE "nvidia_cublas_cu12-12.8.4.1.dist-info/METADATA", "");
    struct machine machine = find(&s, env, PATIENT_MS);
    assert_int_equal(machine.gpu_libraries.count, 1);
    assert_string_equal(machine.gpu_libraries.items[0].version, "12.8.4.1");
    assert_null(machine.gpu_libraries.items[0].problem);
    host_remove(&s);
    machine_release(&machine);
}

TEST(of_many_the_first_three)
{
    struct host s = host_make();
    const char *const env[] = {"LD_LIBRARY_PATH=/a:/b:/c:/d", NULL};
    static const char *const paths[] = {"/a/libnccl.so.2", "/b/libnccl.so.2", "/c/libnccl.so.2",
                                        "/d/libnccl.so.2", "/d/libcudnn.so.9"};
    for (size_t i = 0; i < 5; i++)
        put_library(&s, paths[i], "fake_library.so", 0);
    struct machine machine = find(&s, env, PATIENT_MS);
    assert_int_equal(machine.gpu_libraries.count, 4);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(machine.gpu_libraries.items[i].path, paths[i]);
    assert_string_equal(machine.gpu_libraries.items[3].path, paths[4]);
    host_remove(&s);
    machine_release(&machine);
}

// Nobody waits for what was started and is not wanted any more.
TEST(abandoned)
{
    struct host s = host_make();
    struct err err = {0};
    struct probe probe = {.tree = {.root = s.root}};
    struct libraries *libraries;
    put_library(&s, "/usr/lib64/libcudnn.so.9", "fake_hang.so", 0);
    assert_ok(libraries_start(&probe, PATIENT_MS, &libraries, &err), &err);
    libraries_free(libraries);
    libraries_free(NULL);
    host_remove(&s);
}
