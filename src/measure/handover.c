// SPDX-License-Identifier: Apache-2.0
#include "measure/handover.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/buf.h"
#include "base/clock.h"
#include "data/batcher.h"
#include "data/images.h"
#include "checkpoint/safetensors.h"

#define IMAGES_AT_ONCE 64 // 17 MB
#define ENTRIES_MAX    6

struct job {
    const struct run_plan *plan;
    int threads;
    struct handover *handover;
    struct safetensors_writer writer;
    struct safetensors_entry entries[ENTRIES_MAX];
    int64_t dims[ENTRIES_MAX][4];
    const void *bytes[ENTRIES_MAX]; // null: images in files
    int count;
    bool stopped;
};

// Distinguishes failures of writing from those of the data.
static int unwritten(int rc, struct err *err)
{
    if (rc == 0 || rc == ERR_MEMORY)
        return rc;
    err_context(err, "cannot write the samples for the framework");
    err_hint(err, "TMPDIR names a folder with more room");
    return rc;
}

static bool over(struct job *job)
{
    job->stopped |= run_plan_over(job->plan);
    return job->stopped;
}

static int write_bytes(struct job *job, const void *bytes, int64_t len, struct err *err)
{
    return unwritten(safetensors_add_bytes(&job->writer, bytes, len, err), err);
}

// ---- what there is

static bool overlap(const struct dataset *set)
{
    return set->time > 0 && !set->starts && set->token_stride < set->time;
}

static int64_t token_count(const struct dataset *set)
{
    return set->starts ? set->starts[set->count]
                       : (set->count - 1) * set->token_stride + set->time + (set->stream != NULL);
}

static void add_entry(struct job *job, const char *name, const char *type, const void *bytes,
                      int rank, const int64_t *dim)
{
    assert(job->count < ENTRIES_MAX);
    int64_t *kept = job->dims[job->count];
    memcpy(kept, dim, (size_t)rank * sizeof *dim);
    job->bytes[job->count] = bytes;
    job->entries[job->count++] = (struct safetensors_entry){name, rank, kept, type};
}

static void add_samples(struct job *job, const char *x, const char *tokens,
                        const struct dataset *set)
{
    const int64_t images[] = {set->count, set->channels, set->height, set->width};
    const int64_t texts[] = {set->count, set->time}, all = set->time > 0 ? token_count(set) : 0;
    if (set->stream)
        add_entry(job, tokens, "I16", set->stream, 1, &all);
    else if (set->time == 0)
        add_entry(job, x, "U8", set->files ? NULL : set->pixels, 4, images);
    else if (set->starts || overlap(set))
        add_entry(job, tokens, "I32", set->tokens, 1, &all);
    else
        add_entry(job, x, "I32", set->tokens, 2, texts);
}

// The widest come first, so that each number lies at a multiple of its size.
static void add_entries(struct job *job, const struct data_pair *data)
{
    static const char *const names[][4] = {
        {"train.starts", "train.y", "train.x", "train.tokens"},
        {"test.starts", "test.y", "test.x", "test.tokens"},
    };
    const struct dataset *sets[] = {&data->train, &data->test};
    for (int i = 0; i < 2; i++) {
        const int64_t places = sets[i]->count + 1;
        assert(!sets[i]->starts || sets[i]->starts[0] == 0);
        if (sets[i]->count > 0 && sets[i]->starts)
            add_entry(job, names[i][0], "I64", sets[i]->starts, 1, &places);
    }
    for (int i = 0; i < 2; i++)
        if (sets[i]->count > 0 && sets[i]->labels)
            add_entry(job, names[i][1], "I32", sets[i]->labels, 1, &sets[i]->count);
    for (int i = 0; i < 2; i++)
        if (sets[i]->count > 0)
            add_samples(job, names[i][2], names[i][3], sets[i]);
}

// ---- images that are normally decoded or drawn on demand

static int write_files(struct job *job, const struct dataset *set, struct err *err)
{
    uint8_t *pixels = malloc((size_t)IMAGES_AT_ONCE * IMAGES_BYTES);
    int rc = pixels ? 0 : err_memory(err);
    for (int64_t first = 0; rc == 0 && first < set->count && !over(job); first += IMAGES_AT_ONCE) {
        int64_t left = set->count - first, count = left < IMAGES_AT_ONCE ? left : IMAGES_AT_ONCE;
        int64_t began_ns = clock_now_ns();
        rc = images_read(set->files, first, count, job->threads, pixels, err);
        job->handover->took_ns += clock_now_ns() - began_ns;
        if (rc == 0)
            rc = write_bytes(job, pixels, count * IMAGES_BYTES, err);
    }
    free(pixels);
    return rc;
}

// ---- the file

// Checked first, not after a minute of decoding.
static int check_space(const char *folder, int64_t bytes, struct err *err)
{
    struct statvfs st;
    if (statvfs(folder, &st) != 0 || st.f_blocks == 0)
        return 0; // unknown
    uint64_t free_bytes = (uint64_t)st.f_bavail * st.f_frsize;
    if (free_bytes >= (uint64_t)bytes)
        return 0;
    return err_set(err, ERR_IO, "they need %lld bytes in '%s', which has %llu free",
                   (long long)bytes, folder, (unsigned long long)free_bytes);
}

