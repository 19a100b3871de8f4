// SPDX-License-Identifier: Apache-2.0
#include "render/raster.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/proc.h"

enum { LIMIT_MS = 60000, PNG_MAX = 64 << 20, ARGUMENTS = 12, NOT_FOUND = 127 };

struct job {
    const char *folder;
    double width, height; // of the PNG
    char *arguments[ARGUMENTS + 1];
};

// Replaces %f by the folder, %w and %h by the size of the drawing, %W by the width of the PNG.
// Those who draw some SVG wrongly come last: ImageMagick may have been built without librsvg.
static const struct rasteriser {
    const char *program;
    const char *arguments[ARGUMENTS];
} rasterisers[] = {
    {"rsvg-convert",
     {"--format=png", "--width=%W", "--keep-aspect-ratio", "--output=%f/out.png", "%f/in.svg"}},
    {"inkscape",
     {"--export-type=png", "--export-width=%W", "--export-filename=%f/out.png", "%f/in.svg"}},
    {"chromium",
     {"--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
      "--disable-background-networking", "--user-data-dir=%f/profile", "--window-size=%w,%h",
      "--force-device-scale-factor=2", "--screenshot=%f/out.png", "file://%f/in.svg", "%s"}},
    {"magick", {"-density", "192", "-background", "white", "%f/in.svg", "%f/out.png"}},
    {"convert", {"-density", "192", "-background", "white", "%f/in.svg", "%f/out.png"}},
};
enum { RASTERISERS = sizeof rasterisers / sizeof *rasterisers };
_Static_assert(RASTER_SCALE == 2, "192 dots per inch, and Chromium's factor");

static void expand(const struct job *job, const char *text, struct buf *out)
{
    for (; *text; text++) {
        if (*text != '%') {
            buf_addc(out, *text);
            continue;
        }
        switch (*++text) {
        case 'f':
            buf_adds(out, job->folder);
            break;
        case 'w':
            buf_printf(out, "%.0f", job->width / RASTER_SCALE);
            break;
        case 'h':
            buf_printf(out, "%.0f", job->height / RASTER_SCALE);
            break;
        case 'W':
            buf_printf(out, "%.0f", job->width);
            break;
        default: // root has no sandbox to run it in
            buf_adds(out, geteuid() == 0 ? "--no-sandbox" : "--headless");
        }
    }
}

static int set_arguments(struct job *job, const struct rasteriser *r, struct err *err)
{
    for (size_t i = 0; i <= ARGUMENTS; i++) {
        free(job->arguments[i]);
        job->arguments[i] = NULL;
    }
    job->arguments[0] = strdup(r->program);
    if (!job->arguments[0])
        return err_memory(err);
    for (size_t i = 0; i + 1 < ARGUMENTS && r->arguments[i]; i++) {
        struct buf text = {0};
        expand(job, r->arguments[i], &text);
        job->arguments[i + 1] = buf_take(&text, err);
        if (!job->arguments[i + 1])
            return ERR_MEMORY;
    }
    return 0;
}

static int start(void *context)
{
    const struct job *job = context;
    execvp(job->arguments[0], job->arguments);
    return NOT_FOUND;
}

static double big_endian(const unsigned char *bytes)
{
    return bytes[0] * 16777216.0 + bytes[1] * 65536.0 + bytes[2] * 256.0 + bytes[3];
}

// A whole PNG of about the size asked for.
static bool is_right(const struct job *job, const struct buf *png)
{
    const unsigned char *bytes = (const unsigned char *)buf_str(png);
    return png->len > 57 && memcmp(bytes, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) == 0 &&
           memcmp(bytes + png->len - 8, "IEND\xae\x42\x60\x82", 8) == 0 &&
           fabs(big_endian(bytes + 16) - job->width) <= RASTER_SCALE &&
           fabs(big_endian(bytes + 20) - job->height) <= RASTER_SCALE;
}

// `*done` if it made the PNG; otherwise `why` may say why not.
static int try_one(struct job *job, const struct rasteriser *r, struct buf *png, bool *done,
                   struct buf *why, struct err *err)
{
    const struct proc_options options = {.timeout_ms = LIMIT_MS, .keep_max = 4096};
    struct proc proc;
    SCOPED(proc_result_release) struct proc_result result = {0};
    SCOPED(buf_release) struct buf path = {0}, found = {0};
    TRY(set_arguments(job, r, err));
    TRY(proc_start_call(&proc, start, job, &options, err));
    int rc = proc_finish(&proc, &result, err);
    buf_printf(&path, "%s/out.png", job->folder);
    bool missing = result.exited && result.exit_code == NOT_FOUND;
    if (rc == 0 && !missing) {
        bool ended = result.exited && result.exit_code == 0;
        *done =
            ended && fs_read(buf_str(&path), PNG_MAX, &found, NULL) == 0 && is_right(job, &found);
        if (*done)
            buf_add(png, buf_str(&found), found.len);
        else if (why->len == 0) {
            buf_printf(why, "%s: ", r->program);
            if (ended)
                buf_adds(why, "made no PNG of the right size");
            else
                proc_result_words(&result, why);
        }
    }
    unlink(buf_str(&path));
    return rc;
}

static void clean(const char *folder)
{
    SCOPED(buf_release) struct buf path = {0};
    buf_printf(&path, "%s/profile", folder); // of Chromium
    if (!path.failed)
        fs_remove_tree(buf_str(&path));
}

static int draw(struct job *job, const struct buf *svg, struct buf *png, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0}, why = {0};
    bool done = false;
    buf_printf(&path, "%s/in.svg", job->folder);
    TRY(buf_check(&path, err));
    TRY(fs_write_private(buf_str(&path), buf_str(svg), svg->len, err));
    for (size_t i = 0; i < RASTERISERS && !done; i++)
        TRY(try_one(job, &rasterisers[i], png, &done, &why, err));
    if (done)
        return 0;
    int rc = why.len > 0
                 ? err_set(err, ERR_FAIL, "cannot make a PNG of the plot: %s", buf_str(&why))
                 : err_set(err, ERR_MISSING, "no program that makes a PNG of an SVG was found");
    err_hint(err, "install the package librsvg2-bin (rsvg-convert), or write .svg");
    return rc;
}

int raster_png(const struct buf *svg, struct buf *png, struct err *err)
{
    struct scratch folder = {0};
    struct job job = {0};
    const char *place = getenv("TMPDIR");
    const char *size = strstr(buf_str(svg), " width=\"");
    TRY(buf_check(svg, err));
    if (!size || sscanf(size, " width=\"%lf\" height=\"%lf\"", &job.width, &job.height) != 2)
        return err_set(err, ERR_FORMAT, "the plot has no size");
    job.width = round(job.width * RASTER_SCALE);
    job.height = round(job.height * RASTER_SCALE);
    TRY(scratch_make(&folder, place && *place ? place : "/tmp", err));
    job.folder = folder.path;
    int rc = draw(&job, svg, png, err);
    if (rc == 0)
        rc = buf_check(png, err);
    for (size_t i = 0; i <= ARGUMENTS; i++)
        free(job.arguments[i]);
    clean(folder.path);
    scratch_remove(&folder);
    return rc;
}
