// SPDX-License-Identifier: Apache-2.0
// All arithmetic is in integers, so that every machine gets the same images; libjpeg's default
// integer transform is exact too.
#include "train/data/images.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jpeglib.h>

#include <jerror.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/dl.h"
#include "base/fs.h"
#include "base/parallel.h"
#include "train/data/folder.h"
#include "machine/cgroup.h"

#define MAX_PIXELS (INT64_C(1) << 27)
#define MAX_SCANS  200 // a progressive file has about ten; each costs a pass over the image
#define MAX_MEMORY (512L << 20)
#define ONE        2048 // the weight of a whole pixel

// The functions used; <jpeglib.h> has their types.
// clang-format off
#define FUNCTIONS(X) \
    X(std_error, jpeg_std_error) X(create, jpeg_CreateDecompress) X(mem_src, jpeg_mem_src) \
    X(read_header, jpeg_read_header) X(start, jpeg_start_decompress) \
    X(read_lines, jpeg_read_scanlines) X(finish, jpeg_finish_decompress) \
    X(destroy, jpeg_destroy_decompress)
// clang-format on
#define MEMBER(name, function) __typeof__(function) *name;
#define SYMBOL(name, function) {#function, offsetof(struct jpeg_api, name), DL_REQUIRED},

static struct jpeg_api {
    FUNCTIONS(MEMBER)
} api;
static const struct dl_symbol symbols[] = {FUNCTIONS(SYMBOL)};
static const char *const names[] = {"libjpeg.so.62", NULL};
static const struct dl_spec spec = {
    .what = "libjpeg-turbo",
    .names = names,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .hint = "install the package libjpeg62-turbo, or use the bundle, which carries it",
};

static int jpeg_load(struct err *err)
{
    static struct dl library;
    return dl_open_once(&library, &spec, &api, err);
}

// Where an output pixel comes from along one side: between `at` and the next, `weight` of the next.
struct jpeg_tap {
    int32_t at;
    int32_t weight;
};

struct jpeg {
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    char said[JMSG_LENGTH_MAX];
    bool memory; // it ended for lack of memory
    int size;
    struct jpeg_tap *across, *down; // (size)
    uint8_t *line;                  // one line of the image: at most 65,500 pixels of 4 bytes
    uint32_t *rows[2]; // (size * 3): the last two lines, scaled across, in units of 1/ONE
};

// ---- callbacks of libjpeg ----

static _Noreturn void on_error(j_common_ptr info)
{
    struct jpeg *jpeg = info->client_data;
    info->err->format_message(info, jpeg->said);
    jpeg->memory = info->err->msg_code == JERR_OUT_OF_MEMORY;
    longjmp(jpeg->escape, 1);
}

// Warnings of damage are errors; the rest (such as odd bytes between two parts) are harmless.
static void on_message(j_common_ptr info, int level)
{
    if (level >= 0)
        return;
    switch (info->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_BOGUS_PROGRESSION:
        on_error(info);
    default:
        return;
    }
}

static void on_output(j_common_ptr info)
{
    (void)info;
}

static void on_progress(j_common_ptr info)
{
    struct jpeg *jpeg = info->client_data;
    if (jpeg->info.input_scan_number <= MAX_SCANS)
        return;
    snprintf(jpeg->said, sizeof jpeg->said, "more than %d scans", MAX_SCANS);
    longjmp(jpeg->escape, 1);
}

// ---- setting up ----

// A fresh decoder for each file: the tables of one would serve a next that has none.
static void jpeg_begin(struct jpeg *jpeg)
{
    api.create(&jpeg->info, JPEG_LIB_VERSION, sizeof jpeg->info);
    jpeg->info.progress = &jpeg->progress;
    jpeg->info.mem->max_memory_to_use = MAX_MEMORY;
}

int jpeg_new(struct jpeg **out, int size, struct err *err)
{
    *out = NULL;
    TRY(jpeg_load(err));
    struct jpeg *jpeg = calloc(1, sizeof *jpeg);
    if (!jpeg)
        return err_memory(err);
    jpeg->size = size;
    jpeg->across = malloc(2 * (size_t)size * sizeof *jpeg->across);
    jpeg->line = malloc((size_t)JPEG_MAX_DIMENSION * 4);
    jpeg->rows[0] = malloc(2 * 3 * (size_t)size * sizeof *jpeg->rows[0]);
    if (!jpeg->across || !jpeg->line || !jpeg->rows[0]) {
        jpeg_free(jpeg);
        return err_memory(err);
    }
    jpeg->down = jpeg->across + size;
    jpeg->rows[1] = jpeg->rows[0] + 3 * (size_t)size;

    jpeg->info.err = api.std_error(&jpeg->errors);
    jpeg->errors.error_exit = on_error;
    jpeg->errors.emit_message = on_message;
    jpeg->errors.output_message = on_output;
    jpeg->progress.progress_monitor = on_progress;
    jpeg->info.client_data = jpeg;
    if (setjmp(jpeg->escape)) { // the library does not match the header, or no memory
        int rc = jpeg->memory
                     ? err_memory(err)
                     : err_set(err, ERR_FAIL, "libjpeg-turbo does not start: %s", jpeg->said);
        jpeg_free(jpeg);
        return rc;
    }
    jpeg_begin(jpeg);
    api.destroy(&jpeg->info);
    *out = jpeg;
    return 0;
}

