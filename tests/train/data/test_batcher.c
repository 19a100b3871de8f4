// SPDX-License-Identifier: Apache-2.0
#include "train/data/batcher.h"

#include <math.h>

#include "train/data/files.h"
#include "train/data/images.h"
#include "train/data/synth.h"

// Images of one byte whose value is their number, in `count` classes.
static void make_bytes(struct dataset *set, int count)
{
    memset(set, 0, sizeof *set);
    set->count = count;
    set->classes = count;
    set->channels = set->height = set->width = 1;
    set->pixels = malloc((size_t)count);
    set->labels = malloc((size_t)count * sizeof *set->labels);
    for (int i = 0; i < count; i++) {
        set->pixels[i] = (uint8_t)i;
        set->labels[i] = i;
    }
}

static void release(struct dataset *set)
{
    free(set->pixels);
    free(set->tokens);
    free(set->starts);
    free(set->labels);
}

// The labels of an epoch, in order.
static void read_epoch(struct batcher *b, int *labels, int count, int batch_size)
{
    struct batch batch;
    struct err err = {0};
    int have = 0, rc;
    while ((rc = batcher_next(b, &batch, &err)) > 0) {
        assert_int_equal(batch.count, count - have < batch_size ? count - have : batch_size);
        for (int i = 0; i < batch_size; i++) {
            if (i < batch.count) {
                assert_float_equal(batch.image[i], (float)batch.labels[i] / 255, 0);
                labels[have++] = batch.labels[i];
            } else { // nothing is left of the batch before
                assert_float_equal(batch.image[i], 0, 0);
                assert_int_equal(batch.labels[i], 0);
            }
        }
    }
    assert_int_equal(rc, 0);
    assert_int_equal(have, count);
}

TEST(test_order)
{
    struct dataset set;
    struct batcher *b;
    struct err err = {0};
    int first[200], second[200], again[200];
    make_bytes(&set, 200);
    assert_ok(batcher_new(&b, &set, &(struct batcher_options){.batch = 32}, &err), &err);
    assert_int_equal(batcher_steps(b), 7);
    read_epoch(b, first, 200, 32);
    for (int i = 0; i < 200; i++)
        assert_int_equal(first[i], i);
    batcher_free(b);

    struct batcher_options options = {.batch = 32, .shuffle = true, .seed = 5};
    assert_ok(batcher_new(&b, &set, &options, &err), &err);
    read_epoch(b, first, 200, 32);
    read_epoch(b, second, 200, 32);
    int fixed = 0, same = 0, seen[200] = {0};
    for (int i = 0; i < 200; i++) {
        fixed += first[i] == i;
        same += first[i] == second[i];
        seen[first[i]]++;
    }
    for (int i = 0; i < 200; i++)
        assert_int_equal(seen[i], 1);
    assert_true(fixed < 10 && same < 10); // one is to be expected of each
    // The order is a function of seed and epoch, whatever was read before.
    assert_ok(batcher_seek(b, 0, 0, &err), &err);
    read_epoch(b, again, 200, 32);
    assert_memory_equal(first, again, sizeof first);
    batcher_free(b);
    options.batch = 7;
    assert_ok(batcher_new(&b, &set, &options, &err), &err);
    assert_ok(batcher_seek(b, 1, 0, &err), &err);
    read_epoch(b, again, 200, 7);
    assert_memory_equal(second, again, sizeof second);
    batcher_free(b);
    options.seed = 6;
    assert_ok(batcher_new(&b, &set, &options, &err), &err);
    read_epoch(b, again, 200, 7);
    assert_memory_not_equal(first, again, sizeof first);
    batcher_free(b);
    release(&set);
}

TEST(test_seek)
{
    struct dataset set;
    struct batcher *b;
    struct batch batch;
    struct err err = {0};
    int labels[3][20];
    make_bytes(&set, 20);
    const struct batcher_options options = {.batch = 6, .shuffle = true, .seed = 1};
    assert_ok(batcher_new(&b, &set, &options, &err), &err);
    for (int e = 0; e < 3; e++)
        read_epoch(b, labels[e], 20, 6);
    for (int e = 2; e >= 0; e--)
        for (int s = 0; s < 4; s++) {
            assert_ok(batcher_seek(b, e, s, &err), &err);
            assert_int_equal(batcher_next(b, &batch, &err), 1);
            for (int i = 0; i < batch.count; i++)
                assert_int_equal(batch.labels[i], labels[e][6 * s + i]);
        }
    // The end of an epoch is a place, too.
    assert_ok(batcher_seek(b, 0, 4, &err), &err);
    assert_int_equal(batcher_next(b, &batch, &err), 0);
    assert_int_equal(batch.count, 0);
    assert_int_equal(batcher_next(b, &batch, &err), 1);
    assert_int_equal(batch.labels[0], labels[1][0]);
    assert_fails(batcher_seek(b, 0, 5, failed), ERR_USAGE, "no step 5 of epoch 0");
    assert_fails(batcher_seek(b, -1, 0, failed), ERR_USAGE, "epoch -1");
    assert_fails(batcher_seek(b, 0, -1, failed), ERR_USAGE, "no step -1");
    batcher_free(b);
    batcher_free(NULL);

    struct dataset none = {0};
    assert_ok(batcher_new(&b, &none, &options, &err), &err);
    assert_int_equal(batcher_steps(b), 0);
    assert_int_equal(batcher_next(b, &batch, &err), 0);
    assert_int_equal(batcher_next(b, &batch, &err), 0);
    batcher_free(b);
    const struct batcher_options bad = {.batch = 0};
    assert_fails(batcher_new(&b, &set, &bad, failed), ERR_USAGE, "a batch of 0 samples");
    assert_null(b);
    release(&set);
}

