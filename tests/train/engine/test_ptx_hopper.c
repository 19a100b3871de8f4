// SPDX-License-Identifier: Apache-2.0
// The machine that runs kernels where there is no GPU (ptx/ptx.h): instructions of compute
// capability 9.0 do what the PTX manual says, and what a GPU lets pass is found.
#include "kernel_texts.h"

#include <math.h>

#include "train/engine/ptx/tensor_map.h"

enum { BYTES = 12544, BARRIER = 12288, OUT = 10240 }; // of shared memory; in it; in memory

// Thread 0 makes a barrier for one; all know of it.
#define MAKE                                                                                       \
    "setp.eq.s32 %p1, %r0, 0; mov.u32 %r1, 12288; mov.u32 %r2, 0;\n"                               \
    "@%p1 mbarrier.init.shared.b64 [%r1], 1;\n"
#define FENCE "@%p1 fence.mbarrier_init.release.cluster;\n"
#define SYNC  "bar.sync 0;\n"
// It copies 9216 bytes from the beginning of memory to that of shared memory.
#define COPY                                                                                       \
    "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 9216;\n"                                  \
    "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd0], "       \
    "9216, [%r1];\n"
#define WAIT  "again: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0; @!%p2 bra again;\n"
#define BEGIN MAKE FENCE SYNC COPY WAIT
// 64 × 8 sums of 16 products: a at 0, b at 8192.
#define DESCRIBE                                                                                   \
    "mov.u64 %rd2, 0x4000004000000000; mov.u64 %rd3, 0x4000004000000200; setp.ne.b32 %p3, %r2, "   \
    "0;\n"
#define GROUP_FENCE "wgmma.fence.sync.aligned;\n"
#define PRODUCT                                                                                    \
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %rd2, %rd3, %p3, 1, "  \
    "1, 0, 0;\nwgmma.commit_group.sync.aligned;\n"
#define GROUP_WAIT "wgmma.wait_group.sync.aligned 0;\n"
#define STORE                                                                                      \
    "mul.wide.u32 %rd4, %r0, 16; add.s64 %rd4, %rd4, %rd0;\n"                                      \
    "st.global.v4.f32 [%rd4+10240], {%f1,%f2,%f3,%f4};\n"

static void goes(const char *body, unsigned threads)
{
    if (!run_text(body, 1, threads, BYTES))
        fail_msg("%s", why);
}

static void is_found(const char *body, unsigned threads, const char *because)
{
    if (run_text(body, 1, threads, BYTES))
        fail_msg("this must fail (%s):\n%s", because, body);
    if (!strstr(why, because))
        fail_msg("\"%s\" has no \"%s\"", why, because);
}

static void put_half(uint32_t at, float x) // bf16
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    memcpy(memory + at, (unsigned char *)&bits + 2, 2);
}

// Where the manual's figures have element (row, k): lines of `wide` bytes whose pieces of 16 change
// places, or pieces of 8 × 16 bytes.
static uint32_t by_rows(uint32_t row, uint32_t k, uint32_t wide, uint32_t rows)
{
    if (wide == 0)
        return k / 8 * rows * 16 + row * 16 + k % 8 * 2;
    uint32_t line = row * wide / 128, piece = row * wide % 128 / 16 + k / 8;
    return line * 128 + (piece ^ line % (wide / 16)) * 16 + k % 8 * 2;
}

static uint32_t by_columns(uint32_t column, uint32_t k, uint32_t wide)
{
    uint32_t per = wide / 2, block = column / per * 16 * wide, within = column % per;
    uint32_t line = k * wide / 128, piece = k * wide % 128 / 16 + within / 8;
    return block + line * 128 + (piece ^ line % (wide / 16)) * 16 + within % 8 * 2;
}

static uint64_t described(uint32_t at, uint32_t leading, uint32_t stride, uint32_t wide)
{
    uint64_t swizzle = wide == 128 ? 1 : wide == 64 ? 2 : wide == 32 ? 3 : 0;
    return (uint64_t)(at >> 4) | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 |
           swizzle << 62;
}

