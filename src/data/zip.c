// SPDX-License-Identifier: Apache-2.0
#include "data/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STORED = 0, DEFLATED = 8 };

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
            return bad(zip, i + 16, "the list of members lies beyond the end", err);
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
    if (entry->method != STORED && entry->method != DEFLATED)
        return bad(zip, entry->at, "the member is packed by an unknown method", err);
    if (entry->at > zip->len || zip->len - entry->at < LEN ||
        four(zip->bytes + entry->at) != 0x04034B50)
        return bad(zip, entry->at, "there is no member here", err);
    const uint8_t *p = zip->bytes + entry->at;
    *at = entry->at + LEN + two(p + 26) + two(p + 28);
    if (*at > zip->len || zip->len - *at < entry->packed)
        return bad(zip, entry->at, "the member is cut off", err);
    return 0;
}

static int map(struct zip *zip, struct err *err)
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
    struct entry entry = {0};
    size_t at = 0;
    *zip = (struct zip){.path = path};
    int rc = map(zip, err);
    if (rc == 0)
        rc = find_member(zip, member, &entry, err);
    if (rc == 0)
        rc = find_data(zip, &entry, &at, err);
    if (rc == 0 && (int64_t)entry.size > max_bytes)
        rc = bad(zip, entry.at, "the member is larger than it may be", err);
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
        return bad(zip, zip->at, "the member is cut off", err);
    return 0;
}

ptrdiff_t zip_read(struct zip *zip, void *into, size_t size, struct err *err)
{
    size_t made = 0;
    if (zip->ended)
        return 0;
    while (made == 0 && !zip->ended) {
        int rc = unpack(zip, into, size, &made, err);
        if (rc != 0)
            return rc;
    }
    zip->given += made;
    zip->sum = deflate_crc(zip->sum, into, made);
    if (zip->given > zip->size)
        return bad(zip, zip->at, "the member is longer than the archive says", err);
    if (zip->ended && (zip->given != zip->size || zip->sum != zip->crc))
        return bad(zip, zip->at, "the member is damaged: its checksum does not fit", err);
    return (ptrdiff_t)made;
}
