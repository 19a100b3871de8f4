// SPDX-License-Identifier: Apache-2.0
// Instruction sets that really work. An advertised set can still fault: a hypervisor passes the
// flag but not the state behind it, or a kernel does not save the registers. So each set computes
// something in a child process, and plain code checks the result. Only functions marked TARGET need
// more than baseline x86-64.
#include <asm/prctl.h>
#include <immintrin.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/proc.h"
#include "machine/onednn.h"
#include "machine/probe.h"

#define CHILD_LIMIT_MS 10000 // takes one; more only if the machine hangs
#define TARGET(sets)   static __attribute__((target(sets), noinline)) int
#define PLAIN          static __attribute__((noinline))

enum { RIGHT = 0, WRONG = 1, REFUSED = 2 }; // exit codes of the children

#ifndef ARCH_REQ_XCOMP_PERM
#define ARCH_REQ_XCOMP_PERM 0x1023 // since Linux 5.16
#endif
#define XFEATURE_TILE_DATA 18

// Small integers, -3 to 3: exact in every format here, with their products and sums. Volatile, so
// that the compiler cannot compute the result itself.
static volatile unsigned seed = 1;

static int small(unsigned i)
{
    return (int)((i * 37u + seed * 11u) % 7u) - 3;
}

PLAIN uint16_t bf16_of(int value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(bits >> 16);
}

// IEEE half precision of -3 to 3: 1 is 0x3C00, 2 is 0x4000, 3 is 0x4200.
PLAIN uint16_t fp16_of(int value)
{
    static const uint16_t bits[] = {0, 0x3C00, 0x4000, 0x4200};
    return (uint16_t)(bits[value < 0 ? -value : value] | (value < 0 ? 0x8000 : 0));
}

PLAIN int compare(const void *got, const void *want, size_t bytes)
{
    return memcmp(got, want, bytes) == 0 ? RIGHT : WRONG;
}

struct fma {
    float a[16], b[16], c[16], got[16];
};

PLAIN void fill_fma(struct fma *f)
{
    for (unsigned i = 0; i < 16; i++) {
        f->a[i] = (float)small(i);
        f->b[i] = (float)small(100 + i);
        f->c[i] = (float)small(200 + i);
    }
}

// Not by memcmp(): a zero may have either sign.
PLAIN int compare_fma(const struct fma *f, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!(f->got[i] == f->a[i] * f->b[i] + f->c[i]))
            return WRONG;
    return RIGHT;
}

TARGET("avx") try_avx(void *unused)
{
    (void)unused;
    struct fma f;
    fill_fma(&f);
    __m256 product = _mm256_mul_ps(_mm256_loadu_ps(f.a), _mm256_loadu_ps(f.b));
    _mm256_storeu_ps(f.got, _mm256_add_ps(product, _mm256_loadu_ps(f.c)));
    return compare_fma(&f, 8);
}

TARGET("fma") try_fma(void *unused)
{
    (void)unused;
    struct fma f;
    fill_fma(&f);
    _mm256_storeu_ps(
        f.got, _mm256_fmadd_ps(_mm256_loadu_ps(f.a), _mm256_loadu_ps(f.b), _mm256_loadu_ps(f.c)));
    return compare_fma(&f, 8);
}

TARGET("avx512f") try_avx512f(void *unused)
{
    (void)unused;
    struct fma f;
    fill_fma(&f);
    _mm512_storeu_ps(
        f.got, _mm512_fmadd_ps(_mm512_loadu_ps(f.a), _mm512_loadu_ps(f.b), _mm512_loadu_ps(f.c)));
    return compare_fma(&f, 16);
}

TARGET("avx2") try_avx2(void *unused)
{
    (void)unused;
    int32_t a[8], b[8], want[8], got[8];
    for (unsigned i = 0; i < 8; i++) {
        a[i] = small(i) * 1000003;
        b[i] = small(100 + i) * 7;
        want[i] = a[i] * b[i];
    }
    __m256i product = _mm256_mullo_epi32(_mm256_loadu_si256((const void *)a),
                                         _mm256_loadu_si256((const void *)b));
    _mm256_storeu_si256((void *)got, product);
    return compare(got, want, sizeof got);
}

// Byte dot products: each of `lanes` results sums four products, unsigned times signed.
struct bytes_dot {
    uint8_t a[64];
    int8_t b[64];
    int32_t want[16], got[16];
};

PLAIN void fill_bytes_dot(struct bytes_dot *d, unsigned lanes)
{
    memset(d, 0, sizeof *d);
    for (unsigned i = 0; i < lanes * 4; i++) {
        d->a[i] = (uint8_t)(small(i) + 3);
        d->b[i] = (int8_t)small(100 + i);
        d->want[i / 4] += d->a[i] * d->b[i];
    }
}

TARGET("avx512f,avx512vnni") try_avx512_vnni(void *unused)
{
    (void)unused;
    struct bytes_dot d;
    fill_bytes_dot(&d, 16);
    _mm512_storeu_si512(d.got, _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_loadu_si512(d.a),
                                                   _mm512_loadu_si512(d.b)));
    return compare(d.got, d.want, sizeof d.got);
}

