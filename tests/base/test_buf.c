// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

static void grows_and_stays_terminated(void **state)
{
    (void)state;
    struct buf b = {0};
    assert_string_equal(buf_str(&b), "");
    for (int i = 0; i < 1000; i++) {
        buf_printf(&b, "%03d,", i);
        assert_int_equal(strlen(buf_str(&b)), b.len);
    }
    assert_int_equal(b.len, 4000);
    assert_memory_equal(b.data + 3996, "999,", 4);
    buf_release(&b);
    assert_int_equal(b.len, 0);
}

static void holds_nul_bytes(void **state)
{
    (void)state;
    struct buf b = {0};
    buf_add(&b, "a\0b", 3);
    assert_int_equal(b.len, 3);
    assert_memory_equal(b.data, "a\0b", 4);
    buf_release(&b);
}

static void cap_sticks(void **state)
{
    (void)state;
    struct err err = {0};
    struct buf b = {.max = 10};
    buf_adds(&b, "0123456789");
    assert_ok(buf_check(&b, &err), &err);
    buf_addc(&b, 'x');
    assert_int_equal(buf_check(&b, &err), ERR_MEMORY);
    buf_adds(&b, ""); // nothing more gets in, not even nothing
    assert_string_equal(buf_str(&b), "0123456789");
    assert_null(buf_take(&b, NULL));
    assert_int_equal(b.len, 0);
    // A size that would overflow the sum is refused, not wrapped.
    struct buf c = {0};
    buf_addc(&c, 'x');
    assert_null(buf_reserve(&c, SIZE_MAX));
    assert_true(c.failed);
    buf_reset(&c);
    assert_false(c.failed);
    buf_release(&c);
}

static void take_hands_over(void **state)
{
    (void)state;
    struct err err = {0};
    struct buf b = {0};
    char *empty = buf_take(&b, &err);
    assert_string_equal(empty, "");
    free(empty);
    buf_adds(&b, "text \t\n");
    buf_trim(&b);
    buf_fill(&b, '-', 3);
    char *text = buf_take(&b, &err);
    assert_string_equal(text, "text---");
    assert_null(b.data);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_stays_terminated),
        cmocka_unit_test(holds_nul_bytes),
        cmocka_unit_test(cap_sticks),
        cmocka_unit_test(take_hands_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
