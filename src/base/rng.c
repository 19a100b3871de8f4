// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

void rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xD2511F53) * c0;
        uint64_t b = UINT64_C(0xCD9E8D57) * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9; // the golden ratio
        k1 += 0xBB67AE85; // the square root of 3, less 1
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static uint32_t low(uint64_t x)
{
    return (uint32_t)x;
}

static uint32_t high(uint64_t x)
{
    return (uint32_t)(x >> 32);
}

static void block_at(const struct rng *rng, uint64_t index, uint32_t out[4])
{
    const uint32_t counter[4] = {low(index), high(index), rng->stream[0], rng->stream[1]};
    rng_philox(counter, rng->key, out);
}

void rng_init(struct rng *rng, uint64_t seed)
{
    memset(rng, 0, sizeof *rng);
    rng->key[0] = low(seed);
    rng->key[1] = high(seed);
}

void rng_split(const struct rng *parent, const char *name, uint64_t number, struct rng *child)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); // FNV-1a
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    // Under keys that differ from the parent's own, so that no child is a piece of its output.
    // Two passes, because name, number and the parent's stream are more than one counter holds.
    const uint32_t key1[2] = {parent->key[0] ^ 0x73706c69, parent->key[1]}; // "spli"
    const uint32_t key2[2] = {parent->key[0] ^ 0x74746564, parent->key[1]}; // "tted"
    uint32_t mixed[4] = {low(hash), high(hash), low(number), high(number)};
    rng_philox(mixed, key1, mixed);
    mixed[2] ^= parent->stream[0];
    mixed[3] ^= parent->stream[1];
    rng_philox(mixed, key2, mixed);

    memset(child, 0, sizeof *child);
    memcpy(child->key, mixed, sizeof child->key);
    memcpy(child->stream, mixed + 2, sizeof child->stream);
}

uint32_t rng_word(const struct rng *rng, uint64_t index)
{
    uint32_t block[4];
    block_at(rng, index / 4, block);
    return block[index % 4];
}

uint32_t rng_u32(struct rng *rng)
{
    if (rng->position % 4 == 0)
        block_at(rng, rng->position / 4, rng->block);
    return rng->block[rng->position++ % 4];
}

uint64_t rng_u64(struct rng *rng)
{
    uint64_t first = rng_u32(rng);
    return first | (uint64_t)rng_u32(rng) << 32;
}

uint64_t rng_below(struct rng *rng, uint64_t bound)
{
    assert(bound > 0);
    // Lemire 2019: the high half of a product is the result; of the low halves, the few that
    // would make some results likelier are drawn again.
    unsigned __int128 product = (unsigned __int128)rng_u64(rng) * bound;
    if ((uint64_t)product < bound) {
        uint64_t unfair = -bound % bound; // 2^64 mod bound
        while ((uint64_t)product < unfair)
            product = (unsigned __int128)rng_u64(rng) * bound;
    }
    return (uint64_t)(product >> 64);
}

float rng_float(struct rng *rng)
{
    return (float)(rng_u32(rng) >> 8) * 0x1p-24f;
}

double rng_double(struct rng *rng)
{
    return (double)(rng_u64(rng) >> 11) * 0x1p-53;
}

// 52 bits and a half step: symmetric, and never 0 or 1, which have no quantile.
double rng_normal(struct rng *rng)
{
    return rng_normal_quantile(((double)(rng_u64(rng) >> 12) + 0.5) * 0x1p-52);
}

static void swap(unsigned char *a, unsigned char *b, size_t size)
{
    unsigned char temp[64];
    while (size > 0) {
        size_t n = size < sizeof temp ? size : sizeof temp;
        memcpy(temp, a, n);
        memcpy(a, b, n);
        memcpy(b, temp, n);
        a += n;
        b += n;
        size -= n;
    }
}

void rng_shuffle(struct rng *rng, void *items, size_t count, size_t size)
{
    unsigned char *bytes = items;
    for (size_t left = count; left > 1; left--) {
        size_t pick = rng_below(rng, left);
        if (pick != left - 1)
            swap(bytes + pick * size, bytes + (left - 1) * size, size);
    }
}

// ---- the normal distribution ----

// The natural logarithm by nothing but the four operations, so that every machine gets the same
// bits: x = m × 2^e with m near 1, and ln m = 2 artanh((m-1)/(m+1)). Error about 1e-16.
static double logarithm(double x)
{
    int exponent;
    double m = frexp(x, &exponent); // exact
    if (m < 0.70710678118654752) {
        m *= 2;
        exponent--;
    }
    double s = (m - 1) / (m + 1), square = s * s, sum = 0;
    for (int k = 23; k >= 1; k -= 2) // |s| < 0.172, so the next term is below 1e-19
        sum = sum * square + 1.0 / k;
    return 2 * s * sum + exponent * 0.69314718055994531;
}

// Coefficients of the two polynomials, highest power first.
struct rational {
    double above[8], below[8];
};

static const struct rational middle = {
    .above = {2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
              4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
              1.3314166789178437745e2, 3.3871328727963666080},
    .below = {5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4,
              2.1213794301586595867e4, 5.3941960214247511077e3, 6.8718700749205790830e2,
              4.2313330701600911252e1, 1.0},
};
static const struct rational outer = {
    .above = {7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
              1.27045825245236838258, 3.64784832476320460504, 5.76949722146069140550,
              4.63033784615654529590, 1.42343711074968357734},
    .below = {1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
              1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940,
              2.05319162663775882187, 1.0},
};
static const struct rational far = {
    .above = {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
              2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580,
              5.46378491116411436990, 6.65790464350110377720},
    .below = {2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
              7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
              5.99832206555887937690e-1, 1.0},
};

static double evaluate(const struct rational *f, double r)
{
    double above = f->above[0], below = f->below[0];
    for (int i = 1; i < 8; i++) {
        above = above * r + f->above[i];
        below = below * r + f->below[i];
    }
    return above / below;
}

double rng_normal_quantile(double p)
{
    assert(p > 0 && p < 1);
    double q = p - 0.5;
    if (q >= -0.425 && q <= 0.425)
        return q * evaluate(&middle, 0.180625 - q * q);
    double r = sqrt(-logarithm(q < 0 ? p : 1 - p)); // sqrt is exact to the last bit everywhere
    double x = r <= 5 ? evaluate(&outer, r - 1.6) : evaluate(&far, r - 5);
    return q < 0 ? -x : x;
}

void rng_entropy(void *bytes, size_t len)
{
    // The kernel always returns up to 256 bytes once its pool is ready; in the first moments after
    // a boot, clock and process number have to do.
    if (len <= 256 && getentropy(bytes, len) == 0)
        return;
    struct rng rng;
    rng_init(&rng, (uint64_t)clock_now_ns() ^ (uint64_t)getpid() << 32);
    for (size_t i = 0; i < len; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)rng_u32(&rng);
}
