// SPDX-License-Identifier: Apache-2.0
#include "train/data/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

static int tar_bad(const struct tar *tar, const char *what, struct err *err)
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
        TRY(gzip_exactly(&tar->gzip, chunk, want, err));
        bytes -= (int64_t)want;
    }
    return 0;
}

// A long name, if there was one before, stands for the header's.
static void read_name(struct buf *name, const uint8_t header[BLOCK], const struct buf *long_name)
{
    const char *prefix = (const char *)header + AT_PREFIX, *own = (const char *)header + AT_NAME;
    buf_reset(name);
    if (long_name->len > 0) {
        buf_add(name, long_name->data, long_name->len);
        return;
    }
    if (memcmp(header + AT_MAGIC, "ustar\0", 6) == 0 && *prefix) {
        buf_add(name, prefix, strnlen(prefix, 155));
        buf_addc(name, '/');
    }
    buf_add(name, own, strnlen(own, 100));
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
    SCOPED(buf_release) struct buf text = {0};
    if (size > EXTRA_MAX)
        return tar_bad(tar, "a name of more than 64 KiB", err);
    char *into = buf_reserve(&text, (size_t)size);
    TRY(into ? gzip_exactly(&tar->gzip, into, (size_t)size, err) : err_memory(err));
    buf_advance(&text, (size_t)size);
    if (pax) {
        find_path(&text, name);
    } else {
        buf_reset(name);
        buf_adds(name, buf_str(&text));
    }
    TRY(buf_check(name, err));
    return skip(tar, -size & (BLOCK - 1), err);
}

// The next header. 1: there is one; 0: the archive ends here.
static int tar_header(struct tar *tar, uint8_t header[BLOCK], struct err *err)
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
    return sum_is_right(header) ? 1 : tar_bad(tar, "this is not the header of a tar member", err);
}

static int next_plain(struct tar *tar, struct buf *long_name, struct err *err)
{
    uint8_t header[BLOCK];
    int rc;
    while ((rc = tar_header(tar, header, err)) > 0) {
        int64_t size = number_at(header + AT_SIZE, 12);
        uint8_t type = header[AT_TYPE];
        if (size < 0 || size > INT64_MAX - BLOCK)
            return tar_bad(tar, "bad size", err);
        if (type == 'L' || type == 'x') {
            TRY(read_long_name(tar, size, type == 'x', long_name, err));
            continue;
        }
        if (type == '0' || type == '\0' || type == '7') { // a plain file
            read_name(&tar->name, header, long_name);
            tar->size = tar->left = size;
            tar->padding = -size & (BLOCK - 1);
            TRY(buf_check(&tar->name, err));
            return 1;
        }
        buf_reset(long_name);
        // Links have no bytes, whatever their size says.
        bool empty = type >= '1' && type <= '6';
        TRY(skip(tar, empty ? 0 : size + (-size & (BLOCK - 1)), err));
    }
    return rc;
}

