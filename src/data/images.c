// SPDX-License-Identifier: Apache-2.0
#include "data/images.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/rng.h"
#include "data/folder.h"
#include "data/identity.h"
#include "data/jpeg.h"
#include "machine/parallel.h"

#define MAX_FILE  (INT64_C(256) << 20)
#define MAX_HELD  350                // as in the original
#define MAX_SUMS  (INT64_C(4) << 30) // larger sets are identified by names and sizes only
#define MAX_COUNT INT32_MAX

// ---- one image ----

struct image_reader {
    const struct image_files *files;
    struct jpeg *jpeg;
    uint8_t *bytes;
};

void image_files_free(struct image_files *files)
{
    if (!files)
        return;
    free(files->pool);
    free(files->offsets);
    free(files);
}

int image_reader_new(struct image_reader **out, const struct image_files *files, struct err *err)
{
    *out = NULL;
    struct image_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return err_memory(err);
    reader->files = files;
    int rc = 0;
    if (!files->draw) {
        rc = jpeg_new(&reader->jpeg, IMAGES_SIZE, err);
        reader->bytes = malloc(files->largest + 1); // one more, to notice a file that grew
        if (rc == 0 && !reader->bytes)
            rc = err_memory(err);
    }
    if (rc != 0)
        image_reader_free(reader);
    else
        *out = reader;
    return rc;
}

void image_reader_free(struct image_reader *reader)
{
    if (!reader)
        return;
    jpeg_free(reader->jpeg);
    free(reader->bytes);
    free(reader);
}

