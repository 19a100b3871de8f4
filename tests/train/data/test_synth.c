// SPDX-License-Identifier: Apache-2.0
// That made sets can be learned is tried on nets elsewhere; here simple statistics show that there
// is something to learn, and that it is not where it should not be.
#include "train/data/synth.h"

#include <math.h>

#include "train/data/files.h"
#include "train/data/images.h"
#include "train/data/sentiment.h"

static void make(const char *kind, uint64_t seed, int64_t train, int64_t test, int threads,
                 struct data_pair *pair)
{
    struct err err = {0};
    const struct data_options options = {
        .seed = seed, .made_train = train, .made_test = test, .threads = threads};
    assert_ok(data_open(kind, &options, pair, &err), &err);
    assert_true(pair->made);
    assert_int_equal(pair->train.count, train);
    assert_int_equal(pair->test.count, strcmp(kind, "nietzsche") == 0 ? 0 : test);
}

static size_t bytes_of(const struct dataset *set)
{
    if (set->pixels)
        return (size_t)(set->count * set->channels * set->height * set->width);
    if (set->starts)
        return (size_t)set->starts[set->count] * sizeof(int32_t);
    return (size_t)((set->count - 1) * set->token_stride + set->time) * sizeof(int32_t);
}

static const void *start_of(const struct dataset *set)
{
    return set->pixels ? (const void *)set->pixels : set->tokens;
}

// A small set is the beginning of a large one, by however many threads; the parts differ, and so
// do seeds.
TEST(test_function_of_seed)
{
    static const char *const kinds[] = {"mnist", "cifar10", "imdb", "tweets", "nietzsche"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct data_pair small, large, other;
        make(kinds[k], 1, 50, 20, 1, &small);
        make(kinds[k], 1, 400, 20, 3, &large);
        make(kinds[k], 2, 50, 20, 1, &other);
        assert_memory_equal(start_of(&small.train), start_of(&large.train), bytes_of(&small.train));
        assert_memory_equal(small.train.labels, large.train.labels, 50 * sizeof(int32_t));
        assert_memory_not_equal(start_of(&small.train), start_of(&other.train), 2000);
        if (small.test.count > 0)
            assert_memory_not_equal(small.train.labels, small.test.labels, 20 * sizeof(int32_t));
        data_release(&small);
        data_release(&large);
        data_release(&other);
    }
}

// The same bytes on every machine and from every compiler, for as long as a result made from them
// counts: these sums are not expectations but what the first version made.
TEST(test_pinned)
{
    static const struct {
        const char *kind, *identity, *sum;
    } pins[] = {
        {"mnist", "made:digits:1",
         "ae601d8e405c8267a46c460d9dab8eba934cad84c783f182644b9253c15dcc7a"},
        {"cifar10", "made:shapes:1",
         "40bb69ca634ccc25c480e927a1374e6604ecd587adafac7f59c6dc4e33ca1643"},
        {"imdb", "made:reviews:1",
         "adbee4190c81544997b5702b432fab2145430cd47f33db319b482b41999d492e"},
        {"tweets", "made:tweets:1",
         "a537272199fe13430bd1bf7377f14575892fd85cdca84dcdde2767b8d4b1bee6"},
        {"nietzsche", "made:text:1",
         "948a8db282fd1ca08a79acbe73610bb824096dbf856c504d28cf8c47db9dea14"},
    };
    char hex[SHA256_HEX_BYTES];
    for (size_t i = 0; i < sizeof pins / sizeof *pins; i++) {
        struct data_pair pair;
        make(pins[i].kind, 1, 100, 10, 2, &pair);
        assert_string_equal(pair.identity, pins[i].identity);
        assert_string_equal(pair.source, "made from seed 1");
        files_sha(start_of(&pair.train), bytes_of(&pair.train), hex);
        assert_string_equal(hex, pins[i].sum);
        data_release(&pair);
    }
    uint8_t *image = malloc(IMAGES_BYTES);
    synth_flower(1, false, 0, image);
    files_sha(image, IMAGES_BYTES, hex);
    assert_string_equal(hex, "82f8584ce39ae57bd090fa059fb855aca2256eee31efe36b2f61db74cc0c62ed");
    free(image);
}

