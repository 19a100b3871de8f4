// SPDX-License-Identifier: Apache-2.0
// The machine that runs kernels where there is no GPU (ptx/ptx.h): that instructions do what the
// PTX manual says. What it finds is tested in test_ptx_faults.c.
#include "kernel_texts.h"

#include <math.h>

TEST(integers)
{
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
        {"bfe.s32 %r1, %r0, 0, 1;", {0, 0xffffffff, 0xffffffff}},
        {"bfe.s32 %r1, %r0, 1, 40;", {0, 0, 15}},
        {"popc.b32 %r1, %r0;", {0, 1, 5}},
        {"min.u32 %r1, %r0, 7;", {0, 1, 7}},
        {"max.bf16x2 %r1, %r0, 0x40000000;", {0x40000000, 0x40000001, 0x4000001f}},
        {"max.bf16x2 %r1, %r0, 0x7fc0bf80;", {0, 1, 31}}, // none, and -1
        {"cvt.u16.u32 %h1, %r0; add.s16 %h2, %h1, -1; cvt.u32.u16 %r1, %h2;", {0xffff, 0, 30}},
        {"cvt.u16.u32 %h1, %r0; mul.lo.s16 %h2, %h1, -2; cvt.u32.u16 %r1, %h2;",
         {0, 0xfffe, 0xffc2}},
        {"cvt.u16.u32 %h1, %r0; shl.b16 %h2, %h1, 12; cvt.u32.u16 %r1, %h2;", {0, 0x1000, 0xf000}},
        {"cvt.u16.u32 %h1, %r0; xor.b16 %h2, %h1, -1; cvt.u32.u16 %r1, %h2;",
         {0xffff, 0xfffe, 0xffe0}},
        {"setp.gt.u32 %p1, %r0, 30; vote.sync.any.pred %p2, %p1, 0xffffffff; "
         "selp.b32 %r1, 5, 6, %p2;",
         {5, 5, 5}},
        {"setp.gt.u32 %p1, %r0, 31; vote.sync.any.pred %p2, %p1, 0xffffffff; "
         "selp.b32 %r1, 5, 6, %p2;",
         {6, 6, 6}},
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

TEST(floats)
{
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
        {"cvt.rn.f16x2.f32 %r1, 0f7F800000, %f0; {.reg .b16 l, h; mov.b32 {l, h}, %r1; "
         "cvt.f32.f16 %f2, h; cvt.f32.f16 %f3, l;} setp.eq.f32 %p1, %f2, 0f7F800000; "
         "selp.f32 %f1, %f3, 0fBF800000, %p1;",
         {1.5f, 3.5f}}, // infinite
        {"cvt.rn.f16x2.f32 %r1, 0fBFA00000, %f0; {.reg .b16 l, h; mov.b32 {l, h}, %r1; "
         "cvt.f32.f16 %f2, h;} neg.f32 %f1, %f2;",
         {1.25f, 1.25f}},
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
TEST(tensor_cores)
{
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

TEST(matrices_from_shared_memory)
{
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

TEST(threads_that_part_meet_again)
{
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

TEST(copies_arrive_when_they_are_waited_for)
{
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

TEST(blocks_and_their_memory)
{
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