static int begin(struct job *job, const struct data_pair *data, struct err *err)
{
    const struct dataset *train = &data->train;
    add_entries(job, data);
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
    int rc = safetensors_begin(&job->writer, job->handover->path, texts, count, job->entries,
                               job->count, err);
    if (rc == 0) {
        rc = check_space(job->handover->folder.path, job->writer.left, err);
        if (rc != 0)
            safetensors_abandon(&job->writer);
    }
    return unwritten(rc, err);
}

static int write_file(struct job *job, const struct data_pair *data, struct err *err)
{
    TRY(begin(job, data, err));
    int rc = 0;
    for (int i = 0; rc == 0 && i < job->count; i++) {
        const struct safetensors_entry *e = &job->entries[i];
        int64_t len = e->type[0] == 'U' ? 1 : e->type[1] == '1' ? 2 : e->type[1] == '6' ? 8 : 4;
        for (int d = 0; d < e->rank; d++)
            len *= e->dim[d];
        if (job->bytes[i])
            rc = write_bytes(job, job->bytes[i], len, err);
        else
            rc = write_files(job, e->name[1] == 'r' ? &data->train : &data->test, err);
    }
    if (rc == 0 && !over(job))
        return unwritten(safetensors_commit(&job->writer, err), err);
    safetensors_abandon(&job->writer);
    return rc;
}

// ---- the start

static int write_orders(struct safetensors_writer *w, int64_t count, uint64_t seed, int64_t epochs,
                        struct err *err)
{
    uint32_t *order = malloc((size_t)count * sizeof *order);
    int rc = order ? 0 : err_memory(err);
    for (int64_t epoch = 0; rc == 0 && epoch < epochs; epoch++) {
        batcher_order(seed, epoch, order, count);
        rc = safetensors_add_bytes(w, order, count * (int64_t)sizeof *order, err);
    }
    free(order);
    return rc;
}

static int write_param(struct safetensors_writer *w, const struct net_param *param, uint64_t seed,
                       struct err *err)
{
    float *values = malloc((size_t)param->count * sizeof *values);
    int rc = values ? net_init_param(param, seed, values, err) : err_memory(err);
    if (rc == 0)
        rc = safetensors_add(w, values, param->count, err);
    free(values);
    return rc;
}

static int write_start(const char *path, const struct safetensors_entry *entries, int count,
                       const struct net *net, uint64_t seed, struct err *err)
{
    struct safetensors_writer w;
    TRY(safetensors_begin(&w, path, NULL, 0, entries, count, err));
    int rc = write_orders(&w, entries[0].dim[1], seed, entries[0].dim[0], err);
    for (int i = 0; rc == 0 && i < net->param_count; i++)
        if (net->params[i].trained)
            rc = write_param(&w, &net->params[i], seed, err);
    if (rc == 0)
        return safetensors_commit(&w, err);
    safetensors_abandon(&w);
    return rc;
}

int handover_start(struct handover *h, const struct net *net, const struct dataset *train,
                   uint64_t seed, int64_t epochs, struct err *err)
{
    const int64_t orders[] = {epochs < HANDOVER_ORDERS ? epochs : HANDOVER_ORDERS, train->count};
    struct safetensors_entry *entries = calloc((size_t)net->param_count + 1, sizeof *entries);
    struct buf path = {0};
    int count = 0;
    if (!entries)
        return err_memory(err);
    entries[count++] = (struct safetensors_entry){"order", 2, orders, "I32"};
    for (int i = 0; i < net->param_count; i++) {
        const struct net_param *p = &net->params[i];
        if (p->trained)
            entries[count++] = (struct safetensors_entry){p->name, p->rank, p->dim, NULL};
    }
    buf_printf(&path, "%s/start.safetensors", h->folder.path);
    h->start = buf_take(&path, err);
    int rc = h->start ? write_start(h->start, entries, count, net, seed, err) : ERR_MEMORY;
    free(entries);
    return unwritten(rc, err);
}

// ---- together

static int make_folder(struct handover *h, struct err *err)
{
    const char *place = getenv("TMPDIR");
    struct buf path = {0};
    place = place && place[0] == '/' ? place : "/tmp";
    int rc = scratch_make(&h->folder, place, err);
    if (rc != 0)
        return unwritten(rc, err);
    buf_printf(&path, "%s/data.safetensors", h->folder.path);
    h->path = buf_take(&path, err);
    return h->path ? 0 : ERR_MEMORY;
}

int handover_write(struct handover *h, const struct data_pair *data, const struct run_plan *plan,
                   int threads, struct err *err)
{
    struct job job = {.plan = plan, .threads = threads, .handover = h};
    memset(h, 0, sizeof *h);
    int rc = make_folder(h, err);
    if (rc == 0)
        rc = write_file(&job, data, err);
    if (rc != 0 || job.stopped)
        handover_remove(h);
    return rc;
}

void handover_remove(struct handover *h)
{
    scratch_remove(&h->folder);
    free(h->path);
    free(h->start);
    memset(h, 0, sizeof *h);
}
