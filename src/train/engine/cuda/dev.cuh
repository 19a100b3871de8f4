// SPDX-License-Identifier: Apache-2.0
// dev: CUDA C without a toolkit, for clang: names, numbers of threads, and the instructions that C
// has no words for. Kernels take one structure each (train/engine/cuda/kernels.h), so that the host
// needs to know nothing of their parameters but its size.
//
// Kernels are built for sm_60 and sm_80. What only newer ones have (asynchronous copies,
// tensor cores with tf32 and bf16) is done the plain way below sm_80, or is not there.
#ifndef FARE_ENGINE_CUDA_DEV_CUH
#define FARE_ENGINE_CUDA_DEV_CUH

#include "kernels.h"

#define KERNEL(threads, blocks)                                                                    \
    extern "C" __attribute__((global, launch_bounds(threads, blocks))) void
#define DEVICE       static __attribute__((device, always_inline)) inline
#define METHOD       __attribute__((device, always_inline)) inline
#define ALWAYS       __attribute__((always_inline)) // a lambda
#define SHARED       __attribute__((shared))
#define UNROLL       _Pragma("unroll")
#define PRAGMA(text) _Pragma(#text)
#define UNROLL_BY(n) PRAGMA(unroll n)

#define THREAD   __nvvm_read_ptx_sreg_tid_x()
#define BLOCK    __nvvm_read_ptx_sreg_ctaid_x()
#define BLOCK_Y  __nvvm_read_ptx_sreg_ctaid_y()
#define BLOCKS   __nvvm_read_ptx_sreg_nctaid_x()
#define BLOCKS_Y __nvvm_read_ptx_sreg_nctaid_y()
// Written out: the compiler believes that its own word for it cannot change a shared variable.
#define SYNC() asm volatile("bar.sync 0;" ::: "memory")

#if __CUDA_ARCH__ >= 800
#define HAS_ASYNC 1
#else
#define HAS_ASYNC 0
#endif

typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
typedef unsigned long long u64;
typedef long long i64;

struct alignas(8) f2 {
    float x, y;
};
struct alignas(16) f4 {
    float x, y, z, w;
};
struct alignas(8) u2 {
    u32 x, y;
};
struct alignas(16) u4 {
    u32 x, y, z, w;
};

// A macro, since a function of structures makes other code.
#define ADD_FOUR(to, v) ((to).x += (v).x, (to).y += (v).y, (to).z += (v).z, (to).w += (v).w)

// ---- numbers ----

// A function of one number that is one instruction.
#define ONE_NUMBER(name, instruction)                                                              \
    DEVICE float name(float x)                                                                     \
    {                                                                                              \
        float y;                                                                                   \
        asm(instruction " %0, %1;" : "=f"(y) : "f"(x));                                            \
        return y;                                                                                  \
    }
ONE_NUMBER(exp2_of, "ex2.approx.f32")
ONE_NUMBER(log2_of, "lg2.approx.f32")
ONE_NUMBER(sqrt_of, "sqrt.rn.f32")
ONE_NUMBER(sqrt_fast, "sqrt.approx.f32") // to one or two in the last place

#define LOG2_E 1.4426950408889634f
#define LN_2   0.6931471805599453f

DEVICE float exp_of(float x)
{
    return exp2_of(x * LOG2_E);
}

DEVICE float log_of(float x)
{
    return log2_of(x) * LN_2;
}

DEVICE float divide(float a, float b)
{
    float y;
    asm("div.approx.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
}

DEVICE float max_of(float a, float b)
{
    return a > b ? a : b;
}

DEVICE int min_of(int a, int b)
{
    return a < b ? a : b;
}

// To about 1e-7: for the precision f32.
DEVICE float sigmoid_of(float x)
{
    return 1 / (1 + exp_of(-x));
}

DEVICE float tanh_of(float x)
{
    float a = x < 0 ? -x : x;
    if (a < 0.04f) { // where the formula below loses digits
        float s = x * x;
        return x * (1 + s * (-0.33333333f + s * 0.13333333f));
    }
    float e = exp_of(-2 * a), y = (1 - e) / (1 + e);
    return x < 0 ? -y : y;
}

DEVICE u32 bits(float x)
{
    return __builtin_bit_cast(u32, x);
}

// To the nearest bf16, to the even one of two.
DEVICE u16 bf16_of(float x)
{
    u32 b = bits(x);
    return x == x ? (u16)((b + 0x7fff + (b >> 16 & 1)) >> 16) : 0x7fff;
}

// The two numbers of a pair of bf16.
DEVICE float low_of(u32 pair)
{
    return __builtin_bit_cast(float, pair << 16);
}

DEVICE float high_of(u32 pair)
{
    return __builtin_bit_cast(float, pair & 0xffff0000u);
}

#if HAS_ASYNC
ONE_NUMBER(tanh_fast, "tanh.approx.f32") // to about 5e-4 of 1: for operands of 10 or 7 bits

DEVICE u32 bf16_pair(float low, float high)
{
    u32 y;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
    return y;
}

DEVICE u32 half_pair(float low, float high)
{
    u32 y;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
    return y;
}

DEVICE float half_low(u32 x)
{
    float y;
    asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l;}" : "=f"(y) : "r"(x));
    return y;
}

