// SPDX-License-Identifier: Apache-2.0
// tar and zip archives, made here byte by byte after POSIX and APPNOTE, and damaged.
#include "train/data/archive.h"
#include "train/data/unpack.h"

// ---- tar ----

// Names and contents of all members as "NAME=CONTENTS;".
static int list(const char *path, struct buf *out, struct err *err)
{
    struct tar tar;
    char chunk[7]; // small, so that it takes several
    int rc = tar_open(&tar, path, 1 << 20, err);
    if (rc != 0)
        return rc;
    while (rc == 0 && (rc = tar_next(&tar, err)) > 0) {
        buf_printf(out, "%s=", buf_str(&tar.name));
        ptrdiff_t got;
        while ((got = tar_read(&tar, chunk, sizeof chunk, err)) > 0)
            buf_add(out, chunk, (size_t)got);
        buf_adds(out, ";");
        rc = (int)got;
    }
    tar_release(&tar);
    return rc;
}

static int list_bytes(const struct buf *bytes, size_t len, struct err *err)
{
    struct buf out = {0};
    int rc = list(files_put("x.tar", bytes->data, len), &out, err);
    buf_release(&out);
    return rc;
}

static void expect(const struct buf *bytes, const char *wanted)
{
    struct buf out = {0}, packed = {0};
    struct err err = {0};
    assert_ok(list(files_put("x.tar", bytes->data, bytes->len), &out, &err), &err);
    assert_string_equal(buf_str(&out), wanted);
    buf_reset(&out);
    files_gzip(&packed, bytes->data, bytes->len);
    assert_ok(list(files_put("x.tar.gz", packed.data, packed.len), &out, &err), &err);
    assert_string_equal(buf_str(&out), wanted);
    buf_release(&out);
    buf_release(&packed);
}

TEST(test_tar)
{
    struct buf tar = {0};
    char name[301];
    memset(name, 'n', 300);
    name[300] = '\0';
    tar_add(&tar, "dir/", '5', "");
    tar_add(&tar, "dir/a", '0', "first");
    tar_add(&tar, "link", '2', "");
    tar_add(&tar, "././@LongLink", 'L', name);
    tar_add(&tar, "short", '0', "long name");
    tar_add(&tar, "pax", 'x', "17 path=pax/name\n12 mtime=12\n");
    tar_add(&tar, "short", '0', "pax name");
    tar_add(&tar, "empty", '\0', "");
    tar_add(&tar, "global", 'g', "17 path=not/this\n");
    tar_add(&tar, "last", '0', "last");
    char wanted[500];
    snprintf(wanted, sizeof wanted, "dir/a=first;%s=long name;pax/name=pax name;empty=;last=last;",
             name);
    expect(&tar, wanted); // without the blocks of zeros at the end
    buf_fill(&tar, '\0', 1024);
    expect(&tar, wanted);
    buf_adds(&tar, "behind the end, nothing counts");
    expect(&tar, wanted);

    // A member that is not read is passed over.
    struct tar open;
    struct err err = {0};
    assert_ok(tar_open(&open, files_put("x.tar", tar.data, tar.len), 1 << 20, &err), &err);
    for (int i = 0; i < 5; i++)
        assert_int_equal(tar_next(&open, &err), 1);
    assert_string_equal(buf_str(&open.name), "last");
    assert_int_equal(open.size, 4);
    assert_int_equal(tar_next(&open, &err), 0);
    tar_release(&open);
    tar_release(&open);
    buf_release(&tar);
}

// What GNU tar 1.34 wrote for a name of 150 characters with --format=ustar: a prefix and a name.
TEST(test_prefix)
{
    struct buf tar = {0};
    tar_add(&tar, "name", '0', "text");
    memcpy(tar.data + 345, "the/prefix", 10);
    tar_sum(tar.data);
    expect(&tar, "the/prefix/name=text;");
    buf_release(&tar);
}

