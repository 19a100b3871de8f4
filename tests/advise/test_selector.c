// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include <string.h>

#include "advise/selector.h"
#include "record/read.h"

static const char record[] =
    "{\"id\":\"20261115T074512Z-3f9a2c81d04e\",\"framework\":\"tensorflow\","
    "\"machine\":{\"name\":\"GPU+\",\"gpu\":\"NVIDIA A100-SXM4-80GB\","
    "\"instance_type\":\"n1-highcpu-32\",\"cpu\":\"Intel(R) Xeon(R) CPU @ 2.00GHz\"},"
    "\"labels\":[{\"key\":\"team\",\"value\":\"a=b\"},{\"key\":\"empty\"}]}";

TEST(words)
{
    const struct {
        const char *word;
        enum selector_fit fit;
    } cases[] = {
        {"20261115T074512Z-3f9a2c81d04e", SELECTOR_ID},
        {"20261115", SELECTOR_ID},
        {"3f9a", SELECTOR_ID},
        {"3f9", SELECTOR_NOT}, // too short to be meant
        {"9a2c", SELECTOR_NOT},
        {"team=a=b", SELECTOR_LABEL},
        {"team=a", SELECTOR_NOT},
        {"empty=", SELECTOR_NOT},
        {"gpu+", SELECTOR_NAME},
        {"GPU", SELECTOR_WORDS},
        {"a100", SELECTOR_WORDS},
        {"a100-sxm4", SELECTOR_WORDS},
        {"A100-SXM4-80GB", SELECTOR_NAME},
        {"nvidia a100-sxm4-80gb", SELECTOR_NAME},
        {"a10", SELECTOR_NOT},
        {"100", SELECTOR_NOT},
        {"80g", SELECTOR_NOT},
        {"n1-highcpu", SELECTOR_WORDS},
        {"n1-highcpu-32", SELECTOR_NAME},
        {"xeon(r)", SELECTOR_WORDS},
        {"TensorFlow", SELECTOR_FRAMEWORK},
        {"tensor", SELECTOR_NOT},
        {"a100+tensorflow", SELECTOR_WORDS},
        {"GPU++tensorflow", SELECTOR_NAME},
        {" GPU+ + tensorflow ", SELECTOR_NAME},
        {"a100+cntk", SELECTOR_NOT},
        {"+", SELECTOR_NOT},
        {"=", SELECTOR_NOT},
        {"=x", SELECTOR_NOT},
    };
    struct run run = {0};
    struct err err = {0};
    assert_ok(record_from_text(run_fields, record, strlen(record), &run, &err), &err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct selector s;
        assert_ok(selector_init(&s, cases[i].word, strlen(cases[i].word), &err), &err);
        if (selector_fits(&s, &run) != cases[i].fit)
            fail_msg("'%s' fits as %d, not %d", cases[i].word, selector_fits(&s, &run),
                     cases[i].fit);
        // Against a run of which nothing is known.
        assert_int_equal(selector_fits(&s, &(struct run){0}), SELECTOR_NOT);
        selector_release(&s);
    }
    struct selector s;
    assert_int_equal(selector_init(&s, "  ", 2, NULL), ERR_USAGE);
    assert_int_equal(selector_init(&s, "k80=0.23", 0, NULL), ERR_USAGE);
    record_release(run_fields, &run);
}
