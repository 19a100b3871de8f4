// SPDX-License-Identifier: Apache-2.0
// Files of tokens as nanoGPT and llm.c write them, texts by bytes, made tokens.
#include "data/tokens.h"

#include <math.h>

#include "data/batcher.h"
#include "data/files.h"

static int open_tokens(const char *path, int context, struct data_pair *pair, struct err *err)
{
    const struct data_options options = {.dir = path, .context = context, .seed = 1};
    return data_open("tokens", &options, pair, err);
}

// Tokens 0, 3, 6, ... with or without the header of llm.c.
static const char *put_tokens(const char *name, int count, const int32_t *header)
{
    struct buf file = {0};
    if (header) {
        buf_add(&file, header, 3 * sizeof *header);
        buf_fill(&file, '\0', 1024 - 3 * sizeof *header);
    }
    for (int i = 0; i < count; i++) {
        uint16_t token = (uint16_t)(3 * i);
        buf_add(&file, &token, sizeof token);
    }
    const char *path = files_put(name, file.data, file.len);
    buf_release(&file);
    return path;
}

static void expect_windows(const struct dataset *set, int64_t count, int context, int first)
{
    int32_t tokens[64], labels[64];
    assert_int_equal(set->count, count);
    assert_int_equal(set->time, context);
    assert_int_equal(dataset_labels(set), context);
    for (int64_t i = 0; i < count; i++) {
        dataset_tokens(set, i, tokens);
        dataset_labels_of(set, i, labels);
        for (int t = 0; t < context; t++) {
            assert_int_equal(tokens[t], 3 * (first + i * context + t));
            assert_int_equal(labels[t], 3 * (first + i * context + t + 1));
        }
    }
}

static void windows_of_tokens(void **state)
{
    (void)state;
    struct data_pair pair;
    struct err err = {0};
    const int32_t header[3] = {20240520, 1, 101};
    for (int llmc = 0; llmc < 2; llmc++) {
        const char *path = put_tokens(llmc ? "llmc.bin" : "raw.bin", 101, llmc ? header : NULL);
        assert_ok(open_tokens(path, 10, &pair, &err), &err);
        expect_windows(&pair.train, 9, 10, 0); // of ten windows the last is held out
        expect_windows(&pair.test, 1, 10, 90);
        assert_string_equal(pair.name, "own tokens, 10 samples");
        assert_null(pair.words);
        data_release(&pair);
    }
    // Few windows: none is held out.
    assert_ok(open_tokens(put_tokens("few.bin", 21, NULL), 10, &pair, &err), &err);
    expect_windows(&pair.train, 2, 10, 0);
    assert_int_equal(pair.test.count, 0);
    data_release(&pair);
}

static void folders_have_two_parts(void **state)
{
    (void)state;
    struct data_pair pair;
    struct err err = {0};
    put_tokens("nano/train.bin", 41, NULL);
    put_tokens("nano/val.bin", 31, NULL);
    assert_ok(open_tokens(files_at("nano"), 10, &pair, &err), &err);
    expect_windows(&pair.train, 4, 10, 0);
    expect_windows(&pair.test, 3, 10, 0);
    // sha256sum of "SUM  train\nSUM  val\n"
    char *identity = pair.identity;
    pair.identity = NULL;
    data_release(&pair);
    put_tokens("nano/val.bin", 32, NULL);
    assert_ok(open_tokens(files_at("nano"), 10, &pair, &err), &err);
    assert_string_not_equal(identity, pair.identity);
    free(identity);
    data_release(&pair);
    put_tokens("nano/other_train.bin", 41, NULL);
    assert_fails(open_tokens(files_at("nano"), 10, &pair, failed), ERR_FORMAT,
                 "two files for one part of the set: other_train.bin and train.bin");
}

// The numbers of bytes in GPT-2's vocab.json: "!" 0, "~" 93, "¡" 94, "ÿ" 187, then the control
// characters from 188, the newline 198, the space 220 and byte 173 at last.
static void texts_are_read_by_bytes(void **state)
{
    (void)state;
    static const struct {
        uint8_t byte;
        uint16_t token;
    } rows[] = {{'!', 0},    {'~', 93},  {'A', 32},  {0xA1, 94}, {0xFF, 187}, {0, 188},
                {'\n', 198}, {' ', 220}, {127, 221}, {128, 222}, {0xA0, 254}, {0xAD, 255}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(tokens_of_byte(rows[i].byte), rows[i].token);
        assert_int_equal(tokens_to_byte(rows[i].token), rows[i].byte);
    }
    struct data_pair pair;
    struct err err = {0};
    static const char text[] = "Any bytes \xFF\x00 at all";
    assert_ok(open_tokens(files_put("a.txt", text, sizeof text - 1), 6, &pair, &err), &err);
    assert_int_equal(pair.train.count, 3);
    int32_t tokens[6];
    dataset_tokens(&pair.train, 1, tokens);
    for (int t = 0; t < 6; t++) {
        assert_int_equal(tokens[t], tokens_of_byte((uint8_t)text[6 + t]));
        assert_int_equal(pair.words[tokens[t]][0], text[6 + t]);
    }
    data_release(&pair);
}

