// SPDX-License-Identifier: Apache-2.0
// changes with the Nth allocation failing.
#include "oom.h"

#include "base/rng.h"
#include "train/steady.h"

TEST(test_changes)
{
    // Noise alone keeps many candidates alive, so that the curves outgrow their first memory.
    double x[2000];
    struct rng rng;
    rng_init(&rng, 1);
    for (int i = 0; i < 2000; i++)
        x[i] = rng_normal(&rng) + (i < 1000 ? 0 : 3);
    struct changes_options options = {.penalty = 300};
    OOM_EACH
    {
        struct err err = {0};
        struct changes found;
        int rc = changes_find(x, 2000, &options, &found, &err);
        if (rc == 0) {
            oom_countdown = -1;
            assert_int_equal(found.count, 1);
        } else {
            assert_null(found.at);
        }
        changes_release(&found);
        OOM_EXPECT(rc, &err);
    }
}
