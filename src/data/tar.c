// SPDX-License-Identifier: Apache-2.0
#include "data/tar.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512 };

#define NAME_MAX_BYTES 4096
#define EXTRA_MAX      ((int64_t)1 << 16) // bytes of a long name or of pax records

// Offsets in a header.
enum { AT_NAME = 0, AT_SIZE = 124, AT_SUM = 148, AT_TYPE = 156, AT_MAGIC = 257, AT_PREFIX = 345 };

int tar_open(struct tar *tar, const char *path, int64_t max_bytes, struct err *err)
{
    memset(tar, 0, sizeof *tar);
    return gzip_open(&tar->gzip, path, max_bytes, err);
}

void tar_release(struct tar *tar)
{
    gzip_release(&tar->gzip);
    buf_release(&tar->name);
    memset(tar, 0, sizeof *tar);
}

static int bad(const struct tar *tar, const char *what, struct err *err)
{
    return err_set(err, ERR_FORMAT, "'%s', byte %lld: %s", tar->gzip.path,
                   (long long)(tar->gzip.given - BLOCK), what);
}

// Octal digits, or a big-endian number after a byte 80. Negative: neither.
static int64_t number_at(const uint8_t *field, size_t len)
{
    int64_t value = 0;
    if (field[0] == 0x80) {
        for (size_t i = 1; i < len; i++) {
            if (value > INT64_MAX >> 8)
                return -1;
            value = value << 8 | field[i];
        }
        return value;
    }
    size_t i = 0;
    while (i < len && field[i] == ' ')
        i++;
    if (i == len || field[i] < '0' || field[i] > '7')
        return -1;
    for (; i < len && field[i] >= '0' && field[i] <= '7'; i++)
        value = value << 3 | (field[i] - '0'); // 12 digits at most
    return value;
}

static bool sum_is_right(const uint8_t header[BLOCK])
{
    int64_t sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= AT_SUM && i < AT_SUM + 8 ? ' ' : header[i];
    return number_at(header + AT_SUM, 8) == sum;
}

static int skip(struct tar *tar, int64_t bytes, struct err *err)
{
    uint8_t chunk[8192];
    while (bytes > 0) {
        size_t want = bytes < (int64_t)sizeof chunk ? (size_t)bytes : sizeof chunk;
        int rc = gzip_exactly(&tar->gzip, chunk, want, err);
        if (rc != 0)
            return rc;
        bytes -= (int64_t)want;
    }
    return 0;
}

static int read_name(struct tar *tar, const uint8_t header[BLOCK], struct err *err)
{
    const char *prefix = (const char *)header + AT_PREFIX;
    buf_reset(&tar->name);
    if (memcmp(header + AT_MAGIC, "ustar\0", 6) == 0 && *prefix) {
        buf_add(&tar->name, prefix, strnlen(prefix, 155));
        buf_addc(&tar->name, '/');
    }
    const char *name = (const char *)header + AT_NAME;
    buf_add(&tar->name, name, strnlen(name, 100));
    return buf_check(&tar->name, err);
}

// The "path" among records "LENGTH KEY=VALUE\n".
static void find_path(const struct buf *records, struct buf *name)
{
    const char *at = buf_str(records), *end = at + records->len;
    while (at < end) {
        char *after;
        unsigned long len = strtoul(at, &after, 10);
        if (len == 0 || len > (unsigned long)(end - at) || after >= at + len || *after != ' ' ||
            at[len - 1] != '\n')
            return;
        const char *key = after + 1, *last = at + len - 1; // at the newline
        if (last - key > 5 && memcmp(key, "path=", 5) == 0) {
            buf_reset(name);
            buf_add(name, key + 5, (size_t)(last - key - 5));
        }
        at += len;
    }
}

