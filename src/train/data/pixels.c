// SPDX-License-Identifier: Apache-2.0
#include "train/data/pixels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/gzip.h"
#include "train/data/folder.h"

#define MAX_BYTES (INT64_C(8) << 30) // ten million images

static uint32_t big_endian(const uint8_t b[4])
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

// Magic number and dimensions.
static int idx_header(struct gzip *gzip, uint32_t dimensions, uint32_t dim[3], struct err *err)
{
    uint8_t bytes[4];
    TRY(gzip_exactly(gzip, bytes, sizeof bytes, err));
    uint32_t magic = big_endian(bytes), wanted = 0x800 + dimensions;
    if (magic != wanted) {
        const char *what = magic == 0x801   ? ", which is that of labels"
                           : magic == 0x803 ? ", which is that of images"
                           : magic >> 16    ? ": this is not an idx file"
                                            : ": only bytes are read (type 08)";
        return err_set(err, ERR_FORMAT, "'%s', byte 0: wrong magic number %08x%s; %08x is needed",
                       gzip->path, magic, what, wanted);
    }
    for (uint32_t i = 0; i < dimensions; i++) {
        TRY(gzip_exactly(gzip, bytes, sizeof bytes, err));
        dim[i] = big_endian(bytes);
    }
    if (dim[0] == 0)
        return err_set(err, ERR_FORMAT, "'%s', byte 4: a count of 0", gzip->path);
    return 0;
}

// The `size` bytes of each item, and the end of the file.
static int read_items(struct gzip *gzip, uint32_t count, size_t size, uint8_t **bytes,
                      uint8_t sum[SHA256_BYTES], struct err *err)
{
    if ((int64_t)count * (int64_t)size > MAX_BYTES)
        return err_set(err, ERR_FORMAT, "'%s', byte 4: %u items are more than can be read",
                       gzip->path, count);
    int rc = gzip_read_all(gzip, (size_t)count * size, bytes, err);
    if (rc == 0)
        rc = gzip_end(gzip, sum, err);
    if (rc == ERR_FORMAT)
        err_hint(err, "its header says %u items of %zu bytes", count, size);
    if (rc != 0) {
        free(*bytes);
        *bytes = NULL;
    }
    return rc;
}

int idx_file(const char *path, bool images, uint8_t **bytes, int64_t *count,
             uint8_t sum[SHA256_BYTES], struct err *err)
{
    SCOPED(gzip_release) struct gzip gzip = {0};
    uint32_t dim[3] = {0};
    *bytes = NULL;
    *count = 0;
    TRY(gzip_open(&gzip, path, MAX_BYTES + 16, err));
    TRY(idx_header(&gzip, images ? 3 : 1, dim, err));
    if (images && (dim[1] != IDX_SIDE || dim[2] != IDX_SIDE))
        return err_set(err, ERR_FORMAT, "'%s', byte 8: images of %u x %u; these nets take %d x %d",
                       path, dim[1], dim[2], IDX_SIDE, IDX_SIDE);
    *count = dim[0];
    return read_items(&gzip, dim[0], images ? (size_t)IDX_SIDE * IDX_SIDE : 1, bytes, sum, err);
}

static int find_and_read(const struct folder *folder, const char *const endings[], bool images,
                         uint8_t **bytes, int64_t *count, struct identity *identity,
                         struct buf *path, struct err *err)
{
    uint8_t sum[SHA256_BYTES];
    TRY(folder_find(folder, endings, path, err));
    TRY(idx_file(buf_str(path), images, bytes, count, sum, err));
    identity_add(identity, sum, endings[0]);
    return 0;
}

static int read_half(const struct folder *folder, const char *const images[],
                     const char *const labels[], struct dataset *set, struct identity *identity,
                     struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    SCOPED(free_pointer) uint8_t *bytes = NULL;
    int64_t count = 0;
    TRY(find_and_read(folder, images, true, &set->pixels, &set->count, identity, &path, err));
    TRY(find_and_read(folder, labels, false, &bytes, &count, identity, &path, err));
    if (count != set->count)
        return err_set(err, ERR_FORMAT, "'%s' has %lld labels, but there are %lld images",
                       buf_str(&path), (long long)count, (long long)set->count);
    set->labels = malloc((size_t)count * sizeof *set->labels);
    if (!set->labels)
        return err_memory(err);
    for (int64_t i = 0; i < count; i++) {
        set->labels[i] = bytes[i];
        set->classes = bytes[i] >= set->classes ? bytes[i] + 1 : set->classes;
    }
    set->channels = 1;
    set->height = set->width = IDX_SIDE;
    return 0;
}

