// SPDX-License-Identifier: Apache-2.0
#include "guard/whole.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"

#define HEADER_MAX ((int64_t)100 << 20) // of safetensors, by its specification
#define END_MAX    (22 + 65535)         // of a zip file's last record, with its comment
#define INDEX_MAX  ((size_t)64 << 20)
#define DEPTH_MAX  8

// ---- files

static uint64_t little(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static bool read_at(int fd, void *out, size_t len, int64_t at)
{
    return at >= 0 && pread(fd, out, len, at) == (ssize_t)len;
}

// The record for files over 4 GiB lies before the last one; a locator of 20 bytes between them
// says where.
static bool zip64_fits(int fd, int64_t end)
{
    unsigned char locator[20], record[56];
    if (!read_at(fd, locator, sizeof locator, end - 20) || memcmp(locator, "PK\6\7", 4) != 0)
        return false;
    int64_t at = (int64_t)little(locator + 8, 8);
    if (!read_at(fd, record, sizeof record, at) || memcmp(record, "PK\6\6", 4) != 0)
        return false;
    return little(record + 40, 8) + little(record + 48, 8) == (uint64_t)at;
}

static bool zip_fits(int fd, int64_t end, const unsigned char *record)
{
    uint64_t size = little(record + 12, 4), start = little(record + 16, 4);
    if (size == UINT32_MAX || start == UINT32_MAX || little(record + 10, 2) == UINT16_MAX)
        return zip64_fits(fd, end);
    // With a record for large files beside it, the directory ends before that one.
    return (int64_t)(start + size) == end || zip64_fits(fd, end);
}

static enum whole whole_zip(int fd, int64_t size)
{
    int64_t len = size < END_MAX ? size : END_MAX;
    unsigned char *tail = malloc((size_t)len);
    enum whole result = WHOLE_NO;
    if (!tail || !read_at(fd, tail, (size_t)len, size - len))
        len = 0;
    for (int64_t i = len - 22; i >= 0 && result == WHOLE_NO; i--)
        if (memcmp(tail + i, "PK\5\6", 4) == 0 &&
            i + 22 + (int64_t)little(tail + i + 20, 2) == len &&
            zip_fits(fd, size - len + i, tail + i))
            result = WHOLE_YES;
    free(tail);
    return result;
}

// The header names where each tensor ends.
static int64_t last_offset(const char *header, size_t len)
{
    json_t *json = json_loadb(header, len, 0, NULL), *tensor;
    const char *name;
    int64_t last = json_is_object(json) ? 0 : -1;
    json_object_foreach(json, name, tensor)
    {
        json_int_t end =
            json_integer_value(json_array_get(json_object_get(tensor, "data_offsets"), 1));
        last = last >= 0 && end > last ? end : last;
    }
    json_decref(json);
    return last;
}

static enum whole whole_safetensors(int fd, int64_t size, int64_t header)
{
    enum whole result = WHOLE_NO;
    char *text = header <= size - 8 ? malloc((size_t)header) : NULL;
    if (text && read_at(fd, text, (size_t)header, 8)) {
        int64_t last = last_offset(text, (size_t)header);
        result = last >= 0 && 8 + header + last == size ? WHOLE_YES : WHOLE_NO;
    }
    free(text);
    return result;
}

// The library writes the length when it flushes; more may follow until it closes the file.
static enum whole whole_hdf5(int fd, int64_t size)
{
    unsigned char block[52];
    if (!read_at(fd, block, sizeof block, 0))
        return WHOLE_NO;
    int version = block[8], at = version == 0 ? 40 : version == 1 ? 44 : 28;
    bool wide = (version < 2 ? block[13] : block[9]) == 8; // bytes of an address
    if (version > 3 || !wide)
        return WHOLE_UNKNOWN;
    return little(block + at, 8) == (uint64_t)size ? WHOLE_LIKELY : WHOLE_NO;
}

static enum whole whole_open(int fd)
{
    struct stat st;
    unsigned char head[9];
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return WHOLE_NO;
    if (!read_at(fd, head, sizeof head, 0))
        return st.st_size == 0 ? WHOLE_NO : WHOLE_UNKNOWN; // a program has just made it
    if (memcmp(head, "PK\3\4", 4) == 0)
        return whole_zip(fd, st.st_size);
    if (memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0)
        return whole_hdf5(fd, st.st_size);
    int64_t header = (int64_t)little(head, 8);
    if (head[8] == '{' && header > 1 && header <= HEADER_MAX)
        return whole_safetensors(fd, st.st_size, header);
    return WHOLE_UNKNOWN;
}

// The kernel grants a read lease only while nobody has the file open for writing. Some file systems
// know no leases, and then nothing is known.
static enum whole without_writer(int fd)
{
    if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
        fcntl(fd, F_SETLEASE, F_UNLCK);
        return WHOLE_LIKELY;
    }
    return errno == EAGAIN ? WHOLE_NO : WHOLE_UNKNOWN;
}

