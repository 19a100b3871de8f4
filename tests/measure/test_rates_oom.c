// SPDX-License-Identifier: Apache-2.0
#include "measure/rates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oom.h"
#include "test.h"

static void keeping_and_recalling(void **state)
{
    (void)state;
    char folder[] = "/tmp/fare-rates-XXXXXX", command[64];
    assert_non_null(mkdtemp(folder));
    setenv("XDG_DATA_HOME", folder, 1);
    static char fingerprint[] = "00ff", device[] = "cpu", operation[] = "copy";
    struct machine_rate row = {
        .device = device, .operation = operation, .per_s = {.v = 5e9, .known = true}};
    const struct machine_rates rates = {.fingerprint = fingerprint, .list = {&row, 1, true}};
    OOM_EACH
    {
        struct err err = {0};
        struct machine_rates got = {0};
        int rc = rates_keep(&rates, &err);
        if (rc == 0)
            rc = rates_recall("00ff", &got, &err);
        if (rc == 0)
            assert_int_equal(got.list.count, 1);
        record_release(machine_rates_fields, &got);
        OOM_EXPECT(rc, &err);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keeping_and_recalling)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