static void broken_files_are_refused(void **state)
{
    (void)state;
    struct data_pair pair;
    const int32_t version[3] = {20240520, 7, 30}, count[3] = {20240520, 1, 31};
    assert_fails(open_tokens(put_tokens("v.bin", 30, version), 10, &pair, failed), ERR_FORMAT,
                 "has version 7 of llm.c's header, not 1");
    assert_fails(open_tokens(put_tokens("c.bin", 30, count), 10, &pair, failed), ERR_FORMAT,
                 "has 30 tokens, but its header says 31");
    assert_fails(open_tokens(files_put("odd.bin", "abc", 3), 1, &pair, failed), ERR_FORMAT,
                 "has 3 bytes, which are not whole tokens of two");
    assert_fails(open_tokens(files_put("none.bin", "", 0), 1, &pair, failed), ERR_FORMAT,
                 "is empty");
    assert_fails(open_tokens(put_tokens("short.bin", 10, NULL), 10, &pair, failed), ERR_FORMAT,
                 "there are 10 tokens; more than 10 are needed");
    assert_fails(open_tokens(files_at("no.bin"), 10, &pair, failed), ERR_MISSING, "no.bin");
    files_puts("bare/.hidden", "x");
    assert_fails(open_tokens(files_at("bare"), 10, &pair, failed), ERR_MISSING,
                 "has no file of text or tokens");
}

static void batches_have_a_label_per_token(void **state)
{
    (void)state;
    struct data_pair pair;
    struct err err = {0};
    struct batcher *batcher;
    struct batch batch;
    assert_ok(open_tokens(put_tokens("b.bin", 51, NULL), 10, &pair, &err), &err);
    const struct batcher_options options = {.batch = 3, .seed = 4, .shuffle = true};
    assert_ok(batcher_new(&batcher, &pair.train, &options, &err), &err);
    int seen = 0;
    while (batcher_next(batcher, &batch, &err) == 1)
        for (int64_t i = 0; i < batch.count; i++) {
            seen |= 1 << batch.samples[i];
            for (int t = 0; t < 10; t++) {
                assert_int_equal(batch.tokens[10 * i + t], 3 * (10 * (int)batch.samples[i] + t));
                assert_int_equal(batch.labels[10 * i + t], batch.tokens[10 * i + t] + 3);
            }
        }
    assert_int_equal(seen, 31);
    batcher_free(batcher);
    data_release(&pair);
}

// The law of Zipf and Mandelbrot, 1 / (rank + 2.7), within five standard deviations; and half of
// the tokens are one of four successors, so that those are as frequent as that.
static void made_tokens_are_like_english(void **state)
{
    (void)state;
    struct data_pair pair;
    struct err err = {0};
    const struct data_options options = {.seed = 1, .made_train = 500, .made_test = 5};
    assert_ok(data_open("tokens", &options, &pair, &err), &err);
    const int64_t count = 500 * 1024;
    int *seen = calloc(TOKENS_VOCABULARY, sizeof *seen);
    assert_non_null(seen);
    int followers[TOKENS_VOCABULARY / 100] = {0}, after = 0, best[4] = {0};
    for (int64_t i = 0; i < count; i++)
        seen[pair.train.stream[i]]++;
    double sum = 0;
    for (int r = 1; r <= TOKENS_VOCABULARY; r++)
        sum += 1 / (r + 2.7);
    for (int r = 1; r <= 20; r++) {
        double share = 1 / (r + 2.7) / sum, got = seen[r - 1] / (double)count;
        assert_true(got > share / 2.2); // successors of frequent tokens may raise it
        assert_true(got < share * 4);
    }
    for (int64_t i = 1; i < count; i++)
        if (pair.train.stream[i - 1] == 0) {
            after++;
            if (pair.train.stream[i] < TOKENS_VOCABULARY / 100)
                followers[pair.train.stream[i]]++;
        }
    for (int k = 0; k < 4; k++) {
        for (int t = 1; t < TOKENS_VOCABULARY / 100; t++)
            best[k] = followers[t] > followers[best[k]] ? t : best[k];
        followers[best[k]] = k < 3 ? -followers[best[k]] : followers[best[k]];
    }
    assert_true(after > 1000);
    assert_true(abs(followers[best[0]]) > after / 10); // a quarter of a half, and its own share
    assert_int_equal(pair.test.count, 5);
    assert_memory_not_equal(pair.test.stream, pair.train.stream, 5 * 1024 * 2);
    free(seen);
    data_release(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_tokens),
        cmocka_unit_test(folders_have_two_parts),
        cmocka_unit_test(texts_are_read_by_bytes),
        cmocka_unit_test(broken_files_are_refused),
        cmocka_unit_test(batches_have_a_label_per_token),
        cmocka_unit_test(made_tokens_are_like_english),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
