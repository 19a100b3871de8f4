// SPDX-License-Identifier: Apache-2.0
// What tests of the data room share: a folder for their files, gzip without a compressor, and the
// real sets, where FARE_DATA says they are.
#ifndef FARE_TESTS_DATA_FILES_H
#define FARE_TESTS_DATA_FILES_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/sha256.h"
#include "test.h"

static char files_root[64];

static inline int files_remove_one(const char *path, const struct stat *st, int kind,
                                   struct FTW *walk)
{
    (void)st, (void)kind, (void)walk;
    return remove(path);
}

static inline int files_begin(void **state)
{
    (void)state;
    snprintf(files_root, sizeof files_root, "/tmp/fare-data-XXXXXX");
    return mkdtemp(files_root) ? 0 : -1;
}

static inline int files_end(void **state)
{
    (void)state;
    return nftw(files_root, files_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

// The path of a name below the folder; several may be in use at once.
static inline const char *files_at(const char *name)
{
    static char paths[8][300];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", files_root, name);
    return path;
}

static inline const char *files_put(const char *name, const void *bytes, size_t len)
{
    const char *path = files_at(name);
    char dir[300];
    struct err err = {0};
    snprintf(dir, sizeof dir, "%s", path);
    *strrchr(dir, '/') = '\0';
    assert_ok(fs_mkdirs(dir, &err), &err);
    assert_ok(fs_write(path, bytes, len, &err), &err);
    return path;
}

static inline const char *files_puts(const char *name, const char *text)
{
    return files_put(name, text, strlen(text));
}

static inline void files_little(struct buf *out, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buf_addc(out, (char)(value >> (8 * i)));
}

static inline uint32_t files_crc(const void *bytes, size_t len) // RFC 1952, section 8
{
    uint32_t crc = 0xFFFFFFFF;
    for (size_t i = 0; i < len; i++) {
        crc ^= ((const uint8_t *)bytes)[i];
        for (int k = 0; k < 8; k++)
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
    }
    return ~crc;
}

// Appends a gzip stream of blocks that are stored as they are (RFC 1951, 3.2.4).
static inline void files_gzip(struct buf *out, const void *bytes, size_t len)
{
    const char *p = bytes;
    buf_add(out, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    size_t left = len;
    do {
        size_t some = left < 65535 ? left : 65535;
        buf_addc(out, left == some);
        files_little(out, (uint32_t)some, 2);
        files_little(out, ~(uint32_t)some, 2);
        buf_add(out, p, some);
        p += some;
        left -= some;
    } while (left > 0);
    files_little(out, files_crc(bytes, len), 4);
    files_little(out, (uint32_t)len, 4);
}

static inline const char *files_put_gzip(const char *name, const void *bytes, size_t len)
{
    struct buf packed = {0};
    files_gzip(&packed, bytes, len);
    const char *path = files_put(name, packed.data, packed.len);
    buf_release(&packed);
    return path;
}

// The folder of a real set, or null (and the test should skip, with this message).
static inline const char *files_real(const char *set)
{
    static char path[4096];
    const char *root = getenv("FARE_DATA");
    snprintf(path, sizeof path, "%s/data/%s", root ? root : "", set);
    if (root && access(path, R_OK) == 0)
        return path;
    print_message("FARE_DATA names no folder with data/%s: not tried on the real set\n", set);
    return NULL;
}

static inline void files_sha(const void *bytes, size_t len, char hex[SHA256_HEX_BYTES])
{
    sha256_hex_of(bytes, len, hex);
}

// A call that must fail with this code and a text that holds `words`. It hands on `failed`.
static struct err files_failure;
static struct err *const failed = &files_failure;
#define assert_fails(call, code_, words)                                                           \
    do {                                                                                           \
        memset(failed, 0, sizeof *failed);                                                         \
        int fails_rc = (call);                                                                     \
        if (fails_rc != (code_) || !strstr(failed->text, words))                                   \
            fail_msg("%s: code %d, text '%s'; expected %d and '%s'", #call, fails_rc,              \
                     failed->text, (code_), (words));                                              \
    } while (0)

#endif
