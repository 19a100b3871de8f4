// SPDX-License-Identifier: Apache-2.0
// hopper: instructions of compute capability 9.0 that clang has no words for: barriers that count
// bytes, bulk copies of tensors, products of a warp group (128 threads), clusters of blocks. The
// build rewrites the target line of a text that uses them to sm_90a, and adds the size of a cluster
// to the kernels that have one (CMakeLists.txt).
#ifndef FARE_ENGINE_CUDA_HOPPER_CUH
#define FARE_ENGINE_CUDA_HOPPER_CUH

#include "dev.cuh"

// ---- barriers in shared memory, by address ----

DEVICE void barrier_init(u32 barrier, int count)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

DEVICE void barriers_ready(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

DEVICE void barrier_arrive(u32 barrier)
{
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives, and lets the barrier wait for so many bytes of bulk copies.
DEVICE void barrier_expect(u32 barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

// Waits for the end of the phase with that parity.
DEVICE void barrier_wait(u32 barrier, u32 parity)
{
    u32 done = 0;
    while (!done)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
                     "selp.u32 %0, 1, 0, p;}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
}

// ---- clusters: blocks that run together and reach each other's shared memory ----

// This block's number in its cluster.
DEVICE int cluster_rank(void)
{
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return (int)rank;
}

// All threads of all blocks.
DEVICE void cluster_sync(void)
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

// Where another block has what this one has at `address`, for barrier_arrive_at().
DEVICE u32 address_in(int rank, u32 address)
{
    u32 there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}

// Of the block's scope, not the cluster's: that would wait until the thread's stores have reached
// the cache, and empty its own. It orders products and copies, which go by neither.
DEVICE void barrier_arrive_at(u32 there)
{
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
}

// ---- bulk copies ----

// A box of the tensor that `map` (on the GPU) describes, from column x and row y, to shared memory.
DEVICE void copy_box(u32 to, const void *map, int x, int y, u32 barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}

// The same to the same place in each block of the cluster whose bit is set; each of their barriers
// hears of it.
DEVICE void copy_box_to(u32 to, const void *map, int x, int y, u32 barrier, u16 blocks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(blocks)
                 : "memory");
}

// copy_box() of a tensor of three dimensions.
DEVICE void copy_box(u32 to, const void *map, int x, int y, int z, u32 barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
                 : "memory");
}

// And of four.
DEVICE void copy_box(u32 to, const void *map, int x, int y, int z, int w, u32 barrier)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier)
                 : "memory");
}

// One cell of the windows of consecutive pixels: channels from c; the first pixel's window begins
// at column x and row y of a sample; the cell is at (cell_x, cell_y) in it. Zeros outside the
// image.
DEVICE void copy_cells(u32 to, const void *map, int c, int x, int y, int sample, int cell_x,
                       int cell_y, u32 barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(to),
        "l"(map), "r"(c), "r"(x), "r"(y), "r"(sample), "r"(barrier), "h"((u16)cell_x),
        "h"((u16)cell_y)
        : "memory");
}

