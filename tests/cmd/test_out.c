// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/out.h"

TEST(wraps_at_spaces)
{
    struct out out = {.width = 20};
    out_wrap(&out, 4, "one two three four five");
    assert_string_equal(buf_str(&out.text), "    one two three\n    four five\n");
    out_release(&out);
    out = (struct out){.width = 20};
    out_row(&out, "Label", "aaaa bbbb cccc");
    assert_string_equal(buf_str(&out.text), "Label     aaaa bbbb\n          cccc\n");
    out_release(&out);
    // A word that is wider than the line stands alone and whole: paths must stay copyable.
    out = (struct out){.width = 12};
    out_wrap(&out, 2, "a /a/very/long/path b");
    assert_string_equal(buf_str(&out.text), "  a\n  /a/very/long/path\n  b\n");
    out_release(&out);
}

TEST(glue_holds)
{
    struct out out = {.width = 12};
    out_wrap(&out, 0,
             "one, 4\x1f"
             "cores, 8\x1fthreads");
    assert_string_equal(buf_str(&out.text), "one,\n4 cores,\n8 threads\n");
    out_release(&out);
}

TEST(glue_gives_way_where_no_line_is_long_enough)
{
    struct out out = {.width = 12};
    out_wrap(&out, 2, "one, many\x1fthreads\x1fhere");
    assert_string_equal(buf_str(&out.text), "  one, many\n  threads\n  here\n");
    out_release(&out);
}

TEST(sparklines)
{
    static const double steps[] = {1, 2, 3, 4, 5, 6, 7, 8}, same[] = {3, 3, 3},
                        large[] = {211, 1769.6};
    double many[600], low, high;
    struct out out = {.width = 40, .unicode = true};
    out_sparkline(&out, "Step", "steps took ", steps, 8, "ms");
    out_sparkline(&out, "None", "", steps, 1, "ms"); // of one nothing can be seen
    assert_string_equal(buf_str(&out.text), "Step      ▁▂▃▄▅▆▇█\n          steps took 1 to 8 ms\n");
    buf_reset(&out.text);
    out.unicode = false;
    out_sparkline(&out, "Step", "steps took ", steps, 8, "ms");
    out_sparkline(&out, NULL, "", same, 3, "ms");
    assert_string_equal(buf_str(&out.text), "Step      _.:-=+*#\n          steps took 1 to 8 ms\n"
                                            "          ___\n          3 to 3 ms\n");
    buf_reset(&out.text);
    out_sparkline(&out, "CPU", "", large, 2, "%"); // not 1.77e+03
    assert_string_equal(buf_str(&out.text), "CPU       _#\n          211 to 1770 %\n");
    buf_reset(&out.text);
    for (int i = 0; i < 600; i++) // means of twenty neighbours each: 9.5, 29.5 ... 589.5
        many[i] = i;
    out_blocks(&out.text, many, 600, 30, false, &low, &high);
    assert_int_equal(out.text.len, 30);
    assert_true(fabs(low - 9.5) < 1e-9 && fabs(high - 589.5) < 1e-9);
    out_release(&out);
}

TEST(characters_count_not_bytes)
{
    struct out out = {.width = 10};
    out_wrap(&out, 0, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"); // 4 + 4
    assert_null(strchr(buf_str(&out.text), ' ') ? NULL : "broken at the wrong place");
    out_release(&out);
}

TEST(colours_only_when_on)
{
    struct out out = {.width = 80};
    out_styled(&out, OUT_RED, "%d", 1);
    out.colour = true;
    out_styled(&out, OUT_RED, "%d", 2);
    out_styled(&out, OUT_PLAIN, "%d", 3);
    assert_string_equal(buf_str(&out.text), "1\033[31m2\033[0m3");
    out_release(&out);
}

TEST(long_texts_are_whole)
{
    char *text = malloc(5001);
    assert_non_null(text);
    memset(text, 'x', 5000);
    text[5000] = '\0';
    struct out out = {.width = 80};
    out_printf(&out, "<%s>", text);
    assert_int_equal(out.text.len, 5002);
    assert_int_equal(out.text.data[5001], '>');
    out_release(&out);
    free(text);
}

TEST(colour_choice)
{
    struct out out;
    out_init(&out, "always");
    assert_true(out.colour);
    out_init(&out, "never");
    assert_false(out.colour);
}
