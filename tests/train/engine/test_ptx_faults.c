// SPDX-License-Identifier: Apache-2.0
// The machine that runs kernels where there is no GPU (ptx/ptx.h) finds what a kernel must not do,
// and which thread does it.
#include "kernel_texts.h"

#include "train/engine/ptx/memory.h"

TEST(memory_that_is_not_the_kernels)
{
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
    fails("mov.u64 %rd2, -4; ld.global.u32 %r1, [%rd2];", 32, "which nobody was given");
}

// Which of its lanes did it, whatever the others' addresses are.
TEST(one_lane_of_a_warp)
{
    runs("mul.wide.u32 %rd2, %r0, 528; add.s64 %rd2, %rd2, %rd0; st.global.u32 [%rd2], %r0;", 32);
    for (int i = 0; i < 32; i++)
        assert_int_equal(word(132 * i), i);
    fails("mul.wide.u32 %rd2, %r0, 532; add.s64 %rd2, %rd2, %rd0; st.global.u32 [%rd2], %r0;", 32,
          "thread 31 of block 0, 0: writes 4 bytes");
    fails("mul.wide.u32 %rd2, %r0, 532; add.s64 %rd2, %rd2, %rd0; ld.u32 %r1, [%rd2];", 32,
          "thread 31 of block 0, 0: reads 4 bytes");
    fails("setp.eq.s32 %p1, %r0, 7; selp.b64 %rd2, 2, 0, %p1; add.s64 %rd2, %rd2, %rd1;\n"
          "ld.global.u32 %r1, [%rd2];",
          32, "thread 7 of block 0, 0: 4 bytes");
    fails("setp.eq.s32 %p1, %r0, 9; selp.b32 %r1, 4096, 0, %p1; st.shared.u32 [%r1], 1;", 32,
          "thread 9 of block 0, 0: writes 4 bytes at 4096");
    fails("shl.b32 %r1, %r0, 3; ld.shared.u32 %r2, [%r1+-4];", 32, "thread 0 of block 0, 0: reads");
    fails("shl.b32 %r1, %r0, 3; st.shared.u32 [%r1+3852], 1;", 32,
          "thread 31 of block 0, 0: writes");
    runs("shl.b32 %r1, %r0, 3; st.shared.u32 [%r1+3844], 1;", 32);
    // Lanes that do nothing may have any address.
    runs("setp.lt.u32 %p1, %r0, 21; @%p1 ld.global.f32 %f1, [%rd1+16300];", 32);
    fails("setp.gt.u32 %p1, %r0, 10; @%p1 ld.global.f32 %f1, [%rd1+16300];", 32, "thread 21 of");
    // The last of those that write to the same place; a register that is its own address.
    runs("st.global.u32 [%rd0], %r0; shl.b32 %r1, %r0, 2; add.s32 %r2, %r1, 4; and.b32 %r2, %r2, "
         "127;\nst.shared.u32 [%r1], %r2; ld.shared.u32 %r2, [%r2]; st.global.u32 [%rd1+4], %r2;",
         32);
    assert_int_equal(word(0), 31);
    assert_int_equal(word(1), 8);
    assert_int_equal(word(32), 4);
    snprintf(why, sizeof why, "shr.u32 %%r0, %%r0, 1;\n%s", copy_16);
    char body[sizeof why];
    memcpy(body, why, sizeof body);
    fails(body, 32, "thread 1 of block 0, 0: writes byte 0 of shared memory where a copy");
}

TEST(shared_memory_without_a_barrier)
{
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
    fails("shr.u32 %r1, %r0, 5; shl.b32 %r1, %r1, 1; st.shared.u16 [%r1], 7;\n"
          "setp.gt.u32 %p1, %r0, 31; @%p1 ld.shared.u32 %r2, [0];",
          64, "reads byte 0 of shared memory that another warp wrote");
    // Both have read it.
    fails("setp.gt.u32 %p1, %r0, 31; ld.shared.u32 %r1, [4]; @%p1 st.shared.u32 [4], 1;", 64,
          "writes byte 4 of shared memory that another warp read");
    fails("setp.gt.u32 %p1, %r0, 31; ld.shared.v4.u32 {%r1,%r2,%r3,%r4}, [0];\n"
          "@%p1 st.shared.u32 [12], 1;",
          64, "writes byte 12 of shared memory that another warp read");
    // A copy may arrive as soon as it is begun, where the other warp still reads.
    snprintf(body, sizeof body, "ld.shared.u32 %%r2, [512];\n%s", copy_16);
    fails(body, 64, "writes byte 512 of shared memory that another warp read");
}

