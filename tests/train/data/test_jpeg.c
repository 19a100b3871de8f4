// SPDX-License-Identifier: Apache-2.0
// The images are slopes whose colours are known everywhere (images/README.md), so the expected
// pixels follow from the rule in images.h and nothing else.
#include "train/data/images.h"

#include <math.h>

#include "train/data/files.h"

static struct jpeg *jpeg;
enum { SIZE = 299 };
static uint8_t out[3 * SIZE * SIZE];

static void load(const char *name, struct buf *bytes)
{
    char path[300];
    struct err err = {0};
    snprintf(path, sizeof path, "%s/train/data/images/%s", TESTS_DIR, name);
    buf_reset(bytes);
    assert_ok(fs_read(path, 1 << 20, bytes, &err), &err);
}

static int decode(const char *name, struct err *err)
{
    struct buf bytes = {0};
    load(name, &bytes);
    int rc = jpeg_decode(jpeg, name, (const uint8_t *)bytes.data, bytes.len, out, err);
    buf_release(&bytes);
    return rc;
}

// Where output pixel o lies in a side of the source: 87.5 % of it, scaled between pixel centres.
static double place(int o, int side)
{
    int begin = (int)((side - side * 0.875) / 2);
    int len = side - 2 * begin;
    double at = (o + 0.5) * len / SIZE - 0.5;
    at = at < 0 ? 0 : at > len - 1 ? len - 1 : at;
    return begin + at;
}

static void expect_slopes(const char *name, int width, int height, double slack)
{
    struct err err = {0};
    memset(out, 0xAA, sizeof out);
    assert_ok(decode(name, &err), &err);
    double worst = 0, sums[3] = {0};
    for (int y = 0; y < SIZE; y++)
        for (int x = 0; x < SIZE; x++) {
            double wanted[3] = {255 * place(x, width) / (width - 1),
                                255 * place(y, height) / (height - 1), 128};
            for (int c = 0; c < 3; c++) {
                double off = out[(c * SIZE + y) * SIZE + x] - wanted[c];
                worst = fmax(worst, fabs(off));
                sums[c] += off;
            }
        }
    if (worst > slack)
        fail_msg("%s: off by up to %.1f", name, worst);
    // Half a pixel aside, the slopes would be off by 1.3 levels on the whole in the small images.
    for (int c = 0; c < 3; c++)
        if (fabs(sums[c] / (SIZE * SIZE)) > 0.4)
            fail_msg("%s: colour %d off by %.2f in the mean", name, c, sums[c] / (SIZE * SIZE));
}

TEST(test_slopes)
{
    expect_slopes("small.jpg", 96, 80, 4);      // enlarged
    expect_slopes("large.jpg", 700, 500, 5);    // reduced
    expect_slopes("subsampled.jpg", 96, 80, 8); // colours at half the resolution
    expect_slopes("progressive.jpg", 96, 80, 4);
    expect_slopes("arithmetic.jpg", 96, 80, 4);
    expect_slopes("restart.jpg", 96, 80, 8);
    expect_slopes("tall.jpg", 5, 400, 12); // 64 levels from one pixel to the next
}

TEST(test_colours)
{
    struct err err = {0};
    assert_ok(decode("grey.jpg", &err), &err);
    for (int i = 0; i < SIZE * SIZE; i++) {
        assert_int_equal(out[i], out[i + SIZE * SIZE]);
        assert_int_equal(out[i], out[i + 2 * SIZE * SIZE]);
    }
    assert_true(abs(out[150] - (int)(255 * place(150, 64) / 63)) <= 2);
    assert_ok(decode("cmyk.jpg", &err), &err);
    // (255 - ink) * (255 - black) / 255
    static const int wanted[3] = {(255 - 200) * 204 / 255, (255 - 100) * 204 / 255,
                                  (255 - 40) * 204 / 255};
    for (int c = 0; c < 3; c++)
        assert_true(abs(out[c * SIZE * SIZE + 44444] - wanted[c]) <= 3);
    assert_ok(decode("one.jpg", &err), &err);
    for (size_t i = 1; i < SIZE * SIZE; i++)
        assert_int_equal(out[i], out[0]);
    assert_true(abs(out[0] - 128) <= 3);
}

static int decode_bytes(const char *bytes, size_t len, struct err *err)
{
    // An exact copy, so that a sanitizer sees a read past the end.
    uint8_t *copy = calloc(len ? len : 1, 1);
    memcpy(copy, bytes, len);
    int rc = jpeg_decode(jpeg, "x.jpg", copy, len, out, err);
    free(copy);
    return rc;
}

