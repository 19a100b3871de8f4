// SPDX-License-Identifier: Apache-2.0
#include "data/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/deflate.h"

// The archive is mapped: what matters stands at its end, and little of it is read.
struct zip {
    const char *path;
    const uint8_t *bytes;
    size_t len;
};

struct entry {
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

static int bad(const struct zip *zip, size_t at, const char *what, struct err *err)
{
    return err_set(err, ERR_FORMAT, "'%s', byte %zu: %s", zip->path, at, what);
}

// The record at the end, which says where the list of members is.
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
            return bad(zip, i + 16, "the list of members is said to be beyond the end", err);
        return 0;
    }
    return err_set(err, ERR_FORMAT, "'%s' is not a zip archive, or it is cut off", zip->path);
}

static int find_member(const struct zip *zip, const char *member, struct entry *entry,
                       struct err *err)
{
    enum { LEN = 46 };
    size_t at = 0, count = 0;
    int rc = find_list(zip, &at, &count, err);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *p = zip->bytes + at;
        if (zip->len - at < LEN || four(p) != 0x02014B50)
            return bad(zip, at, "the list of members is damaged", err);
        size_t name = two(p + 28), all = LEN + name + two(p + 30) + two(p + 32);
        if (zip->len - at < all)
            return bad(zip, at, "the list of members is cut off", err);
        if (name == strlen(member) && memcmp(p + LEN, member, name) == 0) {
            *entry = (struct entry){.method = two(p + 10),
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
static int find_data(const struct zip *zip, const struct entry *entry, size_t *at, struct err *err)
{
    enum { LEN = 30 };
    if (entry->flags & 1)
        return bad(zip, entry->at, "the member is encrypted", err);
    if (entry->method != 0 && entry->method != 8)
        return bad(zip, entry->at, "the member is packed in a way that is not known", err);
    if (entry->at > zip->len || zip->len - entry->at < LEN ||
        four(zip->bytes + entry->at) != 0x04034B50)
        return bad(zip, entry->at, "there is no member here", err);
    const uint8_t *p = zip->bytes + entry->at;
    *at = entry->at + LEN + two(p + 26) + two(p + 28);
    if (*at > zip->len || zip->len - *at < entry->packed)
        return bad(zip, entry->at, "the member is cut off", err);
    return 0;
}

static uint32_t crc_add(uint32_t crc, const uint8_t *bytes, size_t len)
{
    uint32_t table[16]; // by half bytes
    for (uint32_t i = 0; i < 16; i++) {
        table[i] = i;
        for (int k = 0; k < 4; k++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xEDB88320 : 0);
    }
    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc = crc >> 4 ^ table[(crc ^ bytes[i]) & 15];
        crc = crc >> 4 ^ table[(crc ^ bytes[i] >> 4) & 15];
    }
    return ~crc;
}

static int unpack(const struct zip *zip, const struct entry *entry, size_t at, zip_take_fn *take,
                  void *context, struct err *err)
{
    const uint8_t *in = zip->bytes + at;
    size_t left = entry->packed, size = 0;
    uint32_t crc = 0;
    struct deflate deflate = {0};
    uint8_t *chunk = malloc(1 << 16);
    int rc = chunk ? 0 : err_memory(err);
    if (rc == 0 && entry->method == 8)
        rc = deflate_begin(&deflate, DEFLATE_RAW, err);
    while (rc == 0) {
        size_t made = 0, before = left;
        int end = 0;
        if (entry->method == 8) {
            end = deflate_step(&deflate, &in, &left, chunk, 1 << 16, &made, err);
        } else {
            made = left < 1 << 16 ? left : 1 << 16;
            memcpy(chunk, in, made);
            in += made;
            left -= made;
            end = left == 0;
        }
        if (end < 0) {
            rc = end;
            err_context(err, "'%s', byte %zu", zip->path, (size_t)(in - zip->bytes));
            break;
        }
        size += made;
        crc = crc_add(crc, chunk, made);
        if (size > entry->size || (!end && made == 0 && left == before))
            rc = bad(zip, entry->at, "the member is not as long as the archive says", err);
        else
            rc = take(context, chunk, made, err);
        if (end)
            break;
    }
    if (rc == 0 && (size != entry->size || crc != entry->crc))
        rc = bad(zip, entry->at, "the member is damaged: its check sum does not fit", err);
    deflate_release(&deflate);
    free(chunk);
    return rc;
}

int zip_member(const char *path, const char *member, int64_t max_bytes, zip_take_fn *take,
               void *context, struct err *err)
{
    struct zip zip = {.path = path};
    struct entry entry = {0};
    struct stat st;
    size_t at = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    int rc = fstat(fd, &st) == 0 ? 0 : err_errno(err, errno, "cannot look at '%s'", path);
    if (rc == 0 && (!S_ISREG(st.st_mode) || st.st_size == 0))
        rc = err_set(err, ERR_FORMAT, "'%s' is %s", path,
                     S_ISREG(st.st_mode) ? "empty" : "not a plain file");
    if (rc != 0)
        goto out;
    zip.len = (size_t)st.st_size;
    void *map = mmap(NULL, zip.len, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) {
        rc = err_errno(err, errno, "cannot read '%s'", path);
        goto out;
    }
    zip.bytes = map;
    rc = find_member(&zip, member, &entry, err);
    if (rc == 0)
        rc = find_data(&zip, &entry, &at, err);
    if (rc == 0 && (int64_t)entry.size > max_bytes)
        rc = bad(&zip, entry.at, "the member is larger than it may be", err);
    if (rc == 0)
        rc = unpack(&zip, &entry, at, take, context, err);
    munmap(map, zip.len);
out:
    close(fd);
    return rc;
}
