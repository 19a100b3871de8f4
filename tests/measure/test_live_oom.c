// SPDX-License-Identifier: Apache-2.0
// What is known of a run that goes on, with every allocation failing in turn; looking needs none.
#include "oom.h"

#include "base/clock.h"
#include "measure/session.h"

static int free_of_charge(const void *price, int64_t ns, int64_t *nano, struct err *err)
{
    (void)price, (void)err;
    *nano = ns;
    return 0;
}

static void filling(void **state)
{
    (void)state;
    const struct live_price price = {.offer = "acme", .hour = 1, .cost = free_of_charge};
    const struct run_plan plan = {.max_s = 60};
    struct err none = {0};
    struct meter *meter;
    assert_ok(meter_new(&meter, clock_now_ns() - NS_PER_S, &none), &none);
    OOM_EACH
    {
        struct err err = {0};
        struct run run = {0};
        struct live live;
        long before = oom_countdown;
        live_look(&plan, &price, meter, 1, 2, &live);
        assert_int_equal(oom_countdown, before);
        int rc = live_fill(&live, &price, &run.live, &err);
        OOM_EXPECT(rc, &err);
        if (rc == 0)
            assert_true(run.live.projected_usd.known);
        record_release(run_fields, &run);
    }
    meter_free(meter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(filling)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
