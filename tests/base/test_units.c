// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include <string.h>

#include "base/units.h"

// IEC 80000-13: Ki = 1024, k = 1000; a bare letter means 1024s, as in dd and truncate.
TEST(sizes_as_people_write_them)
{
    static const struct {
        const char *text;
        bool good;
        int64_t bytes;
    } cases[] = {
        {"512", true, 512},
        {"0", true, 0},
        {"1K", true, 1024},
        {"1kB", true, 1000},
        {"1.5GiB", true, 1610612736},
        {"1.5 GB", true, 1500000000},
        {"100GB", true, 100000000000},
        {"2T", true, 2199023255552},
        {"4Gi", true, INT64_C(4) << 30}, // as Kubernetes writes it
        {"8388607TiB", true, INT64_C(8388607) << 40},
        {"8388608TiB", false, 0}, // 2^63
        {"99999999999999999999", false, 0},
        {"", false, 0},
        {"GB", false, 0},
        {"-1", false, 0},
        {"1.", false, 0},
        {"1.5.5G", false, 0},
        {"1 G B", false, 0},
        {"1e9", false, 0},
        {"0.1234567G", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t bytes = -5;
        assert_int_equal(units_parse_bytes(cases[i].text, &bytes), cases[i].good);
        assert_int_equal(bytes, cases[i].good ? cases[i].bytes : -5);
    }
}

TEST(sizes_as_people_read_them)
{
    assert_string_equal(units_bytes(0).s, "0 B");
    assert_string_equal(units_bytes(512).s, "512 B");
    assert_string_equal(units_bytes(1024).s, "1 KiB");
    assert_string_equal(units_bytes(1536).s, "1.5 KiB");
    assert_string_equal(units_bytes(67108864).s, "64 MiB");
    assert_string_equal(units_bytes(25276518400).s, "23.5 GiB"); // 25276518400 / 2^30 = 23.54
    assert_string_equal(units_bytes(1048575).s, "1 MiB");        // not 1024 KiB
    assert_string_equal(units_bytes(INT64_C(150754820096)).s, "140 GiB");
    assert_string_equal(units_rate(0).s, "0 B/s");
    assert_string_equal(units_rate(54.5e9).s, "54.5 GB/s");
    assert_string_equal(units_flops(787.3e12).s, "787 TFLOP/s");
    assert_string_equal(units_flops(4.56e10).s, "45.6 GFLOP/s");
    assert_string_equal(units_flops(0).s, "0 FLOP/s");
    assert_string_equal(units_rate(6.8e9).s, "6.8 GB/s");
    assert_string_equal(units_rate(999.9e6).s, "1 GB/s");
    assert_string_equal(units_rate(4.167e12).s, "4.17 TB/s");
}

TEST(counts_of_things)
{
    assert_string_equal(units_count(0, "day").s, "0 days");
    assert_string_equal(units_count(1, "day").s, "1 day");
    assert_string_equal(units_count(2, "day").s, "2 days");
    assert_string_equal(units_count(INT64_MAX, "other offer").s,
                        "9223372036854775807 other offers");
}

TEST(thousands_apart)
{
    static const char *const numbers[][2] = {
        {"0", "0"},
        {"999", "999"},
        {"1000", "1,000"},
        {"-123", "-123"},
        {"-1310.7325", "-1,310.7325"},
        {"9223372036.85", "9,223,372,036.85"},
        {"-9223372036854775808", "-9,223,372,036,854,775,808"},
        {"-", "-"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_string_equal(units_grouped(numbers[i][0]).s, numbers[i][1]);
    // What is too long is cut, not written past the end.
    assert_int_equal(strlen(units_grouped("123456789012345678901234567890123456789012345").s),
                     UNITS_TEXT - 2);
}

TEST(step_times_and_paces)
{
    assert_string_equal(units_step(0.23).s, "0.23 ms");
    assert_string_equal(units_step(12.3456).s, "12.35 ms");
    assert_string_equal(units_step(999.94).s, "999.9 ms");
    assert_string_equal(units_step(999.96).s, "1.0 s"); // not 1e+03 ms
    assert_string_equal(units_step(40550).s, "40.6 s");
    assert_string_equal(units_step(149500).s, "2 min 30 s");
    assert_string_equal(units_number(0.01234).s, "0.0123");
    assert_string_equal(units_number(1769.6).s, "1770"); // not 1.77e+03
    assert_string_equal(units_pace(14.26, "step").s, "14.3 a second");
    assert_string_equal(units_pace(4163.2, "sample").s, "4160 a second");
    assert_string_equal(units_pace(999.6, "step").s, "1000 a second");
    assert_string_equal(units_pace(1, "step").s, "1 a second");
    assert_string_equal(units_pace(0.4, "step").s, "2.5 s a step");
    assert_string_equal(units_pace(0.01175, "epoch").s, "1 min 25 s an epoch"); // 85.1 s
    assert_string_equal(units_pace(1e-300, "step").s, "104166 d 16 h a step");  // at most 9e9 s
    assert_string_equal(units_pace(0, "step").s, "0 a second");
}

// By hand: 98 to 102 around 100 is 2 %. Ends that are the wrong way round were "± -0.0 %".
TEST(half_width)
{
    assert_float_equal(units_half_width(98, 102, 100), 2, 1e-6);
    assert_float_equal(units_half_width(100, 100, 100), 0.1, 1e-6);
    assert_float_equal(units_half_width(100.01, 100, 100), 0.1, 1e-6);
    assert_float_equal(units_half_width(0, 0, 0), 0.1, 1e-6);
}