static void product_of(uint32_t wide, bool columns)
{
    float a[64][16], b[16][8];
    char body[2500];
    memset(memory, 0xff, ROOM);
    for (uint32_t k = 0; k < 16; k++) {
        for (uint32_t row = 0; row < 64; row++) {
            a[row][k] = (float)((int)(row * 7 + k * 3) % 23 - 11);
            put_half(columns ? by_columns(row, k, wide) : by_rows(row, k, wide, 64), a[row][k]);
        }
        for (uint32_t col = 0; col < 8; col++) {
            b[k][col] = (float)((int)(k * 5 + col * 11) % 17 - 8);
            put_half(8192 + by_rows(col, k, wide, 8), b[k][col]);
        }
    }
    uint64_t from_a = columns ? described(0, 16 * wide, 8 * wide, wide)
                              : described(0, wide ? 16 : 1024, wide ? 8 * wide : 128, wide),
             from_b = described(8192, wide ? 16 : 128, wide ? 8 * wide : 128, wide);
    snprintf(body, sizeof body,
             "%smov.u64 %%rd2, %#llx; mov.u64 %%rd3, %#llx;\nwgmma.mma_async.sync.aligned."
             "m64n8k16.f32.bf16.bf16 {%%f1,%%f2,%%f3,%%f4}, %%rd2, %%rd3, %%p3, 1, 1, %d, 0;\n%s",
             BEGIN
             "mov.f32 %f1, 0f3F800000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;\n"
             "setp.eq.s32 %p3, %r2, 0;\n" GROUP_FENCE,
             (unsigned long long)from_a, (unsigned long long)from_b, columns,
             "wgmma.commit_group.sync.aligned;\n" GROUP_WAIT STORE);
    goes(body, 128);
    for (int row = 0; row < 64; row++)
        for (int col = 0; col < 8; col++) {
            float sum = 1;
            for (int k = 0; k < 16; k++)
                sum += a[row][k] * b[k][col];
            int thread = row / 16 * 32 + row % 8 * 4 + col / 2, i = row % 16 / 8 * 2 + col % 2;
            if (number(OUT / 4 + 4 * thread + i) != sum)
                fail_msg("%u bytes, columns %d, (%d, %d): %g, not %g", wide, columns, row, col,
                         (double)number(OUT / 4 + 4 * thread + i), (double)sum);
        }
}

TEST(products_of_matrices_as_described)
{
    for (int i = 0; i < 4; i++)
        product_of((uint32_t[]){128, 64, 32, 0}[i], false);
    for (int i = 0; i < 3; i++)
        product_of((uint32_t[]){128, 64, 32}[i], true);
}

TEST(products_that_are_not_waited_for)
{
    goes(BEGIN DESCRIBE GROUP_FENCE PRODUCT GROUP_WAIT STORE, 128);
    is_found(BEGIN DESCRIBE GROUP_FENCE PRODUCT STORE, 128, "uses sums of a product");
    is_found(BEGIN DESCRIBE GROUP_FENCE PRODUCT "wgmma.wait_group.sync.aligned 1;\n" STORE, 128,
             "uses sums of a product");
    is_found(BEGIN DESCRIBE GROUP_FENCE PRODUCT, 128, "ends without waiting for a product");
    is_found(BEGIN DESCRIBE PRODUCT GROUP_WAIT, 128, "without a wgmma.fence");
    is_found(BEGIN DESCRIBE GROUP_FENCE "mov.f32 %f1, 0f00000000;\n" PRODUCT GROUP_WAIT, 128,
             "used since the last wgmma.fence");
    is_found(BEGIN DESCRIBE GROUP_FENCE PRODUCT "st.shared.u32 [%r2], 0;\n" GROUP_WAIT, 128,
             "that a product may still read");
    is_found(BEGIN DESCRIBE
             "setp.lt.u32 %p4, %r0, 96; @!%p4 bra out;\n" GROUP_FENCE PRODUCT GROUP_WAIT "out:\n",
             128, "will not come");
    is_found(BEGIN DESCRIBE GROUP_FENCE PRODUCT GROUP_WAIT, 64, "warp group that is not whole");
    is_found(BEGIN DESCRIBE
             "setp.lt.u32 %p4, %r0, 32; selp.b64 %rd2, %rd3, %rd2, %p4;\n" GROUP_FENCE PRODUCT
                 GROUP_WAIT,
             128, "another product than");
    is_found(BEGIN "mov.u64 %rd2, 0x4000004000000000; mov.u64 %rd3, 0x4000004000003ff0;\n"
                   "setp.ne.b32 %p3, %r2, 0;\n" GROUP_FENCE PRODUCT GROUP_WAIT,
             128, "of shared memory");
}

