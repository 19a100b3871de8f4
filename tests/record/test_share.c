// SPDX-License-Identifier: Apache-2.0
// Records for everyone: what is left out, what is hidden, and what stays. Expected texts are
// written by hand.
#include "record/share.h"

#include "test.h"

#define N "node-7.lab"
#define U "anna"

TEST(records)
{
    static const struct {
        const char *text, *shared;
    } cases[] = {
        {"{\"id\": \"a\", \"host\": \"x\", \"n\" : 1.50e1, \"user\":\"y\"}",
         "{\"id\":\"a\",\"n\":1.50e1}"},
        {"{\"host\":\"x\"}", "{}"},
        {"{ }", "{}"},
        {"{\"a\":[],\"b\":{},\"c\":[1, [2,{\"host\":3}]],\"d\":null,\"e\":true}",
         "{\"a\":[],\"b\":{},\"c\":[1,[2,{\"host\":3}]],\"d\":null,\"e\":true}"},
        {"{\"code\":{\"folder\":\"/x\",\"script\":\"t.py\",\"interpreter\":\"/y\"}}",
         "{\"code\":{\"script\":\"t.py\"}}"},
        {"{\"use\":{\"gpus\":1,\"gpu_list\":[{\"uuid\":\"u\",\"index\":0},{\"uuid\":\"v\"}]}}",
         "{\"use\":{\"gpus\":1,\"gpu_list\":[{\"index\":0},{}]}}"},
        {"{\"saving\":{\"place\":\"s3://b\",\"job\":\"j\",\"attempts\":[{\"host\":\"" N
         "\",\"epoch\":1}]},\"problem\":\"killed on node-7\"}",
         "{\"saving\":{\"job\":\"j\",\"attempts\":[{\"epoch\":1}]},\"problem\":\"killed on ***\"}"},
        {"{\"spent\":{\"usd\":\"1\",\"resource\":\"i-1\"}}", "{\"spent\":{\"usd\":\"1\"}}"},
        {"{\"data\":{\"name\":\"m\",\"source\":\"/sets\"}}", "{\"data\":{\"name\":\"m\"}}"},
        {"{\"data\":{\"source\":\"~/sets\"}}", "{\"data\":{}}"},
        {"{\"data\":{\"source\":\"seed 1\"}}", "{\"data\":{\"source\":\"seed 1\"}}"},
        // Names, as words: the caller's, and the record's own.
        {"{\"command\":[\"/home/" U "/t.py\",\"annabel\",\"ANNA\",\"x_anna\",\"anna\"]}",
         "{\"command\":[\"/home/***/t.py\",\"annabel\",\"***\",\"x_anna\",\"***\"]}"},
        {"{\"host\":\"" N "\",\"labels\":[{\"key\":\"k\",\"value\":\"on " N
         ", node-7 or node-77\"}]}",
         "{\"labels\":[{\"key\":\"k\",\"value\":\"on ***, *** or node-77\"}]}"},
        {"{\"name\":\"\\u0061nna\\n\",\"b\":\"\\nanna\",\"c\":\"\\/\\t\"}",
         "{\"name\":\"***\\n\",\"b\":\"\\n***\",\"c\":\"\\/\\t\"}"},
        {"{\"host\":\"sha256:0011\",\"b\":\"sha256:0011\"}", "{\"b\":\"sha256:0011\"}"},
        {"{\"user\":\"ab\",\"b\":\"ab\"}", "{\"b\":\"ab\"}"}, // too short to be told from others
        // Names of hardware and figures are not the user's.
        {"{\"machine\":{\"name\":\"anna\"},\"workload\":\"anna\",\"new\":\"anna\"}",
         "{\"machine\":{\"name\":\"anna\"},\"workload\":\"anna\",\"new\":\"***\"}"},
        // A key that is written in another way.
        {"{\"\\u0068ost\":\"x\",\"b\":1}", "{\"b\":1}"},
    };
    static const char *const names[] = {U, "", NULL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        struct err err = {0};
        assert_ok(share_record(cases[i].text, names, &out, &err), &err);
        assert_string_equal(buf_str(&out), cases[i].shared);
        buf_release(&out);
    }
}

TEST(refused)
{
    static const char *const cases[] = {"",           "{", "[]", "{\"a\"}", "{\"host\":1}",
                                        "{\"a\":1}x", "x"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        struct err err = {0};
        assert_int_equal(share_record(cases[i], NULL, &out, &err), ERR_FORMAT);
        buf_release(&out);
    }
}
