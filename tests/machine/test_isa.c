// SPDX-License-Identifier: Apache-2.0
#include "machine/onednn.h"

#include "host.h"

static struct machine machine;

static const struct machine_cpu *isa_of(struct probe *probe)
{
    machine_release(&machine);
    struct err err = {0};
    assert_ok(probe_isa(probe, &machine.cpu, &err), &err);
    return &machine.cpu;
}

static int release(void **state)
{
    (void)state;
    machine_release(&machine);
    return 0;
}

static const struct machine_isa *find(const struct machine_cpu *cpu, const char *name)
{
    for (size_t i = 0; i < cpu->isa.count; i++)
        if (strcmp(cpu->isa.items[i].name, name) == 0)
            return &cpu->isa.items[i];
    return NULL;
}

TEST(test_recorded)
{
    struct probe probe = host_probe(TREE("two-socket-numa"), "/");
    const struct machine_cpu *c = isa_of(&probe);
    // Cascade Lake: these five of ours; nothing was tried, no library opened.
    static const char *const has[] = {"avx", "avx2", "fma", "avx512f", "avx512_vnni"};
    assert_int_equal(c->isa.count, 5);
    for (size_t i = 0; i < 5; i++) {
        const struct machine_isa *isa = find(c, has[i]);
        assert_non_null(isa);
        assert_true(isa->advertised.known && isa->advertised.v);
        assert_absent(isa->works);
        assert_null(isa->problem);
    }
    assert_int_equal(c->libraries.count, 0);
    probe = host_probe(TREE("xen-old"), "/");
    assert_int_equal(isa_of(&probe)->isa.count, 1); // Ivy Bridge: AVX alone
    probe = host_probe("/nonexistent", "/");
    assert_int_equal(isa_of(&probe)->isa.count, 0);
}

TEST(test_this_machine)
{
    // The compiler's own CPUID reading, which also asks whether the system saves the registers.
    // Where it says no there is nothing to list, unless the flag is passed on without it.
    __builtin_cpu_init();
    const struct {
        const char *name;
        bool there;
    } sets[] = {
        {"avx", __builtin_cpu_supports("avx")},
        {"avx2", __builtin_cpu_supports("avx2")},
        {"fma", __builtin_cpu_supports("fma")},
        {"avx512f", __builtin_cpu_supports("avx512f")},
        {"avx512_vnni", __builtin_cpu_supports("avx512vnni")},
        {"avx512_bf16", __builtin_cpu_supports("avx512bf16")},
    };
    setenv("FARE_ONEDNN", "/nonexistent", 1);
    struct probe probe = host_probe("", "/");
    const struct machine_cpu *c = isa_of(&probe);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const struct machine_isa *isa = find(c, sets[i].name);
        if (sets[i].there) {
            assert_non_null(isa);
            assert_true(isa->works.known && isa->works.v);
            assert_null(isa->problem);
        } else if (isa && isa->works.v) {
            fail_msg("%s works, and the compiler's library does not know", sets[i].name);
        }
    }
    assert_int_equal(c->libraries.count, 0); // oneDNN is "not on this machine"
}

// /proc/cpuinfo of a recorded processor, but children that run on this one: what it advertises
// and does not have must be told as a fault.
TEST(test_advertised_but_faulting)
{
    __builtin_cpu_init();
    setenv("FARE_ONEDNN", "/nonexistent", 1);
    struct host s = host_make();
    host_put(&s, "/proc/cpuinfo", "flags\t\t: avx amx_tile amx_int8 amx_bf16 avx512_fp16\n");
    struct probe probe = host_probe(s.root, "/");
    probe.no_children = false;
    const struct machine_cpu *c = isa_of(&probe);
    static const char *const asked[] = {"amx_tile", "amx_int8", "amx_bf16", "avx512_fp16"};
    for (size_t i = 0; i < 4; i++) {
        const struct machine_isa *isa = find(c, asked[i]);
        assert_non_null(isa);
        assert_true(isa->advertised.v);
        assert_true(isa->works.known);
        assert_true(isa->works.v == (isa->problem == NULL));
    }
    // Tiles need Linux 5.16 and a processor of 2023; elsewhere one of these two is the answer.
    const struct machine_isa *tile = find(c, "amx_tile");
    if (!tile->works.v)
        assert_true(strcmp(tile->problem, "signal SIGILL") == 0 ||
                    strcmp(tile->problem, "the kernel does not permit it") == 0);
    // What works is listed although this /proc/cpuinfo does not name it.
    if (__builtin_cpu_supports("avx2")) {
        assert_true(find(c, "avx2")->works.v);
        assert_false(find(c, "avx2")->advertised.v);
    }
    host_remove(&s);
}

static void use_fake(const char *mode)
{
    struct buf path = {0};
    assert_int_equal(fs_program_dir(&path, NULL), 0);
    buf_adds(&path, "/fake_dnnl.so");
    setenv("FARE_ONEDNN", buf_str(&path), 1);
    setenv("FAKE_DNNL", mode, 1);
    unsetenv("ONEDNN_MAX_CPU_ISA");
    unsetenv("DNNL_MAX_CPU_ISA");
    buf_release(&path);
}

static const struct machine_cpu *library_of(bool bf16)
{
    struct onednn onednn;
    struct err err = {0};
    machine_release(&machine);
    assert_ok(onednn_start(&onednn, bf16, &err), &err);
    assert_ok(onednn_finish(&onednn, &machine.cpu, &err), &err);
    onednn_kill(&onednn);
    return &machine.cpu;
}