int tar_next(struct tar *tar, struct err *err)
{
    SCOPED(buf_release) struct buf long_name = {.max = NAME_MAX_BYTES};
    TRY(skip(tar, tar->left, err));
    TRY(skip(tar, tar->padding, err));
    tar->left = tar->padding = 0;
    return next_plain(tar, &long_name, err);
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

// ==== zip ====

enum { STORED = 0, DEFLATED = 8 };

struct zip_entry {
    uint32_t method, flags, crc;
    size_t packed, size, at; // `at`: where its local header is
};

static uint32_t two(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t four(const uint8_t *p)
{
    return two(p) | two(p + 2) << 16;
}

static int zip_bad(const struct zip *zip, size_t at, const char *what, struct err *err)
{
    return err_set(err, ERR_FORMAT, "'%s', byte %zu: %s", zip->path, at, what);
}

// The list of members, from the record at the end.
static int find_list(const struct zip *zip, size_t *at, size_t *count, struct err *err)
{
    enum { LEN = 22 };
    size_t lowest = zip->len > LEN + 65535 ? zip->len - LEN - 65535 : 0;
    for (size_t i = zip->len < LEN ? 0 : zip->len - LEN + 1; i-- > lowest;) {
        const uint8_t *p = zip->bytes + i;
        if (four(p) != 0x06054B50)
            continue;
        *count = two(p + 10);
        *at = four(p + 16);
        if (*at > i)
            return zip_bad(zip, i + 16, "the list of members lies beyond the end", err);
        return 0;
    }
    return err_set(err, ERR_FORMAT, "'%s' is not a zip archive, or it is cut off", zip->path);
}

static int find_member(const struct zip *zip, const char *member, struct zip_entry *entry,
                       struct err *err)
{
    enum { LEN = 46 };
    size_t at = 0, count = 0;
    TRY(find_list(zip, &at, &count, err));
    for (size_t i = 0; i < count; i++) {
        const uint8_t *p = zip->bytes + at;
        if (zip->len - at < LEN || four(p) != 0x02014B50)
            return zip_bad(zip, at, "the list of members is damaged", err);
        size_t name = two(p + 28), all = LEN + name + two(p + 30) + two(p + 32);
        if (zip->len - at < all)
            return zip_bad(zip, at, "the list of members is cut off", err);
        if (name == strlen(member) && memcmp(p + LEN, member, name) == 0) {
            *entry = (struct zip_entry){.method = two(p + 10),
                                        .flags = two(p + 8),
                                        .crc = four(p + 16),
                                        .packed = four(p + 20),
                                        .size = four(p + 24),
                                        .at = four(p + 42)};
            return 0;
        }
        at += all;
    }
    return err_set(err, ERR_MISSING, "'%s' has no member '%s'", zip->path, member);
}

// Where the member's bytes begin.
static int find_data(const struct zip *zip, const struct zip_entry *entry, size_t *at,
                     struct err *err)
{
    enum { LEN = 30 };
    if (entry->flags & 1)
        return zip_bad(zip, entry->at, "the member is encrypted", err);
    if (entry->method != STORED && entry->method != DEFLATED)
        return zip_bad(zip, entry->at, "the member is packed by an unknown method", err);
    if (entry->at > zip->len || zip->len - entry->at < LEN ||
        four(zip->bytes + entry->at) != 0x04034B50)
        return zip_bad(zip, entry->at, "there is no member here", err);
    const uint8_t *p = zip->bytes + entry->at;
    *at = entry->at + LEN + two(p + 26) + two(p + 28);
    if (*at > zip->len || zip->len - *at < entry->packed)
        return zip_bad(zip, entry->at, "the member is cut off", err);
    return 0;
}

static int zip_map(struct zip *zip, struct err *err)
{
    struct stat st;
    int rc = 0, fd = open(zip->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", zip->path);
    if (fstat(fd, &st) != 0)
        rc = err_errno(err, errno, "cannot look at '%s'", zip->path);
    else if (!S_ISREG(st.st_mode) || st.st_size == 0)
        rc = err_set(err, ERR_FORMAT, "'%s' is %s", zip->path,
                     S_ISREG(st.st_mode) ? "empty" : "not a plain file");
    if (rc == 0) {
        void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
            rc = err_errno(err, errno, "cannot read '%s'", zip->path);
        else {
            zip->bytes = bytes;
            zip->len = (size_t)st.st_size;
        }
    }
    close(fd);
    return rc;
}

int zip_open(struct zip *zip, const char *path, const char *member, int64_t max_bytes,
             struct err *err)
{
    struct zip_entry entry = {0};
    size_t at = 0;
    *zip = (struct zip){.path = path};
    int rc = zip_map(zip, err);
    if (rc == 0)
        rc = find_member(zip, member, &entry, err);
    if (rc == 0)
        rc = find_data(zip, &entry, &at, err);
    if (rc == 0 && (int64_t)entry.size > max_bytes)
        rc = zip_bad(zip, entry.at, "the member is larger than it may be", err);
    if (rc == 0)
        rc = deflate_begin(&zip->deflate, DEFLATE_RAW, err);
    if (rc != 0) {
        zip_release(zip);
        return rc;
    }
    zip->at = entry.at;
    zip->in = zip->bytes + at;
    zip->left = entry.packed;
    zip->size = entry.size;
    zip->crc = entry.crc;
    zip->packed = entry.method == DEFLATED;
    return 0;
}

void zip_release(struct zip *zip)
{
    deflate_release(&zip->deflate);
    if (zip->bytes)
        munmap(zip->bytes, zip->len);
    memset(zip, 0, sizeof *zip);
}

static int unpack(struct zip *zip, void *into, size_t size, size_t *made, struct err *err)
{
    if (!zip->packed) {
        *made = zip->left < size ? zip->left : size;
        memcpy(into, zip->in, *made);
        zip->in += *made;
        zip->left -= *made;
        zip->ended = zip->left == 0;
        return 0;
    }
    size_t before = zip->left;
    int end = deflate_step(&zip->deflate, &zip->in, &zip->left, into, size, made, err);
    if (end < 0) {
        err_context(err, "'%s', byte %zu", zip->path, (size_t)(zip->in - zip->bytes));
        return end;
    }
    zip->ended = end > 0;
    if (!zip->ended && *made == 0 && zip->left == before)
        return zip_bad(zip, zip->at, "the member is cut off", err);
    return 0;
}

ptrdiff_t zip_read(struct zip *zip, void *into, size_t size, struct err *err)
{
    size_t made = 0;
    if (zip->ended)
        return 0;
    while (made == 0 && !zip->ended) {
        TRY(unpack(zip, into, size, &made, err));
    }
    zip->given += made;
    zip->sum = deflate_crc(zip->sum, into, made);
    if (zip->given > zip->size)
        return zip_bad(zip, zip->at, "the member is longer than the archive says", err);
    if (zip->ended && (zip->given != zip->size || zip->sum != zip->crc))
        return zip_bad(zip, zip->at, "the member is damaged: its checksum does not fit", err);
    return (ptrdiff_t)made;
}
