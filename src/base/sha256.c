// SPDX-License-Identifier: Apache-2.0
// SHA-256 with the SHA instructions of x86 (Intel SDM, volume 2: SHA256RNDS2, SHA256MSG1,
// SHA256MSG2). Compiled for processors without them too, and called only after asking.
#include "base/sha256.h"

#include <stdatomic.h>
#include <string.h>

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

// ==== sha256 ====

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
const uint32_t sha256_round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int right)
{
    return x >> right | x << (32 - right);
}

// The names a to h, w and the order of operations are those of FIPS 180-4, section 6.2.2.
static void add_block(uint32_t hash[8], const uint8_t *block)
{
    uint32_t w[64];
    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
               (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }

    uint32_t a = hash[0], b = hash[1], c = hash[2], d = hash[3];
    uint32_t e = hash[4], f = hash[5], g = hash[6], h = hash[7];
    for (int t = 0; t < 64; t++) {
        uint32_t sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
        uint32_t choice = (e & f) ^ (~e & g);
        uint32_t t1 = h + sum1 + choice + sha256_round_constants[t] + w[t];
        uint32_t sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
        uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
        uint32_t t2 = sum0 + majority;
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    hash[0] += a;
    hash[1] += b;
    hash[2] += c;
    hash[3] += d;
    hash[4] += e;
    hash[5] += f;
    hash[6] += g;
    hash[7] += h;
}

void sha256_blocks_plain(uint32_t hash[8], const uint8_t *blocks, size_t count)
{
    for (; count > 0; count--, blocks += 64)
        add_block(hash, blocks);
}

static void add_blocks(uint32_t hash[8], const uint8_t *blocks, size_t count)
{
    static atomic_int fast = -1; // not asked yet; any thread may ask, the answer is the same
    if (atomic_load_explicit(&fast, memory_order_relaxed) < 0)
        atomic_store_explicit(&fast, sha256_fast_works(), memory_order_relaxed);
    if (atomic_load_explicit(&fast, memory_order_relaxed))
        sha256_blocks_fast(hash, blocks, count);
    else
        sha256_blocks_plain(hash, blocks, count);
}

void sha256_init(struct sha256 *sha)
{
    // The same of the square roots of the first eight primes.
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(sha->hash, start, sizeof sha->hash);
    sha->length = 0;
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    size_t held = sha->length % sizeof sha->block;
    sha->length += len;
    while (len > 0) {
        if (held == 0 && len >= sizeof sha->block) { // straight from the caller's memory
            size_t count = len / sizeof sha->block;
            add_blocks(sha->hash, p, count);
            p += count * sizeof sha->block;
            len -= count * sizeof sha->block;
            continue;
        }
        size_t part = sizeof sha->block - held;
        part = part < len ? part : len;
        memcpy(sha->block + held, p, part);
        p += part;
        len -= part;
        held += part;
        if (held == sizeof sha->block) {
            add_blocks(sha->hash, sha->block, 1);
            held = 0;
        }
    }
}

void sha256_done(struct sha256 *sha, uint8_t out[SHA256_BYTES])
{
    uint64_t bits = sha->length * 8;
    // A one bit, zeros up to the last 8 bytes of a block, the length in bits.
    static const uint8_t padding[64] = {0x80};
    size_t held = sha->length % 64;
    sha256_add(sha, padding, held < 56 ? 56 - held : 120 - held);
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(sha, length, sizeof length);
    for (int i = 0; i < SHA256_BYTES; i++)
        out[i] = (uint8_t)(sha->hash[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_hex(const uint8_t hash[SHA256_BYTES], char out[SHA256_HEX_BYTES])
{
    for (int i = 0; i < SHA256_BYTES; i++) {
        out[2 * i] = "0123456789abcdef"[hash[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[hash[i] & 15];
    }
    out[SHA256_HEX_BYTES - 1] = '\0';
}

void sha256_hex_of(const void *bytes, size_t len, char out[SHA256_HEX_BYTES])
{
    struct sha256 sha;
    uint8_t hash[SHA256_BYTES];
    sha256_init(&sha);
    sha256_add(&sha, bytes, len);
    sha256_done(&sha, hash);
    sha256_hex(hash, out);
}

bool sha256_same(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES])
{
    uint8_t differ = 0;
    for (int i = 0; i < SHA256_BYTES; i++)
        differ |= a[i] ^ b[i];
    return differ == 0;
}

// ---- with a key

void hmac_init(struct hmac *mac, const void *key, size_t len)
{
    uint8_t block[64] = {0}; // the key, or its sum where it is longer
    sha256_init(&mac->inner);
    if (len > sizeof block) {
        sha256_add(&mac->inner, key, len);
        sha256_done(&mac->inner, block);
        sha256_init(&mac->inner);
    } else if (len > 0) {
        memcpy(block, key, len);
    }
    for (size_t i = 0; i < sizeof block; i++)
        block[i] ^= 0x36;
    sha256_add(&mac->inner, block, sizeof block);
    for (size_t i = 0; i < sizeof block; i++)
        block[i] ^= 0x36 ^ 0x5c;
    sha256_init(&mac->outer);
    sha256_add(&mac->outer, block, sizeof block);
    explicit_bzero(block, sizeof block);
}

void hmac_add(struct hmac *mac, const void *bytes, size_t len)
{
    sha256_add(&mac->inner, bytes, len);
}

void hmac_done(struct hmac *mac, uint8_t out[SHA256_BYTES])
{
    sha256_done(&mac->inner, out);
    sha256_add(&mac->outer, out, SHA256_BYTES);
    sha256_done(&mac->outer, out);
    explicit_bzero(mac, sizeof *mac);
}
