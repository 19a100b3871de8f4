// SPDX-License-Identifier: Apache-2.0
#include "data/vocabulary.h"

#include "data/files.h"

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
static void test_ranks(void **state)
{
    (void)state;
    struct vocabulary v = {0};
    struct err err = {0};
    int32_t *ranks;
    char **words;
    static const char *const special[] = {"<0>", "<1>"};
    assert_int_equal(vocabulary_find(&v, "a", 1), -1);
    add(&v, "b a c a d c e b");
    assert_int_equal(v.count, 5);
    assert_ok(vocabulary_rank(&v, &ranks, &err), &err);
    static const char *const order[] = {"b", "a", "c", "d", "e"};
    for (int i = 0; i < 5; i++)
        assert_int_equal(ranks[vocabulary_find(&v, order[i], 1)], i);
    assert_int_equal(vocabulary_find(&v, "f", 1), -1);
    assert_int_equal(vocabulary_find(&v, "ab", 2), -1);
    assert_int_equal(v.words[vocabulary_find(&v, "a", 1)].met, 2);

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

static void test_many(void **state)
{
    (void)state;
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
    assert_int_equal(v.count, 100000);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
