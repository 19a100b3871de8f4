// SPDX-License-Identifier: Apache-2.0
// sha256_blocks: the inner loop of SHA-256, for sha256.c and its test (others include sha256.h).
//
// The plain one is the reference. The other uses the processor's SHA instructions, five times as
// fast, and gives the same bits.
#ifndef FARE_BASE_SHA256_BLOCKS_H
#define FARE_BASE_SHA256_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const uint32_t sha256_round_constants[64];

// Adds `count` blocks of 64 bytes.
void sha256_blocks_plain(uint32_t hash[8], const uint8_t *blocks, size_t count);
void sha256_blocks_fast(uint32_t hash[8], const uint8_t *blocks, size_t count);
bool sha256_fast_works(void); // on this processor

#endif
