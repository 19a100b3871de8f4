// SPDX-License-Identifier: Apache-2.0
// The tables of estimates with every allocation failing once.
#include "oom.h"

#include "advise/estimate/tables.h"

static void tables(void **state)
{
    (void)state;
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    OOM_EACH
    {
        struct err err = {0};
        struct estimate_tables *t = NULL;
        int rc = estimate_tables_open(&t, &err);
        estimate_tables_close(t);
        OOM_EXPECT(rc, &err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