TEST(what_threads_write_and_products_read)
{
#define WRITE "shl.b32 %r3, %r0, 4; st.shared.u32 [%r3], 0;\n" // of lines that others read
    is_found(BEGIN WRITE DESCRIBE SYNC GROUP_FENCE PRODUCT GROUP_WAIT, 128, "fence.proxy.async");
    is_found(BEGIN WRITE DESCRIBE "fence.proxy.async;\n" GROUP_FENCE PRODUCT GROUP_WAIT, 128,
             "that a product may still read"); // the first warp is ahead of the others
    goes(BEGIN WRITE DESCRIBE "fence.proxy.async;\n" SYNC GROUP_FENCE PRODUCT GROUP_WAIT, 128);
    goes(BEGIN WRITE DESCRIBE SYNC "fence.proxy.async;\n" GROUP_FENCE PRODUCT GROUP_WAIT, 128);
}

TEST(copies_that_are_not_waited_for)
{
#define READ "ld.shared.f32 %f1, [%r2]; st.global.f32 [%rd1+10240], %f1;\n"
    put(0, 7);
    goes(BEGIN READ, 128);
    assert_true(number(OUT / 4 + 100) == 7);
    is_found(MAKE FENCE SYNC COPY READ WAIT, 128, "where a copy is under way");
    is_found(MAKE FENCE SYNC COPY "setp.ge.u32 %p4, %r0, 64; @%p4 bra read;\n" WAIT
                                  "bra.uni out;\nread: bar.sync 1, 64;\n" READ "out:\n",
             128, "where a copy is under way");
    is_found(MAKE FENCE SYNC COPY, 128, "without waiting for a copy");
    is_found(MAKE SYNC COPY WAIT, 128, "without a fence");
    is_found(MAKE FENCE COPY WAIT, 128, "another warp made");
    is_found(MAKE FENCE SYNC WAIT, 128, "will not come");
    is_found(MAKE FENCE SYNC COPY COPY WAIT, 128, "where all of 1 are");
    is_found("mov.u32 %r1, 8; mbarrier.arrive.shared.b64 _, [%r1];", 32, "no barrier at 8");
    // One warp has waited, and the others not.
    is_found(MAKE FENCE SYNC COPY
             "setp.ge.u32 %p4, %r0, 32; @%p4 bra meet;\n" WAIT
             "bra.uni read;\nmeet: setp.ge.u32 %p4, %r0, 64; @%p4 bra.uni out;\n"
             "mov.u32 %r3, 100000;\nspin: add.s32 %r3, %r3, -1; setp.gt.s32 %p5, %r3, 0; @%p5 bra "
             "spin;\nread: " READ "out:\n",
             128, "copy");
    // A copy over what another warp may still read.
    is_found(BEGIN READ "setp.eq.s32 %p1, %r0, 96;\n" COPY
                        "two: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 1;\n"
                        "@!%p2 bra two;\n",
             128, "that another warp read");
    goes(BEGIN READ SYNC COPY "two: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 1;\n"
                              "@!%p2 bra two;\n",
         128);
    is_found(BEGIN "st.shared.u32 [%r2], 1;\n" SYNC COPY WAIT, 32, "fence.proxy.async");
}

TEST(barriers_of_some_warps)
{
#define SOME                                                                                       \
    "setp.ge.u32 %p4, %r0, 64; setp.eq.s32 %p1, %r0, 0; @%p1 st.shared.u32 [64], 5;\n"             \
    "@%p4 bra others;\nbar.sync 1, 64;\nld.shared.u32 %r3, [64]; st.global.u32 [%rd1], %r3;\n"
    goes(SOME "others:\n", 96);
    assert_int_equal(word(63), 5);
    is_found(SOME "others: ld.shared.u32 %r3, [64];\n", 96, "no barrier since");
    is_found("setp.ge.u32 %p4, %r0, 64; @%p4 bra out;\nbar.sync 1, 96;\nout:\n", 96,
             "will not come");
}