enum whole whole_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return WHOLE_NO;
    enum whole result = whole_open(fd);
    if (result == WHOLE_UNKNOWN || result == WHOLE_LIKELY)
        result = without_writer(fd);
    close(fd);
    return result;
}

// ---- folders

struct folder {
    int files;
    bool broken;  // one is known to be incomplete
    bool unknown; // one is of no known format and has the size of tensors
    bool state;   // trainer_state.json
    bool metadata;
    bool latest; // DeepSpeed's
    bool weights;
};

bool whole_is_temporary(const char *name)
{
    static const char *const ends[] = {".tmp",  ".temp",    ".part",     ".partial", ".incomplete",
                                       ".lock", ".writing", ".inflight", "~"};
    size_t len = strlen(name);
    bool found = strncmp(name, ".fare-tmp-", 10) == 0 || strncmp(name, "tmp-", 4) == 0 ||
                 strncmp(name, "tmp_", 4) == 0 || strncmp(name, ".tmp", 4) == 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i]);
        found |= len > end && strcmp(name + len - end, ends[i]) == 0;
    }
    return found;
}

static bool ends_in(const char *name, const char *end)
{
    size_t len = strlen(name), of = strlen(end);
    return len >= of && strcmp(name + len - of, end) == 0;
}

// Every file that an index of shards names is there.
static bool shards_are_there(const char *folder, const char *index)
{
    struct buf text = {0}, path = {0};
    buf_printf(&path, "%s/%s", folder, index);
    json_t *json = NULL, *shard;
    const char *name;
    if (fs_read(buf_str(&path), INDEX_MAX, &text, NULL) == 0)
        json = json_loadb(buf_str(&text), text.len, 0, NULL);
    const json_t *map = json_object_get(json, "weight_map");
    bool good = json_is_object(map);
    const char *last = "";
    json_object_foreach((json_t *)(uintptr_t)map, name, shard)
    {
        const char *file = json_string_value(shard);
        if (!good || !file || strcmp(file, last) == 0)
            continue;
        buf_reset(&path);
        buf_printf(&path, "%s/%s", folder, file);
        good = access(buf_str(&path), R_OK) == 0;
        last = file;
    }
    json_decref(json);
    buf_release(&text);
    buf_release(&path);
    return good;
}

static void look_at_file(struct folder *f, const char *folder, const char *name, const char *path)
{
    f->state |= strcmp(name, "trainer_state.json") == 0;
    f->metadata |= strcmp(name, ".metadata") == 0;
    f->latest |= strcmp(name, "latest") == 0;
    if (ends_in(name, ".index.json"))
        f->broken |= !shards_are_there(folder, name);
    bool text = ends_in(name, ".json") || ends_in(name, ".txt") || ends_in(name, ".md") ||
                ends_in(name, ".yaml") || ends_in(name, ".model");
    enum whole one = whole_file(path);
    struct stat st;
    bool empty = stat(path, &st) == 0 && st.st_size == 0;
    if (one == WHOLE_NO && !(text && empty))
        f->broken |= !empty || ends_in(name, ".bin") || ends_in(name, ".pt") ||
                     ends_in(name, ".safetensors") || ends_in(name, ".pth");
    f->unknown |= one != WHOLE_YES && !text;
    f->weights |= one == WHOLE_YES;
}

static void walk(struct folder *f, const char *path, int depth)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    f->broken |= !dir || depth > DEPTH_MAX;
    while (dir && !f->broken && (entry = readdir(dir))) {
        struct buf below = {0};
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        buf_printf(&below, "%s/%s", path, entry->d_name);
        if (whole_is_temporary(entry->d_name) || lstat(buf_str(&below), &st) != 0 ||
            ++f->files > WHOLE_FILES)
            f->broken = true;
        else if (S_ISDIR(st.st_mode))
            walk(f, buf_str(&below), depth + 1);
        else if (S_ISREG(st.st_mode))
            look_at_file(f, path, entry->d_name, buf_str(&below));
        f->broken |= below.failed;
        buf_release(&below);
    }
    if (dir)
        closedir(dir);
}

enum whole whole_folder(const char *path)
{
    struct folder f = {0};
    walk(&f, path, 0);
    if (f.broken || f.files == 0)
        return WHOLE_NO;
    if (f.metadata)
        return WHOLE_YES; // torch.distributed.checkpoint renames it into place last
    // The Trainer of some versions writes the state of random numbers after its own; Lightning may
    // write after DeepSpeed.
    return (f.state || f.latest) && f.weights ? WHOLE_LIKELY : WHOLE_UNKNOWN;
}