TEST(test_shapes_of_sets)
{
    struct data_pair pair;
    make("mnist", 1, 10, 10, 1, &pair);
    assert_int_equal(pair.train.channels, 1);
    assert_int_equal(pair.train.height, 28);
    assert_int_equal(pair.train.width, 28);
    assert_int_equal(pair.train.classes, 10);
    data_release(&pair);
    make("cifar10", 1, 10, 10, 1, &pair);
    assert_int_equal(pair.train.channels, 3);
    assert_int_equal(pair.train.height, 32);
    data_release(&pair);
    make("imdb", 1, 10, 10, 1, &pair);
    assert_int_equal(pair.train.time, 100);
    assert_int_equal(pair.train.vocabulary, 20000);
    data_release(&pair);
    make("tweets", 1, 10, 10, 1, &pair);
    assert_int_equal(pair.train.time, 50);
    assert_int_equal(pair.train.vocabulary, 274562);
    data_release(&pair);
    make("nietzsche", 1, 10, 10, 1, &pair);
    assert_int_equal(pair.train.time, 40);
    assert_int_equal(pair.train.vocabulary, 57);
    data_release(&pair);
    make("flowers", 1, 10, 10, 1, &pair);
    assert_int_equal(pair.train.classes, 5);
    assert_int_equal(pair.train.width, 299);
    data_release(&pair);

    // As many as the real sets have, unless told otherwise.
    struct err err = {0};
    struct data_options options = {.seed = 1};
    assert_ok(data_open("flowers", &options, &pair, &err), &err);
    assert_int_equal(pair.train.count, 3320);
    assert_int_equal(pair.test.count, 350);
    data_release(&pair);
    options.made_train = -1;
    assert_fails(data_open("nietzsche", &options, &pair, failed), ERR_USAGE, "cannot make -1");
}

// The share of the test part that the nearest class mean gets right.
static double by_means(const struct data_pair *pair)
{
    int size = (int)(bytes_of(&pair->train) / (size_t)pair->train.count);
    int classes = pair->train.classes, right = 0, counts[10] = {0};
    double *means = calloc((size_t)(classes * size), sizeof *means);
    for (int64_t i = 0; i < pair->train.count; i++) {
        counts[pair->train.labels[i]]++;
        for (int k = 0; k < size; k++)
            means[pair->train.labels[i] * size + k] += pair->train.pixels[i * size + k];
    }
    for (int64_t i = 0; i < pair->test.count; i++) {
        double least = HUGE_VAL;
        int best = 0;
        for (int c = 0; c < classes; c++) {
            double sum = 0;
            for (int k = 0; k < size; k++) {
                double off = means[c * size + k] / counts[c] - pair->test.pixels[i * size + k];
                sum += off * off;
            }
            if (sum < least) {
                least = sum;
                best = c;
            }
        }
        right += best == pair->test.labels[i];
    }
    free(means);
    return (double)right / (double)pair->test.count;
}

TEST(test_images_can_be_told)
{
    struct data_pair pair;
    make("mnist", 1, 3000, 500, 2, &pair);
    double share = by_means(&pair);
    assert_true(share > 0.5 && share < 0.95); // easy for a start, but something is left to learn
    data_release(&pair);
    make("cifar10", 1, 3000, 500, 2, &pair);
    share = by_means(&pair);
    assert_true(share > 0.15 && share < 0.6);
    int counts[10] = {0};
    for (int i = 0; i < 3000; i++)
        counts[pair.train.labels[i]]++;
    for (int c = 0; c < 10; c++) // five standard deviations around 300
        assert_in_range(counts[c], 300 - 82, 300 + 82);
    data_release(&pair);
}