// A box at the edge of a tensor of 10 rows of 72 numbers; what lies outside is 0.
TEST(boxes_of_a_tensor)
{
    const struct tensor_map map = {.magic = TENSOR_MAP,
                                   .rank = 2,
                                   .bytes = 2,
                                   .swizzle = 3,
                                   .base = (uint64_t)(uintptr_t)memory + 128,
                                   .size = {72, 10},
                                   .box = {64, 8},
                                   .each = {1, 1},
                                   .pitch = {144}};
    memcpy(memory, &map, sizeof map);
    for (uint16_t i = 0; i < 720; i++)
        memcpy(memory + 128 + 2 * i, &(uint16_t){i + 1}, 2);
    goes(MAKE FENCE SYNC "mov.u32 %r3, 40; mov.u32 %r4, 6;\n"
                         "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 1024;\n"
                         "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx"
                         "::bytes [%r2], [%rd0, {%r3, %r4}], [%r1];\n" WAIT
                         "shl.b32 %r5, %r0, 4; ld.shared.v4.u32 {%r10,%r11,%r12,%r13}, [%r5];\n"
                         "mul.wide.u32 %rd4, %r0, 16; add.s64 %rd4, %rd4, %rd0;\n"
                         "st.global.v4.u32 [%rd4+10240], {%r10,%r11,%r12,%r13};\n",
         64);
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 64; x++) {
            uint16_t got, want = (uint16_t)(x + 40 < 72 && y + 6 < 10 ? (y + 6) * 72 + x + 41 : 0);
            memcpy(&got, memory + OUT + y * 128 + (x / 8 ^ y) * 16 + x % 8 * 2, 2);
            assert_int_equal(got, want);
        }
}

// Windows of 3 × 3 around the pixels of two images of 4 × 5 with 8 channels: one cell of 16 windows
// from the fourth on, which go on in the next row and the next image.
TEST(windows_of_images)
{
    for (int step = 1; step < 3; step++) {
        const struct tensor_map map = {.magic = TENSOR_MAP,
                                       .rank = 4,
                                       .bytes = 2,
                                       .is_im2col = 1,
                                       .base = (uint64_t)(uintptr_t)memory + 128,
                                       .size = {8, 5, 4, 2},
                                       .box = {8, 16},
                                       .each = {1, (uint8_t)step, (uint8_t)step, 1},
                                       .lower = {-1, -1},
                                       .upper = {-1, -1},
                                       .pitch = {16, 80, 320}};
        char body[1500];
        memcpy(memory, &map, sizeof map);
        for (uint16_t i = 0; i < 320; i++)
            memcpy(memory + 128 + 2 * i, &(uint16_t){i + 1}, 2);
        snprintf(body, sizeof body,
                 "%smov.u32 %%r3, 0; mov.u32 %%r4, %d; mov.u32 %%r6, -1; mov.u32 %%r7, 2;\n"
                 "cvt.u16.u32 %%h1, %%r7; cvt.u16.u32 %%h2, %%r3;\n"
                 "@%%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%%r1], 256;\n"
                 "@%%p1 cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx"
                 "::bytes [%%r2], [%%rd0, {%%r3, %%r4, %%r6, %%r3}], [%%r1], {%%h1, %%h2};\n%s"
                 "shl.b32 %%r5, %%r0, 2; ld.shared.u32 %%r10, [%%r5]; st.global.u32 [%%rd1+10240], "
                 "%%r10;\n",
                 MAKE FENCE SYNC, step == 1 ? 2 : 1, WAIT);
        goes(body, 64);
        int across = step == 1 ? 5 : 3, down = step == 1 ? 4 : 2; // windows
        int first = step == 1 ? 3 : 1;
        for (int i = 0; i < 16; i++) {
            int n = (first + i) / (across * down), at = (first + i) % (across * down);
            int x = at % across * step - 1 + 2, y = at / across * step - 1 + 0;
            for (int c = 0; c < 8; c++) {
                uint16_t got;
                bool inside = n < 2 && x >= 0 && x < 5 && y >= 0 && y < 4;
                memcpy(&got, memory + OUT + i * 16 + c * 2, 2);
                assert_int_equal(got, inside ? ((n * 4 + y) * 5 + x) * 8 + c + 1 : 0);
            }
        }
    }
}

// ---- clusters of two blocks

#define CLUSTER_SYNC                                                                               \
    "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
#define RANK "mov.u32 %r20, %cluster_ctarank; xor.b32 %r21, %r20, 1;\n"

static bool run_pair(const char *body, unsigned blocks)
{
    directives = ".explicitcluster\n.reqnctapercluster 2, 1, 1\n";
    bool good = run_text(body, blocks, 128, BYTES);
    directives = "";
    return good;
}

static void pair_goes(const char *body)
{
    if (!run_pair(body, 4))
        fail_msg("%s", why);
}

static void pair_is_found(const char *body, const char *because)
{
    if (run_pair(body, 2))
        fail_msg("this must fail (%s):\n%s", because, body);
    if (!strstr(why, because))
        fail_msg("\"%s\" has no \"%s\"", why, because);
}