TEST(test_scale)
{
    struct dataset set;
    struct batcher *b;
    struct batch batch;
    struct err err = {0};
    make_bytes(&set, 256);
    const struct batcher_options options = {.batch = 256, .centre_unit = true};
    assert_ok(batcher_new(&b, &set, &options, &err), &err);
    assert_int_equal(batcher_next(b, &batch, &err), 1);
    assert_float_equal(batch.image[0], -1, 0);
    assert_float_equal(batch.image[255], 1, 0);
    for (int i = 0; i < 256; i++)
        assert_float_equal(batch.image[i], (i / 255.0 - 0.5) * 2, 1e-7);
    batcher_free(b);
    release(&set);
}

// An image that tells where each of its pixels came from: 20 wide, 10 high, two channels.
static void make_map(struct dataset *set, int count)
{
    memset(set, 0, sizeof *set);
    set->count = count;
    set->classes = 2;
    set->channels = 2;
    set->height = 10;
    set->width = 20;
    set->pixels = malloc((size_t)count * 400);
    set->labels = calloc((size_t)count, sizeof *set->labels);
    for (int i = 0; i < count; i++)
        for (int y = 0; y < 10; y++)
            for (int x = 0; x < 20; x++) {
                set->pixels[i * 400 + y * 20 + x] = (uint8_t)x;
                set->pixels[i * 400 + 200 + y * 20 + x] = (uint8_t)y;
            }
}

// A count of `of` draws with this chance, within five standard deviations.
static void assert_likely(int count, int of, double chance)
{
    double off = fabs(count - of * chance), deviation = sqrt(of * chance * (1 - chance));
    if (off > 5 * deviation)
        fail_msg("%d of %d, expected %.0f +- %.0f", count, of, of * chance, deviation);
}

static int clamp(int v, int n)
{
    return v < 0 ? 0 : v >= n ? n - 1 : v;
}

// What happened to a sample, told by its middle; then every pixel must agree.
static void explain(const float *image, int *right, int *down, bool *flipped)
{
    int at[2][10][20];
    for (int i = 0; i < 400; i++)
        at[i / 200][i / 20 % 10][i % 20] = (int)lroundf(image[i] * 255);
    *flipped = at[0][0][10] < at[0][0][9];
    *right = at[0][0][*flipped ? 9 : 10] - 10;
    *down = at[1][5][0] - 5;
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 20; x++) {
            int from = *flipped ? 19 - x : x;
            assert_int_equal(at[0][y][x], clamp(from + *right, 20));
            assert_int_equal(at[1][y][x], clamp(y + *down, 10));
        }
}

TEST(test_augmentation)
{
    enum { COUNT = 4000 };
    struct dataset set;
    struct batcher *b;
    struct batch batch;
    struct err err = {0};
    make_map(&set, COUNT);
    struct batcher_options options = {.batch = COUNT, .shift_flip = true, .seed = 3};
    assert_ok(batcher_new(&b, &set, &options, &err), &err);
    int rights[5] = {0}, downs[3] = {0}, flips = 0, changed = 0;
    float *before = malloc(COUNT * 400 * sizeof *before);
    for (int epoch = 0; epoch < 2; epoch++) {
        assert_int_equal(batcher_next(b, &batch, &err), 1);
        for (int i = 0; i < COUNT; i++) {
            int right, down;
            bool flipped;
            explain(batch.image + i * 400, &right, &down, &flipped);
            assert_true(right >= -2 && right <= 2 && down >= -1 && down <= 1);
            rights[right + 2]++;
            downs[down + 1]++;
            flips += flipped;
            changed += memcmp(before + i * 400, batch.image + i * 400, 400 * sizeof *before) != 0;
        }
        memcpy(before, batch.image, COUNT * 400 * sizeof *before);
        assert_int_equal(batcher_next(b, &batch, &err), 0);
    }
    // Uniform in +-2 and rounded: 1/8, 1/4, 1/4, 1/4, 1/8; in +-1: 1/4, 1/2, 1/4.
    static const double share[5] = {.125, .25, .25, .25, .125}, share_down[3] = {.25, .5, .25};
    for (int k = 0; k < 5; k++)
        assert_likely(rights[k], 2 * COUNT, share[k]);
    for (int k = 0; k < 3; k++)
        assert_likely(downs[k], 2 * COUNT, share_down[k]);
    assert_likely(flips, 2 * COUNT, 0.5);
    assert_true(changed > COUNT * 3 / 2); // another epoch, another shift

    // A sample's shift does not depend on the batch it is in, nor on where it stands.
    float *last = before; // of epoch 1
    batcher_free(b);
    options.batch = 33;
    assert_ok(batcher_new(&b, &set, &options, &err), &err);
    assert_ok(batcher_seek(b, 1, 5, &err), &err);
    assert_int_equal(batcher_next(b, &batch, &err), 1);
    assert_memory_equal(batch.image, last + 5 * 33 * 400, 33 * 400 * sizeof *last);
    batcher_free(b);

    options.shift_flip = false;
    options.flip = true;
    flips = 0;
    assert_ok(batcher_new(&b, &set, &options, &err), &err);
    while (batcher_next(b, &batch, &err) > 0)
        for (int i = 0; i < batch.count; i++) {
            int right, down;
            bool flipped;
            explain(batch.image + i * 400, &right, &down, &flipped);
            assert_true(right == 0 && down == 0);
            flips += flipped;
        }
    assert_likely(flips, COUNT, 0.5);
    batcher_free(b);
    free(before);
    release(&set);
}