static void check_kernel(const struct machine_kernel *k, const char *operation, const char *cap,
                         const char *kernel, bool works, const char *problem)
{
    assert_string_equal(k->operation, operation);
    assert_string_equal(k->cap ? k->cap : "", cap);
    assert_string_equal(k->kernel ? k->kernel : "", kernel);
    assert_true(k->works.known);
    assert_int_equal(k->works.v, works);
    assert_string_equal(k->problem ? k->problem : "", problem);
}

TEST(test_library_works)
{
    use_fake("");
    const struct machine_cpu *c = library_of(true);
    assert_int_equal(c->libraries.count, 1);
    const struct machine_library *l = &c->libraries.items[0];
    assert_string_equal(l->name, "oneDNN");
    assert_string_equal(l->version, "2.99.7");
    assert_non_null(strstr(l->path, "fake_dnnl.so"));
    assert_int_equal(l->kernels.count, 3);
    check_kernel(&l->kernels.items[0], "f32 matmul", "", "fake:amx", true, "");
    check_kernel(&l->kernels.items[1], "bf16 matmul", "", "fake:amx", true, "");
    check_kernel(&l->kernels.items[2], "bf16 convolution", "", "fake:amx", true, "");
    // A processor without AVX-512 is not asked for bfloat16.
    assert_int_equal(library_of(false)->libraries.items[0].kernels.count, 1);
}

TEST(test_library_faults)
{
    use_fake("sigill");
    const struct machine_cpu *c = library_of(true);
    assert_int_equal(c->libraries.count, 1);
    const struct machine_library *l = &c->libraries.items[0];
    assert_int_equal(l->kernels.count, 5);
    check_kernel(&l->kernels.items[0], "f32 matmul", "", "fake:amx", true, "");
    check_kernel(&l->kernels.items[1], "bf16 matmul", "", "fake:amx", false, "signal SIGILL");
    check_kernel(&l->kernels.items[2], "bf16 convolution", "", "fake:amx", false, "signal SIGILL");
    check_kernel(&l->kernels.items[3], "bf16 matmul", "AVX512_CORE_BF16", "fake:capped", true, "");
    check_kernel(&l->kernels.items[4], "bf16 convolution", "AVX512_CORE_BF16", "fake:capped", true,
                 "");
}

TEST(test_library_capped_by_the_user)
{
    use_fake("sigill");
    setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
    const struct machine_library *l = &library_of(true)->libraries.items[0];
    assert_int_equal(l->kernels.count, 3); // it works, and is known to be held back
    check_kernel(&l->kernels.items[1], "bf16 matmul", "AVX2", "fake:capped", true, "");
    // What fails under the user's own cap is not tried under ours.
    setenv("FAKE_DNNL", "wrong", 1);
    assert_int_equal(library_of(true)->libraries.items[0].kernels.count, 3);
    unsetenv("ONEDNN_MAX_CPU_ISA");
}

TEST(test_library_computes_wrongly)
{
    use_fake("wrong");
    const struct machine_library *l = &library_of(true)->libraries.items[0];
    assert_int_equal(l->kernels.count, 6); // each once more with the cap
    for (size_t i = 0; i < 6; i++) {
        assert_false(l->kernels.items[i].works.v);
        assert_string_equal(l->kernels.items[i].problem, "wrong result");
        assert_int_equal(l->kernels.items[i].cap != NULL, i >= 3);
    }
}

TEST(test_library_refuses)
{
    use_fake("unimplemented");
    const struct machine_library *l = &library_of(true)->libraries.items[0];
    assert_int_equal(l->kernels.count, 3); // no fault: no second try
    check_kernel(&l->kernels.items[0], "f32 matmul", "", "fake:amx", true, "");
    check_kernel(&l->kernels.items[1], "bf16 matmul", "", "", false, "unimplemented");
    check_kernel(&l->kernels.items[2], "bf16 convolution", "", "", false, "unimplemented");
    use_fake("broken");
    l = &library_of(true)->libraries.items[0];
    check_kernel(&l->kernels.items[0], "f32 matmul", "", "", false,
                 "engine_create: run-time error");
}

TEST(test_library_is_another)
{
    // A file that is no oneDNN 2: as if it were absent.
    use_fake("");
    setenv("FARE_ONEDNN", "libm.so.6", 1);
    assert_int_equal(library_of(true)->libraries.count, 0);
}

TEST(test_real_library)
{
    use_fake("");
    unsetenv("FARE_ONEDNN");
    const struct machine_cpu *c = library_of(__builtin_cpu_supports("avx512f"));
    if (c->libraries.count == 0)
        skip();
    const struct machine_library *l = &c->libraries.items[0];
    assert_int_equal(strncmp(l->version, "2.", 2), 0);
    assert_non_null(strstr(l->path, "libdnnl.so.2"));
    assert_string_equal(l->kernels.items[0].operation, "f32 matmul");
    assert_true(l->kernels.items[0].works.v);
    assert_non_null(l->kernels.items[0].kernel);
    // bfloat16 may fault on this very machine; then the capped try must not.
    for (size_t i = 1; i < l->kernels.count; i++)
        if (l->kernels.items[i].cap)
            assert_true(l->kernels.items[i].works.v);
}

int main(void)
{
    return run_all_tests(NULL, release);
}
