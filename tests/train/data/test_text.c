// SPDX-License-Identifier: Apache-2.0
// Figures of the real text: Python (str.lower, sorted(set(text)), range(0, n - 40, 3)).
#include "train/data/text.h"

#include <math.h>

#include "train/data/batcher.h"
#include "train/data/files.h"

static int open_text(const char *text, size_t len, struct data_pair *pair, struct err *err)
{
    memset(pair, 0, sizeof *pair);
    int rc = text_open(files_put("text.txt", text, len), NULL, pair, err);
    if (rc != 0)
        data_release(pair);
    return rc;
}

TEST(test_windows)
{
    struct data_pair pair;
    struct err err = {0};
    struct buf text = {0};
    for (int len = 41; len < 60; len++) {
        buf_reset(&text);
        for (int i = 0; i < len; i++)
            buf_addc(&text, (char)("abcdeXYZ"[i % 8]));
        assert_ok(open_text(text.data, text.len, &pair, &err), &err);
        assert_int_equal(pair.train.count, (len - 40 + 2) / 3); // len(range(0, len - 40, 3))
        assert_int_equal(pair.train.vocabulary, 8);
        assert_int_equal(pair.train.classes, 8);
        assert_int_equal(pair.test.count, 0);
        int32_t tokens[40];
        for (int64_t i = 0; i < pair.train.count; i++) {
            dataset_tokens(&pair.train, i, tokens);
            for (int k = 0; k < 40; k++) // a b c d e x y z, which are sorted already
                assert_int_equal(tokens[k], (3 * i + k) % 8);
            assert_int_equal(pair.train.labels[i], (3 * i + 40) % 8);
        }
        data_release(&pair);
    }
    buf_release(&text);
}

TEST(test_characters)
{
    struct data_pair pair;
    struct err err = {0};
    static const char text[] = "z\xC3\x84\xC3\xA4 \xF0\x9F\x98\x80\xE2\x82\xAC\n"
                               "0123456789012345678901234567890123456789";
    assert_ok(open_text(text, sizeof text - 1, &pair, &err), &err);
    static const char *const words[] = {"\n",
                                        " ",
                                        "0",
                                        "1",
                                        "2",
                                        "3",
                                        "4",
                                        "5",
                                        "6",
                                        "7",
                                        "8",
                                        "9",
                                        "z",
                                        "\xC3\xA4",
                                        "\xE2\x82\xAC",
                                        "\xF0\x9F\x98\x80"};
    assert_int_equal(pair.word_count, 16);
    for (int i = 0; i < 16; i++)
        assert_string_equal(pair.words[i], words[i]);
    static const int32_t first[] = {12, 13, 13, 1, 15, 14, 0, 2};
    assert_memory_equal(pair.train.tokens, first, sizeof first);
    data_release(&pair);
}

TEST(test_folder)
{
    struct data_pair pair = {0};
    struct err err = {0};
    static const char text[] = "01234567890123456789012345678901234567890123";
    files_puts("dir/other.txt", text);
    assert_ok(text_open(files_at("dir"), NULL, &pair, &err), &err);
    assert_string_equal(pair.source, files_at("dir/other.txt"));
    data_release(&pair);
    files_puts("dir/readme.txt", "");
    assert_fails(text_open(files_at("dir"), NULL, &pair, failed), ERR_FORMAT,
                 "other.txt and readme.txt");
    files_put_gzip("dir/nietzsche.txt.gz", text, sizeof text - 1);
    assert_ok(text_open(files_at("dir"), NULL, &pair, &err), &err);
    assert_string_equal(pair.source, files_at("dir/nietzsche.txt.gz"));
    data_release(&pair);
}

TEST(test_faults)
{
    struct data_pair pair = {0};
    char one[60];
    memset(one, 'a', sizeof one);
    assert_fails(text_open(files_at("absent"), NULL, &pair, failed), ERR_MISSING, "cannot open");
    files_puts("none/x.csv", "");
    assert_fails(text_open(files_at("none"), NULL, &pair, failed), ERR_MISSING,
                 "has no file that ends in .txt");
    assert_fails(open_text("", 0, &pair, failed), ERR_FORMAT, "text.txt' is empty");
    assert_fails(open_text("short", 5, &pair, failed), ERR_FORMAT,
                 "has 5 characters; more than 40 are needed");
    assert_fails(open_text("line\nline two\nthr\xFF"
                           "e",
                           19, &pair, failed),
                 ERR_FORMAT, "text.txt', line 3: byte 17 of the file is not UTF-8 (ff)");
    assert_fails(open_text(one, sizeof one, &pair, failed), ERR_FORMAT,
                 "only one distinct character");
}

TEST(test_real)
{
    const char *dir = files_real("nietzsche");
    if (!dir)
        skip();
    struct data_pair pair = {0};
    struct err err = {0};
    char hex[SHA256_HEX_BYTES];
    assert_ok(text_open(dir, NULL, &pair, &err), &err);
    assert_int_equal(pair.train.count, 200285);
    assert_int_equal(pair.train.vocabulary, 57);
    assert_int_equal(pair.train.time, 40);
    assert_string_equal(pair.words[56], "\xC3\xAB");
    files_sha(pair.train.tokens, 600893 * 4, hex);
    assert_string_equal(hex, "d97aa0e3ddeee61c5e5126076cae71810d62cb8c1719bc907d77afbf7fad64eb");
    files_sha(pair.train.labels, 200285 * 4, hex);
    assert_string_equal(hex, "a83521edf713c566327fa2d69cfebfe1e3edc73978ddcea65ce024b74da80469");
    data_release(&pair);
}

// ==== tokens ====
// Files of tokens as nanoGPT and llm.c write them, texts by bytes, made tokens.

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

TEST(windows_of_tokens)
{
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

TEST(folders_have_two_parts)
{
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
TEST(texts_are_read_by_bytes)
{
    static const struct {
        uint8_t byte;
        uint16_t token;
    } rows[] = {{'!', 0},    {'~', 93},  {'A', 32},  {0xA1, 94}, {0xFF, 187}, {0, 188},
                {'\n', 198}, {' ', 220}, {127, 221}, {128, 222}, {0xA0, 254}, {0xAD, 255}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(tokens_of_byte(rows[i].byte), rows[i].token);
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

TEST(broken_files_are_refused)
{
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

TEST(batches_have_a_label_per_token)
{
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
TEST(made_tokens_are_like_english)
{
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
    return run_all_tests(files_begin, files_end);
}
