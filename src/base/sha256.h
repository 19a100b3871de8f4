// SPDX-License-Identifier: Apache-2.0
// sha256: SHA-256 of bytes that come in pieces (FIPS 180-4).
//
// For fingerprints, for downloads with a known sum, for signed requests and checkpoints. Plain C,
// about 300 MB/s, or the processor's SHA instructions where it has them, about 1.5 GB/s. Nothing
// here fails or allocates.
#ifndef FARE_BASE_SHA256_H
#define FARE_BASE_SHA256_H

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

#endif