// The next member's name, from one of type L or x.
static int read_long_name(struct tar *tar, int64_t size, bool pax, struct buf *name,
                          struct err *err)
{
    struct buf text = {0};
    if (size > EXTRA_MAX)
        return bad(tar, "a name of more than 64 KiB", err);
    char *into = buf_reserve(&text, (size_t)size);
    int rc = into ? gzip_exactly(&tar->gzip, into, (size_t)size, err) : err_memory(err);
    if (rc == 0) {
        buf_advance(&text, (size_t)size);
        if (pax) {
            find_path(&text, name);
        } else {
            buf_reset(name);
            buf_adds(name, buf_str(&text));
        }
        rc = buf_check(name, err);
    }
    if (rc == 0)
        rc = skip(tar, -size & (BLOCK - 1), err);
    buf_release(&text);
    return rc;
}

// The next header. 1: there is one; 0: the archive ends here.
static int read_header(struct tar *tar, uint8_t header[BLOCK], struct err *err)
{
    static const uint8_t zeros[BLOCK];
    size_t have = 0;
    while (have < BLOCK) {
        ptrdiff_t got = gzip_read(&tar->gzip, header + have, BLOCK - have, err);
        if (got < 0)
            return (int)got;
        if (got == 0)
            break;
        have += (size_t)got;
    }
    if (have == 0 && tar->gzip.given > 0)
        return 0; // some programs leave out the two blocks of zeros
    if (have < BLOCK)
        return err_set(err, ERR_FORMAT, "'%s' is %s: it ends at byte %lld, in the middle",
                       tar->gzip.path, tar->gzip.given ? "cut off" : "empty",
                       (long long)tar->gzip.given);
    if (memcmp(header, zeros, BLOCK) == 0)
        return 0;
    return sum_is_right(header) ? 1 : bad(tar, "this is not the header of a tar member", err);
}

static int next_plain(struct tar *tar, struct buf *long_name, struct err *err)
{
    uint8_t header[BLOCK];
    int rc;
    while ((rc = read_header(tar, header, err)) > 0) {
        int64_t size = number_at(header + AT_SIZE, 12);
        uint8_t type = header[AT_TYPE];
        if (size < 0 || size > INT64_MAX - BLOCK)
            return bad(tar, "bad size", err);
        if (type == 'L' || type == 'x') {
            rc = read_long_name(tar, size, type == 'x', long_name, err);
            if (rc != 0)
                return rc;
            continue;
        }
        bool plain = type == '0' || type == '\0' || type == '7';
        if (plain) {
            rc = read_name(tar, header, err);
            if (rc == 0 && long_name->len > 0) {
                buf_reset(&tar->name);
                buf_add(&tar->name, long_name->data, long_name->len);
                rc = buf_check(&tar->name, err);
            }
            tar->size = tar->left = size;
            tar->padding = -size & (BLOCK - 1);
            return rc == 0 ? 1 : rc;
        }
        buf_reset(long_name);
        // Links have no bytes, whatever their size says.
        bool empty = type >= '1' && type <= '6';
        rc = skip(tar, empty ? 0 : size + (-size & (BLOCK - 1)), err);
        if (rc != 0)
            return rc;
    }
    return rc;
}

int tar_next(struct tar *tar, struct err *err)
{
    struct buf long_name = {.max = NAME_MAX_BYTES};
    int rc = skip(tar, tar->left, err);
    if (rc == 0)
        rc = skip(tar, tar->padding, err);
    tar->left = tar->padding = 0;
    if (rc == 0)
        rc = next_plain(tar, &long_name, err);
    buf_release(&long_name);
    return rc;
}

ptrdiff_t tar_read(struct tar *tar, void *into, size_t size, struct err *err)
{
    if (tar->left == 0)
        return 0;
    size_t want = (int64_t)size < tar->left ? size : (size_t)tar->left;
    ptrdiff_t got = gzip_read(&tar->gzip, into, want, err);
    if (got == 0)
        return err_set(err, ERR_FORMAT, "'%s' is cut off: it ends at byte %lld, in the middle",
                       tar->gzip.path, (long long)tar->gzip.given);
    if (got > 0)
        tar->left -= got;
    return got;
}
