// SPDX-License-Identifier: Apache-2.0
// Records with secrets in their command, labels, and keys of a newer fare. Expected texts are
// written by hand.
#include "record/mask.h"

#include <string.h>

#include "test.h"

TEST(json)
{
    static const struct {
        const char *text, *masked; // null: as it is
    } cases[] = {
        {"{\"id\": \"a\", \"command\": [\"python\", \"t.py\", \"--hf-token\", \"hf_X\", \"-v\"]}",
         "{\"id\": \"a\", \"command\": [\"python\", \"t.py\", \"--hf-token\", \"***\", \"-v\"]}"},
        {"{\"labels\":[{\"key\":\"password\",\"value\":\"x\"},{\"key\":\"a\",\"value\":\"b\"}]}",
         "{\"labels\":[{\"key\":\"password\",\"value\":\"***\"},{\"key\":\"a\",\"value\":\"b\"}]}"},
        {"{\"new\":{\"api_key\":\"x\",\"n\":1.50e1}, \"u\":\"p:\\/\\/me:pw@h\\n\"}",
         "{\"new\":{\"api_key\":\"***\",\"n\":1.50e1}, \"u\":\"p://me@h\\n\"}"},
        {"{\"command\":[\"sh\",\"-c\",\"A_TOKEN=\\\"q\\\" ./x\"]}",
         "{\"command\":[\"sh\",\"-c\",\"A_TOKEN=\\\"***\\\" ./x\"]}"},
        {"{\"name\":\"mlp\",\"labels\":[{\"key\":\"token\"}],\"taints\":[\"--token\"]}", NULL},
        {"{\"data\":{\"identity\":\"sha256:00112233445566778899aabbccddeeff\"}}", NULL},
        {"{\"x\":\"\\q password=1", NULL},     // not JSON: the reader refuses it
        {"{\"x\":\"0\\T password=1\"}", NULL}, // so is an escape that JSON does not have
        {"{\"x\":\"\\ud800 password=1\"}", NULL},
        {"{\"x\":\"\\ud83d\\ude00 password=1\"}", "{\"x\":\"\xF0\x9F\x98\x80 password=***\"}"},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        struct err err = {0};
        assert_ok(mask_json(NULL, cases[i].text, &out, &err), &err);
        assert_string_equal(buf_str(&out), cases[i].masked ? cases[i].masked : "");
        buf_release(&out);
    }
}

// What a version without masks stored: secrets in the user's words, also under unknown keys. fare's
// own figures are skipped, brackets and quotes in their texts too.
TEST(stored)
{
    static const struct {
        const char *text, *masked; // null: as it is
    } cases[] = {
        {"{\"use\":{\"a\":[\"}]\\\"{\",{}]},\"net\":\"x\",\"name\":\"t.py --token=abc\"}",
         "{\"use\":{\"a\":[\"}]\\\"{\",{}]},\"net\":\"x\",\"name\":\"t.py --token=***\"}"},
        {"{\"machine\":{\"cpu\":\"c\"},\"command\":[\"a\",\"--api-key\",\"b\"],\"phases\":{}}",
         "{\"machine\":{\"cpu\":\"c\"},\"command\":[\"a\",\"--api-key\",\"***\"],\"phases\":{}}"},
        {"{\"samples\":[],\"new\":{\"use\":{\"token\":\"x\"}}}",
         "{\"samples\":[],\"new\":{\"use\":{\"token\":\"***\"}}}"},
        {"{\"use\":[\"\\", NULL},
        {"]]{\"use\":{", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        struct err err = {0};
        assert_ok(mask_stored(cases[i].text, &out, &err), &err);
        assert_string_equal(buf_str(&out), cases[i].masked ? cases[i].masked : "");
        buf_release(&out);
    }
}

TEST(run)
{
    struct run run = {.steps = some_int(7)};
    struct err err = {0};
    assert_ok(TEXTS_SET(&err, {&run.id, "a"}, {&run.name, "https://me:pw@h/x"},
                        {&run.progress.counter, "token=abc"}),
              &err);
    assert_ok(mask_run(NULL, &run, &err), &err);
    assert_string_equal(run.name, "https://me@h/x");
    assert_string_equal(run.progress.counter, "token=***");
    assert_int_equal(run.steps.v, 7);
    record_release(run_fields, &run);
}
