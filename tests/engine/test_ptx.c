// SPDX-License-Identifier: Apache-2.0
// The machine that runs kernels where there is no GPU (ptx/ptx.h): that instructions do what the
// PTX manual says, and that it finds what a kernel must not do. Kernels here are written by hand.
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/ptx/memory.h"
#include "engine/ptx/ptx.h"

enum { ROOM = 1 << 14 };

static _Alignas(256) unsigned char memory[ROOM]; // what kernels may use of this program's

static struct ptx_memory find_memory(uint64_t address)
{
    uint64_t from = (uint64_t)(uintptr_t)memory;
    return address >= from && address < from + ROOM ? (struct ptx_memory){from, from + ROOM}
                                                    : (struct ptx_memory){0};
}

// A kernel `k` with registers of each kind, whose argument is where the memory begins: %rd0. %r0 is
// the thread's number, %rd1 the place of its word.
static const char head[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                           ".extern .shared .align 16 .b8 launched[];\n"
                           ".visible .entry k(\n\t.param .align 8 .b8 k_param_0[8]\n)\n"
                           ".maxntid 256, 1, 1\n{\n"
                           ".reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<40>;\n"
                           ".reg .f32 %f<40>;\n.reg .b64 %rd<20>;\n.reg .f64 %d<9>;\n"
                           "ld.param.u64 %rd0, [k_param_0];\nmov.u32 %r0, %tid.x;\n"
                           "mul.wide.u32 %rd1, %r0, 4;\nadd.s64 %rd1, %rd0, %rd1;\n";

static char why[300];

// The text of a kernel stays where it is for good: it is kept by it.
static bool run_text(const char *body, unsigned blocks, unsigned threads, unsigned shared)
{
    size_t bytes = sizeof head + strlen(body) + 16;
    char *text = malloc(bytes);
    assert_non_null(text);
    snprintf(text, bytes, "%s%s\nret;\n}\n", head, body);
    const struct ptx_kernel *k = ptx_kernel(text, "k", why, sizeof why);
    uint64_t args[] = {(uint64_t)(uintptr_t)memory};
    struct ptx_launch launch = {blocks, 1, threads, shared, args, find_memory, NULL};
    if (!k)
        free(text);
    return k && ptx_run(k, &launch, why, sizeof why);
}

static void runs(const char *body, unsigned threads)
{
    if (!run_text(body, 1, threads, 4096))
        fail_msg("%s", why);
}

static void fails(const char *body, unsigned threads, const char *because)
{
    if (run_text(body, 1, threads, 4096))
        fail_msg("this must fail (%s):\n%s", because, body);
    if (!strstr(why, because))
        fail_msg("\"%s\" has no \"%s\"", why, because);
}

static uint32_t word(int i)
{
    uint32_t x;
    memcpy(&x, memory + 4 * i, 4);
    return x;
}

static float number(int i)
{
    float x;
    memcpy(&x, memory + 4 * i, 4);
    return x;
}

static void put(int i, float x)
{
    memcpy(memory + 4 * i, &x, 4);
}

// ---- what instructions do ----

static void integers(void **state)
{
    (void)state;
    static const struct {
        const char *text; // makes %r1 of the thread's number in %r0
        uint32_t of[3];   // for threads 0, 1 and 31
    } cases[] = {
        {"add.s32 %r1, %r0, -1;", {0xffffffff, 0, 30}},
        {"mad.lo.s32 %r1, %r0, 3, %r0;", {0, 4, 124}},
        {"mov.u32 %r2, -7; add.s32 %r2, %r2, %r0; div.s32 %r1, %r2, 2;",
         {(uint32_t)-3, (uint32_t)-3, 12}},
        {"mov.u32 %r2, -7; add.s32 %r2, %r2, %r0; rem.s32 %r1, %r2, 4;",
         {(uint32_t)-3, (uint32_t)-2, 0}},
        {"mov.u32 %r2, -8; add.s32 %r2, %r2, %r0; shr.s32 %r1, %r2, 1;",
         {(uint32_t)-4, (uint32_t)-4, 11}},
        {"shl.b32 %r1, 1, %r0;", {1, 2, 0x80000000}},
        {"add.s32 %r2, %r0, 1; shl.b32 %r1, 1, %r2;", {2, 4, 0}},
        {"mul.hi.u32 %r1, %r0, -1;", {0, 0, 30}},
        {"not.b32 %r1, %r0;", {0xffffffff, 0xfffffffe, 0xffffffe0}},
        {"bfe.u32 %r1, %r0, 1, 3;", {0, 0, 7}},
        {"setp.lt.u32 %p1, %r0, 31; selp.b32 %r1, 5, 6, %p1;", {5, 5, 6}},
        {"setp.gt.s32 %p1, %r0, 0; not.pred %p2, %p1; mov.u32 %r1, 9; @%p2 mov.u32 %r1, 8;",
         {8, 9, 9}},
        {"neg.s32 %r2, %r0; cvt.s64.s32 %rd2, %r2; shr.s64 %rd3, %rd2, 1; cvt.u32.u64 %r1, %rd3;",
         {0, 0xffffffff, (uint32_t)-16}},
        {"mul.wide.s32 %rd2, %r0, -2; shr.u64 %rd3, %rd2, 32; cvt.u32.u64 %r1, %rd3;",
         {0, 0xffffffff, 0xffffffff}},
        {"{.reg .b16 l, h; mov.b32 {l, h}, 0x00050003; cvt.u16.u32 %h1, %r0; and.b16 %h2, %h1, l; "
         "setp.eq.s16 %p1, %h2, 3; selp.u32 %r1, 1, 0, %p1;}",
         {0, 0, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[400];
        snprintf(body, sizeof body, "%s\nst.global.u32 [%%rd1], %%r1;", cases[i].text);
        runs(body, 32);
        for (int k = 0; k < 3; k++)
            if (word((int[]){0, 1, 31}[k]) != cases[i].of[k])
                fail_msg("%s: thread %d has %#x", cases[i].text, (int[]){0, 1, 31}[k],
                         word((int[]){0, 1, 31}[k]));
    }
}

static void floats(void **state)
{
    (void)state;
    static const struct {
        const char *text; // makes %f1 of 1.5 + the thread's number in %f0
        float of[2];      // for threads 0 and 2
    } cases[] = {
        {"fma.rn.f32 %f1, %f0, %f0, 0fBF800000;", {1.25f, 11.25f}},
        {"add.f32 %f1, %f0, 0f40000000;", {3.5f, 5.5f}},
        {"setp.gt.f32 %p1, %f0, 0f40000000; selp.f32 %f1, 0f3F800000, %f0, %p1;", {1.5f, 1.0f}},
        {"ex2.approx.f32 %f1, %f0;", {2.8284271f, 11.313708f}},
        {"tanh.approx.f32 %f1, %f0;", {0.9051483f, 0.9981779f}},
        {"cvt.f64.f32 %d1, %f0; mul.f64 %d2, %d1, 0d4000000000000000; cvt.rn.f32.f64 %f1, %d2;",
         {3, 7}},
        {"cvt.rn.bf16x2.f32 %r1, 0f3F80C000, %f0; and.b32 %r2, %r1, -65536; mov.b32 %f1, %r2;",
         {1.0078125f, 1.0078125f}}, // 1.005859375 lies nearer to 1.0078125 than to 1
        {"cvt.rn.bf16x2.f32 %r1, 0f3F808000, %f0; and.b32 %r2, %r1, -65536; mov.b32 %f1, %r2;",
         {1, 1}}, // in the middle: to the even one
        {"cvt.rn.f16x2.f32 %r1, %f0, 0f477FEF00; {.reg .b16 l, h; mov.b32 {l, h}, %r1; "
         "cvt.f32.f16 %f1, l;}",
         {65504, 65504}}, // the largest there is
        {"cvt.rn.f16x2.f32 %r1, 0f33800000, %f0; {.reg .b16 l, h; mov.b32 {l, h}, %r1; "
         "cvt.f32.f16 %f1, h;}",
         {0x1p-24f, 0x1p-24f}}, // the least
        {"max.f32 %f1, 0f7FC00000, %f0;", {1.5f, 3.5f}},
        {"mov.f32 %f2, 0f7FC00000; setp.leu.f32 %p1, %f2, %f0; selp.f32 %f1, %f0, %f2, %p1;",
         {1.5f, 3.5f}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[400];
        snprintf(body, sizeof body,
                 "cvt.rn.f32.s32 %%f0, %%r0; add.f32 %%f0, %%f0, 0f3FC00000;\n%s\n"
                 "st.global.f32 [%%rd1], %%f1;",
                 cases[i].text);
        runs(body, 32);
        for (int k = 0; k < 2; k++)
            if (!(fabsf(number(2 * k) - cases[i].of[k]) <= 3e-4f * cases[i].of[k]))
                fail_msg("%s: thread %d has %.9g", cases[i].text, 2 * k, (double)number(2 * k));
    }
}

// Sums of products as the manual has the matrices: element (row, k) of the first is in register
// and lane so and so.
static void tensor_cores(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int deep;
    } kinds[] = {{"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 8},
                 {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16}};
    for (int kind = 0; kind < 2; kind++) {
        char body[2000];
        size_t end = 0;
        float a[16][16], b[16][8];
        int per = kinds[kind].deep / 8; // numbers in a register
        for (int row = 0; row < 16; row++)
            for (int k = 0; k < 16; k++)
                a[row][k] = (float)((row * 5 + k * 3) % 11 - 5);
        for (int k = 0; k < 16; k++)
            for (int col = 0; col < 8; col++)
                b[k][col] = (float)((k * 7 + col * 2) % 13 - 6);
        // Registers 0 to 3 of a at 0, 32, 64, 96 words and the lane, 0 and 1 of b at 128 and 160.
        for (int lane = 0; lane < 32; lane++)
            for (int r = 0; r < 6; r++) {
                uint32_t bits = 0;
                for (int n = 0; n < per; n++) {
                    int deep = lane % 4 * per + n + 4 * per * (r < 4 ? r / 2 : r - 4);
                    float x = r < 4 ? a[lane / 4 + r % 2 * 8][deep] : b[deep][lane / 4];
                    uint32_t whole;
                    memcpy(&whole, &x, 4);
                    bits |= per == 1 ? whole | 0x1fff : whole >> 16 << 16 * n; // tf32 has no more
                }
                memcpy(memory + 4 * (32 * r + lane), &bits, 4);
            }
        for (int r = 0; r < 6; r++)
            end += (size_t)snprintf(body + end, sizeof body - end,
                                    "ld.global.u32 %%r%d, [%%rd1+%d];\n", 10 + r, 128 * r);
        end += (size_t)snprintf(body + end, sizeof body - end,
                                "mov.f32 %%f3, 0f3F800000;\n%s {%%f4,%%f5,%%f6,%%f7},"
                                "{%%r10,%%r11,%%r12,%%r13},{%%r14,%%r15},{%%f3,%%f3,%%f3,%%f3};\n",
                                kinds[kind].name);
        for (int r = 0; r < 4; r++)
            end += (size_t)snprintf(body + end, sizeof body - end,
                                    "st.global.f32 [%%rd1+%d], %%f%d;\n", 128 * r, 4 + r);
        runs(body, 32);
        for (int row = 0; row < 16; row++)
            for (int col = 0; col < 8; col++) {
                float sum = 1;
                for (int k = 0; k < kinds[kind].deep; k++)
                    sum += a[row][k] * b[k][col];
                int lane = row % 8 * 4 + col / 2, r = row / 8 * 2 + col % 2;
                assert_true(number(32 * r + lane) == sum);
            }
    }
}

static void matrices_from_shared_memory(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        char body[900];
        // Each lane's 16 bytes: cells lane * 8 to lane * 8 + 7, so row r of matrix m is lane 8m +
        // r.
        snprintf(body, sizeof body,
                 "shl.b32 %%r1, %%r0, 4; shl.b32 %%r2, %%r0, 3;\n"
                 "add.s32 %%r3, %%r2, 1; shl.b32 %%r4, %%r3, 16; or.b32 %%r5, %%r4, %%r2;\n"
                 "st.shared.u32 [%%r1], %%r5; add.s32 %%r5, %%r5, 0x00020002;\n"
                 "st.shared.u32 [%%r1+4], %%r5; add.s32 %%r5, %%r5, 0x00020002;\n"
                 "st.shared.u32 [%%r1+8], %%r5; add.s32 %%r5, %%r5, 0x00020002;\n"
                 "st.shared.u32 [%%r1+12], %%r5; bar.warp.sync 0xffffffff;\n"
                 "ldmatrix.sync.aligned.m8n8.x4%s.shared.b16 {%%r10,%%r11,%%r12,%%r13}, [%%r1];\n"
                 "mul.wide.u32 %%rd2, %%r0, 16; add.s64 %%rd2, %%rd2, %%rd0;\n"
                 "st.global.v4.u32 [%%rd2], {%%r10,%%r11,%%r12,%%r13};",
                 turned ? ".trans" : "");
        runs(body, 32);
        for (int lane = 0; lane < 32; lane++)
            for (int m = 0; m < 4; m++) {
                int row = lane / 4, col = lane % 4 * 2;
                uint32_t low = turned ? (8 * m + col) * 8 + row : (8 * m + row) * 8 + col;
                uint32_t high = turned ? low + 8 : low + 1;
                assert_int_equal(word(4 * lane + m), low | high << 16);
            }
    }
}

static void threads_that_part_meet_again(void **state)
{
    (void)state;
    // Each thread counts to its own number; then all exchange with their neighbour.
    runs("mov.u32 %r1, 0;\n"
         "again:\nsetp.ge.s32 %p1, %r1, %r0;\n@%p1 bra out;\nadd.s32 %r1, %r1, 1;\nbra.uni again;\n"
         "out:\nand.b32 %r2, %r0, 1;\nsetp.eq.s32 %p2, %r2, 0;\n@%p2 bra even;\n"
         "add.s32 %r1, %r1, 1000;\nbra.uni joined;\neven:\nadd.s32 %r1, %r1, 2000;\njoined:\n"
         "shfl.sync.bfly.b32 %r3, %r1, 1, 0x1f, 0xffffffff;\nst.global.u32 [%rd1], %r3;",
         64);
    for (int i = 0; i < 64; i++)
        assert_int_equal(word(i), (i ^ 1) + (i & 1 ? 2000 : 1000));
}

static const char copy_16[] = // of the first 512 bytes of memory, into shared memory
    "shl.b32 %r1, %r0, 4; cvt.u64.u32 %rd2, %r1; add.s64 %rd3, %rd0, %rd2;\n"
    "cp.async.cg.shared.global [%r1], [%rd3], 16, 16;\ncp.async.commit_group;\n";

static void copies_arrive_when_they_are_waited_for(void **state)
{
    (void)state;
    char body[600];
    for (int i = 0; i < 128; i++)
        put(i, (float)i);
    snprintf(body, sizeof body,
             "%scp.async.wait_group 0;\nld.shared.f32 %%f1, [%%r1];\n"
             "st.global.f32 [%%rd1+1024], %%f1;",
             copy_16);
    runs(body, 32);
    assert_true(number(256 + 5) == 20);
    snprintf(body, sizeof body, "%sld.shared.f32 %%f1, [%%r1];\nst.global.f32 [%%rd1+1024], %%f1;",
             copy_16);
    runs(body, 32);
    assert_true(isnan(number(256 + 5)));
    snprintf(body, sizeof body,
             "%scp.async.wait_group 1;\nld.shared.f32 %%f1, [%%r1];\n"
             "st.global.f32 [%%rd1+1024], %%f1;",
             copy_16);
    runs(body, 32);
    assert_true(isnan(number(256 + 5))); // the last group may still be under way
    snprintf(body, sizeof body, "%sst.shared.u32 [%%r1], 0;", copy_16);
    fails(body, 32, "where a copy is under way");
}

static void blocks_and_their_memory(void **state)
{
    (void)state;
    assert_true(
        run_text("mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; mad.lo.s32 %r3, %r1, 100, %r2;\n"
                 "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd2, %rd0;\n"
                 "setp.eq.s32 %p1, %r0, 0; @%p1 st.global.u32 [%rd2], %r3;\n"
                 "ld.shared.u32 %r4, [0]; @%p1 st.global.u32 [%rd2+64], %r4; st.shared.u32 [4], 7;",
                 3, 32, 16));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(word(i), 100 * i + 3);
        assert_int_equal(word(16 + i), 0xffffffff); // nothing is left of the block before
    }
    runs(".shared .align 16 .b8 own[64];\nmov.u64 %rd2, own; mov.u64 %rd3, launched;\n"
         "cvta.shared.u64 %rd4, %rd3; sub.s64 %rd5, %rd3, %rd2; st.u32 [%rd4], 5;\n"
         "ld.shared.u32 %r1, [64]; cvt.u32.u64 %r2, %rd5; add.s32 %r1, %r1, %r2; st.global.u32 "
         "[%rd1], %r1;",
         32);
    assert_int_equal(word(0), 69);
}

// ---- what it finds ----

static void memory_that_is_not_the_kernels(void **state)
{
    (void)state;
    fails("ld.global.f32 %f1, [%rd1+16300];", 32, "thread 21 of block 0, 0: reads 4 bytes at");
    fails("st.global.f32 [%rd1+-4], 0f00000000;", 32, "which nobody was given");
    fails("ld.global.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1];", 32, "16 bytes at");
    fails("ld.global.f32 %f1, [%rd1+2];", 32, "not aligned");
    fails("mov.u32 %r1, 0; ld.shared.u32 %r2, [%r1+-4];", 32, "of shared memory");
    fails("ld.shared.f32 %f1, [4096];", 32, "of 4096 of shared memory");
    fails("st.shared.v2.u32 [4092], {%r0,%r0};", 32, "not aligned");
    fails("ld.param.u64 %rd5, [k_param_0+8];", 32, "of 8 of parameter memory");
    fails(".local .align 4 .b8 room[8];\nmov.u64 %rd2, room; st.local.f32 [%rd2+8], 0f00000000;",
          32, "of 8 of local memory");
}

static void shared_memory_without_a_barrier(void **state)
{
    (void)state;
    static const char write_and_read[] = "shl.b32 %%r1, %%r0, 2; st.shared.u32 [%%r1], %%r0;\n%s"
                                         "xor.b32 %%r2, %%r1, %d; ld.shared.u32 %%r3, [%%r2];\n%s"
                                         "st.shared.u32 [%%r1], 5;";
    char body[500];
    snprintf(body, sizeof body, write_and_read, "bar.sync 0;\n", 128, "bar.sync 0;\n");
    runs(body, 64);
    snprintf(body, sizeof body, write_and_read, "", 64, ""); // within a warp
    runs(body, 64);
    snprintf(body, sizeof body, write_and_read, "", 128, "bar.sync 0;\n");
    fails(body, 64, "that another warp");
    snprintf(body, sizeof body, write_and_read, "bar.sync 0;\n", 128, "");
    fails(body, 64, "reads byte 0 of shared memory that another warp wrote");
    // States go from warp to warp as halves of a word.
    fails("cvt.u16.u32 %h1, %r0; shl.b32 %r1, %r0, 1; st.shared.u16 [%r1], %h1;\n"
          "ld.shared.u32 %r2, [0];",
          64, "reads byte 0 of shared memory that another warp wrote");
    runs("cvt.u16.u32 %h1, %r0; mul.lo.s32 %r1, %r0, 66; rem.u32 %r1, %r1, 128; shl.b32 %r1, %r1, "
         "0;\n"
         "and.b32 %r1, %r1, 126; st.shared.u16 [%r1], %h1; bar.sync 0; ld.shared.u32 %r2, [0];",
         64);
    fails("st.shared.u32 [8], %r0;", 64, "writes byte 8 of shared memory that another warp wrote");
    // A copy may arrive as soon as it is begun, where the other warp still reads.
    snprintf(body, sizeof body, "ld.shared.u32 %%r2, [512];\n%s", copy_16);
    fails(body, 64, "writes byte 512 of shared memory that another warp read");
}

// Launches 0 and 1 have no order; 2 waits for both.
static bool is_before(int other, int launch)
{
    return launch == 2 && other < 2;
}

static bool uses(uint64_t at, int launch, uint32_t block, bool writes)
{
    int other;
    memory_launch(launch, is_before);
    return memory_use(at, block, writes, &other);
}

static void global_memory_without_an_order(void **state)
{
    (void)state;
    enum { READS, WRITES };
    char *piece = memory_give(4096);
    assert_non_null(piece);
    uint64_t at = (uint64_t)(uintptr_t)piece;
    assert_true(memory_find(at + 4095).to == at + 4096 && memory_find(at + 4096).to == 0);
    memory_begin();
    assert_true(uses(at, 0, 0, WRITES) && uses(at, 0, 0, READS));
    assert_false(uses(at, 0, 1, READS)); // another block
    assert_true(uses(at + 4, 0, 1, WRITES));
    assert_false(uses(at + 4, 1, 1, READS)); // another launch
    assert_true(uses(at + 8, 0, 0, READS) && uses(at + 8, 1, 5, READS));
    assert_false(uses(at + 8, 1, 5, WRITES));
    assert_true(uses(at + 12, 0, 0, READS) && uses(at + 12, 0, 1, READS));
    assert_false(uses(at + 12, 0, 0, WRITES));
    assert_true(uses(at + 16, 0, 0, WRITES) && uses(at + 20, 1, 0, READS));
    assert_true(uses(at + 16, 2, 7, READS) && uses(at + 20, 2, 7, WRITES));
    // What two write is nobody's, until it is written anew.
    assert_true(uses(at + 24, 0, 0, WRITES) && uses(at + 24, 1, 0, WRITES));
    assert_false(uses(at + 24, 2, 0, READS));
    memory_begin();
    assert_false(uses(at + 24, 0, 0, READS));
    memory_begin();
    assert_true(uses(at + 24, 0, 0, WRITES));
    assert_true(uses(at + 28, 0, 0, WRITES) && uses(at + 28, 0, 1, WRITES) &&
                uses(at + 28, 0, 1, WRITES)); // the second once more
    assert_false(uses(at + 28, 2, 0, READS));
    memory_begin();
    assert_true(uses(at + 24, 1, 0, READS) && uses(at, 1, 0, WRITES)); // before is forgotten
    assert_int_equal(memory_take_back(piece), 4096);
}

static void parts_of_a_warp(void **state)
{
    (void)state;
    fails("setp.lt.s32 %p1, %r0, 5;\n@%p1 bra low;\nbar.sync 0;\nbra.uni out;\nlow:\nbar.sync "
          "0;\nout:",
          32, "waits at another barrier");
    fails("bar.warp.sync 0xffff;", 32, "a part of the warp");
    fails("mov.u32 %r1, 0;", 512, "takes 256 threads");
    fails("setp.lt.s32 %p1, %r0, 5;\n@%p1 bra out;\n"
          "shfl.sync.bfly.b32 %r1, %r0, 1, 0x1f, 0xffffffff;\nout:",
          32, "which does not come");
    fails("setp.lt.s32 %p1, %r0, 5;\n@%p1 bra low;\n"
          "shfl.sync.bfly.b32 %r1, %r0, 1, 0x1f, 0xffffffff;\nbra.uni out;\n"
          "low:\nshfl.sync.bfly.b32 %r1, %r0, 1, 0x1f, 0xffffffff;\nout:",
          32, "which does not come");
    fails("shfl.sync.bfly.b32 %r1, %r0, 1, 0x1f, 0xffffffff;", 40, "not all threads of a warp");
    fails("setp.lt.s32 %p1, %r0, 5;\n@%p1 bra out;\nbar.sync 0;\nout:", 32, "is over");
}

static void what_is_not_understood(void **state)
{
    (void)state;
    fails("popc.b32 %r1, %r0;", 32, "unknown instruction popc.b32");
    fails("add.s32 %r1, %rd0, 1;", 32, "or with other operands");
    fails("add.s32 %r1, %r40, 1;", 32, "no register %r40");
    fails("mov.b32 %r1, {%h1, %h2};", 32, "or with other operands");
    fails("ld.global.s8 %r1, [%rd0];", 32, "unknown instruction ld.global.s8");
    fails("bra nowhere;", 32, "no label nowhere");
    fails("add.s32 %r1, %r0, 1", 32, "line 21 of the module"); // no semicolon
    assert_null(ptx_kernel(head, "other", why, sizeof why));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(floats),
        cmocka_unit_test(tensor_cores),
        cmocka_unit_test(matrices_from_shared_memory),
        cmocka_unit_test(threads_that_part_meet_again),
        cmocka_unit_test(copies_arrive_when_they_are_waited_for),
        cmocka_unit_test(blocks_and_their_memory),
        cmocka_unit_test(memory_that_is_not_the_kernels),
        cmocka_unit_test(shared_memory_without_a_barrier),
        cmocka_unit_test(global_memory_without_an_order),
        cmocka_unit_test(parts_of_a_warp),
        cmocka_unit_test(what_is_not_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
