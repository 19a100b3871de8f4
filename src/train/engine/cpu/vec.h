// SPDX-License-Identifier: Apache-2.0
// vec: the vector operations that our kernels use, for three instruction sets.
//
// The program is built for any x86-64. A kernel is written once, in these operations, and compiled
// three times: kernels_avx512.c, kernels_avx2.c and kernels_base.c define VEC_BITS (512, 256, 128)
// before they include it, and mark each function with KERNEL. Which one runs is chosen at run
// time (kernels.h). Without VEC_BITS it is the smallest set, which every x86-64 has.
#ifndef FARE_TRAIN_ENGINE_CPU_VEC_H
#define FARE_TRAIN_ENGINE_CPU_VEC_H

#include <immintrin.h>

#ifndef VEC_BITS
#define VEC_BITS 128
#endif

#define VL (VEC_BITS / 32) // floats in a vector

#if VEC_BITS == 512

#define KERNEL        static __attribute__((target("avx512f,avx2,fma")))
#define KERNEL_INLINE static inline __attribute__((target("avx512f,avx2,fma"), always_inline))
typedef __m512 vec;
#define v_load(p)       _mm512_loadu_ps(p)
#define v_store(p, a)   _mm512_storeu_ps(p, a)
#define v_set(x)        _mm512_set1_ps(x)
#define v_zero()        _mm512_setzero_ps()
#define v_add(a, b)     _mm512_add_ps(a, b)
#define v_sub(a, b)     _mm512_sub_ps(a, b)
#define v_mul(a, b)     _mm512_mul_ps(a, b)
#define v_div(a, b)     _mm512_div_ps(a, b)
#define v_sqrt(a)       _mm512_sqrt_ps(a)
#define v_min(a, b)     _mm512_min_ps(a, b)
#define v_max(a, b)     _mm512_max_ps(a, b)
#define v_fma(a, b, c)  _mm512_fmadd_ps(a, b, c)  // a b + c
#define v_fnma(a, b, c) _mm512_fnmadd_ps(a, b, c) // c - a b
#define v_abs(a)        _mm512_abs_ps(a)
// b where a is over 0, else 0
#define v_where(a, b)  _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, v_zero(), _CMP_GT_OQ), b)
#define v_differ(a, b) ((int)_mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ)) // a bit per lane
#define v_sum(a)       _mm512_reduce_add_ps(a)
typedef __m512i veci;
#define v_round(a) _mm512_cvtps_epi32(a) // to the nearest whole number
#define v_float(i) _mm512_cvtepi32_ps(i)
#define v_power2(i)                                                                                \
    _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(i, _mm512_set1_epi32(127)), 23))

#elif VEC_BITS == 256

#define KERNEL          static __attribute__((target("avx2,fma")))
#define KERNEL_INLINE   static inline __attribute__((target("avx2,fma"), always_inline))
typedef __m256 vec;
#define v_load(p)       _mm256_loadu_ps(p)
#define v_store(p, a)   _mm256_storeu_ps(p, a)
#define v_set(x)        _mm256_set1_ps(x)
#define v_zero()        _mm256_setzero_ps()
#define v_add(a, b)     _mm256_add_ps(a, b)
#define v_sub(a, b)     _mm256_sub_ps(a, b)
#define v_mul(a, b)     _mm256_mul_ps(a, b)
#define v_div(a, b)     _mm256_div_ps(a, b)
#define v_sqrt(a)       _mm256_sqrt_ps(a)
#define v_min(a, b)     _mm256_min_ps(a, b)
#define v_max(a, b)     _mm256_max_ps(a, b)
#define v_fma(a, b, c)  _mm256_fmadd_ps(a, b, c)
#define v_fnma(a, b, c) _mm256_fnmadd_ps(a, b, c)
#define v_abs(a)        _mm256_and_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)))
#define v_where(a, b)   _mm256_and_ps(_mm256_cmp_ps(a, v_zero(), _CMP_GT_OQ), b)
#define v_differ(a, b)  _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NEQ_UQ))
KERNEL_INLINE float v_sum(vec a)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}
typedef __m256i veci;
#define v_round(a)      _mm256_cvtps_epi32(a)
#define v_float(i)      _mm256_cvtepi32_ps(i)
#define v_power2(i)                                                                                \
    _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(i, _mm256_set1_epi32(127)), 23))

#else

#define KERNEL          static
#define KERNEL_INLINE   static inline __attribute__((always_inline))
typedef __m128 vec;
#define v_load(p)       _mm_loadu_ps(p)
#define v_store(p, a)   _mm_storeu_ps(p, a)
#define v_set(x)        _mm_set1_ps(x)
#define v_zero()        _mm_setzero_ps()
#define v_add(a, b)     _mm_add_ps(a, b)
#define v_sub(a, b)     _mm_sub_ps(a, b)
#define v_mul(a, b)     _mm_mul_ps(a, b)
#define v_div(a, b)     _mm_div_ps(a, b)
#define v_sqrt(a)       _mm_sqrt_ps(a)
#define v_min(a, b)     _mm_min_ps(a, b)
#define v_max(a, b)     _mm_max_ps(a, b)
#define v_fma(a, b, c)  _mm_add_ps(_mm_mul_ps(a, b), c)
#define v_fnma(a, b, c) _mm_sub_ps(c, _mm_mul_ps(a, b))
#define v_abs(a)        _mm_and_ps(a, _mm_castsi128_ps(_mm_set1_epi32(0x7fffffff)))
#define v_where(a, b)   _mm_and_ps(_mm_cmpgt_ps(a, v_zero()), b)
#define v_differ(a, b)  _mm_movemask_ps(_mm_cmpneq_ps(a, b))
KERNEL_INLINE float v_sum(vec a)
{
    __m128 s = _mm_add_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}
typedef __m128i veci;
#define v_round(a)      _mm_cvtps_epi32(a)
#define v_float(i)      _mm_cvtepi32_ps(i)
#define v_power2(i)     _mm_castsi128_ps(_mm_slli_epi32(_mm_add_epi32(i, _mm_set1_epi32(127)), 23))

#endif

#endif