DEVICE void prefetch_map(const void *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// ---- products of a warp group ----

#define GROUP_FENCE()  asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define GROUP_COMMIT() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
template <int LEFT> DEVICE void group_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

// A barrier of one warp group's 128 threads, of several groups in a block.
DEVICE void group_sync(int group)
{
    asm volatile("bar.sync %0, 128;" ::"r"(group) : "memory");
}

#define REGISTERS_TAKE(n) asm volatile("setmaxnreg.inc.sync.aligned.u32 " #n ";")
#define REGISTERS_GIVE(n) asm volatile("setmaxnreg.dec.sync.aligned.u32 " #n ";")

// A matrix in shared memory in lines of 128 bytes, from any line, swizzled as a bulk copy with that
// swizzle writes it. `leading`: between blocks of 64 columns where the columns, not k, are
// contiguous.
DEVICE u64 matrix_at(u32 address, u32 leading)
{
    return (u64)((address & 0x3ffff) >> 4) | (u64)(leading >> 4) << 16 | (u64)(1024 >> 4) << 32 |
           (u64)1 << 62;
}

// Operands of a warp group's sums: a list of registers for the text, and its constraints.
#define SUMS_4(d, i)  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SUMS_16(d, i) SUMS_4(d, i), SUMS_4(d, i + 4), SUMS_4(d, i + 8), SUMS_4(d, i + 12)
#define SUMS_32(d)    SUMS_16(d, 0), SUMS_16(d, 16)
#define SUMS_48(d)    SUMS_32(d), SUMS_16(d, 32)
#define SUMS_64(d)    SUMS_48(d), SUMS_16(d, 48)
#define SUMS_96(d)    SUMS_64(d), SUMS_16(d, 64), SUMS_16(d, 80)
#define SUMS_128(d)   SUMS_96(d), SUMS_16(d, 96), SUMS_16(d, 112)
#define NAMES_16      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define NAMES_32      NAMES_16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define NAMES_48      NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define NAMES_64      NAMES_48 ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define NAMES_96                                                                                   \
    NAMES_64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,"                   \
             "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define NAMES_128                                                                                  \
    NAMES_96 ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,"       \
             "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"

// group_mma: d (64 × n) = a b, plus d if `keep`. group_wait: waits for products whose sums are `d`;
// nothing that reads these moves before it.
#define GROUP_MMA(count, n)                                                                        \
    template <int TA, int TB> DEVICE void group_mma(float(&d)[count], u64 a, u64 b, int keep)      \
    {                                                                                              \
        asm volatile("{.reg .pred p; setp.ne.b32 p, %[keep], 0; "                                  \
                     "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" NAMES_##count    \
                     "}, %[a], %[b], p, 1, 1, %[ta], %[tb];}"                                      \
                     : SUMS_##count(d)                                                             \
                     : [a] "l"(a), [b] "l"(b), [keep] "r"(keep), [ta] "n"(TA), [tb] "n"(TB));      \
    }                                                                                              \
    template <int LEFT> DEVICE void group_wait(float(&d)[count])                                   \
    {                                                                                              \
        asm volatile("wgmma.wait_group.sync.aligned %[left];"                                      \
                     : SUMS_##count(d)                                                             \
                     : [left] "n"(LEFT)                                                            \
                     : "memory");                                                                  \
    }
// The same with operands of 32 bits, of which tf32 has 19; both lie in lines of k.
#define GROUP_MMA_TF32(count, n, sums)                                                             \
    DEVICE void group_mma_tf32(float(&d)[count], u64 a, u64 b, int keep)                           \
    {                                                                                              \
        asm volatile("{.reg .pred p; setp.ne.b32 p, %[keep], 0; "                                  \
                     "wgmma.mma_async.sync.aligned.m64n" #n "k8.f32.tf32.tf32 {" NAMES_##count     \
                     "}, %[a], %[b], p, 1, 1;}"                                                    \
                     : sums                                                                        \
                     : [a] "l"(a), [b] "l"(b), [keep] "r"(keep));                                  \
    }
GROUP_MMA_TF32(16, 32, SUMS_16(d, 0))
GROUP_MMA_TF32(32, 64, SUMS_32(d))
template <int LEFT> DEVICE void group_wait(float (&d)[16])
{
    asm volatile("wgmma.wait_group.sync.aligned %[left];"
                 : SUMS_16(d, 0)
                 : [left] "n"(LEFT)
                 : "memory");
}
GROUP_MMA(32, 64)
GROUP_MMA(48, 96)
GROUP_MMA(64, 128)
GROUP_MMA(96, 192)
GROUP_MMA(128, 256)
// Of two products.
template <int LEFT> DEVICE void group_wait(float (&d)[2][64])
{
    asm volatile("wgmma.wait_group.sync.aligned %[left];"
                 : SUMS_64(d[0]), SUMS_64(d[1])
                 : [left] "n"(LEFT)
                 : "memory");
}

// The same with a (64 × 16) in registers.
template <int TB> DEVICE void group_mma(float (&d)[32], const u32 (&a)[4], u64 b, int keep)
{
    asm volatile("{.reg .pred p; setp.ne.b32 p, %[keep], 0; "
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" NAMES_32
                 "}, {%[a0],%[a1],%[a2],%[a3]}, %[b], p, 1, 1, %[tb];}"
                 : SUMS_32(d)
                 : [a0] "r"(a[0]), [a1] "r"(a[1]), [a2] "r"(a[2]), [a3] "r"(a[3]), [b] "l"(b),
                   [keep] "r"(keep), [tb] "n"(TB));
}

DEVICE void copy_line(u32 to, const void *from, int bytes, u32 barrier)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(to),
        "l"(from), "r"(bytes), "r"(barrier)
        : "memory");
}

// A number that all lanes have; by this the compiler knows it.
DEVICE int of_warp(int x)
{
    int y;
    asm volatile("shfl.sync.idx.b32 %0, %1, 0, 0x1f, 0xffffffff;" : "=r"(y) : "r"(x));
    return y;
}

#define WARP_SYNC() asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")

#endif