DEVICE float half_high(u32 x)
{
    float y;
    asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, h;}" : "=f"(y) : "r"(x));
    return y;
}

// c += a b.
#define MMA(name, shape, type)                                                                     \
    DEVICE void name(float *c, const u32 *a, u32 b0, u32 b1)                                       \
    {                                                                                              \
        asm("mma.sync.aligned." shape ".row.col.f32." type "." type ".f32 "                        \
            "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"                                   \
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                       \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                       \
    }
MMA(mma_tf32, "m16n8k8", "tf32")
MMA(mma_bf16, "m16n8k16", "bf16")
MMA(mma_half, "m16n8k16", "f16")

// d = a b + c.
DEVICE void mma_half_to(float *d, const u32 *a, u32 b0, u32 b1, const float *c)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]),
          "f"(c[2]), "f"(c[3]));
}
#endif

// ---- copies to shared memory: 16 bytes, or zeros in place of them ----

DEVICE u32 shared_address(const void *p)
{
    return (u32)(u64)(__attribute__((address_space(3))) const char *)p;
}

DEVICE void copy16(u32 to, const void *from, bool there)
{
#if HAS_ASYNC
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(there ? 16 : 0)
                 : "memory");
#else
    f4 zero = {0, 0, 0, 0}, v = there ? *(const f4 *)from : zero;
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(v.x), "f"(v.y), "f"(v.z),
                 "f"(v.w)
                 : "memory");
#endif
}

DEVICE void copy16(void *to, const void *from, bool there)
{
    copy16(shared_address(to), from, there);
}

DEVICE void copies_end_group(void)
{
#if HAS_ASYNC
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int LEFT> DEVICE void copies_wait(void)
{
#if HAS_ASYNC
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

// ---- between the threads of a warp ----

DEVICE float shuffle_xor(float x, int mask)
{
    float y;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(y) : "f"(x), "r"(mask));
    return y;
}

DEVICE int shuffle_xor(int x, int mask)
{
    int y;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(y) : "r"(x), "r"(mask));
    return y;
}

DEVICE bool warp_any(bool x)
{
    int y;
    asm volatile("{.reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.any.pred p, p, 0xffffffff; "
                 "selp.b32 %0, 1, 0, p;}"
                 : "=r"(y)
                 : "r"((int)x));
    return y;
}

DEVICE float warp_sum(float x)
{
    for (int k = 16; k > 0; k >>= 1)
        x += shuffle_xor(x, k);
    return x;
}

// ---- dropout (engine/dropout.h) ----

DEVICE u4 philox(u32 c0, u32 c1, u32 c2, u32 c3, u32 k0, u32 k1)
{
    UNROLL
    for (int round = 0; round < 10; round++) {
        u64 a = (u64)0xD2511F53u * c0, b = (u64)0xCD9E8D57u * c2;
        c0 = (u32)(b >> 32) ^ c1 ^ k0;
        c1 = (u32)b;
        c2 = (u32)(a >> 32) ^ c3 ^ k1;
        c3 = (u32)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    u4 words = {c0, c1, c2, c3};
    return words;
}

// ---- augmentation ----

DEVICE int shift_of(u32 word, int side)
{
#pragma clang fp contract(off)
    // As the host has it: uniform in plus or minus a tenth of the side, to the nearest pixel.
    double share = (double)(word >> 8) * (1.0 / 8388608) - 1, x = share * 0.1 * side + 0.5;
    int whole = (int)x;
    return (double)whole > x ? whole - 1 : whole;
}

// Structures that kernels take are read member by member: a copy of one would go to local memory.
#define DROP_STREAM(d) ((d).slot >= 0 ? (d).now->drop[(d).slot] : nullptr)

#define DROP_FIRST(d) ((d).slot >= 0 ? (d).now->first : 0) // sample; masks count those of all ranks

// The words of elements 4 × block to 4 × block + 3.
DEVICE u4 dropout_words(const u32 *stream, u64 block)
{
    return philox((u32)block, (u32)(block >> 32), stream[2], stream[3], stream[0], stream[1]);
}

DEVICE float drop_one(const u32 *stream, u32 threshold, float scale, u64 index, float x)
{
    u4 words = dropout_words(stream, index / 4);
    int i = (int)(index & 3);
    u32 word = i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;
    return word >= threshold ? x * scale : 0;
}

#endif
