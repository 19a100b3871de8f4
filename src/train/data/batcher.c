// SPDX-License-Identifier: Apache-2.0
// Samples in memory are gathered when a batch is requested. Image files are decoded ahead by our
// own threads into a ring of batches, so that the next one is ready in time.
#include "train/data/batcher.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/rng.h"
#include "train/data/images.h"
#include "machine/cgroup.h"

#define SLOTS       3 // one in use, one ready, one being filled
#define THREADS_MAX 64

// A batch, and the samples that go into it.
struct batcher_slot {
    int64_t epoch;
    int64_t count, all, first; // as in struct batch
    uint32_t *samples;         // (batch)
    float *image;
    uint8_t *bytes;
    int32_t *tokens;
    int32_t *labels;
    int64_t next, done; // samples handed to a thread; samples finished
    struct err err;     // of the first sample that failed,
    int64_t failed;     // which is this one of the batch; count where none did
};

struct batcher {
    const struct dataset *set;
    struct batcher_options options;
    int64_t steps;
    int64_t batch;  // samples of a whole one here
    int64_t pixels; // numbers of one image
    int labels;     // of one sample
    float scale[256];
    struct rng root;
    uint32_t *order; // of `ordered`; null where nothing is shuffled
    int64_t ordered;
    // BATCH_NUMBERS: the next epoch's order is made in advance.
    uint32_t *next_order;
    int64_t next_epoch; // which it is for
    pthread_t orderer;
    bool ordering;
    int64_t epoch, step; // of the next batch to hand out

    struct batcher_slot slots[SLOTS];
    int slot_count;

    // Decoding ahead. The threads fill slots [head, head + filling), in this order.
    pthread_mutex_t lock;
    pthread_cond_t work, ready;
    struct decoder {
        struct batcher *batcher;
        pthread_t thread;
        struct image_reader *reader;
        uint8_t *scratch; // an image
    } decoders[THREADS_MAX];
    int thread_count, reader_count;
    bool ending, locked;
    int head, filling;
    bool handed;                   // the caller has the slot before the head
    int64_t plan_epoch, plan_step; // of the next slot
};

// ---- one sample ----

static void flip_rows(float *image, int64_t rows, int width)
{
    for (int64_t r = 0; r < rows; r++, image += width)
        for (int a = 0, b = width - 1; a < b; a++, b--) {
            float left = image[a];
            image[a] = image[b];
            image[b] = left;
        }
}

static void augment_stream(const struct batcher *b, int64_t epoch, uint32_t augment[4])
{
    struct rng stream;
    rng_split(&b->root, "augment", (uint64_t)epoch, &stream);
    memcpy(augment, stream.key, sizeof stream.key);
    memcpy(augment + 2, stream.stream, sizeof stream.stream);
}

// The sample's own random words of an epoch: a block of four.
static void draw_words(const struct batcher *b, int64_t epoch, uint32_t sample, uint32_t words[4])
{
    struct rng stream;
    rng_split(&b->root, "augment", (uint64_t)epoch, &stream);
    for (int k = 0; k < 4; k++)
        words[k] = rng_word(&stream, 4 * (uint64_t)sample + (uint64_t)k);
}

// A whole number of pixels: uniform in +- a tenth of the side, rounded to the nearest.
static int draw_shift(uint32_t word, int side)
{
    double share = (double)(word >> 8) * 0x1p-23 - 1; // -1 ... 1
    return (int)floor(share * 0.1 * side + 0.5);
}

// Pixel x comes from x + right; beyond an edge its pixel is repeated.
static void shift_row(const float scale[256], const uint8_t *row, int width, int right, float *to)
{
    int x = 0;
    for (; x < width && x + right < 0; x++)
        to[x] = scale[row[0]];
    for (; x < width && x + right < width; x++)
        to[x] = scale[row[x + right]];
    for (; x < width; x++)
        to[x] = scale[row[width - 1]];
}

static void copy_shifted(const struct batcher *b, const uint8_t *from, int right, int down,
                         float *to)
{
    int height = b->set->height, width = b->set->width;
    for (int c = 0; c < b->set->channels; c++, from += (size_t)height * (size_t)width)
        for (int y = 0; y < height; y++, to += width) {
            int source = y + down < 0 ? 0 : y + down >= height ? height - 1 : y + down;
            shift_row(b->scale, from + (size_t)source * (size_t)width, width, right, to);
        }
}