TARGET("avx2,avxvnni") try_avx_vnni(void *unused)
{
    (void)unused;
    struct bytes_dot d;
    fill_bytes_dot(&d, 8);
    __m256i dot =
        _mm256_dpbusd_avx_epi32(_mm256_setzero_si256(), _mm256_loadu_si256((const void *)d.a),
                                _mm256_loadu_si256((const void *)d.b));
    _mm256_storeu_si256((void *)d.got, dot);
    return compare(d.got, d.want, sizeof d.got);
}

struct bf16_dot {
    uint16_t a[32], b[32];
    float want[16], got[16];
};

PLAIN void fill_bf16_dot(struct bf16_dot *d)
{
    memset(d, 0, sizeof *d);
    for (unsigned i = 0; i < 32; i++) {
        d->a[i] = bf16_of(small(i));
        d->b[i] = bf16_of(small(100 + i));
        d->want[i / 2] += (float)(small(i) * small(100 + i));
    }
}

TARGET("avx512f,avx512bf16") try_avx512_bf16(void *unused)
{
    (void)unused;
    struct bf16_dot d;
    fill_bf16_dot(&d);
    __m512bh a = (__m512bh)_mm512_loadu_si512(d.a);
    __m512bh b = (__m512bh)_mm512_loadu_si512(d.b);
    _mm512_storeu_ps(d.got, _mm512_dpbf16_ps(_mm512_setzero_ps(), a, b));
    return compare(d.got, d.want, sizeof d.got);
}

struct fp16_sum {
    uint16_t a[32], b[32], want[32], got[32];
};

PLAIN void fill_fp16_sum(struct fp16_sum *s)
{
    for (unsigned i = 0; i < 32; i++) {
        int a = small(i), b = small(100 + i);
        if (a + b > 3 || a + b < -3) // stay within fp16_of()'s table
            b = -a + 1;
        s->a[i] = fp16_of(a);
        s->b[i] = fp16_of(b);
        s->want[i] = fp16_of(a + b);
    }
}

// clang 14 has the instruction, but its intrinsic only for whole files built with it.
TARGET("avx512f") try_avx512_fp16(void *unused)
{
    (void)unused;
    struct fp16_sum s;
    fill_fp16_sum(&s);
    __asm__ volatile("vmovups (%0), %%zmm0\n\t"
                     "vaddph (%1), %%zmm0, %%zmm0\n\t"
                     "vmovups %%zmm0, (%2)"
                     :
                     : "r"(s.a), "r"(s.b), "r"(s.got)
                     : "xmm0", "memory");
    return compare(s.got, s.want, sizeof s.got);
}

// AMX: three tiles of 16 rows of 64 bytes; tile 0 accumulates the product of tiles 1 and 2.
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};
_Static_assert(sizeof(struct tile_config) == 64, "what LDTILECFG reads");

struct tiles {
    struct tile_config config;
    union {
        int8_t i8[16][64];
        uint16_t bf16[16][32];
    } a, b;
    union {
        int32_t i32[16][16];
        float f32[16][16];
    } want, got;
};

// The kernel grants the tiles' large state only on request.
PLAIN int prepare_tiles(struct tiles *t)
{
    memset(t, 0, sizeof *t);
    t->config.palette = 1;
    for (int i = 0; i < 3; i++) {
        t->config.row_bytes[i] = 64;
        t->config.rows[i] = 16;
    }
    long rc = syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_TILE_DATA);
    return rc == 0 ? RIGHT : REFUSED;
}

// The second matrix is interleaved: element (k, n) is at row k / 4, column 4 n + k % 4.
PLAIN void fill_tiles_i8(struct tiles *t)
{
    for (unsigned i = 0; i < 1024; i++) {
        t->a.i8[i / 64][i % 64] = (int8_t)small(i);
        t->b.i8[i / 64][i % 64] = (int8_t)small(5000 + i * 3);
    }
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 16; n++)
            for (int k = 0; k < 64; k++)
                t->want.i32[m][n] += t->a.i8[m][k] * t->b.i8[k / 4][4 * n + k % 4];
}

PLAIN void fill_tiles_bf16(struct tiles *t)
{
    for (unsigned i = 0; i < 512; i++) {
        t->a.bf16[i / 32][i % 32] = bf16_of(small(i));
        t->b.bf16[i / 32][i % 32] = bf16_of(small(5000 + i * 3));
    }
    for (unsigned m = 0; m < 16; m++)
        for (unsigned n = 0; n < 16; n++)
            for (unsigned k = 0; k < 32; k++)
                t->want.f32[m][n] +=
                    (float)(small(m * 32 + k) * small(5000 + (k / 2 * 32 + 2 * n + k % 2) * 3));
}

