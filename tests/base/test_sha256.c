// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

TEST(test_vectors_of_nist)
{
    // FIPS 180-2 appendix B and NIST's example values; the empty message from SHA256ShortMsg.rsp.
    static const struct {
        const char *message, *hash;
    } vectors[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrl"
         "mno"
         "pqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char hex[SHA256_HEX_BYTES];
        sha256_hex_of(vectors[i].message, strlen(vectors[i].message), hex);
        assert_string_equal(hex, vectors[i].hash);
    }
}

TEST(test_a_million_times_a)
{
    // FIPS 180-2, B.3; in pieces whose size shares no factor with the block.
    struct sha256 sha;
    uint8_t hash[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES], piece[997];
    memset(piece, 'a', sizeof piece);
    sha256_init(&sha);
    for (size_t left = 1000000; left > 0;) {
        size_t len = left < sizeof piece ? left : sizeof piece;
        sha256_add(&sha, piece, len);
        left -= len;
    }
    sha256_done(&sha, hash);
    sha256_hex(hash, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Python's hashlib over the bytes (i * 7 + 3) % 256: the lengths at which the padding changes
// shape.
static const struct {
    size_t len;
    const char *hash;
} shapes[] = {
    {55, "e7313d333c272e639f790978283f9eb392e843d0f29b7016828bb1daa4aac70b"},
    {56, "4324d65f3c103567f5589c710bc08f8523f929a9272e3af36fc968e52abc6c27"},
    {57, "35df609437dcfea3279283ab79fd554e2bf78f8f7ae2de532d8ee300b09e8f73"},
    {63, "81c80242132f230c3bd41b3e63bbcff16107339549214a99614ff26664625055"},
    {64, "39e3d7b6b5d075d37d053ad89b24b41bef4f3c29760c84447cab3f3be1882241"},
    {65, "aacca6ff74fdbb296d165a45cecfa04e5127bc008770fbbdd48006f2d2fae95e"},
    {119, "9ce7368e4daf32341631b492e80359dc9f594b48453cd0dd5bf0b19279cc177e"},
    {120, "7836b787757e95e58b3ca5aec90b1b004e8deba1e50e9675af9cabf1a13a04b5"},
    {128, "d2742f1f4ac6bb7ca2b239ee18402ba8b3f9f8e652d2a72973c2b9ba11c08cf6"},
    {1000, "1e9bc38cbf860b9ec31918b065f9b52476c549a782e0e7990bed8ce3868d2371"},
};

TEST(test_every_way_to_cut_it)
{
    uint8_t bytes[1000], hash[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + 3);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (size_t piece = 1; piece <= 130; piece++) {
            struct sha256 sha;
            sha256_init(&sha);
            for (size_t at = 0; at < shapes[s].len; at += piece) {
                size_t left = shapes[s].len - at;
                sha256_add(&sha, bytes + at, left < piece ? left : piece);
                sha256_add(&sha, NULL, 0); // nothing is allowed, and is nothing
            }
            sha256_done(&sha, hash);
            sha256_hex(hash, hex);
            assert_string_equal(hex, shapes[s].hash);
        }
    }
}

// The processor's instructions against the plain loop, over every alignment and several counts.
TEST(test_both_loops_agree)
{
    static uint8_t bytes[64 * 9 + 16];
    if (!sha256_fast_works())
        skip();
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i * 31 + i * 7 + 11);
    for (size_t count = 0; count < 9; count++) {
        for (size_t at = 0; at < 16; at++) {
            uint32_t plain[8], fast[8];
            for (uint32_t i = 0; i < 8; i++)
                plain[i] = fast[i] = i * 0x9e3779b9u;
            sha256_blocks_plain(plain, bytes + at, count);
            sha256_blocks_fast(fast, bytes + at, count);
            assert_memory_equal(plain, fast, sizeof plain);
        }
    }
}

// RFC 4231, test cases 1, 2 and 6: a short key, a shorter one, and one longer than a block.
TEST(test_with_a_key)
{
    static const uint8_t ones[20] = {0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b,
                                     0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b};
    uint8_t long_key[131];
    memset(long_key, 0xaa, sizeof long_key);
    const struct {
        const void *key;
        size_t len;
        const char *data, *mac;
    } cases[] = {
        {ones, sizeof ones, "Hi There",
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {"Jefe", 4, "what do ya want for nothing?",
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {long_key, sizeof long_key, "Test Using Larger Than Block-Size Key - Hash Key First",
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hmac mac;
        uint8_t out[SHA256_BYTES], other[SHA256_BYTES];
        char hex[SHA256_HEX_BYTES];
        hmac_init(&mac, cases[i].key, cases[i].len);
        for (const char *at = cases[i].data; *at; at++)
            hmac_add(&mac, at, 1);
        hmac_done(&mac, out);
        sha256_hex(out, hex);
        assert_string_equal(hex, cases[i].mac);
        memcpy(other, out, sizeof other);
        assert_true(sha256_same(out, other));
        other[31] ^= 1;
        assert_false(sha256_same(out, other));
    }
}
