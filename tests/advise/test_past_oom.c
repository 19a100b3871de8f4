// SPDX-License-Identifier: Apache-2.0
// Past estimates with each allocation failing in turn.
#include "oom.h"

#include "advise/sources.h"

#define RUN(id, command, gpu, seconds)                                                             \
    "{\"id\":\"" id "\",\"started\":\"2026-11-01T00:00:00Z\",\"framework\":\"command\","           \
    "\"command\":[\"python\",\"" command "\"],\"precision\":\"fp16\",\"machine\":{\"gpu\":\"" gpu  \
    "\",\"gpus\":1},\"use\":{\"gpus\":1,\"steady\":{\"gpu_percent\":97}},"                         \
    "\"projection\":{\"wall_s\":" seconds ",\"train_s\":" seconds "}}"

static const char *const runs[] = {RUN("a", "resnet.py", "Tesla V100-SXM2-16GB", "1000"),
                                   RUN("b", "resnet.py", "T4", "3000"),
                                   RUN("f", "resnet.py", "T4", "3100"), // again on one machine
                                   RUN("c", "resnet.py", "L4", "2000"),
                                   RUN("d", "vgg.py", "T4", "3000"),
                                   RUN("e", "vgg.py", "L4", "2000")};

static int look_back(struct market *market, const struct estimate_tables *tables, int64_t *count,
                     struct err *err)
{
    struct run_history history = {0};
    struct past *past = NULL;
    struct past_estimate one = {0};
    struct past_summary all = {0};
    int rc = 0;
    for (size_t i = 0; i < sizeof runs / sizeof *runs && rc == 0; i++)
        rc = run_history_add(&history, NULL, runs[i], err);
    history.own = history.runs.count;
    if (rc == 0)
        rc = past_open(&past, &history, market, tables, err);
    if (rc == 0)
        rc = past_find(past, "c", &one, err);
    if (rc == 0)
        rc = past_list(past, &all, err);
    *count = all.count.v + one.sources.v;
    record_release(past_estimate_fields, &one);
    record_release(past_summary_fields, &all);
    past_close(past);
    run_history_release(&history);
    return rc;
}

TEST(past_estimates)
{
    struct market *market;
    struct estimate_tables *tables;
    struct err none = {0};
    int64_t count;
    assert_ok(market_open(&market, "-", NULL, &none), &none);
    assert_ok(estimate_tables_open(&tables, &none), &none);
    OOM_EACH
    {
        struct err err = {0};
        int rc = look_back(market, tables, &count, &err);
        OOM_EXPECT(rc, &err);
        if (rc == 0)
            assert_int_equal(count, 5 + 2); // each by the others; run c by a and b
    }
    estimate_tables_close(tables);
    market_close(market);
}
