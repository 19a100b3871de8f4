// SPDX-License-Identifier: Apache-2.0
#include "train/data/corpus.h"

#include "train/data/files.h"

TEST(test_lines)
{
    struct lines lines;
    struct err err = {0};
    static const struct {
        const char *text;
        int64_t offset;
    } wanted[] = {{"one", 0}, {"", 4}, {"three with a \r inside", 6}, {"four", 28}};
    const char *path = files_puts("some", "one\n\r\nthree with a \r inside\nfour");
    assert_ok(lines_open(&lines, path, 100, 50, &err), &err);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(lines_next(&lines, &err), 1);
        assert_string_equal(lines.text, wanted[i].text);
        assert_int_equal(lines.len, strlen(wanted[i].text));
        assert_int_equal(lines.number, i + 1);
        assert_int_equal(lines.offset, wanted[i].offset);
    }
    assert_int_equal(lines_next(&lines, &err), 0);
    err_set(&err, ERR_FORMAT, "bad");
    lines_context(&lines, &err);
    assert_non_null(strstr(err.text, "some', line 5: bad"));
    lines_release(&lines);
}

// Lines of every length around the size of the buffer, in a packed file.
TEST(test_long)
{
    struct buf text = {0};
    struct lines lines;
    struct err err = {0};
    size_t lens[64];
    for (size_t i = 0; i < 64; i++) {
        lens[i] = i * 9973 % 300000;
        for (size_t k = 0; k < lens[i]; k++)
            buf_addc(&text, (char)('a' + (i + k) % 26));
        buf_addc(&text, '\n');
    }
    const char *path = files_put_gzip("long.gz", text.data, text.len);
    assert_ok(lines_open(&lines, path, 1 << 30, 300000, &err), &err);
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(lines_next(&lines, &err), 1);
        assert_int_equal(lines.len, lens[i]);
        for (size_t k = 0; k < lens[i]; k++)
            if (lines.text[k] != (char)('a' + (i + k) % 26))
                fail();
    }
    assert_int_equal(lines_next(&lines, &err), 0);
    lines_release(&lines);

    assert_ok(lines_open(&lines, path, 1 << 30, 9000, &err), &err);
    assert_int_equal(lines_next(&lines, &err), 1); // empty
    assert_fails(lines_next(&lines, failed), ERR_FORMAT,
                 "long.gz', line 2: longer than 9000 bytes");
    lines_release(&lines);
    buf_release(&text);
}

TEST(test_faults)
{
    struct lines lines;
    struct err err = {0};
    assert_fails(lines_open(&lines, files_at("absent"), 1, 1, failed), ERR_MISSING, "cannot open");
    assert_ok(lines_open(&lines, files_puts("empty", ""), 1, 1, &err), &err);
    assert_int_equal(lines_next(&lines, &err), 0);
    lines_release(&lines);
    assert_ok(lines_open(&lines, files_puts("ten", "0123456789"), 5, 100, &err), &err);
    assert_fails(lines_next(&lines, failed), ERR_FORMAT, "holds more than 5 bytes");
    lines_release(&lines);
    lines_release(&lines);
}

// ==== vocabulary ====

static void add(struct vocabulary *v, const char *words)
{
    struct err err = {0};
    int32_t number;
    for (const char *at = words; *at;) {
        size_t len = strcspn(at, " ");
        assert_ok(vocabulary_add(v, at, len, &number, &err), &err);
        assert_int_equal(vocabulary_find(v, at, len), number);
        at += len + strspn(at + len, " ");
    }
}

// Python: [w for w, n in Counter("b a c a d c e b".split()).most_common()] gives b a c d e:
// those met equally often in the order in which they were first met.
TEST(test_ranks)
{
    struct vocabulary v = {0};
    struct err err = {0};
    int32_t *ranks;
    char **words;
    static const char *const special[] = {"<0>", "<1>"};
    assert_int_equal(vocabulary_find(&v, "a", 1), -1);
    add(&v, "b a c a d c e b");
    assert_int_equal(v.words.count, 5);
    assert_ok(vocabulary_rank(&v, &ranks, &err), &err);
    static const char *const order[] = {"b", "a", "c", "d", "e"};
    for (int i = 0; i < 5; i++)
        assert_int_equal(ranks[vocabulary_find(&v, order[i], 1)], i);
    assert_int_equal(vocabulary_find(&v, "f", 1), -1);
    assert_int_equal(vocabulary_find(&v, "ab", 2), -1);
    assert_int_equal(v.met[vocabulary_find(&v, "a", 1)], 2);

    // Fewer tokens than words, and more.
    assert_ok(vocabulary_words(&v, ranks, special, 2, 4, &words, &err), &err);
    assert_string_equal(words[0], "<0>");
    assert_string_equal(words[2], "b");
    assert_string_equal(words[3], "a");
    free(words);
    assert_ok(vocabulary_words(&v, ranks, special, 2, 9, &words, &err), &err);
    assert_string_equal(words[6], "e");
    assert_string_equal(words[7], "");
    free(words);
    free(ranks);
    vocabulary_release(&v);
}

TEST(test_many)
{
    struct vocabulary v = {0};
    struct err err = {0};
    char word[16];
    int32_t number;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 100000; i++) {
            int len = snprintf(word, sizeof word, "w%d", i);
            assert_ok(vocabulary_add(&v, word, (size_t)len, &number, &err), &err);
            if (number != i)
                fail();
        }
    assert_int_equal(v.words.count, 100000);
    assert_int_equal(vocabulary_find(&v, "w99999", 6), 99999);

    // Of a word that is longer than any the first bytes count.
    static char longest[VOCABULARY_WORD_MAX + 100];
    memset(longest, 'x', sizeof longest);
    assert_ok(vocabulary_add(&v, longest, sizeof longest, &number, &err), &err);
    assert_int_equal(vocabulary_find(&v, longest, VOCABULARY_WORD_MAX), number);
    assert_int_equal(vocabulary_find(&v, longest, VOCABULARY_WORD_MAX - 1), -1);
    assert_int_equal(vocabulary_find(&v, "", 0), -1);
    vocabulary_release(&v);
    vocabulary_release(&v);
}

int main(void)
{
    return run_all_tests(files_begin, files_end);
}