// Both orders of a pair are as frequent, each word is as frequent under both labels, and the order
// tells the label.
TEST(test_order_is_the_label)
{
    static const char *const kinds[] = {"imdb", "tweets"};
    static const int32_t firsts[] = {REVIEWS_FIRST, 1};
    for (int k = 0; k < 2; k++) {
        struct data_pair pair;
        int32_t row[100], first = firsts[k];
        double counts[2][4] = {{0}};
        int labels[2] = {0};
        make(kinds[k], 1, 4000, 10, 2, &pair);
        for (int64_t i = 0; i < pair.train.count; i++) {
            int label = pair.train.labels[i], pairs = 0;
            labels[label]++;
            dataset_tokens(&pair.train, i, row);
            for (int t = 0; t < pair.train.time; t++) {
                assert_in_range(row[t], 0, pair.train.vocabulary - 1);
                if (row[t] < first || row[t] >= first + 4)
                    continue;
                counts[label][row[t] - first]++;
                if (t > 0 && ((row[t] - first) ^ (row[t - 1] - first)) == 1 &&
                    row[t - 1] >= first && (pairs++, 1)) {
                    bool rising = row[t] > row[t - 1];
                    // Where two pairs of the same words touch, the middle tells nothing.
                    bool touches = t > 1 && row[t - 2] == row[t];
                    if (!touches)
                        assert_int_equal(rising, label);
                }
            }
            assert_true(pairs > 0);
        }
        assert_true(abs(labels[0] - labels[1]) < 5 * 64); // the root of 4,000
        for (int w = 0; w < 4; w++) {
            double a = counts[0][w] / labels[0], b = counts[1][w] / labels[1];
            assert_true(fabs(a - b) < 0.1 * (a + b)); // of some thousands each
        }
        data_release(&pair);
    }
}

TEST(test_text)
{
    struct data_pair pair;
    // The alphabet of the real text, from Python: sorted(set(text.lower())).
    static const char wanted[] = "\n !\"'(),-.0123456789:;=?[]_abcdefghijklmnopqrstuvwxyz"
                                 "\xC3\xA4\xC3\xA6\xC3\xA9\xC3\xAB";
    struct buf have = {0};
    make("nietzsche", 1, 20000, 0, 1, &pair);
    for (int i = 0; i < 57; i++)
        buf_adds(&have, pair.words[i]);
    assert_string_equal(buf_str(&have), wanted);
    buf_release(&have);
    // Every character is used, and the one before tells much about the next: guessing the most
    // frequent successor is right far more often than guessing the most frequent character.
    int64_t count = 20000 * 3;
    static int follows[57][57];
    memset(follows, 0, sizeof follows);
    for (int64_t i = 1; i < count; i++)
        follows[pair.train.tokens[i - 1]][pair.train.tokens[i]]++;
    int right = 0, used = 0, most = 0;
    for (int a = 0; a < 57; a++) {
        int best = 0, all = 0;
        for (int b = 0; b < 57; b++) {
            best = follows[a][b] > best ? follows[a][b] : best;
            all += follows[a][b];
        }
        right += best;
        used += all > 0;
        most = all > most ? all : most;
    }
    assert_int_equal(used, 57);
    assert_true(right > count * 30 / 100 && most < count * 20 / 100);
    for (int64_t i = 0; i < pair.train.count; i++)
        assert_int_equal(pair.train.labels[i], pair.train.tokens[3 * i + 40]);
    data_release(&pair);
}

TEST(test_flowers)
{
    uint8_t *image = malloc(IMAGES_BYTES);
    int seen[5] = {0};
    double red[5] = {0};
    for (int64_t i = 0; i < 40; i++) {
        int32_t label = synth_flower_label(3, true, i);
        assert_in_range(label, 0, 4);
        synth_flower(3, true, i, image);
        // Not a plain surface: some pixels are far from others.
        int least = 255, most = 0;
        for (int k = 0; k < IMAGES_BYTES; k += 7) {
            least = image[k] < least ? image[k] : least;
            most = image[k] > most ? image[k] : most;
        }
        assert_true(most - least > 100);
        for (int k = 0; k < IMAGES_SIZE * IMAGES_SIZE; k++)
            red[label] += image[k] > 130 && image[k + IMAGES_SIZE * IMAGES_SIZE] < 110;
        seen[label]++;
    }
    for (int c = 0; c < 5; c++)
        assert_true(seen[c] > 0);
    assert_true(red[2] / seen[2] > 10 * (red[0] / seen[0] + 1)); // roses and daisies
    free(image);
}

TEST(test_turn)
{
    for (double t = -1; t <= 1; t += 0.125) {
        double c, s;
        synth_turn(t, &c, &s);
        assert_true(fabs(c * c + s * s - 1) < 1e-12);
        assert_true(fabs(atan2(s, c) - t * acos(0)) < 0.04); // nearly proportional
    }
}