TEST(test_tokens)
{
    struct batcher *b;
    struct batch batch;
    struct err err = {0};
    int32_t tokens[] = {1, 2, 3, 4, 5, 6, 7}, labels[] = {0, 1, 0};
    int64_t starts[] = {0, 2, 2, 7};
    struct dataset set = {.count = 3, .classes = 2, .time = 3, .vocabulary = 8};
    set.tokens = tokens;
    set.labels = labels;
    set.starts = starts;
    const struct batcher_options options = {.batch = 4};
    assert_ok(batcher_new(&b, &set, &options, &err), &err);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(batcher_next(b, &batch, &err), 1);
        assert_null(batch.image);
        static const int32_t wanted[12] = {1, 2, 0, 0, 0, 0, 3, 4, 5, 0, 0, 0};
        assert_memory_equal(batch.tokens, wanted, sizeof wanted);
        assert_int_equal(batch.count, 3);
        assert_int_equal(batcher_next(b, &batch, &err), 0);
    }
    batcher_free(b);
    set.starts = NULL; // windows that overlap
    set.token_stride = 2;
    assert_ok(batcher_new(&b, &set, &options, &err), &err);
    assert_int_equal(batcher_next(b, &batch, &err), 1);
    static const int32_t wanted[12] = {1, 2, 3, 3, 4, 5, 5, 6, 7, 0, 0, 0};
    assert_memory_equal(batch.tokens, wanted, sizeof wanted);
    batcher_free(b);
}

// Drawn images, decoded ahead by several threads: what comes is what one after the other gives,
// over the ends of epochs and after seeks, also with fewer batches than the ring has places.
TEST(test_ahead)
{
    struct data_pair pair;
    struct err err = {0};
    const struct data_options made = {.seed = 7, .made_train = 7, .made_test = 1};
    assert_ok(data_open("flowers", &made, &pair, &err), &err);
    struct batcher_options options = {.batch = 3, .shuffle = true, .seed = 1, .flip = true};
    options.centre_unit = true;
    struct batcher *many, *one;
    struct batch a, b;
    options.threads = 5;
    assert_ok(batcher_new(&many, &pair.train, &options, &err), &err);
    options.threads = 1;
    assert_ok(batcher_new(&one, &pair.train, &options, &err), &err);
    uint8_t *drawn = malloc(IMAGES_BYTES);
    for (int step = 0; step < 14; step++) {
        if (step == 6) { // back into the past, with batches in flight
            assert_ok(batcher_seek(many, 0, 1, &err), &err);
            assert_ok(batcher_seek(one, 0, 1, &err), &err);
        }
        int rc = batcher_next(many, &a, &err);
        assert_int_equal(batcher_next(one, &b, &err), rc);
        if (rc == 0)
            continue;
        assert_int_equal(rc, 1);
        assert_int_equal(a.count, b.count);
        assert_memory_equal(a.labels, b.labels, 3 * sizeof(int32_t));
        assert_memory_equal(a.image, b.image, 3 * (size_t)IMAGES_BYTES * sizeof(float));
        assert_true(a.image[0] >= -1 && a.image[0] <= 1);
    }
    batcher_free(one);
    batcher_free(many); // with batches in flight

    options.shuffle = options.flip = options.centre_unit = false;
    assert_ok(batcher_new(&one, &pair.train, &options, &err), &err);
    assert_int_equal(batcher_next(one, &a, &err), 1);
    synth_flower(7, false, 1, drawn);
    for (int i = 0; i < IMAGES_BYTES; i += 101)
        assert_float_equal(a.image[IMAGES_BYTES + i], (float)drawn[i] / 255, 0);
    batcher_free(one);
    options.batch = 100; // one short batch an epoch
    assert_ok(batcher_new(&one, &pair.test, &options, &err), &err);
    for (int i = 0; i < 4; i++)
        assert_int_equal(batcher_next(one, &a, &err), i % 2 == 0);
    batcher_free(one);
    free(drawn);
    data_release(&pair);
}