// Up to `size` bytes of the file.
static int read_file(const char *path, uint8_t *bytes, size_t size, size_t *len, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    int rc = 0;
    *len = 0;
    while (*len < size) {
        ssize_t got = read(fd, bytes + *len, size - *len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            rc = err_errno(err, errno, "cannot read '%s'", path);
        if (got <= 0)
            break;
        *len += (size_t)got;
    }
    close(fd);
    return rc;
}

int image_read(struct image_reader *reader, int64_t i, uint8_t *out, struct err *err)
{
    const struct image_files *files = reader->files;
    if (files->draw) {
        files->draw(files->seed, files->test, i, out);
        return 0;
    }
    const char *path = files->pool + files->offsets[i];
    size_t len = 0;
    TRY(read_file(path, reader->bytes, files->largest + 1, &len, err));
    if (len > files->largest)
        return err_set(err, ERR_FORMAT, "'%s' has grown since the set was opened", path);
    return jpeg_decode(reader->jpeg, path, reader->bytes, len, out, err);
}

// ---- the folders ----

struct entry {
    size_t path; // where in the pool
    size_t name; // where in it CLASS/FILE begins
    int32_t label;
    int64_t size;
    uint8_t sum[SHA256_BYTES];
};

struct listing {
    struct buf pool;
    struct entry *entries;
    int64_t count;
    size_t capacity;
    int classes;
    int64_t bytes;
};

static bool ends_in(const char *name, const char *ending)
{
    size_t len = strlen(name), tail = strlen(ending);
    return len > tail && strcasecmp(name + len - tail, ending) == 0;
}

struct reading {
    const struct image_files *files;
    int64_t first;
    uint8_t *out;
    pthread_mutex_t lock;
    struct err err; // of the first one that failed,
    int64_t failed; // which is this one
};

static void read_some(void *reading_, int64_t from, int64_t to)
{
    struct reading *r = reading_;
    struct image_reader *reader = NULL;
    struct err err = {0};
    int rc = image_reader_new(&reader, r->files, &err);
    int64_t i = from;
    for (; rc == 0 && i < to; i++)
        rc = image_read(reader, r->first + i, r->out + i * IMAGES_BYTES, &err);
    image_reader_free(reader);
    if (rc == 0)
        return;
    pthread_mutex_lock(&r->lock);
    if (r->err.code == 0 || i < r->failed) {
        r->err = err;
        r->failed = i;
    }
    pthread_mutex_unlock(&r->lock);
}

int images_read(const struct image_files *files, int64_t first, int64_t count, int threads,
                uint8_t *out, struct err *err)
{
    struct reading r = {
        .files = files, .first = first, .out = out, .lock = PTHREAD_MUTEX_INITIALIZER};
    parallel_for(threads, count, read_some, &r);
    if (r.err.code != 0 && err)
        *err = r.err;
    return r.err.code;
}

// 1: a JPEG; 0: not an image; negative: an image of another kind.
static int kind_of(const char *name)
{
    static const char *const others[] = {".png", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".heic"};
    if (ends_in(name, ".jpg") || ends_in(name, ".jpeg"))
        return 1;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (ends_in(name, others[i]))
            return -1;
    return 0;
}

static int add_entry(struct listing *list, const struct folder *folder, const char *class,
                     const char *name, struct err *err)
{
    TRY(array_grow(&list->entries, (size_t)list->count, &list->capacity, sizeof *list->entries,
                   err));
    struct entry *entry = &list->entries[list->count];
    *entry = (struct entry){.path = list->pool.len, .label = list->classes};
    entry->name = list->pool.len + strlen(folder->path) - strlen(class);
    buf_printf(&list->pool, "%s/%s%c", folder->path, name, '\0');
    if (buf_check(&list->pool, err) != 0)
        return ERR_MEMORY;
    const char *path = list->pool.data + entry->path;
    struct stat st;
    if (stat(path, &st) != 0)
        return err_errno(err, errno, "cannot look at '%s'", path);
    if (!S_ISREG(st.st_mode) || st.st_size > MAX_FILE)
        return err_set(err, ERR_FORMAT, "'%s' is %s", path,
                       S_ISREG(st.st_mode) ? "larger than 256 MiB" : "not a plain file");
    entry->size = st.st_size;
    list->bytes += st.st_size;
    list->count++;
    return 0;
}

static int list_class(struct listing *list, const char *path, const char *class, struct err *err)
{
    struct folder folder;
    int64_t before = list->count;
    int rc = folder_open(&folder, path, err);
    if (rc != 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < folder.count; i++) {
        int kind = kind_of(folder.names[i]);
        if (kind < 0)
            rc = err_set(err, ERR_FORMAT, "'%s/%s' is not a JPEG; only those are read", path,
                         folder.names[i]);
        else if (kind > 0)
            rc = add_entry(list, &folder, class, folder.names[i], err);
    }
    folder_release(&folder);
    if (rc == 0 && list->count == before)
        rc = err_set(err, ERR_FORMAT, "'%s' has no JPEG files", path);
    list->classes++;
    return rc;
}

static int list_all(struct listing *list, const char *dir, struct err *err)
{
    struct folder folder;
    struct buf path = {0};
    int rc = folder_open(&folder, dir, err);
    if (rc != 0)
        return rc;
    list->pool.max = (size_t)1 << 32;
    for (size_t i = 0; rc == 0 && i < folder.count; i++) {
        rc = folder_path(&folder, folder.names[i], &path, err);
        if (rc == 0 && folder_is(buf_str(&path)))
            rc = list_class(list, buf_str(&path), folder.names[i], err);
    }
    folder_release(&folder);
    buf_release(&path);
    if (rc == 0 && (list->classes < 2 || list->count < 10 || list->count > MAX_COUNT))
        rc =
            err_set(err, list->classes < 2 ? ERR_MISSING : ERR_FORMAT,
                    "'%s' holds %lld JPEGs in %d folders; at least two folders, one per class, and "
                    "ten images are needed",
                    dir, (long long)list->count, list->classes);
    return rc;
}

// ---- sums ----

struct summing {
    struct listing *list;
    pthread_mutex_t lock;
    struct err err; // the first
};

// Also checks that it is a JPEG file.
static int sum_file(struct entry *entry, const char *path, uint8_t *chunk, size_t size,
                    struct err *err)
{
    struct sha256 sha;
    bool first = true;
    sha256_init(&sha);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    int rc = 0;
    for (;;) {
        ssize_t got = read(fd, chunk, size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            rc = err_errno(err, errno, "cannot read '%s'", path);
        else if (got == 0 && first)
            rc = err_set(err, ERR_FORMAT, "'%s' is empty", path);
        else if (first && (got < 2 || chunk[0] != 0xFF || chunk[1] != 0xD8))
            rc = err_set(err, ERR_FORMAT, "'%s', byte 0: this is not a JPEG file", path);
        if (got <= 0 || rc != 0)
            break;
        first = false;
        sha256_add(&sha, chunk, (size_t)got);
    }
    close(fd);
    sha256_done(&sha, entry->sum);
    return rc;
}

static void sum_some(void *summing_, int64_t from, int64_t to)
{
    struct summing *summing = summing_;
    uint8_t chunk[32768];
    for (int64_t i = from; i < to; i++) {
        struct err err = {0};
        struct entry *entry = &summing->list->entries[i];
        if (sum_file(entry, summing->list->pool.data + entry->path, chunk, sizeof chunk, &err) == 0)
            continue;
        pthread_mutex_lock(&summing->lock);
        if (summing->err.code == 0 || strcmp(err.text, summing->err.text) < 0)
            summing->err = err; // the first by name, so that threads do not matter
        pthread_mutex_unlock(&summing->lock);
    }
}

static int identify(struct listing *list, int threads, struct data_pair *pair, struct err *err)
{
    struct identity identity;
    bool sums = list->bytes <= MAX_SUMS;
    identity_init(&identity);
    if (sums) {
        struct summing summing = {.list = list, .lock = PTHREAD_MUTEX_INITIALIZER};
        parallel_for(threads, list->count, sum_some, &summing);
        if (summing.err.code != 0)
            return err_pass(err, summing.err.code, &summing.err);
    }
    for (int64_t i = 0; i < list->count; i++) {
        struct entry *entry = &list->entries[i];
        if (!sums) // the size in place of the sum
            memcpy(entry->sum, &entry->size, sizeof entry->size);
        identity_add(&identity, entry->sum, list->pool.data + entry->name);
    }
    pair->identity = identity_text(&identity, err);
    if (pair->identity && !sums) {
        struct buf text = {0};
        buf_printf(&text, "names and sizes: %s", pair->identity);
        free(pair->identity);
        pair->identity = buf_take(&text, err);
    }
    return pair->identity ? 0 : ERR_MEMORY;
}

// ---- the set ----

static int fill(struct dataset *set, const struct listing *list, const int32_t *order,
                int64_t count, struct err *err)
{
    struct image_files *files = set->files = calloc(1, sizeof *files);
    set->labels = malloc((size_t)count * sizeof *set->labels);
    if (!files || !set->labels)
        return err_memory(err);
    set->count = files->count = count;
    set->classes = list->classes;
    set->channels = 3;
    set->height = set->width = IMAGES_SIZE;
    files->offsets = malloc((size_t)count * sizeof *files->offsets);
    files->pool = malloc(list->pool.len);
    if (!files->offsets || !files->pool)
        return err_memory(err);
    memcpy(files->pool, list->pool.data, list->pool.len);
    for (int64_t i = 0; i < count; i++) {
        const struct entry *entry = &list->entries[order[i]];
        files->offsets[i] = entry->path;
        set->labels[i] = entry->label;
        if ((size_t)entry->size > files->largest)
            files->largest = (size_t)entry->size;
    }
    return 0;
}

static int split(struct data_pair *pair, const struct listing *list, uint64_t seed, struct err *err)
{
    int64_t held = list->count / 10 > MAX_HELD ? MAX_HELD : list->count / 10;
    int32_t *order = malloc((size_t)list->count * sizeof *order);
    if (!order)
        return err_memory(err);
    for (int64_t i = 0; i < list->count; i++)
        order[i] = (int32_t)i;
    struct rng root, shuffle;
    rng_init(&root, seed);
    rng_split(&root, "images held out", 0, &shuffle);
    rng_shuffle(&shuffle, order, (size_t)list->count, sizeof *order);
    int rc = fill(&pair->train, list, order, list->count - held, err);
    if (rc == 0)
        rc = fill(&pair->test, list, order + (list->count - held), held, err);
    free(order);
    return rc;
}

int images_open(const char *dir, const struct data_options *options, struct data_pair *pair,
                struct err *err)
{
    struct listing list = {0};
    int rc = list_all(&list, dir, err);
    if (rc == 0)
        rc = identify(&list, options->threads, pair, err);
    if (rc == 0)
        rc = split(pair, &list, options->seed, err);
    buf_release(&list.pool);
    free(list.entries);
    return rc;
}
