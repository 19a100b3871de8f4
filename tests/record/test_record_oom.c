// SPDX-License-Identifier: Apache-2.0
// Records and the reasoning over them, with every allocation failing once, jansson's included.
#include "oom.h"

#include <string.h>

#include "machine/probe.h"
#include "record/run.h"
#include "record/read.h"

static const char text[] =
    "{\"fare\":{\"debug\":true},\"cpu\":{\"model\":\"X\",\"isa\":[{\"name\":\"a\",\"works\":true},"
    "{\"name\":\"b\"}]},\"gpus\":[{\"works\":false,\"problem\":\"gone\",\"throttling\":[\"heat\","
    "\"power\"]}],\"where\":{\"spot\":true}}";

TEST(through_json)
{
    OOM_EACH
    {
        struct err err = {0};
        struct machine machine = {0}, copy = {0};
        struct buf out = {0};
        int rc = record_from_text(machine_fields, text, sizeof text - 1, &machine, &err);
        if (rc == 0)
            rc = machine_diagnose(&machine, &err);
        if (rc == 0)
            rc = machine_fingerprint(&machine, &err);
        if (rc == 0)
            rc = record_copy(machine_fields, &machine, &copy, &err);
        if (rc == 0)
            rc = record_to_text(machine_fields, &copy, &out, &err);
        machine_release(&machine);
        machine_release(&copy);
        buf_release(&out);
        OOM_EXPECT(rc, &err);
    }
}

TEST(corrected)
{
    static const char old[] = "{\"schema\":\"fare.run/1\",\"phases\":{\"boot_ns\":1},"
                              "\"spent\":{\"usd\":\"2\"},\"step_ms\":9,\"account\":{\"step_ms\":1,"
                              "\"busy_share\":0.9,\"work\":[{\"name\":\"a\",\"share\":0.9}]}}";
    OOM_EACH
    {
        struct err err = {0};
        struct buf out = {0};
        int rc = run_correct(old, sizeof old - 1, &out, &err);
        assert_true(rc != 0 || strstr(buf_str(&out), "\"unseen_share\":0.9"));
        buf_release(&out);
        OOM_EXPECT(rc, &err);
    }
}

int main(void)
{
    json_set_alloc_funcs(malloc, free); // through the wrappers
    return run_all_tests(NULL, NULL);
}