int idx_open(const char *dir, const struct data_options *options, struct data_pair *pair,
             struct err *err)
{
    (void)options;
    // MNIST's names, then those that unpackers and other sets in this format use. The first of each
    // goes into the identity.
    static const char *const train_images[] = {"train-images-idx3-ubyte", "train-images.idx3-ubyte",
                                               NULL};
    static const char *const train_labels[] = {"train-labels-idx1-ubyte", "train-labels.idx1-ubyte",
                                               NULL};
    static const char *const test_images[] = {"t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte",
                                              "test-images-idx3-ubyte", "test-images.idx3-ubyte",
                                              NULL};
    static const char *const test_labels[] = {"t10k-labels-idx1-ubyte", "t10k-labels.idx1-ubyte",
                                              "test-labels-idx1-ubyte", "test-labels.idx1-ubyte",
                                              NULL};
    SCOPED(folder_release) struct folder folder = {0};
    struct identity identity;
    identity_init(&identity);
    TRY(folder_open(&folder, dir, err));
    TRY(read_half(&folder, train_images, train_labels, &pair->train, &identity, err));
    TRY(read_half(&folder, test_images, test_labels, &pair->test, &identity, err));
    // A class may occur in one half only.
    int classes =
        pair->train.classes > pair->test.classes ? pair->train.classes : pair->test.classes;
    pair->train.classes = pair->test.classes = classes;
    if (classes < 2)
        return err_set(err, ERR_FORMAT, "'%s': every label is 0; there is nothing to learn", dir);
    pair->identity = identity_text(&identity, err);
    return pair->identity ? 0 : ERR_MEMORY;
}

// ==== cifar ====

enum { PIXELS = 3 * CIFAR_SIDE * CIFAR_SIDE, RECORD = 1 + PIXELS, CLASSES = 10, BATCHES = 5 };

#define CIFAR_MAX_BYTES (INT64_C(1) << 30) // a batch is 30,730,000

static int make_room(struct dataset *set, int64_t more, struct err *err)
{
    size_t count = (size_t)(set->count + more);
    uint8_t *pixels = realloc(set->pixels, count * PIXELS);
    if (pixels)
        set->pixels = pixels;
    int32_t *labels = realloc(set->labels, count * sizeof *labels);
    if (labels)
        set->labels = labels;
    return pixels && labels ? 0 : err_memory(err);
}

int cifar_file(const char *path, struct dataset *set, uint8_t sum[SHA256_BYTES], struct err *err)
{
    SCOPED(buf_release) struct buf file = {0};
    TRY(gzip_load(path, CIFAR_MAX_BYTES, &file, sum, err));
    int64_t count = (int64_t)(file.len / RECORD);
    if (file.len % RECORD != 0)
        return err_set(err, ERR_FORMAT,
                       "'%s' is cut off: it ends at byte %zu, in the middle of image %lld (each "
                       "has %d bytes)",
                       path, file.len, (long long)count, RECORD);
    if (count == 0)
        return err_set(err, ERR_FORMAT, "'%s' is empty", path);
    TRY(make_room(set, count, err));
    for (int64_t i = 0; i < count; i++, set->count++) {
        const uint8_t *record = (const uint8_t *)file.data + i * RECORD;
        if (record[0] >= CLASSES)
            return err_set(err, ERR_FORMAT,
                           "'%s', byte %lld: image %lld has the label %d; CIFAR-10 has 0 to 9",
                           path, (long long)i * RECORD, (long long)i, record[0]);
        set->labels[set->count] = record[0];
        memcpy(set->pixels + set->count * PIXELS, record + 1, PIXELS);
    }
    return 0;
}

static int cifar_find_file(const struct folder *folder, const char *name, struct dataset *set,
                           struct identity *identity, struct err *err)
{
    const char *const endings[] = {name, NULL};
    SCOPED(buf_release) struct buf path = {0};
    uint8_t sum[SHA256_BYTES];
    TRY(folder_find(folder, endings, &path, err));
    TRY(cifar_file(buf_str(&path), set, sum, err));
    identity_add(identity, sum, name);
    return 0;
}

static bool has(const struct folder *folder, const char *name)
{
    for (size_t i = 0; i < folder->count; i++)
        if (folder_ends(folder->names[i], name))
            return true;
    return false;
}

static int cifar_read_all(const struct folder *folder, struct data_pair *pair,
                          struct identity *identity, struct err *err)
{
    for (int i = 1; i <= BATCHES; i++) {
        char name[32];
        snprintf(name, sizeof name, "data_batch_%d.bin", i);
        // Batch 1 is required, so that an empty folder is an error; the others are optional.
        if (i == 1 || has(folder, name))
            TRY(cifar_find_file(folder, name, &pair->train, identity, err));
    }
    return cifar_find_file(folder, "test_batch.bin", &pair->test, identity, err);
}

int cifar_open(const char *dir, const struct data_options *options, struct data_pair *pair,
               struct err *err)
{
    (void)options;
    SCOPED(folder_release) struct folder folder = {0};
    struct identity identity;
    identity_init(&identity);
    TRY(folder_open(&folder, dir, err));
    TRY(cifar_read_all(&folder, pair, &identity, err));
    pair->train.classes = pair->test.classes = CLASSES;
    pair->train.channels = pair->test.channels = 3;
    pair->train.height = pair->train.width = pair->test.height = pair->test.width = CIFAR_SIDE;
    pair->identity = identity_text(&identity, err);
    return pair->identity ? 0 : ERR_MEMORY;
}
