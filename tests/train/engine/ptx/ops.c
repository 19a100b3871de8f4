// SPDX-License-Identifier: Apache-2.0
// What each instruction does.
#include "rows.h"

#include <math.h>
#include <string.h>

static u32 bits_of(f32 x)
{
    u32 b;
    memcpy(&b, &x, 4);
    return b;
}

static f32 float_of(u32 b)
{
    f32 x;
    memcpy(&x, &b, 4);
    return x;
}

static u32 bf16_of(f32 x)
{
    u32 b = bits_of(x);
    return x != x ? 0x7fff : (b + 0x7fff + (b >> 16 & 1)) >> 16;
}

static f32 of_half(u32 h)
{
    u32 sign = (h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
    u32 infinite = 0x7f800000 | fraction << 13;
    // Of its exponent and its fraction at the places that a float's have.
    u32 finite = bits_of(float_of(exponent << 23 | fraction << 13) * 0x1p112f);
    return float_of(sign | (exponent == 31 ? infinite : finite));
}

static u32 half_of(f32 x)
{
    u32 sign = bits_of(x) >> 16 & 0x8000;
    f32 a = fabsf(x);
    if (x != x)
        return 0x7fff;
    if (a >= 65520)
        return sign | 0x7c00;
    int exponent;
    frexpf(a, &exponent);
    if (a == 0 || exponent < -13)
        return sign | (u32)nearbyintf(a * 0x1p24f);
    u32 steps = (u32)nearbyintf(ldexpf(a, 11 - exponent)); // 1024 to 2048
    return sign | (((u32)(exponent + 14) << 10) + steps - 1024);
}

static f32 least_of(f32 a, f32 b) // a number rather than none
{
    return a != a ? b : b != b ? a : a < b ? a : b;
}

static f32 most_of(f32 a, f32 b)
{
    return a != a ? b : b != b ? a : a > b ? a : b;
}

// A float has more than twice a half's digits and two: rounding twice is rounding once.
static f32 product_of(f32 a, f32 b)
{
    return a * b;
}

static f32 sum_of(f32 a, f32 b)
{
    return a + b;
}

static f32 tanh_of(f32 a, f32 unused)
{
    (void)unused;
    return tanhf(a);
}

#define PAIR(f, a, b)                                                                              \
    half_of(f(of_half((a)&0xffff), of_half((b)&0xffff))) |                                         \
        half_of(f(of_half((a) >> 16), of_half((b) >> 16))) << 16

static u32 most_of_pairs(u32 a, u32 b) // of bf16, whose bits are the upper ones of a float
{
    return bits_of(most_of(float_of(a << 16), float_of(b << 16))) >> 16 |
           bits_of(most_of(float_of(a & 0xffff0000u), float_of(b & 0xffff0000u)));
}

// The product is exact in a double; its sum is rounded to odd, so that rounding it again is right.
static u32 fma_half_of(u32 a, u32 b, u32 c)
{
    f64 product = (f64)of_half(a) * (f64)of_half(b), more = (f64)of_half(c);
    f64 sum = product + more, part = sum - product;
    f64 lost = (product - (sum - part)) + (more - part);
    f32 x = (f32)sum;
    f64 off = (sum - (f64)x) + lost;
    if (isfinite(x) && off != 0 && !(bits_of(x) & 1))
        x = nextafterf(x, off > 0 ? INFINITY : -INFINITY);
    return half_of(x);
}

static u32 fma_pair(u32 a, u32 b, u32 c)
{
    return fma_half_of(a & 0xffff, b & 0xffff, c & 0xffff) | fma_half_of(a >> 16, b >> 16, c >> 16)
                                                                 << 16;
}

// A GPU's is right to 11 bits or so, and no more is promised.
static f32 tanh_approx(f32 x)
{
    return float_of((bits_of(tanhf(x)) + 0x800) & ~0xfffu);
}

static s32 whole_of(f64 x)
{
    return x != x               ? INT32_MIN
           : x <= -2147483648.0 ? INT32_MIN
           : x >= 2147483647.0  ? INT32_MAX
                                : (s32)x;
}

// What a GPU makes of a division by zero is not told; it must not matter.
#define OVER(type, a, b, sign) ((b) == 0 ? (type)-1 : (a)sign(b))
#define SAFE(a, b)             ((b) != -1)
// `len` bits from `pos` on; bits above the number's own repeat its sign, which is its last bit.
static s32 signed_bits(s32 a, u32 pos, u32 len)
{
    u32 last = pos + len - 1;
    if (len == 0)
        return 0;
    if (last >= 31)
        return a >> (pos > 31 ? 31 : pos);
    return (s32)((u32)a << (31 - last)) >> (32 - len);
}

#define SHIFT(a, sign, b, most) ((b) > (most) ? 0 : (a)sign(b))

// name, text, types of the result and of up to three operands, the result.
#define LANEWISE(X)                                                                                \
    X(add_s32, "add.s32", u32, u32, u32, u32, 3, a + b)                                            \
    X(add_s16, "add.s16", u32, u32, u32, u32, 3, (a + b) & 0xffff)                                 \
    X(mul_s16, "mul.lo.s16", u32, u32, u32, u32, 3, (a * b) & 0xffff)                              \
    X(add_s64, "add.s64", u64, u64, u64, u32, 3, a + b)                                            \
    X(add_u64, "add.u64", u64, u64, u64, u32, 3, a + b)                                            \
    X(add_f32, "add.f32", f32, f32, f32, u32, 3, a + b)                                            \
    X(add_f64, "add.f64", f64, f64, f64, u32, 3, a + b)                                            \
    X(sub_s32, "sub.s32", u32, u32, u32, u32, 3, a - b)                                            \
    X(sub_s64, "sub.s64", u64, u64, u64, u32, 3, a - b)                                            \
    X(sub_f32, "sub.f32", f32, f32, f32, u32, 3, a - b)                                            \
    X(sub_f64, "sub.f64", f64, f64, f64, u32, 3, a - b)                                            \
    X(mul_f32, "mul.f32", f32, f32, f32, u32, 3, a *b)                                             \
    X(mul_f64, "mul.f64", f64, f64, f64, u32, 3, a *b)                                             \
    X(mul_lo_s32, "mul.lo.s32", u32, u32, u32, u32, 3, a *b)                                       \
    X(mul_lo_s64, "mul.lo.s64", u64, u64, u64, u32, 3, a *b)                                       \
    X(mul_hi_u32, "mul.hi.u32", u32, u32, u32, u32, 3, (u32)((u64)a * b >> 32))                    \
    X(mul_hi_s32, "mul.hi.s32", u32, s32, s32, u32, 3, (u32)((s64)a * b >> 32))                    \
    X(mul_wide_u32, "mul.wide.u32", u64, u32, u32, u32, 3, (u64)a *b)                              \
    X(mul_wide_s32, "mul.wide.s32", u64, s32, s32, u32, 3, (u64)((s64)a * b))                      \
    X(mad_lo_s32, "mad.lo.s32", u32, u32, u32, u32, 4, a *b + c)                                   \
    X(fma_f32, "fma.rn.f32", f32, f32, f32, f32, 4, fmaf(a, b, c))                                 \
    X(fma_f64, "fma.rn.f64", f64, f64, f64, f64, 4, fma(a, b, c))                                  \
    X(div_s32, "div.s32", s32, s32, s32, u32, 3,                                                   \
      SAFE(a, b) ? OVER(s32, a, b, /) : (s32)(0 - (u32)a))                                         \
    X(div_u32, "div.u32", u32, u32, u32, u32, 3, OVER(u32, a, b, /))                               \
    X(div_s64, "div.s64", s64, s64, s64, u32, 3,                                                   \
      SAFE(a, b) ? OVER(s64, a, b, /) : (s64)(0 - (u64)a))                                         \
    X(rem_s32, "rem.s32", s32, s32, s32, u32, 3, SAFE(a, b) ? OVER(s32, a, b, %) : 0)              \
    X(rem_u32, "rem.u32", u32, u32, u32, u32, 3, OVER(u32, a, b, %))                               \
    X(rem_s64, "rem.s64", s64, s64, s64, u32, 3, SAFE(a, b) ? OVER(s64, a, b, %) : 0)              \
    X(div_f32, "div.rn.f32", f32, f32, f32, u32, 3, a / b)                                         \
    X(div_approx, "div.approx.f32", f32, f32, f32, u32, 3, a / b)                                  \
    X(div_f64, "div.rn.f64", f64, f64, f64, u32, 3, a / b)                                         \
    X(rcp_f32, "rcp.rn.f32", f32, f32, u32, u32, 2, 1 / a)                                         \
    X(rcp_f64, "rcp.rn.f64", f64, f64, u32, u32, 2, 1 / a)                                         \
    X(sqrt_f32, "sqrt.rn.f32", f32, f32, u32, u32, 2, sqrtf(a))                                    \
    X(sqrt_approx, "sqrt.approx.f32", f32, f32, u32, u32, 2, sqrtf(a))                             \
    X(ex2_f32, "ex2.approx.f32", f32, f32, u32, u32, 2, exp2f(a))                                  \
    X(lg2_f32, "lg2.approx.f32", f32, f32, u32, u32, 2, log2f(a))                                  \
    X(tanh_f32, "tanh.approx.f32", f32, f32, u32, u32, 2, tanh_approx(a))                          \
    X(abs_f32, "abs.f32", f32, f32, u32, u32, 2, fabsf(a))                                         \
    X(neg_f32, "neg.f32", f32, f32, u32, u32, 2, -a)                                               \
    X(neg_f64, "neg.f64", f64, f64, u32, u32, 2, -a)                                               \
    X(neg_s32, "neg.s32", u32, u32, u32, u32, 2, 0 - a)                                            \
    X(neg_s64, "neg.s64", u64, u64, u32, u32, 2, 0 - a)                                            \
    X(max_f32, "max.f32", f32, f32, f32, u32, 3, most_of(a, b))                                    \
    X(min_nan, "min.NaN.f32", f32, f32, f32, u32, 3, a != a || b != b ? NAN : a < b ? a : b)       \
    X(max_s32, "max.s32", s32, s32, s32, u32, 3, a > b ? a : b)                                    \
    X(min_u32, "min.u32", u32, u32, u32, u32, 3, a < b ? a : b)                                    \
    X(min_s32, "min.s32", s32, s32, s32, u32, 3, a < b ? a : b)                                    \
    X(min_f32, "min.f32", f32, f32, f32, u32, 3, least_of(a, b))                                   \
    X(mul_half, "mul.rn.f16x2", u32, u32, u32, u32, 3, PAIR(product_of, a, b))                     \
    X(add_half, "add.rn.f16x2", u32, u32, u32, u32, 3, PAIR(sum_of, a, b))                         \
    X(fma_half, "fma.rn.f16x2", u32, u32, u32, u32, 4, fma_pair(a, b, c))                          \
    X(tanh_half, "tanh.approx.f16x2", u32, u32, u32, u32, 2, PAIR(tanh_of, a, a))                  \
    X(min_half, "min.f16x2", u32, u32, u32, u32, 3, PAIR(least_of, a, b))                          \
    X(max_bf16, "max.bf16x2", u32, u32, u32, u32, 3, most_of_pairs(a, b))                          \
    X(max_half, "max.f16x2", u32, u32, u32, u32, 3, PAIR(most_of, a, b))                           \
    X(and_b32, "and.b32", u32, u32, u32, u32, 3, a &b)                                             \
    X(and_b64, "and.b64", u64, u64, u64, u32, 3, a &b)                                             \
    X(and_b16, "and.b16", u32, u32, u32, u32, 3, a &b & 0xffff)                                    \
    X(or_b32, "or.b32", u32, u32, u32, u32, 3, a | b)                                              \
    X(or_b64, "or.b64", u64, u64, u64, u32, 3, a | b)                                              \
    X(or_b16, "or.b16", u32, u32, u32, u32, 3, (a | b) & 0xffff)                                   \
    X(xor_b16, "xor.b16", u32, u32, u32, u32, 3, (a ^ b) & 0xffff)                                 \
    X(xor_b32, "xor.b32", u32, u32, u32, u32, 3, a ^ b)                                            \
    X(not_b32, "not.b32", u32, u32, u32, u32, 2, ~a)                                               \
    X(popc_b32, "popc.b32", u32, u32, u32, u32, 2, (u32)__builtin_popcount(a))                     \
    X(shl_b32, "shl.b32", u32, u32, u32, u32, 3, SHIFT(a, <<, b, 31))                              \
    X(shl_b64, "shl.b64", u64, u64, u32, u32, 3, SHIFT(a, <<, b, 63))                              \
    X(shr_u32, "shr.u32", u32, u32, u32, u32, 3, SHIFT(a, >>, b, 31))                              \
    X(shr_s32, "shr.s32", s32, s32, u32, u32, 3, a >> (b > 31 ? 31 : b))                           \
    X(shr_u64, "shr.u64", u64, u64, u32, u32, 3, SHIFT(a, >>, b, 63))                              \
    X(shr_s64, "shr.s64", s64, s64, u32, u32, 3, a >> (b > 63 ? 63 : b))                           \
    X(shl_b16, "shl.b16", u32, u32, u32, u32, 3, b > 15 ? 0 : (a << b) & 0xffff)                   \
    X(shr_s16, "shr.s16", u32, u32, u32, u32, 3,                                                   \
      (u32)((s32)(int16_t)a >> (b > 15 ? 15 : b)) & 0xffff)                                        \
    X(bfe_u32, "bfe.u32", u32, u32, u32, u32, 4,                                                   \
      (b & 255) > 31 ? 0 : a >> (b & 31) & ((c & 255) > 31 ? ALL : (1u << (c & 31)) - 1))          \
    X(bfe_s32, "bfe.s32", s32, s32, u32, u32, 4, signed_bits(a, b & 255, c & 255))                 \
    X(mov_u16, "mov.u16", u32, u32, u32, u32, 2, a & 0xffff)                                       \
    X(mov_u32, "mov.u32", u32, u32, u32, u32, 2, a)                                                \
    X(mov_b32, "mov.b32", u32, u32, u32, u32, 2, a)                                                \
    X(mov_f32, "mov.f32", u32, u32, u32, u32, 2, a)                                                \
    X(mov_u64, "mov.u64", u64, u64, u32, u32, 2, a)                                                \
    X(mov_b64, "mov.b64", u64, u64, u32, u32, 2, a)                                                \
    X(mov_f64, "mov.f64", u64, u64, u32, u32, 2, a)                                                \
    X(cvta_global, "cvta.global.u64", u64, u64, u32, u32, 2, a)                                    \
    X(cvta_to_global, "cvta.to.global.u64", u64, u64, u32, u32, 2, a)                              \
    X(cvta_shared, "cvta.shared.u64", u64, u64, u32, u32, 2, a + SHARED_AT)                        \
    X(cvta_to_shared, "cvta.to.shared.u64", u64, u64, u32, u32, 2, a - SHARED_AT)                  \
    X(cvta_local, "cvta.local.u64", u64, u64, u32, u32, 2, a + LOCAL_AT)                           \
    X(cvta_to_local, "cvta.to.local.u64", u64, u64, u32, u32, 2, a - LOCAL_AT)                     \
    X(cvt_u32_u16, "cvt.u32.u16", u32, u32, u32, u32, 2, a & 0xffff)                               \
    X(cvt_u32_u64, "cvt.u32.u64", u32, u64, u32, u32, 2, (u32)a)                                   \
    X(cvt_u64_u32, "cvt.u64.u32", u64, u32, u32, u32, 2, a)                                        \
    X(cvt_s64_s32, "cvt.s64.s32", u64, s32, u32, u32, 2, (u64)(s64)a)                              \
    X(cvt_s64_s32_wide, "cvt.s64.s32", u64, u64, u32, u32, 2, (u64)(s64)(s32)(u32)a)               \
    X(cvt_u16_u32, "cvt.u16.u32", u32, u32, u32, u32, 2, a & 0xffff)                               \
    X(cvt_s16_s8, "cvt.s16.s8", u32, u32, u32, u32, 2, (u32)(int8_t)a & 0xffff)                    \
    X(cvt_s32_s16, "cvt.s32.s16", u32, u32, u32, u32, 2, (u32)(int16_t)a)                          \
    X(cvt_f32_s32, "cvt.rn.f32.s32", f32, s32, u32, u32, 2, (f32)a)                                \
    X(cvt_f32_s64, "cvt.rn.f32.s64", f32, s64, u32, u32, 2, (f32)a)                                \
    X(cvt_f32_f64, "cvt.rn.f32.f64", f32, f64, u32, u32, 2, (f32)a)                                \
    X(cvt_f64_f32, "cvt.f64.f32", f64, f32, u32, u32, 2, (f64)a)                                   \
    X(cvt_f64_s32, "cvt.rn.f64.s32", f64, s32, u32, u32, 2, a)                                     \
    X(cvt_f64_u32, "cvt.rn.f64.u32", f64, u32, u32, u32, 2, a)                                     \
    X(cvt_s32_f64, "cvt.rzi.s32.f64", s32, f64, u32, u32, 2, whole_of(a))                          \
    X(cvt_f32_f16, "cvt.f32.f16", f32, u32, u32, u32, 2, of_half(a))                               \
    X(cvt_bf16x2, "cvt.rn.bf16x2.f32", u32, f32, f32, u32, 3, bf16_of(a) << 16 | bf16_of(b))       \
    X(cvt_f16x2, "cvt.rn.f16x2.f32", u32, f32, f32, u32, 3, half_of(a) << 16 | half_of(b))

#define FUNCTION(id, text, TD, TA, TB, TC, count, result)                                          \
    static void id(struct warp *warp, const struct inst *in, u32 lanes)                            \
    {                                                                                              \
        TD *to = ROW(TD, 0);                                                                       \
        const TA *as = ROW(TA, 1);                                                                 \
        const TB *bs = ROW(TB, 2);                                                                 \
        const TC *cs = ROW(TC, 3);                                                                 \
        (void)bs;                                                                                  \
        (void)cs;                                                                                  \
        EACH(const TA a = as[i]; const TB b = bs[i]; const TC c = cs[i]; (void)a; (void)b;         \
             (void)c; to[i] = result)                                                              \
    }
LANEWISE(FUNCTION)

#define COMPARISONS(X)                                                                             \
    X(lt_s32, "setp.lt.s32", s32, a < b)                                                           \
    X(le_s32, "setp.le.s32", s32, a <= b)                                                          \
    X(gt_s32, "setp.gt.s32", s32, a > b)                                                           \
    X(ge_s32, "setp.ge.s32", s32, a >= b)                                                          \
    X(eq_s32, "setp.eq.s32", s32, a == b)                                                          \
    X(eq_b32, "setp.eq.b32", s32, a == b)                                                          \
    X(ne_b32, "setp.ne.b32", s32, a != b)                                                          \
    X(ne_s32, "setp.ne.s32", s32, a != b)                                                          \
    X(ne_u32, "setp.ne.u32", u32, a != b)                                                          \
    X(lt_u32, "setp.lt.u32", u32, a < b)                                                           \
    X(gt_u32, "setp.gt.u32", u32, a > b)                                                           \
    X(ge_u32, "setp.ge.u32", u32, a >= b)                                                          \
    X(lt_s64, "setp.lt.s64", s64, a < b)                                                           \
    X(le_s64, "setp.le.s64", s64, a <= b)                                                          \
    X(ge_s64, "setp.ge.s64", s64, a >= b)                                                          \
    X(eq_s64, "setp.eq.s64", s64, a == b)                                                          \
    X(ne_s64, "setp.ne.s64", s64, a != b)                                                          \
    X(eq_s16, "setp.eq.s16", u32, (a & 0xffff) == (b & 0xffff))                                    \
    X(ne_s16, "setp.ne.s16", u32, (a & 0xffff) != (b & 0xffff))                                    \
    X(lt_f32, "setp.lt.f32", f32, a < b)                                                           \
    X(gt_f32, "setp.gt.f32", f32, a > b)                                                           \
    X(eq_f32, "setp.eq.f32", f32, a == b)                                                          \
    X(neu_f32, "setp.neu.f32", f32, a != b)                                                        \
    X(leu_f32, "setp.leu.f32", f32, !(a > b))                                                      \
    X(geu_f32, "setp.geu.f32", f32, !(a < b))                                                      \
    X(num_f32, "setp.num.f32", f32, a == a && b == b)                                              \
    X(lt_f64, "setp.lt.f64", f64, a < b)                                                           \
    X(gt_f64, "setp.gt.f64", f64, a > b)                                                           \
    X(leu_f64, "setp.leu.f64", f64, !(a > b))

#define COMPARE(id, text, T, result)                                                               \
    static void id(struct warp *warp, const struct inst *in, u32 lanes)                            \
    {                                                                                              \
        const T *as = ROW(T, 1), *bs = ROW(T, 2);                                                  \
        u32 yes = 0, *to = ROW(u32, 0);                                                            \
        for (int i = 0; i < LANES; i++) {                                                          \
            T a = as[i], b = bs[i];                                                                \
            yes |= (u32)(result) << i;                                                             \
        }                                                                                          \
        *to = (*to & ~lanes) | (yes & lanes);                                                      \
    }
COMPARISONS(COMPARE)

#define ON_PREDICATES(X)                                                                           \
    X(and_pred, "and.pred", 3, a &b)                                                               \
    X(or_pred, "or.pred", 3, a | b)                                                                \
    X(xor_pred, "xor.pred", 3, a ^ b)                                                              \
    X(not_pred, "not.pred", 2, ~a)                                                                 \
    X(mov_pred, "mov.pred", 2, a)

#define PREDICATE(id, text, count, result)                                                         \
    static void id(struct warp *warp, const struct inst *in, u32 lanes)                            \
    {                                                                                              \
        u32 a = *ROW(u32, 1), b = *ROW(u32, 2), *to = ROW(u32, 0);                                 \
        (void)b;                                                                                   \
        *to = (*to & ~lanes) | ((result)&lanes);                                                   \
    }
ON_PREDICATES(PREDICATE)

#define CHOOSE(id, T)                                                                              \
    static void id(struct warp *warp, const struct inst *in, u32 lanes)                            \
    {                                                                                              \
        T *to = ROW(T, 0);                                                                         \
        const T *as = ROW(T, 1), *bs = ROW(T, 2);                                                  \
        u32 chosen = *ROW(u32, 3);                                                                 \
        EACH(to[i] = chosen >> i & 1 ? as[i] : bs[i])                                              \
    }
CHOOSE(selp_32, u32)
CHOOSE(selp_64, u64)

static void halves(struct warp *warp, const struct inst *in, u32 lanes) // mov.b32 {l, h}, r
{
    u32 *low = ROW(u32, 0), *high = ROW(u32, 1);
    const u32 *from = ROW(u32, 2);
    EACH(u32 x = from[i]; low[i] = x & 0xffff; high[i] = x >> 16)
}

// ---- of a warp ----

void ptx_nothing(struct warp *warp, const struct inst *in, u32 lanes)
{
    (void)warp;
    (void)in;
    (void)lanes;
}

static void sync_warp(struct warp *warp, const struct inst *in, u32 lanes)
{
    (void)lanes;
    if (*ROW(u32, 0) != ALL)
        ptx_fault(warp, in, 0, "waits for a part of the warp");
}

static void vote_any(struct warp *warp, const struct inst *in, u32 lanes)
{
    u32 *to = ROW(u32, 0);
    *to = (*to & ~lanes) | (*ROW(u32, 1) & lanes ? lanes : 0);
}

static void shuffle(struct warp *warp, const struct inst *in, u32 lanes, bool turned)
{
    u32 old[LANES], *to = ROW(u32, 0);
    const u32 *by = ROW(u32, 2);
    if (*ROW(u32, 3) != 31 || *ROW(u32, 4) != ALL)
        ptx_fault(warp, in, 0, "a shuffle that is not of the whole warp");
    memcpy(old, ROW(u32, 1), sizeof old);
    EACH(to[i] = old[turned ? ((u32)i ^ by[i]) & 31 : by[i] & 31])
}

static void shuffle_bfly(struct warp *warp, const struct inst *in, u32 lanes)
{
    shuffle(warp, in, lanes, true);
}

static void shuffle_idx(struct warp *warp, const struct inst *in, u32 lanes)
{
    shuffle(warp, in, lanes, false);
}

// Compilers make better code of this than of a loop.
typedef f32 row_of_8 __attribute__((vector_size(32)));

// Where a lane's registers lie in the matrices: the PTX manual's figures for m16n8.
static void multiply(struct warp *warp, const struct inst *in, f32 a[16][16], f32 b[16][8],
                     int deep)
{
    f32 sums[16][8];
    for (int i = 0; i < LANES; i++)
        for (int k = 0; k < 4; k++)
            sums[i / 4 + k / 2 * 8][i % 4 * 2 + k % 2] = ROW(f32, 10 + k)[i];
    for (int row = 0; row < 16; row++) {
        row_of_8 sum, more;
        memcpy(&sum, sums[row], sizeof sum);
        for (int k = 0; k < deep; k++) {
            memcpy(&more, b[k], sizeof more);
            sum += a[row][k] * more;
        }
        memcpy(sums[row], &sum, sizeof sum);
    }
    for (int i = 0; i < LANES; i++)
        for (int k = 0; k < 4; k++)
            ROW(f32, k)[i] = sums[i / 4 + k / 2 * 8][i % 4 * 2 + k % 2];
}

static f32 of_bf16(u32 b)
{
    return float_of(b << 16);
}

#define MULTIPLY_16(id, value)                                                                     \
    static void id(struct warp *warp, const struct inst *in, u32 lanes)                            \
    {                                                                                              \
        (void)lanes;                                                                               \
        f32 a[16][16], b[16][8];                                                                   \
        for (int i = 0; i < LANES; i++) {                                                          \
            for (int k = 0; k < 8; k++)                                                            \
                a[i / 4 + k / 2 % 2 * 8][i % 4 * 2 + k % 2 + k / 4 * 8] =                          \
                    value(ROW(u32, 4 + k / 2)[i] >> k % 2 * 16 & 0xffff);                          \
            for (int k = 0; k < 4; k++)                                                            \
                b[i % 4 * 2 + k % 2 + k / 2 * 8][i / 4] =                                          \
                    value(ROW(u32, 8 + k / 2)[i] >> k % 2 * 16 & 0xffff);                          \
        }                                                                                          \
        multiply(warp, in, a, b, 16);                                                              \
    }
MULTIPLY_16(mma_bf16, of_bf16)
MULTIPLY_16(mma_f16, of_half)

static void mma_tf32(struct warp *warp, const struct inst *in, u32 lanes)
{
    (void)lanes;
    f32 a[16][16], b[16][8];
    for (int i = 0; i < LANES; i++) { // ten bits of the fraction are looked at
        for (int k = 0; k < 4; k++)
            a[i / 4 + k % 2 * 8][i % 4 + k / 2 * 4] = float_of(ROW(u32, 4 + k)[i] & ~0x1fffu);
        for (int k = 0; k < 2; k++)
            b[i % 4 + k * 4][i / 4] = float_of(ROW(u32, 8 + k)[i] & ~0x1fffu);
    }
    multiply(warp, in, a, b, 8);
}

// ---- copies ----

static void commit(struct warp *warp, const struct inst *in, u32 lanes)
{
    (void)in;
    EACH(warp->groups[i]++)
}

static void wait_group(struct warp *warp, const struct inst *in, u32 lanes)
{
    ptx_end_copies(warp, in, lanes, *ROW(u32, 0));
}

// ---- by name ----

#define WORDS(T) (int8_t)(sizeof(T) / 4)
#define LANEWISE_ROW(id, text, TD, TA, TB, TC, count, result)                                      \
    {text,                                                                                         \
     id,                                                                                           \
     PLAIN,                                                                                        \
     {WORDS(TD), WORDS(TA), count > 2 ? WORDS(TB) : -1, count > 3 ? WORDS(TC) : -1, -1}},
#define COMPARE_ROW(id, text, T, result)      {text, id, PLAIN, {0, WORDS(T), WORDS(T), -1}},
#define PREDICATE_ROW(id, text, count, value) {text, id, PLAIN, {0, 0, count > 2 ? 0 : -1, -1}},
#define MMA                                                                                        \
    {                                                                                              \
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1                                                   \
    }

static const struct op ops[] = {
    LANEWISE(LANEWISE_ROW)       //
    COMPARISONS(COMPARE_ROW)     //
    ON_PREDICATES(PREDICATE_ROW) //
    {"selp.b16", selp_32, PLAIN, {1, 1, 1, 0, -1}},
    {"selp.u16", selp_32, PLAIN, {1, 1, 1, 0, -1}},
    {"selp.b32", selp_32, PLAIN, {1, 1, 1, 0, -1}},
    {"selp.u32", selp_32, PLAIN, {1, 1, 1, 0, -1}},
    {"selp.s32", selp_32, PLAIN, {1, 1, 1, 0, -1}},
    {"selp.f32", selp_32, PLAIN, {1, 1, 1, 0, -1}},
    {"selp.b64", selp_64, PLAIN, {2, 2, 2, 0, -1}},
    {"selp.f64", selp_64, PLAIN, {2, 2, 2, 0, -1}},
    {"mov.b32 {}", halves, PLAIN, {1, 1, 1, -1}},
    {"bar.warp.sync", sync_warp, WHOLE_WARP, {1, -1}},
    {"vote.sync.any.pred", vote_any, WHOLE_WARP, {0, 0, 1, -1}},
    {"shfl.sync.bfly.b32", shuffle_bfly, WHOLE_WARP, {1, 1, 1, 1, 1, -1}},
    {"shfl.sync.idx.b32", shuffle_idx, WHOLE_WARP, {1, 1, 1, 1, 1, -1}},
    {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", mma_bf16, WHOLE_WARP, MMA},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", mma_f16, WHOLE_WARP, MMA},
    {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", mma_tf32, WHOLE_WARP, MMA},
    {"cp.async.commit_group", commit, PLAIN, {-1}},
    {"cp.async.wait_group", wait_group, PLAIN, {1, -1}},
    {"bar.sync", ptx_nothing, BARRIER, {1, -1}},
    {"bar.sync", ptx_nothing, BARRIER, {1, 1, -1}},
    {"ret", ptx_nothing, END, {-1}},
};

const struct op *ptx_find_op(const char *name, const int8_t *words, int count)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(ops[i].name, name) != 0)
            continue;
        int k = 0;
        // -2: a number of the text, which fits any.
        while (k < count &&
               (ops[i].words[k] == words[k] || (words[k] == -2 && ops[i].words[k] >= 0)))
            k++;
        if (k == count && (count == OPERANDS || ops[i].words[count] == -1))
            return &ops[i];
    }
    return NULL;
}