// One thread of the first warp uses a word, and of the second one meets it.
TEST(shared_memory_of_a_whole_warp)
{
    static const struct {
        const char *address, *type, *value; // of lane 0 to 31 in %r1
        int lane, byte;                     // which lane meets this one
    } cases[] = {
        {"shl.b32 %r1, %r1, 2; add.s32 %r1, %r1, 4;", "u32", "%r3", 31, 128},
        {"shl.b32 %r1, %r1, 3; add.s32 %r1, %r1, 64;", "f32", "%f3", 8, 128},
        {"shl.b32 %r1, %r1, 1; add.s32 %r1, %r1, 66;", "u16", "%h3", 31, 128},
        {"shl.b32 %r1, %r1, 4;", "v4.u32", "{%r3,%r4,%r5,%r6}", 8, 128},
        {"shl.b32 %r1, %r1, 2;", "u32", "%r3", 29, 116},
        {"shl.b32 %r1, %r1, 5;", "v4.u32", "{%r3,%r4,%r5,%r6}", 31, 1004},
        {"xor.b32 %r1, %r1, 29; shl.b32 %r1, %r1, 3; add.s32 %r1, %r1, 120;", "u64", "%rd3", 28,
         128},
        {"mov.u32 %r1, 128;", "u32", "%r3", 0, 128},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int reads = 0; reads < 2; reads++) {
            char body[600], access[100], first[60], thread[60];
            snprintf(first, sizeof first,
                     reads ? "st.shared.u32 [%d], 1" : "ld.shared.u32 %%r2, [%d]", cases[i].byte);
            snprintf(access, sizeof access,
                     reads ? "ld.shared.%s %s, [%%r1]" : "st.shared.%s [%%r1], %s", cases[i].type,
                     cases[i].value);
            snprintf(body, sizeof body,
                     "setp.eq.s32 %%p1, %%r0, 3; @%%p1 %s;\nsetp.lt.u32 %%p2, %%r0, 32;\n"
                     "@%%p2 bra out;\nsub.s32 %%r1, %%r0, 32; %s\n%s;\nout:",
                     first, cases[i].address, access);
            snprintf(thread, sizeof thread, "thread %d of block 0, 0: %s byte %d of",
                     32 + cases[i].lane, reads ? "reads" : "writes", cases[i].byte);
            fails(body, 64, thread);
        }
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
    struct ptx_memory piece = memory_find(at);
    return memory_use(&piece, &at, 1, 4, block, writes, &other);
}

