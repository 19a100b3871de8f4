// SPDX-License-Identifier: Apache-2.0
// Figures of the real set come from a second implementation of the rules, in Python: str.replace,
// str.lower, str.split, collections.Counter; the sums are over its tokens as little-endian 32-bit
// numbers.
#include "data/reviews.h"

#include "data/files.h"

static int add_word(void *context, const char *word, size_t len, struct err *err)
{
    (void)err;
    struct buf *out = context;
    if (out->len > 0)
        buf_addc(out, '|');
    buf_add(out, word, len);
    return 0;
}

static void expect_words(const char *text, const char *wanted)
{
    struct buf out = {0};
    struct err err = {0};
    char *copy = text_copy(text, &err);
    assert_ok(reviews_split(copy, strlen(copy), add_word, &out, &err), &err);
    assert_string_equal(buf_str(&out), wanted);
    buf_release(&out);
    free(copy);
}

static void test_split(void **state)
{
    (void)state;
    expect_words("", "");
    expect_words("   ", "");
    expect_words("Hello, World!", "hello|world");
    expect_words("one<br /><br />two", "one|two");
    expect_words("one<BR />two<br/>x", "one|br|two|br|x"); // only the exact mark is one
    expect_words("it's don't 'quoted'", "it's|don't|'quoted'");
    expect_words("a\tb\xC2\xA0"
                 "c\xC2\x85"
                 "d",
                 "a|b|c|d"); // no-break space, next line
    expect_words("CAF\xC3\x89 \xC3\x9C"
                 "BER",
                 "caf\xC3\xA9|\xC3\xBC"
                 "ber");
    expect_words("10/10 (ten)...", "10|10|ten");
    expect_words("a!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~b", "a|b");
    expect_words("\xE1\xBA\x9E", "\xC3\x9F"); // three bytes become two
    expect_words("<br /", "br");
}

#define ROWS                                                                                       \
    "1\t9\t0\tGood good film, good\n"                                                              \
    "0\t2\t0\tBad film\n"                                                                          \
    "0\t1\t1\tThe film was bad\n"

static void test_tables(void **state)
{
    (void)state;
    struct data_pair pair = {0};
    struct err err = {0};
    files_puts("set/train.tsv", ROWS);
    files_put_gzip("set/test.tsv.gz", "1\t8\t5\tnew GOOD the\n", 19);
    assert_ok(reviews_open(files_at("set"), NULL, &pair, &err), &err);
    assert_int_equal(pair.train.count, 3);
    assert_int_equal(pair.train.time, 100);
    assert_int_equal(pair.train.vocabulary, 20000);
    assert_int_equal(pair.train.classes, 2);
    // good 3, film 3, bad 2, the 1, was 1: good was met before film, the before was.
    static const int32_t train[3][100] = {
        {[95] = 1, 3, 3, 4, 3}, {[97] = 1, 5, 4}, {[95] = 1, 6, 4, 7, 5}};
    assert_memory_equal(pair.train.tokens, train, sizeof train);
    static const int32_t test[100] = {[96] = 1, 2, 3, 6};
    assert_memory_equal(pair.test.tokens, test, sizeof test);
    static const int32_t labels[] = {1, 0, 0};
    assert_memory_equal(pair.train.labels, labels, sizeof labels);
    assert_int_equal(pair.word_count, 20000);
    assert_string_equal(pair.words[3], "good");
    assert_string_equal(pair.words[7], "was");
    assert_string_equal(pair.words[19999], "");
    data_release(&pair);
}

// The same reviews as files give the same set: by number, negative before positive. Here that is
// another order than the table's, so the ranks of words met equally often change with it.
static void test_files(void **state)
{
    (void)state;
    struct data_pair pair = {0};
    struct err err = {0};
    files_puts("raw/train/pos/0_9.txt", "Good good film, good");
    files_puts("raw/train/neg/0_2.txt", "Bad film");
    files_puts("raw/train/neg/10_1.txt", "The film was bad");
    files_puts("raw/train/neg/9_1.txt", "ninth");
    files_puts("raw/train/neg/notes.txt", "not a review");
    files_puts("raw/train/unsup/0_0.txt", "not labelled");
    files_puts("raw/test/pos/7_7.txt", "good");
    files_puts("raw/test/neg/7_4.txt", "bad");
    assert_ok(reviews_open(files_at("raw"), NULL, &pair, &err), &err);
    assert_int_equal(pair.train.count, 4);
    assert_int_equal(pair.test.count, 2);
    static const int32_t labels[] = {0, 1, 0, 0};
    assert_memory_equal(pair.train.labels, labels, sizeof labels);
    assert_string_equal(pair.words[3], "film"); // 3, met first
    assert_string_equal(pair.words[4], "good"); // 3
    assert_string_equal(pair.words[5], "bad");
    assert_string_equal(pair.words[6], "ninth"); // the ninth comes before the tenth
    assert_int_equal(pair.test.tokens[99], 5);
    assert_int_equal(pair.test.tokens[199], 4);
    data_release(&pair);
}

static void test_long(void **state)
{
    (void)state;
    struct buf text = {0};
    struct data_pair pair = {0};
    struct err err = {0};
    buf_adds(&text, "1\t9\t0\t");
    for (int i = 0; i < 30000; i++)
        buf_printf(&text, "w%d ", i);
    buf_adds(&text, "\n");
    files_put("long/train.tsv", text.data, text.len);
    files_puts("long/test.tsv", "0\t1\t0\tw19996 w19997\n");
    buf_release(&text);
    assert_ok(reviews_open(files_at("long"), NULL, &pair, &err), &err);
    for (int i = 0; i < 100; i++) // the last hundred words, of ranks beyond the vocabulary
        assert_int_equal(pair.train.tokens[i], REVIEWS_UNKNOWN);
    assert_int_equal(pair.test.tokens[98], 19999); // the last word that has a token
    assert_int_equal(pair.test.tokens[99], REVIEWS_UNKNOWN);
    data_release(&pair);
}

