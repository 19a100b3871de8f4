// SPDX-License-Identifier: Apache-2.0
// Steps, account and trace with every allocation failing in turn.
#include "oom.h"

#include "follow/trace/account.h"
#include "follow/trace/trace.h"

enum { STEPS = 12, KERNELS = 10 };

TEST(steps_and_account)
{
    static struct trace_item items[STEPS * KERNELS];
    for (int i = 0; i < STEPS * KERNELS; i++)
        items[i] =
            (struct trace_item){.start_ns = i * 1000,
                                .end_ns = i * 1000 + 900,
                                .key = (uint32_t)(1 + i % KERNELS),
                                .class = i % KERNELS == 9 ? CLASS_OPTIMIZER : CLASS_MATMUL,
                                .precision = i % KERNELS == 9 ? PRECISION_NONE : PRECISION_BF16};
    OOM_EACH
    {
        struct err err = {0};
        struct pattern pattern;
        struct account account;
        struct run run = {0};
        int rc = pattern_find(items, STEPS * KERNELS, &pattern, &err);
        if (rc == 0)
            rc = account_make(items, STEPS * KERNELS, &pattern, &account, &err);
        if (rc == 0)
            rc = account_record(&account, &run.account, &err);
        OOM_EXPECT(rc, &err);
        if (rc == 0) {
            assert_int_equal(pattern.count, STEPS);
            assert_int_equal(run.account.steps.v, STEPS - 1);
            assert_int_equal(run.account.work.count, 2);
        }
        pattern_release(&pattern);
        record_release(run_fields, &run);
    }
}

TEST(a_trace)
{
    OOM_EACH
    {
        struct err err = {0};
        struct trace *trace = NULL;
        struct run run = {0};
        int64_t steps, at_ns;
        int rc = trace_new(&trace, "/dev/null", &err);
        if (rc == 0)
            rc = trace_read(trace, &steps, &at_ns, &err);
        if (rc == 0)
            rc = trace_account(trace, &run.account, &err);
        OOM_EXPECT(rc, &err);
        if (rc == 0)
            assert_int_equal(steps, 0);
        trace_free(trace);
        record_release(run_fields, &run);
    }
}