TEST(global_memory_without_an_order)
{
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
    assert_true(uses(at + 32, 0, 0, READS) && uses(at + 32, 1, 0, READS));
    assert_false(uses(at + 32, 0, 0, WRITES));
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

static bool run_in_order(const char *body, const void *begin)
{
    struct ptx_launch launch = {2, 1, 32, 4096, NULL, memory_find, memory_use};
    memory_begin();
    memory_launch(0, is_before);
    return launch_text(body, launch, begin);
}

// %p1 is true in the first block, %p2 only in one thread of it.
TEST(global_memory_of_two_blocks)
{
    static const char begin[] = "mov.u32 %%r9, %%ctaid.x; setp.eq.s32 %%p1, %%r9, 0;\n"
                                "shl.b32 %%r8, %%r0, %d; add.s32 %%r8, %%r8, %d;\n"
                                "cvt.u64.u32 %%rd2, %%r8; add.s64 %%rd2, %%rd2, %%rd0;\n"
                                "setp.eq.s32 %%p2, %%r0, 5; and.pred %%p2, %%p2, %%p1;\n%s";
    static const struct {
        const char *body; // %rd2 is where the lane's is: its number << shift, + offset
        int shift, offset;
        const char *why; // null: it runs
    } cases[] = {
        {"@%p1 st.global.u32 [%rd2], 1; @%p1 ld.global.u32 %r1, [%rd2]; @%p1 st.global.u32 [%rd2], "
         "2;\n"
         "@!%p1 ld.global.u32 %r1, [%rd2+128]; @!%p1 st.global.u32 [%rd2+128], 3;",
         2, 0, NULL},
        {"ld.global.u32 %r1, [%rd2]; ld.global.u32 %r1, [%rd2];", 4, 4, NULL},
        {"st.global.u32 [%rd2], 1; st.global.u32 [%rd2], 1;", 2, 0, NULL}, // nobody reads it
        {"ld.global.u32 %r1, [%rd2]; ld.global.u32 %r1, [%rd2]; @!%p1 st.global.u32 [%rd2], 1;", 2,
         0, "thread 0 of block 1, 0: writes a word"},
        {"st.global.u32 [%rd2], 1; ld.global.u32 %r1, [%rd2];", 2, 0,
         "thread 0 of block 1, 0: writes a word"},
        {"st.global.u32 [%rd2], 1; st.global.u32 [%rd2], 1; @!%p1 ld.global.u32 %r1, [%rd2];", 2, 0,
         "thread 0 of block 1, 0: reads a word"},
        {"@%p2 st.global.u32 [%rd0+124], 1; @!%p1 ld.global.u32 %r1, [%rd2];", 2, 0,
         "thread 31 of block 1, 0: reads a word"},
        {"@%p2 st.global.u32 [%rd0+64], 1; @!%p1 ld.global.u16 %h1, [%rd2];", 1, 2,
         "thread 31 of block 1, 0: reads a word"},
        {"@%p2 ld.global.u32 %r1, [%rd0+64]; @!%p1 st.global.u16 [%rd2], 1;", 1, 2,
         "thread 31 of block 1, 0: writes a word"},
        {"@%p2 st.global.u32 [%rd0+160], 1; @!%p1 ld.u32 %r1, [%rd2];", 4, 0,
         "thread 10 of block 1, 0: reads a word"},
        {"@%p2 st.global.u32 [%rd0+172], 1; @!%p1 ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd2];", 4,
         0, "thread 10 of block 1, 0: reads a word"},
        {"@%p2 st.global.u32 [%rd0+496], 1; @!%p1 ld.global.u32 %r1, [%rd2];", 4, 0,
         "thread 31 of block 1, 0: reads a word"},
        // Lanes that do nothing read nothing.
        {"setp.ne.s32 %p3, %r0, 16; and.pred %p3, %p3, %p1; @%p3 ld.global.u32 %r1, [%rd2];\n"
         "@!%p1 st.global.u32 [%rd0+64], 1;",
         2, 0, NULL},
        {"@%p2 st.global.u32 [%rd0+64], 1; setp.eq.s32 %p3, %r0, 16; or.pred %p3, %p3, %p1;\n"
         "@!%p3 ld.global.u32 %r1, [%rd2];",
         2, 0, NULL},
        {"@%p2 st.global.u32 [%rd0+172], 1; shl.b32 %r1, %r0, 4;\n"
         "@!%p1 cp.async.cg.shared.global [%r1], [%rd2], 16, 16;",
         4, 0, "thread 10 of block 1, 0: reads a word"},
        {"@%p2 st.global.u32 [%rd0+8], 1; ld.global.u32 %r1, [%rd0+8];", 2, 0, "reads a word"},
    };
    char *piece = memory_give(1024);
    assert_non_null(piece);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[700];
        snprintf(body, sizeof body, begin, cases[i].shift, cases[i].offset, cases[i].body);
        memset(piece, 0, 1024);
        // What two blocks wrote is nobody's until one of them writes it anew.
        assert_true(run_in_order("mov.u32 %r9, %ctaid.x; mul.wide.u32 %rd2, %r9, 512;\n"
                                 "add.s64 %rd2, %rd2, %rd1; st.global.u32 [%rd2], 0;\n"
                                 "st.global.u32 [%rd2+128], 0; st.global.u32 [%rd2+256], 0;\n"
                                 "st.global.u32 [%rd2+384], 0;",
                                 piece));
        if (run_in_order(body, piece) != (cases[i].why == NULL))
            fail_msg("case %zu: %s", i, cases[i].why ? "this must fail" : why);
        if (cases[i].why && !strstr(why, cases[i].why))
            fail_msg("case %zu: \"%s\" has no \"%s\"", i, why, cases[i].why);
    }
    // A warp may use two pieces at once.
    char *other = memory_give(256);
    assert_non_null(other);
    char body[400];
    snprintf(body, sizeof body,
             "setp.lt.s32 %%p1, %%r0, 9; sub.s64 %%rd2, %%rd1, %%rd0; add.s64 %%rd2, %%rd2, %lld;\n"
             "selp.b64 %%rd2, %%rd1, %%rd2, %%p1; ld.global.u32 %%r1, [%%rd2];",
             (long long)(intptr_t)other);
    if (!run_in_order(body, piece))
        fail_msg("%s", why);
    memory_take_back(other);
    assert_false(run_in_order(body, piece));
    assert_non_null(strstr(why, "thread 9 of block 0, 0: reads 4 bytes at"));
    memory_take_back(piece);
}

TEST(parts_of_a_warp)
{
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

TEST(what_is_not_understood)
{
    fails("brev.b32 %r1, %r0;", 32, "unknown instruction brev.b32");
    fails("add.s32 %r1, %rd0, 1;", 32, "or with other operands");
    fails("add.s32 %r1, %r40, 1;", 32, "no register %r40");
    fails("mov.b32 %r1, {%h1, %h2};", 32, "or with other operands");
    fails("ld.global.s8 %r1, [%rd0];", 32, "unknown instruction ld.global.s8");
    fails("bra nowhere;", 32, "no label nowhere");
    fails("add.s32 %r1, %r0, 1", 32, "line 21 of the module"); // no semicolon
    assert_null(ptx_kernel(head, "other", why, sizeof why));
}
