// SPDX-License-Identifier: Apache-2.0
#include "run/made.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "data/images.h"
#include "data/parallel.h"
#include "run/native.h"
#include "run/safetensors.h"

#define ROWS 4096 // texts that are padded and written at once

// ---- images that are drawn when they are needed: all are needed now

static void draw_some(void *set_, int64_t from, int64_t to)
{
    const struct dataset *set = set_;
    const struct image_files *files = set->files;
    for (int64_t i = from; i < to; i++)
        files->draw(files->seed, files->test, i, set->pixels + i * IMAGES_BYTES);
}

static int draw(struct dataset *set, int threads, struct err *err)
{
    if (!set->files || set->count == 0)
        return 0;
    set->pixels = malloc((size_t)set->count * IMAGES_BYTES);
    if (!set->pixels)
        return err_memory(err);
    parallel_for(threads, set->count, draw_some, set);
    return 0;
}

// ---- the file

static bool overlap(const struct dataset *set)
{
    return set->time > 0 && !set->starts && set->token_stride < set->time;
}

struct file {
    struct safetensors_entry entries[4];
    int64_t dims[4][4];
    int count;
};

static void add_entry(struct file *f, const char *name, const char *type, int rank,
                      const int64_t *dim)
{
    int64_t *kept = f->dims[f->count];
    memcpy(kept, dim, (size_t)rank * sizeof *dim);
    f->entries[f->count++] = (struct safetensors_entry){name, rank, kept, type};
}

static void add_samples(struct file *f, const char *name, const struct dataset *set)
{
    const int64_t images[] = {set->count, set->channels, set->height, set->width};
    const int64_t texts[] = {set->count, set->time};
    const int64_t tokens[] = {(set->count - 1) * set->token_stride + set->time};
    if (set->count == 0)
        return;
    if (set->time == 0)
        add_entry(f, name, "U8", 4, images);
    else if (overlap(set))
        add_entry(f, "train.tokens", "I32", 1, tokens);
    else
        add_entry(f, name, "I32", 2, texts);
}

static int write_texts(struct safetensors_writer *w, const struct dataset *set, struct err *err)
{
    int64_t row = (int64_t)sizeof *set->tokens * set->time;
    if (!set->starts) {
        int64_t tokens = (set->count - 1) * set->token_stride + set->time;
        return safetensors_add_bytes(w, set->tokens, tokens * (int64_t)sizeof *set->tokens, err);
    }
    int32_t *rows = malloc(ROWS * (size_t)row);
    int rc = rows ? 0 : err_memory(err);
    for (int64_t i = 0; rc == 0 && i < set->count; i += ROWS) {
        int64_t count = set->count - i < ROWS ? set->count - i : ROWS;
        for (int64_t k = 0; k < count; k++)
            dataset_tokens(set, i + k, rows + k * set->time);
        rc = safetensors_add_bytes(w, rows, count * row, err);
    }
    free(rows);
    return rc;
}

static int write_samples(struct safetensors_writer *w, const struct dataset *set, struct err *err)
{
    if (set->count == 0)
        return 0;
    if (set->time > 0)
        return write_texts(w, set, err);
    int64_t bytes = set->count * set->channels * set->height * set->width;
    return safetensors_add_bytes(w, set->pixels, bytes, err);
}

static int write_labels(struct safetensors_writer *w, const struct dataset *set, struct err *err)
{
    return safetensors_add_bytes(w, set->labels, set->count * (int64_t)sizeof *set->labels, err);
}

static int write_file(const char *path, const struct data_pair *data, struct err *err)
{
    const struct dataset *train = &data->train, *test = &data->test;
    struct file f = {.count = 0};
    // Bytes come last, so that numbers lie at multiples of four.
    add_entry(&f, "train.y", "I32", 1, &train->count);
    if (test->count > 0)
        add_entry(&f, "test.y", "I32", 1, &test->count);
    add_samples(&f, "train.x", train);
    add_samples(&f, "test.x", test);

    char classes[24], vocabulary[24], time[24], stride[24];
    snprintf(classes, sizeof classes, "%d", train->classes);
    snprintf(vocabulary, sizeof vocabulary, "%d", train->vocabulary);
    snprintf(time, sizeof time, "%d", train->time);
    snprintf(stride, sizeof stride, "%lld", (long long)train->token_stride);
    const struct safetensors_text texts[] = {
        {"name", data->name},     {"identity", data->identity},
        {"source", data->source}, {"classes", classes},
        {"time", time},           {"vocabulary", vocabulary},
        {"stride", stride},
    };
    int count = train->time == 0 ? 4 : overlap(train) ? 7 : 6;

    struct safetensors_writer w;
    int rc = safetensors_begin(&w, path, texts, count, f.entries, f.count, err);
    if (rc != 0)
        return rc;
    rc = write_labels(&w, train, err);
    if (rc == 0 && test->count > 0)
        rc = write_labels(&w, test, err);
    if (rc == 0)
        rc = write_samples(&w, train, err);
    if (rc == 0)
        rc = write_samples(&w, test, err);
    if (rc == 0)
        return safetensors_commit(&w, err);
    safetensors_abandon(&w);
    return rc;
}

// ---- together

static int make_folder(struct made *made, struct err *err)
{
    const char *place = getenv("TMPDIR");
    struct buf path = {0};
    place = place && place[0] == '/' ? place : "/tmp";
    buf_printf(&path, "%s/fare-XXXXXX", place);
    made->folder = buf_take(&path, err);
    if (!made->folder)
        return ERR_MEMORY;
    if (!mkdtemp(made->folder)) {
        int rc = err_errno(err, errno, "cannot make a folder in '%s'", place);
        free(made->folder);
        made->folder = NULL;
        return rc;
    }
    buf_printf(&path, "%s/made.safetensors", made->folder);
    made->path = buf_take(&path, err);
    return made->path ? 0 : ERR_MEMORY;
}

int made_write(struct made *made, const struct workload *workload, int threads, struct err *err)
{
    struct data_pair data = {0};
    memset(made, 0, sizeof *made);
    int64_t began_ns = clock_now_ns();
    int rc = native_data_open(workload, NULL, threads, &data, err);
    if (rc == 0)
        rc = draw(&data.train, threads, err);
    if (rc == 0)
        rc = draw(&data.test, threads, err);
    made->took_ns = clock_now_ns() - began_ns;
    if (rc == 0) {
        rc = make_folder(made, err);
        if (rc == 0)
            rc = write_file(made->path, &data, err);
        if (rc != 0 && rc != ERR_MEMORY) {
            err_context(err, "cannot hand over the samples");
            err_hint(err, "TMPDIR names a folder with more room; --data one with real data");
        }
    }
    data_release(&data);
    if (rc != 0)
        made_remove(made);
    return rc;
}

void made_remove(struct made *made)
{
    if (made->path)
        unlink(made->path);
    if (made->folder)
        rmdir(made->folder);
    free(made->path);
    free(made->folder);
    memset(made, 0, sizeof *made);
}
