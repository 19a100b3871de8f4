// SPDX-License-Identifier: Apache-2.0
// Ticks at round numbers, the right places, and labels that people write.
#include "test.h"

#include <math.h>
#include <string.h>

#include "render/scale.h"

static void check_ticks(double low, double high, enum scale_kind kind, const char *unit, int ticks,
                        const char *const *labels)
{
    struct scale scale;
    char text[SCALE_LABEL];
    scale_make(&scale, low, high, kind, unit, ticks);
    size_t count = 0;
    for (; labels[count]; count++) {
        assert_true(count < scale.count);
        scale_label(&scale, scale.ticks[count], text);
        assert_string_equal(text, labels[count]);
    }
    assert_int_equal(scale.count, count);
}

#define TICKS(low, high, kind, unit, ticks, ...)                                                   \
    check_ticks(low, high, kind, unit, ticks, (const char *const[]){__VA_ARGS__, NULL})

TEST(round_numbers)
{
    TICKS(3, 97, SCALE_FROM_ZERO, "W", 5, "0", "20", "40", "60", "80", "100");
    TICKS(0.01, 0.236, SCALE_FROM_ZERO, "USD", 4, "$0.0", "$0.1", "$0.2", "$0.3");
    TICKS(97.2, 98.9, SCALE_FREE, "%", 4, "97.0", "97.5", "98.0", "98.5", "99.0");
    TICKS(0, 1555, SCALE_FROM_ZERO, "s", 5, "0", "10", "20", "30");         // minutes
    TICKS(0, 14760, SCALE_FROM_ZERO, "s", 5, "0", "1", "2", "3", "4", "5"); // hours
    TICKS(0, 0.26, SCALE_FROM_ZERO, "s", 3, "0", "100", "200", "300");      // milliseconds
    TICKS(0, 8464, SCALE_FROM_ZERO, "samples/s", 5, "0", "2,000", "4,000", "6,000", "8,000",
          "10,000");
    TICKS(0, 3, SCALE_FROM_ZERO, "", 8, "0", "1", "2", "3"); // a count has no halves
    TICKS(1.2, 150, SCALE_LOG, "USD", 7, "$1", "$2", "$5", "$10", "$20", "$50", "$100", "$200");
    TICKS(120, 4000, SCALE_LOG, "s", 9, "2", "5", "10", "20", "50", "100"); // in minutes
    TICKS(17500, 17600, SCALE_FREE, "day", 4, "2017-11", "2017-12", "2018-01", "2018-02", "2018-03",
          "2018-04");
}

TEST(places)
{
    struct scale scale;
    scale_make(&scale, 0, 100, SCALE_FROM_ZERO, "W", 5);
    scale.from = 50;
    scale.to = 250;
    assert_true(fabs(scale_at(&scale, 0) - 50) < 1e-9);
    assert_true(fabs(scale_at(&scale, 25) - 100) < 1e-9);
    scale_make(&scale, 1, 100, SCALE_LOG, "W", 5);
    scale.from = 0;
    scale.to = 100;
    assert_true(fabs(scale_at(&scale, 10) - 50) < 1e-9);
}

// Whatever comes, there are ticks, they rise, and places are numbers.
TEST(anything)
{
    const double values[] = {0,   1e-300, -1e-300, 1e300, -1e300, (double)NAN, HUGE_VAL, -HUGE_VAL,
                             1.0, -1.0,   1e-9,    1e15,  3e9,    17500,       2932896};
    const char *const units[] = {"", "s", "ms", "USD", "day", "%", "batch", "÷ base", "×"};
    const size_t count = sizeof values / sizeof *values;
    char text[SCALE_LABEL];
    for (size_t i = 0; i < count * count * 9 * 3; i++) {
        struct scale s;
        double low = values[i % count], high = values[i / count % count];
        scale_make(&s, low, high, i / count / count % 3, units[i / count / count / 3],
                   1 + (int)(i % 12));
        s.from = 0;
        s.to = 100;
        assert_true(s.count > 0);
        for (size_t k = 0; k < s.count; k++) {
            assert_true(isfinite(scale_at(&s, s.ticks[k])));
            assert_true(k == 0 || s.ticks[k] > s.ticks[k - 1]);
            scale_label(&s, s.ticks[k], text);
            assert_true(*text || strcmp(s.unit, "day") == 0);
        }
        assert_true(s.high > s.low);
    }
}

TEST(words)
{
    const struct {
        const char *unit;
        double value;
        const char *words;
    } cases[] = {{"USD", 0.05186, "$0.0519"},
                 {"USD", 158.594, "$158.59"},
                 {"s", 3840, "1 h 04 min"},
                 {"%", 82.47, "82.5 %"},
                 {"÷ base", 2.0065, "2.01"},
                 {"W", 1234.5, "1,234 W"},
                 {"", 25, "25"},
                 {"day", 17563, "2018-02-01"},
                 {"USD", (double)NAN, "unknown"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[SCALE_LABEL];
        scale_words(cases[i].unit, cases[i].value, text);
        assert_string_equal(text, cases[i].words);
    }
}
