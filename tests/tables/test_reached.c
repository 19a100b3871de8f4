// SPDX-License-Identifier: Apache-2.0
// Rates that were reached: the shipped table, and tables with round figures.
#include "tables/reached.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "book/folder.h"
#include "test.h"

static struct devices *devices;
static struct reached *reached;

static int opened(const char *text, struct err *err)
{
    const char *folder = folder_new();
    char path[600];
    snprintf(path, sizeof path, "%s/fare", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    folder_put(path, "reached.csv", text);
    setenv("XDG_CONFIG_HOME", folder, 1);
    return reached_open(&reached, err);
}

// Nothing reaches more than its data sheet, nor less than a third of it: an L4 in fp32, which its
// 72 W do not feed. A slip of a digit would show.
TEST(the_shipped_rows_are_plausible)
{
    struct err err = {0};
    const struct reached_row *row;
    size_t rows = 0;
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    assert_ok(devices_open(&devices, &err), &err);
    assert_ok(reached_open(&reached, &err), &err);
    for (; (row = reached_at(reached, rows)); rows++) {
        const struct device *d = device_find(devices, row->device);
        if (!d || !row->source || !row->by)
            fail_msg("'%s' is not in the device table, or has no source", row->device);
        double specified = row->specified > 0
                               ? row->specified
                               : reached_specified(d, row->operation, row->precision);
        double share = row->per_s / specified;
        if (!(share > 0.33 && share < 1))
            fail_msg("%s %s: %g of the data sheet", row->device, row->operation, share);
    }
    assert_true(rows >= 50);
    reached_close(reached);
    devices_close(devices);
}

TEST(a_range_of_shares)
{
    struct err err = {0};
    struct reached_usual usual;
    // The L40S has 864 GB/s and no shipped row; the T4 320 GB/s; the shipped rows of NVIDIA's GPUs
    // lie between 78.3 % (235 of 300 GB/s) and 94.0 % (654 of 696 GB/s).
    assert_ok(opened("kind,device,operation,precision,rate,by,source,date\n"
                     "gpu,L40S,copy,,648,me,here,2026-11-16\n"
                     "gpu,NVIDIA L40S,copy,,691.2,me,here,2026-11-16\n",
                     &err),
              &err);
    assert_ok(devices_open(&devices, &err), &err);
    const struct device *l40s = device_find(devices, "L40S"), *t4 = device_find(devices, "T4");
    assert_true(reached_usual(reached, devices, "gpu", l40s, "copy", NULL, &usual));
    assert_true(usual.this_kind && usual.rows == 2);
    assert_true(usual.low > 0.7499 && usual.low < 0.7501);
    assert_true(usual.high > 0.7999 && usual.high < 0.8001);
    assert_true(reached_usual(reached, devices, "gpu", t4, "copy", NULL, &usual));
    assert_false(usual.this_kind);
    assert_true(usual.low > 0.7499 && usual.low < 0.7501); // by the user's rows
    assert_true(usual.high > 0.939 && usual.high < 0.941);
    assert_false(reached_usual(reached, devices, "gpu", t4, "product", "fp64", &usual));
    assert_false(reached_usual(reached, devices, "cpu", NULL, "product", "fp32", &usual));
    reached_close(reached);
    devices_close(devices);
}

TEST(faults_name_their_place)
{
    static const char head[] = "kind,device,operation,precision,rate,by,source,date\n";
    static const struct {
        const char *row, *error;
    } bad[] = {
        {"tpu,H100,copy,,1,a,b,2026-11-16\n", "column 'kind'"},
        {"gpu,H100,jump,,1,a,b,2026-11-16\n", "column 'operation'"},
        {"gpu,H100,product,,1,a,b,2026-11-16\n", "column 'precision'"},
        {"gpu,H100,copy,,0,a,b,2026-11-16\n", "out of range"},
        {"gpu,H100,copy,,-1,a,b,2026-11-16\n", "out of range"},
        {"gpu,H100,copy,,nan,a,b,2026-11-16\n", "column 'rate'"},
        {"gpu,H100,copy,,inf,a,b,2026-11-16\n", "column 'rate'"},
        {"gpu,H100,copy,,1e9,a,b,2026-11-16\n", "column 'rate'"},
        {"gpu,H100,copy,,,a,b,2026-11-16\n", "column 'rate': expected a value"},
        {"gpu,H100,copy,,1,a,b,today\n", "column 'date'"},
        {"gpu,H100,copy\n", "line 2"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = {0};
        char text[400];
        snprintf(text, sizeof text, "%s%s", head, bad[i].row);
        assert_int_equal(opened(text, &err), ERR_FORMAT);
        assert_null(reached);
        if (!strstr(err.text, bad[i].error))
            fail_msg("'%s' has no '%s'", err.text, bad[i].error);
    }
}
