// SPDX-License-Identifier: Apache-2.0
// All arithmetic is in integers, so that every machine gets the same images; libjpeg's default
// integer transform is exact too.
#include "data/jpeg.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "base/dl.h"

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

static int load(struct err *err)
{
    static struct dl library;
    return dl_open_once(&library, &spec, &api, err);
}

// Where an output pixel comes from along one side: between `at` and the next, `weight` of the next.
struct tap {
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
    struct tap *across, *down; // (size)
    uint8_t *line;             // one line of the image: at most 65,500 pixels of 4 bytes
    uint32_t *rows[2];         // (size * 3): the last two lines, scaled across, in units of 1/ONE
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
static void begin(struct jpeg *jpeg)
{
    api.create(&jpeg->info, JPEG_LIB_VERSION, sizeof jpeg->info);
    jpeg->info.progress = &jpeg->progress;
    jpeg->info.mem->max_memory_to_use = MAX_MEMORY;
}

int jpeg_new(struct jpeg **out, int size, struct err *err)
{
    *out = NULL;
    int rc = load(err);
    if (rc != 0)
        return rc;
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
        rc = jpeg->memory ? err_memory(err)
                          : err_set(err, ERR_FAIL, "libjpeg-turbo does not start: %s", jpeg->said);
        jpeg_free(jpeg);
        return rc;
    }
    begin(jpeg);
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
static void make_taps(struct tap *taps, int32_t size, int32_t side)
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
        taps[o] = (struct tap){(int32_t)(begin + at), (int32_t)weight};
    }
}

static void scale_across(const struct jpeg *jpeg, int step, uint32_t *row)
{
    for (int o = 0; o < jpeg->size; o++) {
        struct tap tap = jpeg->across[o];
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
            struct tap tap = jpeg->down[next];
            if (tap.at + (tap.weight > 0) > y)
                break;
            scale_down(jpeg, next, jpeg->rows[tap.at & 1],
                       jpeg->rows[(tap.at + (tap.weight > 0)) & 1], out);
        }
    }
}

int jpeg_decode(struct jpeg *jpeg, const char *name, const uint8_t *bytes, size_t len, uint8_t *out,
                struct err *err)
{
    if (len < 2 || bytes[0] != 0xFF || bytes[1] != 0xD8)
        return err_set(err, ERR_FORMAT,
                       len == 0 ? "'%s' is empty" : "'%s', byte 0: this is not a JPEG file", name);
    jpeg->memory = false;
    j_decompress_ptr info = &jpeg->info;
    if (setjmp(jpeg->escape)) {
        api.destroy(info);
        if (jpeg->memory)
            return err_memory(err);
        jpeg->said[0] = (char)tolower((unsigned char)jpeg->said[0]);
        return err_set(err, ERR_FORMAT, "'%s' cannot be read: %s", name, jpeg->said);
    }
    begin(jpeg);
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