// Each has numbers, a barrier and shared memory of its own.
TEST(blocks_of_a_cluster)
{
    memset(memory, 0, ROOM);
    pair_goes(RANK CLUSTER_SYNC
              "mov.u32 %r1, %ctaid.x; setp.eq.s32 %p1, %r0, 0; @%p1 st.shared.u32 [64], %r1;\n"
              "bar.sync 0; ld.shared.u32 %r3, [64]; shl.b32 %r4, %r1, 9; cvt.u64.u32 %rd5, %r4;\n"
              "add.s64 %rd5, %rd5, %rd1; mad.lo.s32 %r3, %r3, 10, %r20; st.global.u32 [%rd5], "
              "%r3;\n");
    for (uint32_t i = 0; i < 4 * 128; i++)
        assert_int_equal(word((int)i), i / 128 * 10 + i / 128 % 2);
    assert_false(run_pair(CLUSTER_SYNC, 3));
    assert_non_null(strstr(why, "clusters of 2, and there are 3 blocks"));
}

TEST(barriers_of_a_cluster)
{
    pair_is_found("barrier.cluster.wait.acquire.aligned;\n", "and has not arrived");
    pair_is_found("barrier.cluster.arrive.release.aligned;\n" CLUSTER_SYNC, "and has not waited");
    // It does not wait for those that have ended; the others wait for one that comes late.
    pair_goes(RANK "setp.eq.s32 %p4, %r20, 0; @%p4 bra out;\n" CLUSTER_SYNC "out:\n");
    // Another block's barrier, before that block has made it.
    pair_is_found(RANK "setp.eq.s32 %p4, %r20, 1; @%p4 bra late;\n"
                       "bar.sync 0; mov.u32 %r1, 12288; mapa.shared::cluster.u32 %r5, %r1, %r21;\n"
                       "mbarrier.arrive.shared::cluster.b64 _, [%r5];\nlate: " CLUSTER_SYNC,
                  "no barrier at 12288");
}

// Each block's thread 0 makes a barrier for all of the other block's threads.
#define MAKE_PAIR                                                                                  \
    RANK "setp.eq.s32 %p1, %r0, 0; mov.u32 %r1, 12288; mov.u32 %r2, 0;\n"                          \
         "@%p1 mbarrier.init.shared.b64 [%r1], 128;\n" FENCE
#define ARRIVE_THERE                                                                               \
    "mapa.shared::cluster.u32 %r5, %r1, %r21; mbarrier.arrive.shared::cluster.b64 _, [%r5];\n"

TEST(arrivals_at_another_block)
{
    pair_goes(MAKE_PAIR CLUSTER_SYNC ARRIVE_THERE WAIT);
    pair_is_found(MAKE_PAIR SYNC ARRIVE_THERE WAIT, "another warp made");
    pair_is_found(MAKE_PAIR CLUSTER_SYNC WAIT, "will not come");
    // An address of the cluster is for instructions that take one.
    pair_is_found(MAKE_PAIR CLUSTER_SYNC "mapa.shared::cluster.u32 %r5, %r1, %r21;\n"
                                         "mbarrier.arrive.shared.b64 _, [%r5];\n" WAIT,
                  "not in its block's");
    pair_is_found(MAKE_PAIR CLUSTER_SYNC "mapa.shared::cluster.u32 %r5, %r1, 2;\n",
                  "block 2 of a cluster of 2");
    is_found("mov.u32 %r1, 0; mapa.shared::cluster.u32 %r5, %r1, 1;\n", 128, "a cluster of 1");
    // The first block does not wait, and is gone when the second one arrives.
    pair_is_found(MAKE_PAIR CLUSTER_SYNC "setp.eq.s32 %p4, %r20, 0; @%p4 bra out;\n" ARRIVE_THERE
                                         "out:\n",
                  "which has ended");
    // Its own barrier, by an address of the cluster.
    pair_goes(MAKE_PAIR CLUSTER_SYNC "mapa.shared::cluster.u32 %r5, %r1, %r20;\n"
                                     "mbarrier.arrive.shared::cluster.b64 _, [%r5];\n" WAIT);
}

// A tensor of 16 rows of 64 numbers; block r copies rows 8 r on to the r-th half of 2 KB, in both.
#define MAKE_ONE                                                                                   \
    RANK "setp.eq.s32 %p1, %r0, 0; mov.u32 %r1, 12288; shl.b32 %r2, %r20, 10;\n"                   \
         "@%p1 mbarrier.init.shared.b64 [%r1], 1;\n" FENCE
