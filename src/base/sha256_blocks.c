// SPDX-License-Identifier: Apache-2.0
// SHA-256 with the SHA instructions of x86 (Intel SDM, volume 2: SHA256RNDS2, SHA256MSG1,
// SHA256MSG2). Compiled for processors without them too, and called only after asking.
#include "base/sha256_blocks.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>

#define WITH_SHA __attribute__((target("sha,sse4.1,ssse3")))

bool sha256_fast_works(void)
{
    unsigned a, b, c, d;
    bool sse = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSSE3) && (c & bit_SSE4_1);
    return sse && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

// Four rounds, two per instruction. The instructions hold the working variables as (a,b,e,f) and
// (c,d,g,h), and each pair of rounds renames one into the other.
WITH_SHA static inline void four_rounds(__m128i *abef, __m128i *cdgh, __m128i w, int group)
{
    __m128i k = _mm_loadu_si128((const __m128i *)&sha256_round_constants[4 * group]);
    __m128i sum = _mm_add_epi32(w, k);
    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, sum);
    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(sum, 0x0e));
}

// The next four words of the schedule from the sixteen before them.
WITH_SHA static inline __m128i schedule(__m128i w0, __m128i w1, __m128i w2, __m128i w3)
{
    __m128i seven_back = _mm_alignr_epi8(w3, w2, 4);
    return _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), seven_back), w3);
}

WITH_SHA void sha256_blocks_fast(uint32_t hash[8], const uint8_t *blocks, size_t count)
{
    const __m128i swap = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    __m128i dcba = _mm_loadu_si128((const __m128i *)hash);
    __m128i hgfe = _mm_loadu_si128((const __m128i *)(hash + 4));
    // Lanes from the lowest: f, e, b, a and h, g, d, c.
    __m128i badc = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
    __m128i abef = _mm_alignr_epi8(badc, efgh, 8), cdgh = _mm_blend_epi16(efgh, badc, 0xf0);
    for (; count > 0; count--, blocks += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
        for (int i = 0; i < 4; i++) {
            w[i] = _mm_loadu_si128((const __m128i *)(blocks + 16 * i));
            w[i] = _mm_shuffle_epi8(w[i], swap);
            four_rounds(&abef, &cdgh, w[i], i);
        }
#pragma GCC unroll 12
        for (int group = 4; group < 16; group++) {
            int at = group % 4;
            w[at] = schedule(w[at], w[(at + 1) % 4], w[(at + 2) % 4], w[(at + 3) % 4]);
            four_rounds(&abef, &cdgh, w[at], group);
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)hash, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(hash + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#else
bool sha256_fast_works(void)
{
    return false;
}

void sha256_blocks_fast(uint32_t hash[8], const uint8_t *blocks, size_t count)
{
    sha256_blocks_plain(hash, blocks, count);
}
#endif
