// SPDX-License-Identifier: Apache-2.0
#include "measure/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "oom.h"
#include "test.h"

static void put(const char *folder, const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/devices/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

// Two others reached 80 and 90 % of 100 GB/s; 50 % is a finding.
TEST(filling)
{
    char folder[] = "/tmp/fare-expect-XXXXXX", path[64], command[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/devices", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    put(folder, "gpus.csv", "name,vendor,memory_gbs\nX1,nvidia,100\n");
    put(folder, "cpus.csv", "name\nC1\n");
    put(folder, "reached.csv",
        "kind,device,operation,precision,rate,by,source,date\n"
        "gpu,X1,copy,,80,a,b,2026-11-16\ngpu,X1,copy,,90,a,b,2026-11-16\n");
    setenv("FARE_SHARE", folder, 1);
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    static char device[] = "gpu 0", name[] = "X1", operation[] = "copy";
    struct machine_rate row = {
        .device = device, .name = name, .operation = operation, .per_s = {50e9, true}};
    OOM_EACH
    {
        struct err err = {0};
        struct machine m = {0};
        m.rates.list.items = &row;
        m.rates.list.count = 1;
        int rc = expect_fill(&m, &err);
        if (rc == 0)
            assert_int_equal(m.findings.count, 1);
        memset(&m.rates, 0, sizeof m.rates);
        machine_release(&m);
        OOM_EXPECT(rc, &err);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}