static int open_set(const char *dir, struct err *err)
{
    struct data_pair pair = {0};
    int rc = reviews_open(files_at(dir), NULL, &pair, err);
    data_release(&pair);
    return rc;
}

static int with_train(const char *text, size_t len, struct err *err)
{
    files_put("bad/train.tsv", text, len);
    return open_set("bad", err);
}
#define WITH_TRAIN(text) with_train(text, sizeof text - 1, failed)

static void test_faults(void **state)
{
    (void)state;
    assert_fails(open_set("absent", failed), ERR_MISSING, "cannot open the folder");
    files_puts("bad/test.tsv", ROWS);
    assert_fails(open_set("bad", failed), ERR_MISSING, "has no train.tsv");
    assert_fails(WITH_TRAIN(""), ERR_FORMAT, "train.tsv' is empty");
    assert_fails(WITH_TRAIN(ROWS "1\t9\t0 no third tab\n"), ERR_FORMAT,
                 "train.tsv', line 4: 3 columns instead of four");
    assert_fails(WITH_TRAIN(ROWS "2\t9\t0\ttext\n"), ERR_FORMAT,
                 "line 4: the label is neither 0 nor 1");
    assert_fails(WITH_TRAIN(ROWS "10\t9\t0\ttext\n"), ERR_FORMAT, "the label is neither");
    assert_fails(WITH_TRAIN(ROWS "\t9\t0\ttext\n"), ERR_FORMAT, "the label is neither");
    assert_fails(WITH_TRAIN(ROWS ROWS "1\t9\t0\tcaf\xE9\n"), ERR_FORMAT,
                 "line 7: byte 3 of the text is not UTF-8 (e9)");
    assert_fails(WITH_TRAIN("1\t9\t0\ta\0b\n1\n"), ERR_FORMAT, "line 2: 1 columns");
    files_puts("bad2/train/pos/0_9.txt", "fine");
    assert_fails(open_set("bad2", failed), ERR_MISSING, "train/neg'");
    files_puts("bad2/train/neg/readme", "no review here");
    assert_fails(open_set("bad2", failed), ERR_MISSING, "train/neg' has no reviews");
    files_puts("bad2/train/neg/3_1.txt", "caf\xE9");
    assert_fails(open_set("bad2", failed), ERR_FORMAT,
                 "train/neg/3_1.txt': byte 3 of the text is not UTF-8");
    files_puts("bad2/train/neg/3_1.txt", "");
    assert_fails(open_set("bad2", failed), ERR_FORMAT, "3_1.txt' is empty");
    files_puts("bad2/train/neg/3_1.txt", "fine");
    assert_fails(open_set("bad2", failed), ERR_MISSING, "test/neg'");
}

static void test_real(void **state)
{
    (void)state;
    const char *dir = files_real("imdb");
    if (!dir)
        skip();
    struct data_pair pair = {0};
    struct err err = {0};
    char hex[SHA256_HEX_BYTES];
    assert_ok(reviews_open(dir, NULL, &pair, &err), &err);
    assert_int_equal(pair.train.count, 25000);
    assert_int_equal(pair.test.count, 5000);
    int positive[2] = {0};
    for (int i = 0; i < 25000; i++)
        positive[0] += pair.train.labels[i];
    for (int i = 0; i < 5000; i++)
        positive[1] += pair.test.labels[i];
    assert_int_equal(positive[0], 12500);
    assert_int_equal(positive[1], 2500);
    static const char *const top[] = {"the", "and", "a", "of",   "to",   "is",
                                      "in",  "it",  "i", "this", "that", "was"};
    for (int i = 0; i < 12; i++)
        assert_string_equal(pair.words[3 + i], top[i]);
    assert_string_equal(pair.words[1003], "outside");
    assert_string_equal(pair.words[1004], "nudity");
    assert_string_equal(pair.words[1005], "reasons");
    assert_string_equal(pair.words[19998], "baddest");
    assert_string_equal(pair.words[19999], "'star");
    static const int32_t first[] = {44, 17, 5, 634, 134, 13, 8, 5, 1302, 460};
    assert_memory_equal(pair.train.tokens, first, sizeof first);
    static const int32_t last[] = {3, 170, 45, 23, 38, 3, 7568, 5249, 23, 526, 28, 684};
    assert_memory_equal(pair.train.tokens + 25000 * 100 - 12, last, sizeof last);
    static const int32_t eighth[] = {0, 0, 0, 0, 1, 12, 16115, 187, 508, 46, 3233, 1862};
    assert_memory_equal(pair.train.tokens + 8 * 100 + 22, eighth, sizeof eighth); // of 73 words
    files_sha(pair.train.tokens, (size_t)25000 * 100 * 4, hex);
    assert_string_equal(hex, "f01afb8a07fc2cede0af4ea2e94698de39d902ae55be605df91bdc9e1508623a");
    files_sha(pair.test.tokens, (size_t)5000 * 100 * 4, hex);
    assert_string_equal(hex, "f53e3084f09eadc3708009e59cbb8d5247327515b4b3fc9cbcd2e04561b09da8");
    assert_string_equal(pair.identity,
                        "df1fd29fc941bac20654c23fbbe3625d1dcfa1a5329213b91997818ec6c15bd7");
    data_release(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split), cmocka_unit_test(test_tables), cmocka_unit_test(test_files),
        cmocka_unit_test(test_long),  cmocka_unit_test(test_faults), cmocka_unit_test(test_real),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