void jpeg_free(struct jpeg *jpeg)
{
    if (!jpeg)
        return;
    free(jpeg->across);
    free(jpeg->line);
    free(jpeg->rows[0]);
    free(jpeg);
}

// ---- scaling ----

// The central part of a side: its length and its begin.
static int32_t middle(int32_t side, int32_t *begin)
{
    *begin = side / 16; // (side - 7/8 side) / 2, rounded down
    return side - 2 * *begin;
}

// Pixel o of `size` has its centre at (o + 1/2) * len / size - 1/2 in pixels of the source.
static void make_taps(struct jpeg_tap *taps, int32_t size, int32_t side)
{
    int32_t begin, len = middle(side, &begin);
    for (int32_t o = 0; o < size; o++) {
        int64_t twice = (2 * (int64_t)o + 1) * len - size; // 2 size times the place
        twice = twice < 0 ? 0 : twice;
        int64_t at = twice / (2 * size);
        int64_t weight = (twice % (2 * size) * ONE + size) / (2 * size);
        if (at >= len - 1) {
            at = len - 1;
            weight = 0;
        }
        taps[o] = (struct jpeg_tap){(int32_t)(begin + at), (int32_t)weight};
    }
}

static void scale_across(const struct jpeg *jpeg, int step, uint32_t *row)
{
    for (int o = 0; o < jpeg->size; o++) {
        struct jpeg_tap tap = jpeg->across[o];
        const uint8_t *a = jpeg->line + (size_t)tap.at * (size_t)step;
        const uint8_t *b = tap.weight ? a + step : a;
        for (int c = 0; c < 3; c++)
            row[3 * o + c] = (uint32_t)(a[c] * (ONE - tap.weight) + b[c] * tap.weight);
    }
}

static void scale_down(const struct jpeg *jpeg, int o, const uint32_t *above, const uint32_t *below,
                       uint8_t *out)
{
    uint32_t weight = (uint32_t)jpeg->down[o].weight;
    size_t plane = (size_t)jpeg->size * (size_t)jpeg->size;
    out += (size_t)o * (size_t)jpeg->size;
    for (int x = 0; x < jpeg->size; x++)
        for (int c = 0; c < 3; c++) {
            uint32_t sum = above[3 * x + c] * (ONE - weight) + below[3 * x + c] * weight;
            out[(size_t)c * plane + (size_t)x] = (uint8_t)((sum + ONE * ONE / 2) / (ONE * ONE));
        }
}

// ---- decoding ----

// CMYK to RGB in place; Adobe's programs write it inverted, and mark it.
static void from_cmyk(uint8_t *line, int32_t width, bool inverted)
{
    for (uint8_t *p = line; p < line + 4 * (size_t)width; p += 4) {
        unsigned k = inverted ? p[3] : 255U - p[3];
        for (int c = 0; c < 3; c++)
            p[c] = (uint8_t)((inverted ? p[c] : 255U - p[c]) * k / 255);
    }
}

// Reads every line, even those outside the centre: a file that is cut off must be noticed.
static void read_image(struct jpeg *jpeg, uint8_t *out)
{
    j_decompress_ptr info = &jpeg->info;
    int32_t width = (int32_t)info->output_width, height = (int32_t)info->output_height;
    bool cmyk = info->out_color_space == JCS_CMYK;
    make_taps(jpeg->across, jpeg->size, width);
    make_taps(jpeg->down, jpeg->size, height);
    int next = 0; // output row
    for (int32_t y = 0; y < height; y++) {
        JSAMPROW line = jpeg->line;
        api.read_lines(info, &line, 1);
        int32_t last = next < jpeg->size ? jpeg->down[next].at + (jpeg->down[next].weight > 0) : -1;
        if (y < last - 1 || last < 0)
            continue;
        if (cmyk)
            from_cmyk(jpeg->line, width, info->saw_Adobe_marker);
        scale_across(jpeg, cmyk ? 4 : 3, jpeg->rows[y & 1]);
        for (; next < jpeg->size; next++) {
            struct jpeg_tap tap = jpeg->down[next];
            if (tap.at + (tap.weight > 0) > y)
                break;
            scale_down(jpeg, next, jpeg->rows[tap.at & 1],
                       jpeg->rows[(tap.at + (tap.weight > 0)) & 1], out);
        }
    }
}

