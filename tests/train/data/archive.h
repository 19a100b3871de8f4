// SPDX-License-Identifier: Apache-2.0
// Small tar and zip archives for tests.
#ifndef FARE_TESTS_DATA_ARCHIVE_H
#define FARE_TESTS_DATA_ARCHIVE_H

#include "train/data/files.h"

// Writes the check sum of a header: the sum of its bytes, the sum itself counted as spaces.
static inline void tar_sum(char *header)
{
    unsigned sum = 0;
    char text[8];
    memset(header + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)header[i];
    snprintf(text, sizeof text, "%06o", sum);
    memcpy(header + 148, text, 7);
}

static inline void tar_add(struct buf *tar, const char *name, char type, const char *text)
{
    size_t at = tar->len, len = strlen(text);
    char size[12];
    buf_fill(tar, '\0', 512);
    memcpy(tar->data + at, name, strnlen(name, 100));
    memcpy(tar->data + at + 100, "0000644", 8);
    snprintf(size, sizeof size, "%011zo", len);
    memcpy(tar->data + at + 124, size, 12);
    memcpy(tar->data + at + 136, "00000000000", 12);
    tar->data[at + 156] = type;
    memcpy(tar->data + at + 257,
           "ustar\0"
           "00",
           8);
    tar_sum(tar->data + at);
    buf_add(tar, text, len);
    buf_fill(tar, '\0', -len & 511);
}

// "stored file" as it is, and "hello", deflated by gzip 1.12.
static inline void zip_make(struct buf *zip, const char *text)
{
    static const char packed[] = "\xcb\x48\xcd\xc9\xc9\x57\xc8\x40\x90";
    const struct {
        const char *name, *bytes;
        size_t len, size;
        uint32_t crc, method;
    } members[] = {
        {"stored file", text, strlen(text), strlen(text), files_crc(text, strlen(text)), 0},
        {"hello", packed, 10, 17, files_crc("hello hello hello", 17), 8}, // with the NUL
    };
    uint32_t offsets[2];
    for (int i = 0; i < 2; i++) {
        offsets[i] = (uint32_t)zip->len;
        files_little(zip, 0x04034B50, 4);
        files_little(zip, 20, 2); // version
        files_little(zip, 0, 2);
        files_little(zip, members[i].method, 2);
        files_little(zip, 0, 4); // time
        files_little(zip, members[i].crc, 4);
        files_little(zip, (uint32_t)members[i].len, 4);
        files_little(zip, (uint32_t)members[i].size, 4);
        files_little(zip, (uint32_t)strlen(members[i].name), 2);
        files_little(zip, 3, 2);
        buf_adds(zip, members[i].name);
        buf_adds(zip, "xyz"); // what an extra field may hold
        buf_add(zip, members[i].bytes, members[i].len);
    }
    uint32_t list = (uint32_t)zip->len;
    for (int i = 0; i < 2; i++) {
        files_little(zip, 0x02014B50, 4);
        files_little(zip, 20, 2);
        files_little(zip, 20, 2);
        files_little(zip, 0, 2);
        files_little(zip, members[i].method, 2);
        files_little(zip, 0, 4);
        files_little(zip, members[i].crc, 4);
        files_little(zip, (uint32_t)members[i].len, 4);
        files_little(zip, (uint32_t)members[i].size, 4);
        files_little(zip, (uint32_t)strlen(members[i].name), 2);
        files_little(zip, 0, 2);
        files_little(zip, 0, 2);
        files_little(zip, 0, 4);
        files_little(zip, 0, 4);
        files_little(zip, offsets[i], 4);
        buf_adds(zip, members[i].name);
    }
    uint32_t end = (uint32_t)zip->len;
    files_little(zip, 0x06054B50, 4);
    files_little(zip, 0, 4);
    files_little(zip, 2, 2);
    files_little(zip, 2, 2);
    files_little(zip, end - list, 4);
    files_little(zip, list, 4);
    files_little(zip, 0, 2);
}

#endif
