// SPDX-License-Identifier: Apache-2.0
// Traces, notices, replays and plans with each allocation failing in turn.
#include "oom.h"

#include <string.h>

#include "base/clock.h"
#include "advise/spot/hazard.h"
#include "advise/spot/policy.h"
#include "advise/spot/replay.h"

static const char text[] = "0,2022-10-26T22:05:04Z,0\n1,2022-10-26T22:15:04Z,1\n"
                           "2,2022-10-26T22:25:04Z,0\n";

TEST(traces)
{
    OOM_EACH
    {
        struct err err = {0};
        struct availability a = {0};
        int rc = availability_read("x", text, strlen(text), &a, &err);
        availability_release(&a);
        OOM_EXPECT(rc, &err);
    }
}

TEST(prices)
{
    struct spot_change changes[] = {{100, 10}, {200, 30}};
    const struct spot_series series = {.changes = changes, .count = 2, .until_s = 500};
    OOM_EACH
    {
        struct err err = {0};
        struct replay_prices p = {0};
        struct availability a = {0};
        int rc = replay_prices_init(&p, &series, &err);
        if (rc == 0)
            rc = hazard_by_prices(&series, 20, &a, &err);
        replay_prices_release(&p);
        availability_release(&a);
        OOM_EXPECT(rc, &err);
    }
}

TEST(notices)
{
    OOM_EACH
    {
        struct err err = {0};
        struct warnings n = {0};
        int rc = warnings_open(&n, &err);
        if (rc == 0)
            assert_int_equal(warnings_find(&n, "aws")->ns, 120 * NS_PER_S);
        warnings_release(&n);
        OOM_EXPECT(rc, &err);
    }
}

TEST(plans)
{
    const struct policy_job job = {.available = (const unsigned char *)"\1\0\1",
                                   .ticks = 3,
                                   .deadline = 5,
                                   .work = 30,
                                   .delay = 3,
                                   .reserve = 3,
                                   .spot_price = 300000};
    OOM_EACH
    {
        struct err err = {0};
        struct policy_plan *plan = NULL;
        int64_t cost;
        int rc = policy_plan_new(&job, &plan, &err);
        if (rc == 0)
            rc = policy_best(&job, 0, &cost, &err);
        policy_plan_free(plan);
        OOM_EXPECT(rc, &err);
    }
}