TEST(test_tar_faults)
{
    struct buf tar = {0};
    tar_add(&tar, "a", '0', "some bytes");
    tar_add(&tar, "b", '0', "more");
    assert_fails(list_bytes(&tar, 0, failed), ERR_FORMAT, "x.tar' is empty");
    for (size_t len = 1; len < tar.len; len += 97)
        if (len != 1024)
            assert_fails(list_bytes(&tar, len, failed), ERR_FORMAT, "cut off: it ends at byte");
    tar.data[1024] ^= 1;
    assert_fails(list_bytes(&tar, tar.len, failed), ERR_FORMAT,
                 "x.tar', byte 1024: this is not the header of a tar member");
    tar.data[1024] ^= 1;
    memcpy(tar.data + 124, "zzzzzzzzzzz", 11);
    tar_sum(tar.data);
    assert_fails(list_bytes(&tar, tar.len, failed), ERR_FORMAT, "byte 0: bad size");
    memcpy(tar.data + 124, "\x80\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
    tar_sum(tar.data);
    assert_fails(list_bytes(&tar, tar.len, failed), ERR_FORMAT, "bad size");
    memcpy(tar.data + 124, "\x80\0\0\0\0\0\x7f\xff\xff\xff\xff\xff", 12); // 140 TB
    tar_sum(tar.data);
    assert_fails(list_bytes(&tar, tar.len, failed), ERR_FORMAT, "cut off");
    buf_reset(&tar);
    tar_add(&tar, "x", 'L', "name");
    memcpy(tar.data + 124, "77777777777", 11);
    tar_sum(tar.data);
    assert_fails(list_bytes(&tar, tar.len, failed), ERR_FORMAT, "a name of more than 64 KiB");
    buf_reset(&tar); // pax records that lie about their lengths are ignored
    tar_add(&tar, "x", 'x', "99 path=beyond\n0 path=none\n");
    tar_add(&tar, "y", 'x', "path=no length");
    tar_add(&tar, "name", '0', "text");
    expect(&tar, "name=text;");
    buf_release(&tar);
}

// ---- zip ----

// The member in pieces of seven bytes.
static int unzip_file(const char *path, const char *member, int64_t max, struct buf *out,
                      struct err *err)
{
    struct zip zip;
    char chunk[7];
    ptrdiff_t got;
    buf_reset(out);
    int rc = zip_open(&zip, path, member, max, err);
    if (rc != 0)
        return rc;
    while ((got = zip_read(&zip, chunk, sizeof chunk, err)) > 0)
        buf_add(out, chunk, (size_t)got);
    assert_true(got < 0 || zip_read(&zip, chunk, sizeof chunk, err) == 0); // it stays at its end
    zip_release(&zip);
    zip_release(&zip);
    return (int)got;
}

static int unzip(const struct buf *zip, const char *member, struct buf *out, struct err *err)
{
    return unzip_file(files_put("x.zip", zip->data, zip->len), member, 100000, out, err);
}

TEST(test_zip)
{
    struct buf zip = {0}, out = {0};
    struct err err = {0};
    zip_make(&zip, "some bytes, stored");
    assert_ok(unzip(&zip, "stored file", &out, &err), &err);
    assert_string_equal(buf_str(&out), "some bytes, stored");
    assert_ok(unzip(&zip, "hello", &out, &err), &err);
    assert_string_equal(buf_str(&out), "hello hello hello");
    assert_fails(unzip(&zip, "hell", &out, failed), ERR_MISSING, "x.zip' has no member 'hell'");
    buf_fill(&zip, ' ', 500); // a comment behind
    zip.data[zip.len - 502] = (char)(500 & 255);
    zip.data[zip.len - 501] = (char)(500 >> 8);
    assert_ok(unzip(&zip, "hello", &out, &err), &err);
    buf_release(&zip);
    buf_release(&out);
}

TEST(test_zip_faults)
{
    struct buf zip = {0}, out = {0};
    struct err err = {0};
    assert_fails(unzip_file(files_at("absent"), "x", 1, &out, failed), ERR_MISSING, "cannot open");
    assert_fails(unzip_file(files_root, "x", 1, &out, failed), ERR_FORMAT, "not a plain file");
    assert_fails(unzip_file(files_puts("e.zip", ""), "x", 1, &out, failed), ERR_FORMAT, "is empty");
    assert_fails(unzip_file(files_puts("t.zip", "some text"), "x", 1, &out, failed), ERR_FORMAT,
                 "is not a zip archive");
    zip_make(&zip, "stored");
    assert_fails(unzip_file(files_put("x.zip", zip.data, zip.len), "hello", 16, &out, failed),
                 ERR_FORMAT, "larger than it may be");
    // Cut off or changed anywhere, it is an error or the right bytes: never others.
    struct buf bytes = {0};
    for (size_t i = 0; i < zip.len; i++) {
        buf_reset(&bytes);
        buf_add(&bytes, zip.data, i);
        assert_true(unzip(&bytes, "hello", &out, failed) < 0);
        for (int bit = 0; bit < 8; bit += 3) {
            buf_reset(&bytes);
            buf_add(&bytes, zip.data, zip.len);
            bytes.data[i] ^= (char)(1 << bit);
            memset(&err, 0, sizeof err);
            if (unzip(&bytes, "hello", &out, &err) == 0)
                assert_string_equal(buf_str(&out), "hello hello hello");
        }
    }
    buf_release(&bytes);
    buf_release(&zip);
    buf_release(&out);
}

int main(void)
{
    return run_all_tests(files_begin, files_end);
}
