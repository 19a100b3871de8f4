// SPDX-License-Identifier: Apache-2.0
// Values in words, and one document in every medium. What is expected follows from render/doc.h.
#include "test.h"

#include <string.h>

#include "cmd/out.h"
#include "render/doc_cases.h"

TEST(figures)
{
    const struct {
        struct cell cell;
        const char *words, *interval;
    } cases[] = {
        {{.kind = CELL_TEXT, .text = "a"}, "a", ""},
        {{.kind = CELL_TIME, .value = {3725, true}}, "1 h 02 min", ""},
        {{.kind = CELL_TIME, .value = {10, true}, .low = {10, true}, .high = {10.01, true}},
         "10.0 s",
         ""}, // its digits do not tell the ends apart
        {{.kind = CELL_STEP, .value = {12.345, true}}, "12.35 ms", ""},
        {{.kind = CELL_RATIO, .value = {0.5, true}, .low = {0.25, true}, .high = {20, true}},
         "0.5000",
         "0.2500 to 20.000"},
        {{.kind = CELL_RATIO, .value = {123456, true}}, "1.23e+05", ""},
        {{.kind = CELL_RATIO, .value = {1, true}, .text = "base"}, "base", ""},
        {{.kind = CELL_SHARE, .value = {0.5, true}, .low = {0.25, true}, .high = {0.75, true}},
         "50.00 %",
         "25.00 to 75.00 %"},
        {{.kind = CELL_PERCENT, .value = {76.4, true}, .low = {76, true}}, "76 %", ""},
        {{.kind = CELL_COUNT, .value = {12, true}}, "12", ""},
        {{.kind = CELL_NUMBER, .value = {18.25, true}}, "18.2", ""},
        {{.kind = CELL_NUMBER, .value = {4160, true}}, "4160", ""},
        {{.kind = CELL_SCORE, .value = {25.314, true}, .mark = "BLEU "}, "BLEU 25.31", ""},
        {{.kind = CELL_AMOUNT,
          .amount = {.nano = 526000000, .known = true},
          .least = {.nano = 500000000, .known = true},
          .most = {.nano = 600000000, .known = true},
          .mark = "≥",
          .flag = "†"},
         "≥0.526†",
         "0.500 to 0.600"},
        {{.kind = CELL_AMOUNT}, "-", ""},
        {{.kind = CELL_TIME, .low = {1, true}, .high = {2, true}}, "-", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf words = {0}, interval = {0};
        cell_words(&cases[i].cell, &words);
        assert_int_equal(cell_interval(&cases[i].cell, &interval), *cases[i].interval != '\0');
        assert_string_equal(buf_str(&words), cases[i].words);
        assert_string_equal(buf_str(&interval), cases[i].interval);
        assert_int_equal(cell_known(&cases[i].cell), strcmp(cases[i].words, "-") != 0);
        buf_release(&words);
        buf_release(&interval);
    }
}

TEST(as_html)
{
    struct doc doc = {0};
    struct buf out = {0};
    every_kind(&doc);
    doc_html(&out, &doc, 2);
    assert_string_equal(
        buf_str(&out),
        "<h2>&lt;script&gt;</h2>\n"
        "<div class=\"verdict\">\n<p>Cheapest: a|b.</p>\n<p>Fastest: *c*.</p>\n</div>\n"
        "<p class=\"mute\">\ufffd[31mred\ufffd next</p>\n"
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Facts\"><table>\n"
        "<tbody>\n<tr><td>GPU</td><td class=\"long\">H200</td></tr>\n</tbody></table></div>\n"
        "<dl class=\"stats\">\n"
        "<div><dt>Price</dt><dd class=\"big\">2\u00a0USD</dd><dd class=\"sub\">an hour</dd></div>\n"
        "<div><dt>Speed</dt><dd class=\"big mute\">unknown</dd><dd class=\"sub\">no "
        "data</dd></div>\n"
        "</dl>\n"
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"&quot;label&quot;\">"
        "<table>\n<thead><tr><th scope=\"col\" class=\"long\">on</th>"
        "<th scope=\"col\" class=\"num\">time</th>"
        "<th scope=\"col\" class=\"num more\">cost, $</th><th scope=\"col\">notes</th>"
        "</tr></thead>\n<tbody>\n"
        "<tr><td class=\"long\"><a href=\"run/1%262\">a|b</a><span class=\"id\">"
        "<span class=\"chip bad\">late</span> <span class=\"chip note\">&lt;b&gt;</span> bf16"
        "</span></td>"
        "<td class=\"num\">~1 min 04 s<span class=\"id\">1\u00a0min\u00a000\u00a0s to "
        "1\u00a0min\u00a008\u00a0s</span></td>"
        "<td class=\"num more\">2.00, 1.00 EUR</td><td>1,2</td></tr>\n"
        "<tr class=\"total\"><td class=\"long\">=c&amp;d</td><td class=\"num\">~5.0 s</td>"
        "<td class=\"num more\">-</td><td>2</td></tr>\n"
        "</tbody></table></div>\n<ol>\n<li>OLD price</li>\n<li>_noisy_</li>\n</ol>\n"
        "<ul>\n<li>x &lt; y</li>\n<li>z</li>\n</ul>\n"
        "<details><summary>Folded</summary>\n<p>Inside.</p>\n</details>\n");
    buf_release(&out);
    doc_release(&doc);
}

TEST(as_markdown)
{
    struct doc doc = {0};
    struct buf out = {0};
    every_kind(&doc);
    doc_markdown(&out, &doc, 3);
    assert_string_equal(buf_str(&out), "### &lt;script&gt;\n\n"
                                       "Cheapest: a\\|b. Fastest: \\*c\\*.\n\n"
                                       " \\[31mred  next\n\n"
                                       "- GPU: H200\n\n"
                                       "- Price: 2 USD, an hour\n- Speed: unknown, no data\n\n"
                                       "| on | time | cost, \\$ | notes |\n|---|--:|--:|---|\n"
                                       "| [a\\|b](run/1%262) (late, &lt;b&gt;, bf16) "
                                       "| \\~1 min 04 s (1 min 00 s to 1 min 08 s) "
                                       "| 2.00, 1.00 EUR | 1,2 |\n"
                                       "| **=c&amp;d** | **\\~5.0 s** | **-** | 2 |\n\n"
                                       "1. OLD price\n2. \\_noisy\\_\n\n"
                                       "- x &lt; y\n- z\n\n"
                                       "### Folded\n\nInside.\n");
    buf_release(&out);
    doc_release(&doc);
}

TEST(on_a_terminal)
{
    struct doc doc = {0};
    struct out out = {.width = 80};
    every_kind(&doc);
    out_doc(&out, &doc);
    assert_string_equal(buf_str(&out.text), "<script>\n"
                                            "Cheapest: a|b.\nFastest: *c*.\n\n"
                                            "?[31mred? next\n"
                                            "--all shows them.\n"
                                            "GPU       H200\n"
                                            "Price     2 USD, an hour\n"
                                            "Speed     unknown, no data\n"
                                            "on                    time cost  EUR\n"
                                            "a|b, late, <b> ~1 min 04 s 2.00 1.00 [1,2]\n"
                                            "  bf16; 1 min 00 s to 1 min 08 s\n"
                                            "=c&d                ~5.0 s    -      [2]\n"
                                            "  and; more\n"
                                            "[1] OLD price: --max-age\n"
                                            "[2] _noisy_\n"
                                            "  - x < y\n  - z\n\n"
                                            "Folded\nInside.\n");
    out_release(&out);
    doc_release(&doc);
}