// `from` is the sample's bytes, wherever they came from.
static void place_image(const struct batcher *b, const struct batcher_slot *slot, int64_t i,
                        const uint8_t *from)
{
    const struct batcher_options *o = &b->options;
    if (slot->bytes) {
        memcpy(slot->bytes + i * b->pixels, from, (size_t)b->pixels);
        return;
    }
    float *to = slot->image + i * b->pixels;
    uint32_t words[4] = {0};
    if (o->shift_flip || o->flip)
        draw_words(b, slot->epoch, slot->samples[i], words);
    if (o->shift_flip) {
        copy_shifted(b, from, draw_shift(words[0], b->set->width),
                     draw_shift(words[1], b->set->height), to);
    } else {
        for (int64_t k = 0; k < b->pixels; k++)
            to[k] = b->scale[from[k]];
    }
    if ((o->shift_flip || o->flip) && words[2] >> 31)
        flip_rows(to, (int64_t)b->set->channels * b->set->height, b->set->width);
}

// ---- planning ----

void batcher_order(uint64_t seed, int64_t epoch, uint32_t *order, int64_t count)
{
    struct rng root, rng;
    for (int64_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    rng_init(&root, seed);
    rng_split(&root, "shuffle", (uint64_t)epoch, &rng);
    rng_shuffle(&rng, order, (size_t)count, sizeof *order);
}

static void make_order(const struct batcher *b, int64_t epoch, uint32_t *order)
{
    batcher_order(b->options.seed, epoch, order, b->set->count);
}

static void *order_ahead(void *batcher)
{
    const struct batcher *b = batcher;
    make_order(b, b->next_epoch, b->next_order);
    return NULL;
}

static void shuffle_for(struct batcher *b, int64_t epoch)
{
    if (b->ordered == epoch)
        return;
    bool there = b->ordering && b->next_epoch == epoch;
    if (b->ordering)
        pthread_join(b->orderer, NULL);
    b->ordering = false;
    if (there) {
        uint32_t *order = b->order;
        b->order = b->next_order;
        b->next_order = order;
    } else {
        make_order(b, epoch, b->order);
    }
    b->ordered = epoch;
    b->next_epoch = epoch + 1;
    b->ordering = b->next_order && pthread_create(&b->orderer, NULL, order_ahead, b) == 0;
}

// Sets the samples of the batch and their labels.
static void plan_slot(struct batcher *b, struct batcher_slot *slot, int64_t epoch, int64_t step)
{
    int64_t first = step * b->options.batch, left = b->set->count - first;
    slot->epoch = epoch;
    slot->all = left < b->options.batch ? left : b->options.batch;
    part_of(slot->all, b->options.rank, b->options.ranks, &slot->first, &slot->count);
    first += slot->first;
    slot->next = slot->done = 0;
    slot->failed = slot->count;
    memset(&slot->err, 0, sizeof slot->err);
    if (b->order)
        shuffle_for(b, epoch);
    for (int64_t i = 0; i < b->batch; i++) {
        bool used = i < slot->count;
        uint32_t sample = !used ? 0 : b->order ? b->order[first + i] : (uint32_t)(first + i);
        slot->samples[i] = sample;
        int32_t *labels = slot->labels + i * b->labels;
        if (used)
            dataset_labels_of(b->set, sample, labels);
        else
            memset(labels, 0, (size_t)b->labels * sizeof *labels);
    }
    // The unused end of a short batch is zero.
    size_t unused = (size_t)(b->batch - slot->count), pixels = unused * (size_t)b->pixels;
    if (slot->image)
        memset(slot->image + slot->count * b->pixels, 0, pixels * sizeof *slot->image);
    if (slot->bytes)
        memset(slot->bytes + slot->count * b->pixels, 0, pixels);
    if (slot->tokens)
        memset(slot->tokens + slot->count * b->set->time, 0,
               unused * (size_t)b->set->time * sizeof *slot->tokens);
}

static void gather_slot(struct batcher *b, struct batcher_slot *slot)
{
    for (int64_t i = 0; i < slot->count; i++) {
        if (slot->tokens)
            dataset_tokens(b->set, slot->samples[i], slot->tokens + i * b->set->time);
        else
            place_image(b, slot, i, b->set->pixels + (int64_t)slot->samples[i] * b->pixels);
    }
}

// ---- decoding ahead ----

// The next sample that no thread has begun. With the lock held.
static struct batcher_slot *find_work(struct batcher *b, int64_t *i)
{
    for (int k = 0; k < b->filling; k++) {
        struct batcher_slot *slot = &b->slots[(b->head + k) % SLOTS];
        if (slot->next < slot->count) {
            *i = slot->next++;
            return slot;
        }
    }
    return NULL;
}

static void *decode_slots(void *decoder)
{
    struct decoder *own = decoder;
    struct batcher *b = own->batcher;
    pthread_mutex_lock(&b->lock);
    while (!b->ending) {
        int64_t i;
        struct batcher_slot *slot = find_work(b, &i);
        if (!slot) {
            pthread_cond_wait(&b->work, &b->lock);
            continue;
        }
        pthread_mutex_unlock(&b->lock);
        struct err err = {0};
        int rc = image_read(own->reader, slot->samples[i], own->scratch, &err);
        if (rc == 0)
            place_image(b, slot, i, own->scratch);
        pthread_mutex_lock(&b->lock);
        if (rc != 0 && i < slot->failed) {
            slot->failed = i;
            slot->err = err;
        }
        if (++slot->done == slot->count)
            pthread_cond_signal(&b->ready);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

// Gives every free slot to the threads. With the lock held.
static void fill_ring(struct batcher *b)
{
    while (b->filling + b->handed < SLOTS) {
        struct batcher_slot *slot = &b->slots[(b->head + b->filling) % SLOTS];
        plan_slot(b, slot, b->plan_epoch, b->plan_step);
        if (++b->plan_step == b->steps) {
            b->plan_step = 0;
            b->plan_epoch++;
        }
        b->filling++;
    }
    pthread_cond_broadcast(&b->work);
}

// Waits until all threads are idle, and drops the plan. With the lock held.
static void empty_ring(struct batcher *b)
{
    for (int k = 0; k < b->filling; k++) {
        struct batcher_slot *slot = &b->slots[(b->head + k) % SLOTS];
        slot->count = slot->next; // nothing more is begun
    }
    for (int k = 0; k < b->filling; k++) {
        struct batcher_slot *slot = &b->slots[(b->head + k) % SLOTS];
        while (slot->done < slot->count)
            pthread_cond_wait(&b->ready, &b->lock);
    }
    b->filling = 0;
    b->handed = false;
}

static int next_decoded(struct batcher *b, struct batcher_slot **out, struct err *err)
{
    pthread_mutex_lock(&b->lock);
    b->handed = false; // the caller is done with it
    fill_ring(b);
    struct batcher_slot *slot = &b->slots[b->head];
    while (slot->done < slot->count)
        pthread_cond_wait(&b->ready, &b->lock);
    b->head = (b->head + 1) % SLOTS;
    b->filling--;
    b->handed = true;
    pthread_mutex_unlock(&b->lock);
    *out = slot;
    if (slot->failed < slot->count) {
        if (err && err->code == 0)
            *err = slot->err;
        return slot->err.code;
    }
    return 0;
}

// ---- beginning and ending ----

static int make_slot(const struct batcher *b, struct batcher_slot *slot, struct err *err)
{
    size_t batch = (size_t)b->batch;
    slot->samples = calloc(batch, sizeof *slot->samples);
    slot->labels = calloc(batch * (size_t)b->labels, sizeof *slot->labels);
    bool bytes = b->options.form == BATCH_BYTES, none = b->options.form == BATCH_NUMBERS;
    if (b->set->time > 0 && !none)
        slot->tokens = calloc(batch * (size_t)b->set->time, sizeof *slot->tokens);
    else if (bytes)
        slot->bytes = calloc(batch, (size_t)b->pixels);
    else if (!none)
        slot->image = calloc(batch * (size_t)b->pixels, sizeof *slot->image);
    bool there = none || slot->tokens || slot->image || slot->bytes;
    return slot->samples && slot->labels && there ? 0 : err_memory(err);
}

static int start_threads(struct batcher *b, struct err *err)
{
    int wanted = b->options.threads > 0 ? b->options.threads : cpus_usable();
    wanted = wanted > THREADS_MAX ? THREADS_MAX : wanted;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->work, NULL);
    pthread_cond_init(&b->ready, NULL);
    b->locked = true;
    for (int i = 0; i < wanted; i++) {
        struct decoder *decoder = &b->decoders[i];
        decoder->batcher = b;
        b->reader_count = i + 1;
        TRY(image_reader_new(&decoder->reader, b->set->files, err));
        decoder->scratch = malloc((size_t)b->pixels);
        if (!decoder->scratch)
            return err_memory(err);
        int said = pthread_create(&decoder->thread, NULL, decode_slots, decoder);
        if (said != 0 && i == 0)
            return err_errno(err, said, "cannot start a thread");
        if (said != 0)
            break; // fewer will do
        b->thread_count = i + 1;
    }
    return 0;
}

float batcher_scale(const struct batcher_options *options, int v)
{
    return options->centre_unit ? (float)(v / 127.5 - 1) : (float)v / 255;
}

int batcher_new(struct batcher **out, const struct dataset *set,
                const struct batcher_options *options, struct err *err)
{
    *out = NULL;
    if (options->batch < 1 || options->batch > (1 << 24) || set->count > UINT32_MAX)
        return err_set(err, ERR_USAGE, "a batch of %lld samples of a set of %lld is not possible",
                       (long long)options->batch, (long long)set->count);
    struct batcher *b = calloc(1, sizeof *b);
    if (!b)
        return err_memory(err);
    b->set = set;
    b->options = *options;
    if (options->ranks == 0)
        b->options.ranks = 1;
    b->batch = (options->batch + b->options.ranks - 1) / b->options.ranks;
    b->steps = (set->count + options->batch - 1) / options->batch;
    b->pixels = (int64_t)set->channels * set->height * set->width;
    b->labels = dataset_labels(set);
    bool by_number = options->form == BATCH_NUMBERS;
    b->slot_count = set->files && !by_number ? SLOTS : 1;
    b->ordered = -1;
    for (int v = 0; v < 256; v++)
        b->scale[v] = batcher_scale(options, v);
    rng_init(&b->root, options->seed);
    int rc = 0;
    if (options->shuffle && set->count > 0) {
        b->order = malloc((size_t)set->count * sizeof *b->order);
        if (by_number)
            b->next_order = malloc((size_t)set->count * sizeof *b->order);
        rc = b->order && (b->next_order || !by_number) ? 0 : err_memory(err);
    }
    for (int i = 0; rc == 0 && set->count > 0 && i < b->slot_count; i++)
        rc = make_slot(b, &b->slots[i], err);
    if (rc == 0 && set->files && set->count > 0 && !by_number)
        rc = start_threads(b, err);
    if (rc != 0)
        batcher_free(b);
    else
        *out = b;
    return rc;
}

void batcher_free(struct batcher *b)
{
    if (!b)
        return;
    if (b->locked) {
        pthread_mutex_lock(&b->lock);
        b->ending = true;
        pthread_cond_broadcast(&b->work);
        pthread_mutex_unlock(&b->lock);
        for (int i = 0; i < b->thread_count; i++)
            pthread_join(b->decoders[i].thread, NULL);
        pthread_cond_destroy(&b->work);
        pthread_cond_destroy(&b->ready);
        pthread_mutex_destroy(&b->lock);
    }
    for (int i = 0; i < b->reader_count; i++) {
        image_reader_free(b->decoders[i].reader);
        free(b->decoders[i].scratch);
    }
    for (int i = 0; i < SLOTS; i++) {
        free(b->slots[i].samples);
        free(b->slots[i].image);
        free(b->slots[i].bytes);
        free(b->slots[i].tokens);
        free(b->slots[i].labels);
    }
    if (b->ordering)
        pthread_join(b->orderer, NULL);
    free(b->next_order);
    free(b->order);
    free(b);
}

// ---- going through ----

int64_t batcher_steps(const struct batcher *b)
{
    return b->steps;
}

int batcher_seek(struct batcher *b, int64_t epoch, int64_t step, struct err *err)
{
    if (epoch < 0 || step < 0 || step > b->steps)
        return err_set(err, ERR_USAGE, "there is no step %lld of epoch %lld; an epoch has %lld",
                       (long long)step, (long long)epoch, (long long)b->steps);
    b->epoch = epoch;
    b->step = step;
    if (b->locked) {
        pthread_mutex_lock(&b->lock);
        empty_ring(b);
        b->plan_epoch = step == b->steps ? epoch + 1 : epoch;
        b->plan_step = step == b->steps ? 0 : step;
        pthread_mutex_unlock(&b->lock);
    }
    return 0;
}

int batcher_next(struct batcher *b, struct batch *batch, struct err *err)
{
    memset(batch, 0, sizeof *batch);
    if (b->step == b->steps) {
        b->epoch++;
        b->step = 0;
        return 0;
    }
    struct batcher_slot *slot = &b->slots[0];
    int rc = 0;
    if (b->locked) {
        rc = next_decoded(b, &slot, err);
    } else {
        plan_slot(b, slot, b->epoch, b->step);
        if (b->options.form != BATCH_NUMBERS)
            gather_slot(b, slot);
    }
    b->step++; // also past a batch that could not be read
    if (rc != 0)
        return rc;
    batch->count = slot->count;
    batch->all = slot->all;
    batch->first = slot->first;
    batch->image = slot->image;
    batch->bytes = slot->bytes;
    batch->tokens = slot->tokens;
    batch->labels = slot->labels;
    batch->samples = slot->samples;
    augment_stream(b, slot->epoch, batch->augment);
    return 1;
}
