// SPDX-License-Identifier: Apache-2.0
// A comparison, and its tables, with each allocation failing in turn.
#include "oom.h"

#include "advise/compare_cases.h"
#include "cmd/out.h"
#include "view/compare.h"

static const char *const texts[] = {
    RUN("1111-a", "k80", "x", FULL("70000000000") "," PRICE),
    RUN("2222-b", "k80", "x", FULL("71000000000") "," PRICE),
    RUN("3333-c", "p100", "x", SAMPLED("\"wall_s\":50,\"low_s\":49,\"high_s\":52") "," PRICE),
    RUN("4444-d", "p100", "x", "\"parameters\":5,\"taints\":[\"heat\"]," FULL("50000000000")),
    RUN("5555-e", "v100", "x", "\"ended\":\"failed\"," FULL("1")),
    RUN("6666-f", "v100", "x", "\"full\":true,\"epoch_list\":[{\"train_ns\":5000000000}]"),
    "{\"id\":\"7777-g\",\"command\":[\"python\",\"train.py\"],\"full\":true,"
    "\"phases\":{\"wall_ns\":5}}",
    NULL};

TEST(comparison)
{
    const char *prices[] = {"p100=1.46"}, *words[] = {"x", "7777"};
    const struct compare_options options = {
        .base = "1111",
        .words = words,
        .word_count = 2,
        .pricing = {.prices = prices, .price_count = 1, .prorated = true}};
    OOM_EACH
    {
        struct compare c = {0};
        struct err err = {0};
        int rc = compare_texts(&options, texts, &c, &err);
        record_release(compare_fields, &c);
        OOM_EXPECT(rc, &err);
    }
}

TEST(tables)
{
    const struct compare_options options = {.pricing = {.prorated = true}};
    struct compare c = {0};
    struct err why = {0};
    assert_ok(compare_texts(&options, texts, &c, &why), &why);
    for (size_t i = 0; i < 4; i++)
        OOM_EACH
        {
            struct out out;
            struct doc doc = {0};
            struct err err = {0};
            out_init(&out, "never");
            if (i > 0)
                view_compare(&doc, &c);
            if (i == 0)
                compare_csv(&out.text, &c);
            else if (i == 1)
                doc_markdown(&out.text, &doc, 2);
            else if (i == 2)
                doc_html(&out.text, &doc, 2);
            else
                out_doc(&out, &doc);
            doc_release(&doc);
            int rc = buf_check(&out.text, &err);
            out_release(&out);
            OOM_EXPECT(rc, &err);
        }
    record_release(compare_fields, &c);
}