TEST(test_damage)
{
    struct buf bytes = {0};
    assert_fails(decode_bytes("", 0, failed), ERR_FORMAT, "'x.jpg' is empty");
    assert_fails(decode_bytes("\x89PNG\r\n\x1a\n", 8, failed), ERR_FORMAT,
                 "'x.jpg', byte 0: this is not a JPEG file");
    assert_fails(decode_bytes("\xFF\xD8", 2, failed), ERR_FORMAT, "'x.jpg' cannot be read: ");
    static const char *const names[] = {"small.jpg", "progressive.jpg", "arithmetic.jpg",
                                        "restart.jpg"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        load(names[n], &bytes);
        // Cut off anywhere up to the end of the data, it is an error.
        for (size_t len = 2; len < bytes.len - 2; len += 41)
            assert_fails(decode_bytes(bytes.data, len, failed), ERR_FORMAT, "cannot be read: ");
        // With bytes changed it is an error or an image, and the next one is not hurt by it.
        for (size_t at = 2; at < bytes.len; at += 13) {
            struct err err = {0};
            char kept = bytes.data[at];
            bytes.data[at] ^= 0x5A;
            int rc = decode_bytes(bytes.data, bytes.len, &err);
            assert_true(rc == 0 || rc == ERR_FORMAT);
            bytes.data[at] = kept;
        }
        struct err err = {0};
        assert_ok(decode_bytes(bytes.data, bytes.len, &err), &err);
    }
    // A height and width of 65,500 in place of its own: four billion pixels are not begun.
    load("small.jpg", &bytes);
    char *frame = memmem(bytes.data, bytes.len, "\xFF\xC0\x00\x11\x08", 5);
    assert_non_null(frame);
    memcpy(frame + 5, "\xFF\xDC\xFF\xDC", 4);
    assert_fails(decode_bytes(bytes.data, bytes.len, failed), ERR_FORMAT,
                 "65500 x 65500 pixels are too many");
    buf_release(&bytes);
}

// A progressive file whose last scan comes a thousand times: each would cost a pass.
TEST(test_scans)
{
    struct buf bytes = {0}, many = {0};
    load("progressive.jpg", &bytes);
    char *last = NULL;
    for (size_t i = 0; i + 1 < bytes.len; i++)
        if (bytes.data[i] == '\xFF' && bytes.data[i + 1] == '\xDA')
            last = bytes.data + i;
    assert_non_null(last);
    size_t before = (size_t)(last - bytes.data), scan = bytes.len - before - 2;
    buf_add(&many, bytes.data, before);
    for (int i = 0; i < 1000; i++)
        buf_add(&many, last, scan);
    buf_add(&many, "\xFF\xD9", 2);
    assert_fails(decode_bytes(many.data, many.len, failed), ERR_FORMAT, "cannot be read: ");
    buf_release(&bytes);
    buf_release(&many);
}

// Without its quantisation tables (ITU T.81, B.5) a file cannot be decoded, whatever came before.
TEST(test_tables_of_another_file)
{
    struct buf bytes = {0}, without = {0};
    load("small.jpg", &bytes);
    const unsigned char *p = (const unsigned char *)bytes.data + 2;
    buf_add(&without, bytes.data, 2);
    while (p[1] != 0xDA) { // up to the scan
        size_t len = 2 + (size_t)(p[2] << 8 | p[3]);
        if (p[1] != 0xDB)
            buf_add(&without, (const char *)p, len);
        p += len;
    }
    buf_add(&without, (const char *)p, (size_t)(bytes.data + bytes.len - (const char *)p));
    assert_true(without.len < bytes.len);
    struct err err = {0};
    assert_ok(decode_bytes(bytes.data, bytes.len, &err), &err);
    assert_fails(decode_bytes(without.data, without.len, failed), ERR_FORMAT,
                 "quantization table 0x00 was not defined");
    buf_release(&bytes);
    buf_release(&without);
}

static int set_up(void **state)
{
    (void)state;
    struct err err = {0};
    return jpeg_new(&jpeg, SIZE, &err);
}

static int tear_down(void **state)
{
    (void)state;
    jpeg_free(jpeg);
    jpeg_free(NULL);
    return 0;
}

int main(void)
{
    return run_all_tests(set_up, tear_down);
}
