// SPDX-License-Identifier: Apache-2.0
#include "data/cifar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/gzip.h"
#include "data/folder.h"
#include "data/identity.h"

enum { PIXELS = 3 * CIFAR_SIDE * CIFAR_SIDE, RECORD = 1 + PIXELS, CLASSES = 10, BATCHES = 5 };

#define BLOCK     256                // records read at once
#define MAX_BYTES (INT64_C(1) << 30) // a batch is 30,730,000

// Makes space for BLOCK more images. It doubles, so the arrays are copied few times.
static int grow(struct dataset *set, int64_t *capacity, struct err *err)
{
    if (*capacity - set->count >= BLOCK)
        return 0;
    int64_t more = *capacity * 2 > set->count + BLOCK ? *capacity * 2 : set->count + BLOCK;
    uint8_t *pixels = realloc(set->pixels, (size_t)more * PIXELS);
    if (pixels)
        set->pixels = pixels;
    int32_t *labels = realloc(set->labels, (size_t)more * sizeof *labels);
    if (labels)
        set->labels = labels;
    if (!pixels || !labels)
        return err_memory(err);
    *capacity = more;
    return 0;
}

// Fills `block` as far as the file goes.
static int read_block(struct gzip *gzip, uint8_t *block, size_t *have, struct err *err)
{
    *have = 0;
    while (*have < (size_t)BLOCK * RECORD) {
        ptrdiff_t got = gzip_read(gzip, block + *have, (size_t)BLOCK * RECORD - *have, err);
        if (got < 0)
            return (int)got;
        if (got == 0)
            break;
        *have += (size_t)got;
    }
    return 0;
}

static int add_record(struct dataset *set, const uint8_t *record, const char *path, int64_t number,
                      struct err *err)
{
    if (record[0] >= CLASSES)
        return err_set(err, ERR_FORMAT,
                       "'%s', byte %lld: image %lld has the label %d; CIFAR-10 has 0 to 9", path,
                       (long long)number * RECORD, (long long)number, record[0]);
    set->labels[set->count] = record[0];
    memcpy(set->pixels + set->count * PIXELS, record + 1, PIXELS);
    set->count++;
    return 0;
}

int cifar_file(const char *path, struct dataset *set, uint8_t sum[SHA256_BYTES], struct err *err)
{
    struct gzip gzip;
    int64_t capacity = set->count, number = 0;
    size_t have = 0;
    uint8_t *block = malloc((size_t)BLOCK * RECORD);
    if (!block)
        return err_memory(err);
    int rc = gzip_open(&gzip, path, MAX_BYTES, err);
    if (rc != 0)
        goto out;
    do {
        rc = read_block(&gzip, block, &have, err);
        if (rc == 0)
            rc = grow(set, &capacity, err);
        for (size_t i = 0; rc == 0 && i < have / RECORD; i++)
            rc = add_record(set, block + i * RECORD, path, number++, err);
    } while (rc == 0 && have == (size_t)BLOCK * RECORD);
    if (rc == 0 && have % RECORD != 0)
        rc = err_set(err, ERR_FORMAT,
                     "'%s' is cut off: it ends at byte %lld, in the middle of image %lld (each has "
                     "%d bytes)",
                     path, (long long)gzip.given, (long long)number, RECORD);
    if (rc == 0 && number == 0)
        rc = err_set(err, ERR_FORMAT, "'%s' is empty", path);
    if (rc == 0)
        rc = gzip_end(&gzip, sum, err);
    gzip_release(&gzip);
out:
    free(block);
    return rc;
}

static int find_file(const struct folder *folder, const char *name, struct dataset *set,
                     struct identity *identity, struct err *err)
{
    const char *const endings[] = {name, NULL};
    struct buf path = {0};
    uint8_t sum[SHA256_BYTES];
    int rc = folder_find(folder, endings, &path, err);
    if (rc == 0)
        rc = cifar_file(buf_str(&path), set, sum, err);
    if (rc == 0)
        identity_add(identity, sum, name);
    buf_release(&path);
    return rc;
}

static bool has(const struct folder *folder, const char *name)
{
    for (size_t i = 0; i < folder->count; i++)
        if (folder_ends(folder->names[i], name))
            return true;
    return false;
}

static int read_all(const struct folder *folder, struct data_pair *pair, struct identity *identity,
                    struct err *err)
{
    for (int i = 1; i <= BATCHES; i++) {
        char name[32];
        snprintf(name, sizeof name, "data_batch_%d.bin", i);
        // Batch 1 is required, so that an empty folder is an error; the others are optional.
        if (i == 1 || has(folder, name))
            TRY(find_file(folder, name, &pair->train, identity, err));
    }
    return find_file(folder, "test_batch.bin", &pair->test, identity, err);
}

int cifar_open(const char *dir, const struct data_options *options, struct data_pair *pair,
               struct err *err)
{
    (void)options;
    struct folder folder;
    struct identity identity;
    identity_init(&identity);
    int rc = folder_open(&folder, dir, err);
    if (rc != 0)
        return rc;
    rc = read_all(&folder, pair, &identity, err);
    folder_release(&folder);
    if (rc != 0)
        return rc;
    pair->train.classes = pair->test.classes = CLASSES;
    pair->train.channels = pair->test.channels = 3;
    pair->train.height = pair->train.width = pair->test.height = pair->test.width = CIFAR_SIDE;
    pair->identity = identity_text(&identity, err);
    return pair->identity ? 0 : ERR_MEMORY;
}