static int check_jpeg(const char *name, const uint8_t *bytes, size_t len, struct err *err)
{
    if (len >= 2 && bytes[0] == 0xFF && bytes[1] == 0xD8)
        return 0;
    return err_set(err, ERR_FORMAT,
                   len == 0 ? "'%s' is empty" : "'%s', byte 0: this is not a JPEG file", name);
}

int jpeg_decode(struct jpeg *jpeg, const char *name, const uint8_t *bytes, size_t len, uint8_t *out,
                struct err *err)
{
    TRY(check_jpeg(name, bytes, len, err));
    jpeg->memory = false;
    j_decompress_ptr info = &jpeg->info;
    if (setjmp(jpeg->escape)) {
        api.destroy(info);
        if (jpeg->memory)
            return err_memory(err);
        jpeg->said[0] = (char)tolower((unsigned char)jpeg->said[0]);
        return err_set(err, ERR_FORMAT, "'%s' cannot be read: %s", name, jpeg->said);
    }
    jpeg_begin(jpeg);
    api.mem_src(info, bytes, len);
    api.read_header(info, TRUE);
    int64_t pixels = (int64_t)info->image_width * (int64_t)info->image_height;
    if (pixels > MAX_PIXELS) {
        snprintf(jpeg->said, sizeof jpeg->said, "%u x %u pixels are too many", info->image_width,
                 info->image_height);
        longjmp(jpeg->escape, 1);
    }
    bool four = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
    info->out_color_space = four ? JCS_CMYK : JCS_RGB;
    api.start(info);
    read_image(jpeg, out);
    api.finish(info);
    api.destroy(info);
    return 0;
}

// ==== images ====

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
static int read_image_file(const char *path, uint8_t *bytes, size_t size, size_t *len,
                           struct err *err)
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
    TRY(read_image_file(path, reader->bytes, files->largest + 1, &len, err));
    if (len > files->largest)
        return err_set(err, ERR_FORMAT, "'%s' has grown since the set was opened", path);
    return jpeg_decode(reader->jpeg, path, reader->bytes, len, out, err);
}

// ---- the folders ----

struct image_entry {
    size_t path; // where in the pool
    size_t name; // where in it CLASS/FILE begins
    int32_t label;
    int64_t size;
    uint8_t sum[SHA256_BYTES];
};

struct images_listing {
    struct buf pool;
    struct image_entry *entries;
    int64_t count;
    size_t capacity;
    int classes;
    int64_t bytes;
};

static void listing_release(struct images_listing *list)
{
    buf_release(&list->pool);
    free(list->entries);
}

static bool image_ends_in(const char *name, const char *ending)
{
    size_t len = strlen(name), tail = strlen(ending);
    return len > tail && strcasecmp(name + len - tail, ending) == 0;
}

struct images_reading {
    const struct image_files *files;
    int64_t first;
    uint8_t *out;
    pthread_mutex_t lock;
    struct err err; // of the first one that failed,
    int64_t failed; // which is this one
};

static void read_some(void *reading_, int64_t from, int64_t to)
{
    struct images_reading *r = reading_;
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
    struct images_reading r = {
        .files = files, .first = first, .out = out, .lock = PTHREAD_MUTEX_INITIALIZER};
    parallel_for(threads > 0 ? threads : cpus_usable(), count, read_some, &r);
    if (r.err.code != 0 && err)
        *err = r.err;
    return r.err.code;
}

// 1: a JPEG; 0: not an image; negative: an image of another kind.
static int image_kind(const char *name)
{
    static const char *const others[] = {".png", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".heic"};
    if (image_ends_in(name, ".jpg") || image_ends_in(name, ".jpeg"))
        return 1;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (image_ends_in(name, others[i]))
            return -1;
    return 0;
}

