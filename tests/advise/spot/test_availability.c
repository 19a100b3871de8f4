// SPDX-License-Identifier: Apache-2.0

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "advise/spot/hazard.h"
#include "test.h"

static int take(const char *text, struct availability *a, struct err *err)
{
    return availability_read("dir/2022-10-26_us-west-2a_v100_1.txt", text, strlen(text), a, err);
}

TEST(reads)
{
    struct err err = {0};
    struct availability a;
    assert_ok(take("0,2022-10-26T22:05:04.000Z,0\r\n1,2022-10-26T22:15:04.000Z,1\r\n"
                   "2,2022-10-26T22:25:05.000Z,0\r\n3,2022-10-26T22:35:05.000Z,0",
                   &a, &err),
              &err);
    assert_string_equal(a.name, "2022-10-26_us-west-2a_v100_1.txt");
    assert_int_equal(a.sample_count, 4);
    assert_memory_equal(a.samples, "\1\0\1\1", 4);
    assert_int_equal(a.count, 2);
    assert_int_equal(a.up[0].from_ns, 0);
    assert_int_equal(a.up[0].until_ns, 600 * NS_PER_S);
    assert_int_equal(a.up[1].from_ns, 1201 * NS_PER_S);
    assert_int_equal(a.up[1].until_ns, 2401 * NS_PER_S);
    assert_int_equal(a.length_ns, 2401 * NS_PER_S);
    assert_int_equal(a.tick_ns, 600 * NS_PER_S);
    assert_true(fabs(availability_share(&a) - 1800.0 / 2401) < 1e-12);
    assert_true(fabs(availability_mean_s(&a) - 900) < 1e-9);
    availability_release(&a);
    assert_ok(take("0,2022-10-26T22:05:04Z,1\n", &a, &err), &err);
    assert_int_equal(a.count, 0);
    assert_int_equal(a.length_ns, 600 * NS_PER_S);
    assert_true(availability_share(&a) == 0 && availability_mean_s(&a) == 0);
    availability_release(&a);
}

TEST(refuses)
{
    static const char *const wrong[] = {
        "",
        "\n\n",
        "0,2022-10-26T22:05:04Z\n",
        "0,2022-10-26T22:05:04Z,2\n",
        "0,2022-10-26T22:05:04Z,nan\n",
        "0,2022-10-26T22:05:04Z,\n",
        "x,2022-10-26T22:05:04Z,0\n",
        "0,yesterday,0\n",
        "0,2022-10-26T22:05:04Z,0\n1,2022-10-26T22:05:04Z,0\n",
        "0,2022-10-26T22:05:04Z,0\n1,2021-10-26T22:05:04Z,0\n",
        "0,1000-10-26T22:05:04Z,0\n1,2022-10-26T22:05:04Z,0\n",
        "index,timestamp,x\n0,2022-10-26T22:05:04Z,0\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err err = {0};
        struct availability a;
        assert_int_equal(take(wrong[i], &a, &err), ERR_FORMAT);
        assert_true(*err.text);
        assert_null(a.samples); // nothing is left behind
    }
}

TEST(knows)
{
    static const struct {
        const char *head;
        bool is;
    } heads[] = {{"0,2022-10-26T22:05:04.000Z,0\n1,", true},
                 {"17,2022-10-26T22:05:04Z,1", true},
                 {"0,2022-10-26T22:05:04.000Z,0.5\n", false},
                 {"", false},
                 {"timestamp,availability_zone,instance_type,spot_price\n", false},
                 {"0,now,1\n", false},
                 {"0,2022-10-26T22:05:04Z\n", false}};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        assert_int_equal(availability_knows(heads[i].head, strlen(heads[i].head)), heads[i].is);
}

TEST(fits)
{
    struct offer o = {.provider = "aws",
                      .name = "p3.2xlarge",
                      .region = "us-west-2",
                      .zone = "us-west-2a",
                      .gpu = "V100",
                      .gpus_milli = 1000};
    const char *name = "/home/x/2022-10-26_us-west-2a_v100_1.txt";
    assert_true(availability_fits(name, &o));
    o.zone = "us-west-2b";
    assert_false(availability_fits(name, &o));
    o.zone = ""; // any zone of the region
    assert_true(availability_fits(name, &o));
    o.region = "us-east-1";
    assert_false(availability_fits(name, &o));
    o.region = "us-west-2";
    o.gpus_milli = 8000;
    assert_false(availability_fits(name, &o));
    o.gpus_milli = 1000;
    o.gpu = "K80";
    assert_false(availability_fits(name, &o));
    static const char *const unnamed[] = {"trace.txt", "2022-10-26_us-west-2a_v100.txt", "_____",
                                          "2022-10-26_us-west-2a_v100_x.txt",
                                          "2022-10-26_us-west-2a_v100_1_2.txt"};
    for (size_t i = 0; i < sizeof unnamed / sizeof *unnamed; i++) {
        struct err err = {0};
        assert_int_equal(availability_named(unnamed[i], &err), ERR_FORMAT);
    }
}

TEST(by_prices)
{
    struct err err = {0};
    struct availability a;
    struct spot_change changes[] = {{1000, 5}, {1600, 9}, {2200, 10}, {2500, 7}, {3400, 7}};
    const struct spot_series series = {.changes = changes, .count = 5, .until_s = 4600};
    assert_ok(hazard_by_prices(&series, 9, &a, &err), &err);
    assert_int_equal(a.count, 2); // 1000 to 2200, and 2500 to the end
    assert_int_equal(a.up[0].until_ns, 1200 * NS_PER_S);
    assert_int_equal(a.up[1].from_ns, 1500 * NS_PER_S);
    assert_int_equal(a.up[1].until_ns, 3600 * NS_PER_S);
    assert_int_equal(a.sample_count, 6);
    assert_memory_equal(a.samples, "\1\1\0\1\1\1", 6);
    availability_release(&a);
    const struct spot_series none = {.changes = changes, .count = 0};
    assert_int_equal(hazard_by_prices(&none, 9, &a, &err), ERR_FORMAT);
}

// Of 100 machines with a constant hazard, the share 1 − e^(−730 h / mean) is hit within 730 hours.
TEST(bands)
{
    const double percents[] = {2.5, 7.5, 12.5, 17.5, 60};
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        double mean_h = (double)hazard_mean_ns(percents[i]) / 3.6e12;
        assert_true(fabs(100 * (1 - exp(-730 / mean_h)) - percents[i]) < 1e-6);
    }
}
