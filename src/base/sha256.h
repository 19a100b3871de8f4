// SPDX-License-Identifier: Apache-2.0
// sha256: SHA-256 of bytes that come in pieces (FIPS 180-4), and with a key (HMAC, RFC 2104).
//
// For fingerprints, for downloads with a known sum, for checkpoints and for proofs. Plain C,
// about 300 MB/s, or the processor's SHA instructions where it has them, about 1.5 GB/s. Nothing
// here fails or allocates.
#ifndef FARE_BASE_SHA256_H
#define FARE_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES     32
#define SHA256_HEX_BYTES 65 // with the NUL

struct sha256 {
    uint32_t hash[8];
    uint64_t length; // in bytes, of everything added
    uint8_t block[64];
};

void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *bytes, size_t len);
void sha256_done(struct sha256 *sha, uint8_t out[SHA256_BYTES]); // init before using it again

// Lower-case hexadecimal.
void sha256_hex(const uint8_t hash[SHA256_BYTES], char out[SHA256_HEX_BYTES]);

// The sum of one piece of memory, as hexadecimal.
void sha256_hex_of(const void *bytes, size_t len, char out[SHA256_HEX_BYTES]);

// Takes the same time, wherever they differ.
bool sha256_same(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES]);

// HMAC-SHA-256: only who has the key can make it, and it does not tell the key.
struct hmac {
    struct sha256 inner, outer;
};

void hmac_init(struct hmac *mac, const void *key, size_t len);
void hmac_add(struct hmac *mac, const void *bytes, size_t len);
void hmac_done(struct hmac *mac, uint8_t out[SHA256_BYTES]); // wipes it

// ==== sha256_blocks ====
// The inner loop of SHA-256, for sha256.c and its test (others include sha256.h).
//
// The plain one is the reference. The other uses the processor's SHA instructions, five times as
// fast, and gives the same bits.

extern const uint32_t sha256_round_constants[64];

// Adds `count` blocks of 64 bytes.
void sha256_blocks_plain(uint32_t hash[8], const uint8_t *blocks, size_t count);
void sha256_blocks_fast(uint32_t hash[8], const uint8_t *blocks, size_t count);
bool sha256_fast_works(void); // on this processor

#endif