static int images_add(struct images_listing *list, const struct folder *folder, const char *class,
                      const char *name, struct err *err)
{
    TRY(array_grow(&list->entries, (size_t)list->count, &list->capacity, sizeof *list->entries,
                   err));
    struct image_entry *entry = &list->entries[list->count];
    *entry = (struct image_entry){.path = list->pool.len, .label = list->classes};
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

static int list_class(struct images_listing *list, const char *path, const char *class,
                      struct err *err)
{
    SCOPED(folder_release) struct folder folder = {0};
    int64_t before = list->count;
    TRY(folder_open(&folder, path, err));
    for (size_t i = 0; i < folder.count; i++) {
        int kind = image_kind(folder.names[i]);
        if (kind < 0)
            return err_set(err, ERR_FORMAT, "'%s/%s' is not a JPEG; only those are read", path,
                           folder.names[i]);
        if (kind > 0)
            TRY(images_add(list, &folder, class, folder.names[i], err));
    }
    if (list->count == before)
        return err_set(err, ERR_FORMAT, "'%s' has no JPEG files", path);
    list->classes++;
    return 0;
}

static int list_all(struct images_listing *list, const char *dir, struct err *err)
{
    SCOPED(folder_release) struct folder folder = {0};
    SCOPED(buf_release) struct buf path = {0};
    TRY(folder_open(&folder, dir, err));
    list->pool.max = (size_t)1 << 32;
    for (size_t i = 0; i < folder.count; i++) {
        TRY(folder_path(&folder, folder.names[i], &path, err));
        if (folder_is(buf_str(&path)))
            TRY(list_class(list, buf_str(&path), folder.names[i], err));
    }
    if (list->classes < 2 || list->count < 10 || list->count > MAX_COUNT)
        return err_set(
            err, list->classes < 2 ? ERR_MISSING : ERR_FORMAT,
            "'%s' holds %lld JPEGs in %d folders; at least two folders, one per class, and "
            "ten images are needed",
            dir, (long long)list->count, list->classes);
    return 0;
}

// ---- sums ----

struct images_summing {
    struct images_listing *list;
    pthread_mutex_t lock;
    struct err err; // the first
};

// Also checks that it is a JPEG file.
static int sum_file(struct image_entry *entry, const char *path, struct buf *bytes, struct err *err)
{
    struct sha256 sha;
    buf_reset(bytes);
    TRY(fs_read_at(AT_FDCWD, path, true, MAX_FILE, bytes, err));
    TRY(check_jpeg(path, (const uint8_t *)buf_str(bytes), bytes->len, err));
    sha256_init(&sha);
    sha256_add(&sha, bytes->data, bytes->len);
    sha256_done(&sha, entry->sum);
    return 0;
}

static void sum_some(void *summing_, int64_t from, int64_t to)
{
    struct images_summing *summing = summing_;
    SCOPED(buf_release) struct buf bytes = {.max = 2 * MAX_FILE};
    for (int64_t i = from; i < to; i++) {
        struct err err = {0};
        struct image_entry *entry = &summing->list->entries[i];
        if (sum_file(entry, summing->list->pool.data + entry->path, &bytes, &err) == 0)
            continue;
        pthread_mutex_lock(&summing->lock);
        if (summing->err.code == 0 || strcmp(err.text, summing->err.text) < 0)
            summing->err = err; // the first by name, so that threads do not matter
        pthread_mutex_unlock(&summing->lock);
    }
}

static int images_identify(struct images_listing *list, int threads, struct data_pair *pair,
                           struct err *err)
{
    struct identity identity;
    bool sums = list->bytes <= MAX_SUMS;
    identity_init(&identity);
    if (sums) {
        struct images_summing summing = {.list = list, .lock = PTHREAD_MUTEX_INITIALIZER};
        parallel_for(threads, list->count, sum_some, &summing);
        if (summing.err.code != 0)
            return err_pass(err, summing.err.code, &summing.err);
    }
    for (int64_t i = 0; i < list->count; i++) {
        struct image_entry *entry = &list->entries[i];
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

static int images_fill(struct dataset *set, const struct images_listing *list, const int32_t *order,
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
        const struct image_entry *entry = &list->entries[order[i]];
        files->offsets[i] = entry->path;
        set->labels[i] = entry->label;
        if ((size_t)entry->size > files->largest)
            files->largest = (size_t)entry->size;
    }
    return 0;
}

static int images_split(struct data_pair *pair, const struct images_listing *list, uint64_t seed,
                        struct err *err)
{
    int64_t held = list->count / 10 > MAX_HELD ? MAX_HELD : list->count / 10;
    SCOPED(free_pointer)
    int32_t *order = dataset_shuffled("images held out", seed, list->count, err);
    if (!order)
        return ERR_MEMORY;
    TRY(images_fill(&pair->train, list, order, list->count - held, err));
    return images_fill(&pair->test, list, order + (list->count - held), held, err);
}

int images_open(const char *dir, const struct data_options *options, struct data_pair *pair,
                struct err *err)
{
    SCOPED(listing_release) struct images_listing list = {0};
    TRY(list_all(&list, dir, err));
    TRY(images_identify(&list, options->threads, pair, err));
    return images_split(pair, &list, options->seed, err);
}