TARGET("amx-tile") try_amx_tile(void *unused)
{
    (void)unused;
    struct tiles t;
    if (prepare_tiles(&t) != RIGHT)
        return REFUSED;
    fill_tiles_i8(&t);
    _tile_loadconfig(&t.config);
    _tile_loadd(1, t.a.i8, 64);
    _tile_stored(1, t.got.i32, 64);
    _tile_release();
    return compare(&t.got, &t.a, sizeof t.got);
}

TARGET("amx-tile,amx-int8") try_amx_int8(void *unused)
{
    (void)unused;
    struct tiles t;
    if (prepare_tiles(&t) != RIGHT)
        return REFUSED;
    fill_tiles_i8(&t);
    _tile_loadconfig(&t.config);
    _tile_zero(0);
    _tile_loadd(1, t.a.i8, 64);
    _tile_loadd(2, t.b.i8, 64);
    _tile_dpbssd(0, 1, 2);
    _tile_stored(0, t.got.i32, 64);
    _tile_release();
    return compare(&t.got, &t.want, sizeof t.got);
}

TARGET("amx-tile,amx-bf16") try_amx_bf16(void *unused)
{
    (void)unused;
    struct tiles t;
    if (prepare_tiles(&t) != RIGHT)
        return REFUSED;
    fill_tiles_bf16(&t);
    _tile_loadconfig(&t.config);
    _tile_zero(0);
    _tile_loadd(1, t.a.bf16, 64);
    _tile_loadd(2, t.b.bf16, 64);
    _tile_dpbf16ps(0, 1, 2);
    _tile_stored(0, t.got.f32, 64);
    _tile_release();
    return compare(&t.got, &t.want, sizeof t.got);
}

static const struct {
    const char *name; // as in the flags of /proc/cpuinfo
    int (*trial)(void *unused);
} sets[] = {
    {"avx", try_avx},
    {"avx2", try_avx2},
    {"fma", try_fma},
    {"avx_vnni", try_avx_vnni},
    {"avx512f", try_avx512f},
    {"avx512_vnni", try_avx512_vnni},
    {"avx512_bf16", try_avx512_bf16},
    {"avx512_fp16", try_avx512_fp16},
    {"amx_tile", try_amx_tile},
    {"amx_int8", try_amx_int8},
    {"amx_bf16", try_amx_bf16},
};
enum { SETS = sizeof sets / sizeof *sets };

static int add_set(struct machine_cpu *cpu, const char *name, bool advertised,
                   const struct proc_result *result, struct err *err)
{
    bool works = result && result->exited && result->exit_code == RIGHT;
    if (!advertised && !works)
        return 0;
    struct machine_isa *isa = LIST_ADD(&cpu->isa, err);
    if (!isa)
        return ERR_MEMORY;
    isa->advertised = some_bool(advertised);
    TRY(text_set(&isa->name, name, err));
    if (!result)
        return 0;
    isa->works = some_bool(works);
    if (works)
        return 0;
    struct buf words = {0};
    if (result->exited && result->exit_code == WRONG)
        buf_adds(&words, "wrong result");
    else if (result->exited && result->exit_code == REFUSED)
        buf_adds(&words, "the kernel does not permit it");
    else
        proc_result_words(result, &words);
    return text_take(&isa->problem, &words, err);
}

static int collect(struct proc *children, const char *flags, struct machine_cpu *cpu,
                   struct err *err)
{
    for (int i = 0; i < SETS; i++) {
        struct proc_result result;
        bool known = children[i].pid > 0;
        int rc = known ? proc_finish(&children[i], &result, err) : 0;
        if (rc == 0)
            rc = add_set(cpu, sets[i].name, text_has_word(flags, sets[i].name, ' '),
                         known ? &result : NULL, err);
        if (known)
            proc_result_release(&result);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int probe_isa(struct probe *probe, struct machine_cpu *cpu, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0}, flags = {0};
    struct proc children[SETS] = {0};
    struct onednn onednn = {0};
    const struct proc_options options = {.timeout_ms = CHILD_LIMIT_MS, .keep_max = 4096};
    int rc = 0;
    if (tree_text(&probe->tree, &text, "/proc/cpuinfo") &&
        !tree_value(&probe->tree, buf_str(&text), "flags", ':', &flags))
        buf_reset(&flags);
    rc = tree_check(&probe->tree, err);
    if (rc != 0)
        goto out;

    // All run in parallel. The library's trials take longest and start first.
    if (!probe->no_children) {
        const char *all = buf_str(&flags);
        rc = onednn_start(&onednn,
                          text_has_word(all, "avx512f", ' ') || text_has_word(all, "amx_bf16", ' '),
                          err);
        // If no process can be started, the set stays untried.
        for (int i = 0; rc == 0 && i < SETS; i++)
            if (proc_start_call(&children[i], sets[i].trial, NULL, &options, NULL) == ERR_MEMORY)
                rc = err_memory(err);
    }
    if (rc == 0)
        rc = collect(children, buf_str(&flags), cpu, err);
    if (rc == 0)
        rc = onednn_finish(&onednn, cpu, err);
out:
    for (int i = 0; i < SETS; i++)
        proc_kill(&children[i]);
    onednn_kill(&onednn);
    return rc;
}
