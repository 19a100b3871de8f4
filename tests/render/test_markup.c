// SPDX-License-Identifier: Apache-2.0
// Escapes, coordinates, and how wide texts are thought to be.
#include "test.h"

#include <string.h>

#include "render/glyphs.h"
#include "render/markup.h"

TEST(escapes)
{
    const struct {
        const char *text, *markup;
    } cases[] = {{"a < b & c > \"d\" 'e'", "a &lt; b &amp; c &gt; &quot;d&quot; &#39;e&#39;"},
                 {"<script>", "&lt;script&gt;"},
                 {"é 名", "é 名"},
                 {"a\x01\x1b[31mb\x7f", "a\xef\xbf\xbd\xef\xbf\xbd[31mb\xef\xbf\xbd"},
                 {"\xff\xc3(\xed\xa0\x80", // not UTF-8, and a surrogate: each byte by itself
                  "\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                 {"\xef\xbf\xbf", "\xef\xbf\xbd"},
                 {"a\u202eb\u2066c\xc2\x85", "a\ufffdb\ufffdc\ufffd"},
                 {"\u05d0\u200d\u05d1", "\u05d0\u200d\u05d1"},
                 {"", ""},
                 {NULL, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        markup_text(&out, cases[i].text);
        assert_string_equal(buf_str(&out), cases[i].markup);
        buf_release(&out);
    }
}

TEST(words)
{
    const struct {
        const char *text, *markup;
    } cases[] = {
        {"cnn takes 2.4 s on H200", "cnn takes 2.4\u00a0s on H200"},
        {"7.4 s, or 1 h 04 min", "7.4\u00a0s, or 1\u00a0h\u00a004\u00a0min"},
        {"from 1.00 USD per GPU-hour", "from 1.00\u00a0USD per GPU-\u2060hour"},
        {"on 2026-10-30", "on 2026-10-30"},
        {"≥0.037 USD (0.034-0.059), ±68 %.", "≥0.037\u00a0USD (0.034-\u2060"
                                             "0.059), ±68\u00a0%."},
        {"250 µs <b>", "250\u00a0µs &lt;b&gt;"},
        {"EPYC (…81e172)", "EPYC (…\u206081e172)"},
        {"2 of 5 sums, 3 min. 4", "2 of 5 sums, 3\u00a0min. 4"}, // no units; a new sentence
        {"and so on … s 5", "and so on … s 5"},
        {" s", " s"},
        {"5 ", "5 "},
        {"", ""},
        {NULL, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        markup_words(&out, cases[i].text);
        assert_string_equal(buf_str(&out), cases[i].markup);
        buf_release(&out);
    }
}

TEST(numbers)
{
    const struct {
        double number;
        const char *text;
    } cases[] = {{0, "0"},          {-0.001, "0"},  {1.5, "1.5"},         {100, "100"},
                 {12.345, "12.35"}, {-7.1, "-7.1"}, {1e300, "1000000000"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        markup_number(&out, cases[i].number);
        assert_string_equal(buf_str(&out), cases[i].text);
        buf_release(&out);
    }
}

TEST(cuts)
{
    const char *const texts[] = {"gcp/n1-standard-8+1xP100@us-central1:spot",
                                 "名前名前名前名前名前", "\xff\xfe\xff", "W", ""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (double room = 30; room < 400; room += 7) {
            struct buf out = {0};
            glyphs_cut(&out, texts[i], 12, room);
            assert_true(glyphs_width(buf_str(&out), 12) <= room + 1e-9);
            if (glyphs_width(texts[i], 12) <= room)
                assert_string_equal(buf_str(&out), texts[i]);
            else
                assert_non_null(strstr(buf_str(&out), "…"));
            buf_release(&out);
        }
    struct buf out = {0};
    glyphs_cut(&out, texts[0], 12, 150); // beginning and end tell it
    assert_int_equal(strncmp(buf_str(&out), "gcp/n1", 6), 0);
    assert_string_equal(buf_str(&out) + out.len - 5, ":spot");
    buf_release(&out);
}
