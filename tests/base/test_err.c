// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include <errno.h>
#include <string.h>

TEST(first_error_wins)
{
    struct err err = {0};
    assert_int_equal(err_set(&err, ERR_FORMAT, "line %d: bad", 3), ERR_FORMAT);
    assert_int_equal(err_set(&err, ERR_IO, "later"), ERR_IO);
    assert_int_equal(err.code, ERR_FORMAT);
    assert_string_equal(err.text, "line 3: bad");
    err_hint(&err, "do %s", "this");
    err_hint(&err, "no, that");
    assert_string_equal(err.hint, "do this");
}

// The words are the C library's, which POSIX gives as meanings: ENOENT "No such file or directory".
TEST(errno_becomes_words)
{
    static const struct {
        int number, code;
        const char *text;
    } cases[] = {
        {ENOENT, ERR_MISSING, "cannot open 'x': no such file or directory"},
        {EACCES, ERR_IO, "cannot open 'x': permission denied"},
        {ENOMEM, ERR_MEMORY, "cannot open 'x': cannot allocate memory"},
        {ETIMEDOUT, ERR_TIMEOUT, "cannot open 'x': connection timed out"},
        {ENOSPC, ERR_IO, "cannot open 'x': no space left on device"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        assert_int_equal(err_errno(&err, cases[i].number, "cannot open '%s'", "x"), cases[i].code);
        assert_string_equal(err.text, cases[i].text);
    }
}

TEST(context_goes_before)
{
    struct err err = {0};
    err_set(&err, ERR_FORMAT, "expected a number");
    assert_int_equal(err_context(&err, "line %d", 7), ERR_FORMAT);
    assert_string_equal(err.text, "line 7: expected a number");
}

TEST(long_texts_are_cut_not_overrun)
{
    char huge[2000];
    memset(huge, 'x', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    struct err err = {0};
    err_set(&err, ERR_FAIL, "%s", huge);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    err_context(&err, "%s", huge);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    err_hint(&err, "%s", huge);
    assert_int_equal(strlen(err.hint), sizeof err.hint - 1);
    struct err other = {0};
    err_errno(&other, ENOENT, "%s", huge);
    // The path gives way, not the reason.
    assert_non_null(strstr(other.text, "xxx...: no such file or directory"));
    for (size_t len = 380; len < 520; len++) { // at every length around the end of the text
        struct err each = {0};
        err_errno(&each, ENOENT, "%.*s", (int)len, huge);
        assert_true(strlen(each.text) < sizeof each.text);
        assert_non_null(strstr(each.text, ": no such file or directory"));
    }
}

TEST(null_is_allowed)
{
    assert_int_equal(err_set(NULL, ERR_IO, "x"), ERR_IO);
    assert_int_equal(err_errno(NULL, ENOENT, "x"), ERR_MISSING);
    assert_int_equal(err_memory(NULL), ERR_MEMORY);
    assert_int_equal(err_hint(NULL, "x"), ERR_FAIL);
    assert_int_equal(err_context(NULL, "x"), ERR_FAIL);
}
