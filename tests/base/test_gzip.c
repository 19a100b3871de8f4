// SPDX-License-Identifier: Apache-2.0
#include "base/gzip.h"

#include "train/data/files.h"

// The whole file through reads of `step` bytes.
static int read_all(const char *path, size_t step, int64_t max, struct buf *out, uint8_t sum[32],
                    struct err *err)
{
    struct gzip gzip;
    int rc = gzip_open(&gzip, path, max, err);
    if (rc != 0)
        return rc;
    char chunk[70000];
    ptrdiff_t got;
    while ((got = gzip_read(&gzip, chunk, step, err)) > 0)
        buf_add(out, chunk, (size_t)got);
    rc = got < 0 ? (int)got : gzip_end(&gzip, sum, err);
    gzip_release(&gzip);
    return rc;
}

static int try(const char *path, int64_t max, struct err *err)
{
    struct buf out = {0};
    uint8_t sum[32];
    int rc = read_all(path, 1000, max, &out, sum, err);
    buf_release(&out);
    return rc;
}

static void expect(const char *path, const char *bytes, size_t len)
{
    static const size_t steps[] = {1, 7, 4096, 70000};
    char hex[SHA256_HEX_BYTES], wanted[SHA256_HEX_BYTES];
    files_sha(bytes, len, wanted);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct buf out = {0};
        struct err err = {0};
        uint8_t sum[32];
        assert_ok(read_all(path, steps[i], 1 << 20, &out, sum, &err), &err);
        assert_int_equal(out.len, len);
        assert_memory_equal(buf_str(&out), bytes, len);
        sha256_hex(sum, hex);
        assert_string_equal(hex, wanted);
        buf_release(&out);
    }
}

TEST(test_plain_and_packed)
{
    char bytes[150000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    expect(files_put("plain", bytes, sizeof bytes), bytes, sizeof bytes);
    expect(files_put_gzip("packed", bytes, sizeof bytes), bytes, sizeof bytes);
    expect(files_put("empty", "", 0), "", 0);
    expect(files_put_gzip("empty.gz", "", 0), "", 0);
    expect(files_puts("one", "\x1f"), "\x1f", 1); // half of the magic number

    struct buf two = {0}; // two streams in a row, and zeros behind: both are allowed
    files_gzip(&two, "first,", 6);
    files_gzip(&two, "second", 6);
    buf_fill(&two, '\0', 1000);
    expect(files_put("two.gz", two.data, two.len), "first,second", 12);
    buf_release(&two);
}

// What `printf 'hello hello hello' | gzip -n9` wrote (gzip 1.12): really compressed.
TEST(test_compressed)
{
    static const uint8_t bytes[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                    0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x90, 0x00,
                                    0x80, 0x88, 0xf9, 0xe5, 0x11, 0x00, 0x00, 0x00};
    expect(files_put("hello.gz", bytes, sizeof bytes), "hello hello hello", 17);
}

TEST(test_faults)
{
    struct buf good = {0};
    char text[2000];
    memset(text, 'x', sizeof text);
    files_gzip(&good, text, sizeof text);

    assert_fails(try(files_at("absent"), 100, failed), ERR_MISSING, "cannot open '/tmp/fare-data-");
    assert_fails(try(files_root, 100, failed), ERR_FORMAT, "is not a plain file");
    // Cut off anywhere: an error that says where, never a success.
    for (size_t len = 2; len < good.len; len += 37) {
        char words[64];
        snprintf(words, sizeof words, "end at byte %zu of the file", len);
        assert_fails(try(files_put("cut.gz", good.data, len), 1 << 20, failed), ERR_FORMAT, words);
    }
    good.data[good.len - 6] ^= 1; // the check sum
    assert_fails(try(files_put("sum.gz", good.data, good.len), 1 << 20, failed), ERR_FORMAT,
                 "the compressed data are damaged (incorrect data check)");
    good.data[good.len - 6] ^= 1;
    good.data[12] ^= 1; // the length of a block
    assert_fails(try(files_put("block.gz", good.data, good.len), 1 << 20, failed), ERR_FORMAT,
                 "damaged (invalid stored block lengths)");
    good.data[12] ^= 1;
    buf_adds(&good, "tail");
    assert_fails(try(files_put("tail.gz", good.data, good.len), 1 << 20, failed), ERR_FORMAT,
                 "is not gzip");
    buf_release(&good);

    assert_fails(try(files_put_gzip("big.gz", text, sizeof text), 1999, failed), ERR_FORMAT,
                 "holds more than 1999 bytes when unpacked");
    assert_fails(try(files_put("big", text, sizeof text), 1999, failed), ERR_FORMAT,
                 "holds more than 1999 bytes");
}

TEST(test_pieces)
{
    struct gzip gzip;
    struct err err = {0};
    uint8_t *bytes, sum[32];
    char three[3];
    const char *path = files_puts("pieces", "0123456789");
    assert_ok(gzip_open(&gzip, path, 100, &err), &err);
    assert_ok(gzip_exactly(&gzip, three, 3, &err), &err);
    assert_memory_equal(three, "012", 3);
    assert_ok(gzip_read_all(&gzip, 4, &bytes, &err), &err);
    assert_memory_equal(bytes, "3456", 4);
    free(bytes);
    assert_fails(gzip_end(&gzip, sum, failed), ERR_FORMAT, "continues after byte 7");
    gzip_release(&gzip);

    // A length that nothing stands behind costs no memory: 1 TiB is asked for.
    assert_ok(gzip_open(&gzip, path, INT64_MAX, &err), &err);
    assert_fails(gzip_read_all(&gzip, (size_t)1 << 40, &bytes, failed), ERR_FORMAT,
                 "is cut off: it ends at byte 10");
    assert_null(bytes);
    gzip_release(&gzip);
    gzip_release(&gzip); // harmless
}

int main(void)
{
    return run_all_tests(files_begin, files_end);
}