#define EXPECT "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 2048;\n"
#define TO_BOTH(blocks)                                                                            \
    "mov.u32 %r3, 0; shl.b32 %r4, %r20, 3; mov.u32 %r6, " blocks "; cvt.u16.u32 %h1, %r6;\n"       \
    "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"             \
    ".multicast::cluster [%r2], [%rd0, {%r3, %r4}], [%r1], %h1;\n"
#define READ_BOTH                                                                                  \
    "shl.b32 %r5, %r0, 4; ld.shared.v4.u32 {%r10,%r11,%r12,%r13}, [%r5];\n"                        \
    "shl.b32 %r7, %r20, 11; add.s32 %r7, %r7, %r5; cvt.u64.u32 %rd4, %r7; add.s64 %rd4, %rd4, "    \
    "%rd0;\nst.global.v4.u32 [%rd4+10240], {%r10,%r11,%r12,%r13};\n"

TEST(copies_to_both_blocks)
{
    const struct tensor_map map = {.magic = TENSOR_MAP,
                                   .rank = 2,
                                   .bytes = 2,
                                   .swizzle = 3,
                                   .base = (uint64_t)(uintptr_t)memory + 128,
                                   .size = {64, 16},
                                   .box = {64, 8},
                                   .each = {1, 1},
                                   .pitch = {128}};
    memcpy(memory, &map, sizeof map);
    for (uint16_t i = 0; i < 1024; i++)
        memcpy(memory + 128 + 2 * i, &(uint16_t){i + 1}, 2);
    if (!run_pair(MAKE_ONE CLUSTER_SYNC EXPECT TO_BOTH("3") WAIT READ_BOTH, 2))
        fail_msg("%s", why);
    for (int block = 0; block < 2; block++)
        for (int y = 0; y < 16; y++)
            for (int x = 0; x < 64; x++) {
                uint16_t got;
                memcpy(&got,
                       memory + OUT + block * 2048 + y * 128 + (x / 8 ^ y % 8) * 16 + x % 8 * 2, 2);
                assert_int_equal(got, y * 64 + x + 1);
            }
    pair_is_found(MAKE_ONE CLUSTER_SYNC EXPECT TO_BOTH("4") WAIT, "to blocks 0x4");
    pair_is_found(MAKE_ONE CLUSTER_SYNC EXPECT TO_BOTH("0") WAIT, "to blocks 0");
    pair_is_found(MAKE_ONE SYNC EXPECT TO_BOTH("3") WAIT, "another warp made");
    // Only itself: half of the bytes do not come.
    pair_is_found(MAKE_ONE CLUSTER_SYNC EXPECT
                  "mov.u32 %r8, 1; shl.b32 %r8, %r8, %r20;\n" TO_BOTH("%r8") WAIT,
                  "will not come");
    pair_is_found(MAKE_ONE CLUSTER_SYNC EXPECT TO_BOTH("3") READ_BOTH WAIT,
                  "where a copy is under way");
    // The first block goes before the second one's half is on its way, and before it has come.
#define GOES "setp.eq.s32 %p4, %r20, 0; @%p4 bra out;\n" WAIT "out:\n"
    pair_is_found(MAKE_ONE CLUSTER_SYNC EXPECT TO_BOTH("3") GOES, "which has ended");
    pair_is_found(MAKE_ONE CLUSTER_SYNC EXPECT TO_BOTH("3") CLUSTER_SYNC GOES,
                  "ends without waiting for a copy");
    // A second box over the first, which may not have come to the other block; and when both have
    // told that they read it.
#define AGAIN(between)                                                                             \
    MAKE_ONE "mov.u32 %r9, 12296; @%p1 mbarrier.init.shared.b64 [%r9], 256;\n" FENCE CLUSTER_SYNC  \
        EXPECT TO_BOTH("3") WAIT "ld.shared.u32 %r10, [0];\n" between EXPECT TO_BOTH(              \
            "3") "two: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 1; @!%p2 bra two;\n"
#define TELL_BOTH                                                                                  \
    "mapa.shared::cluster.u32 %r5, %r9, 0; mbarrier.arrive.shared::cluster.b64 _, [%r5];\n"        \
    "mapa.shared::cluster.u32 %r5, %r9, 1; mbarrier.arrive.shared::cluster.b64 _, [%r5];\n"        \
    "free: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r9], 0; @!%p2 bra free;\n"
    pair_is_found(AGAIN(SYNC), "that a copy wrote, and has not waited for its barrier");
    if (!run_pair(AGAIN(TELL_BOTH), 2) || !run_pair(AGAIN(CLUSTER_SYNC), 2))
        fail_msg("%s", why);
}
