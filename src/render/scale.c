// SPDX-License-Identifier: Apache-2.0
#include "render/scale.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"

#define DAY_S    86400
#define LAST_DAY 2932896 // 9999-12-31

static bool is(const char *unit, const char *word)
{
    return strcmp(unit, word) == 0;
}

// ---- ticks

// The largest step of 1, 2 or 5 times a power of ten that gives at least `ticks` steps.
static double round_step(double range, int ticks)
{
    double raw = range / ticks, power = pow(10, floor(log10(raw)));
    double times = raw / power;
    return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

static void add_tick(struct scale *scale, double value)
{
    if (scale->count < SCALE_TICKS)
        scale->ticks[scale->count++] = value;
}

static void linear_ticks(struct scale *scale, int ticks)
{
    double d = scale->divisor, low = scale->low / d, high = scale->high / d;
    double step = round_step(high - low, ticks);
    bool whole = floor(scale->low) == scale->low && floor(scale->high) == scale->high;
    if ((!*scale->unit && whole) || is(scale->unit, "batch")) // a count: no fractions
        step = fmax(step, 1);
    double first = floor(low / step + 1e-9), last = fmax(ceil(high / step - 1e-9), first + 1);
    scale->decimals = (int)fmin(fmax(-floor(log10(step) + 1e-9), 0), 9);
    for (double i = first; i <= last && scale->count < SCALE_TICKS; i++)
        add_tick(scale, i * step * d);
    scale->low = first * step * d;
    scale->high = scale->ticks[scale->count - 1];
}

// 1, 2, 5, 10, ...; over many decades only powers of ten.
static void log_ticks(struct scale *scale, int ticks)
{
    static const double all[] = {1, 2, 5}, few[] = {1, 3};
    double d = scale->divisor, low = scale->low / d, high = scale->high / d;
    double decades = log10(high / low);
    const double *each = decades * 3 <= ticks + 1 ? all : few;
    size_t count = decades * 3 <= ticks + 1 ? 3 : decades * 2 <= ticks + 1 ? 2 : 1;
    double before = 0;
    for (int power = (int)floor(log10(low)); power <= 16; power++)
        for (size_t i = 0; i < count; i++) {
            double tick = each[i] * pow(10, power);
            if (tick <= low * 1.000001) {
                before = tick;
                continue;
            }
            if (before > 0)
                add_tick(scale, before * d);
            before = 0;
            add_tick(scale, tick * d);
            if (tick >= high * 0.999999) {
                scale->low = scale->ticks[0];
                scale->high = tick * d;
                return;
            }
        }
}

// The first day of the month `months` after that of `day`.
static double month_after(double day, int months)
{
    int64_t first_s = 0;
    return clock_month((int64_t)day * DAY_S, months, &first_s) ? (double)(first_s / DAY_S) : day;
}

static void date_ticks(struct scale *scale, int ticks)
{
    static const int steps[] = {1, 2, 3, 6, 12, 24, 60, 120};
    double days = scale->high - scale->low;
    if (days < 45) {
        scale->high = fmax(scale->high, scale->low + ticks); // no fractions of days
        linear_ticks(scale, ticks);
        scale->date_digits = 10;
        return;
    }
    size_t i = 0;
    while (i + 1 < sizeof steps / sizeof *steps && days / 30.4 / steps[i] > ticks)
        i++;
    char iso[CLOCK_ISO_BYTES];
    int year = 1970, month = 1;
    clock_iso((int64_t)scale->low * DAY_S, iso);
    sscanf(iso, "%d-%d", &year, &month);
    int back = ((year * 12 + month - 1) % steps[i]);
    double day = month_after(scale->low, -back);
    scale->low = day;
    scale->date_digits = steps[i] >= 12 ? 4 : 7;
    do {
        add_tick(scale, day);
        day = month_after(day, steps[i]);
    } while (scale->ticks[scale->count - 1] < scale->high && scale->count < SCALE_TICKS &&
             day > scale->ticks[scale->count - 1]);
    scale->high = fmax(scale->high, scale->ticks[scale->count - 1]);
}

static void choose_unit(struct scale *scale)
{
    static const struct {
        const char *unit, *shown;
        double from, divisor;
    } units[] = {{"s", "days", 172800, 86400},
                 {"s", "h", 7200, 3600},
                 {"s", "min", 120, 60},
                 {"s", "s", 1, 1},
                 {"s", "ms", 0, 1e-3},
                 {"ms", "s", 2000, 1000},
                 {"ms", "ms", 0, 1},
                 {"day", "", 0, 1},
                 {"USD", "", 0, 1},
                 {"batch", "", 0, 1},
                 {"÷ base", "", 0, 1},
                 {"×", "", 0, 1}};
    scale->divisor = 1;
    scale->shown = scale->unit;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (is(scale->unit, units[i].unit) && scale->high >= units[i].from) {
            scale->divisor = units[i].divisor;
            scale->shown = units[i].shown;
            return;
        }
}

// 0 for values that cannot be drawn.
static double bounded(double value)
{
    if (!isfinite(value) || fabs(value) < SCALE_LEAST)
        return 0;
    return fmin(fmax(value, -SCALE_LARGEST), SCALE_LARGEST);
}

void scale_make(struct scale *scale, double low, double high, enum scale_kind kind,
                const char *unit, int ticks)
{
    *scale = (struct scale){.unit = unit};
    low = bounded(low);
    high = fmax(bounded(high), low);
    if (is(unit, "day")) { // the years clock.h supports, with a margin
        low = fmin(fmax(low, 0), LAST_DAY - 365);
        high = fmin(fmax(high, low), LAST_DAY - 365);
    }
    if (kind == SCALE_FROM_ZERO) {
        low = fmin(low, 0);
        high = fmax(high, 0);
    }
    scale->log = kind == SCALE_LOG && low > 0 && !is(unit, "day");
    if (!(high - low > fabs(high) * 1e-6)) { // a single value: add a margin
        double around = high == 0 ? 1 : fabs(high) * 0.1;
        low = scale->log || low == 0 ? low : low - around;
        high = scale->log ? high * 2 : high + around;
    }
    scale->low = low;
    scale->high = high;
    choose_unit(scale);
    if (is(unit, "day"))
        date_ticks(scale, ticks);
    else if (scale->log)
        log_ticks(scale, ticks);
    else
        linear_ticks(scale, ticks);
}

double scale_at(const struct scale *scale, double value)
{
    double low = scale->low, high = scale->high;
    value = fmin(fmax(value, -SCALE_LARGEST), SCALE_LARGEST);
    if (scale->log) {
        low = log(low);
        high = log(high);
        value = value > 0 ? log(value) : low;
    }
    return scale->from + (value - low) / (high - low) * (scale->to - scale->from);
}

// ---- labels

// "1,234,567.5"
static void grouped(double value, int decimals, char *out, size_t size)
{
    char digits[SCALE_LABEL + 20];
    snprintf(digits, sizeof digits, "%.*f", decimals, fabs(value));
    size_t len = strcspn(digits, "."), at = 0;
    bool zero = strspn(digits, "0.") == strlen(digits);
    if (value < 0 && !zero)
        at += (size_t)snprintf(out, size, "−");
    for (size_t i = 0; digits[i] && at + 2 < size; i++) {
        if (i > 0 && i < len && (len - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
}

// A few digits, whatever the magnitude.
static void few_digits(double value, char *out, size_t size)
{
    double size_of = fabs(value);
    int decimals = size_of == round(size_of) || size_of >= 100 ? 0
                   : size_of >= 10                             ? 1
                   : size_of >= 1                              ? 2
                                                               : 3;
    if (size_of > 0 && size_of < 0.1)
        snprintf(out, size, "%.3g", value);
    else if (size_of >= 1e7)
        snprintf(out, size, "%.4g", value);
    else
        grouped(value, decimals, out, size);
}

static void date_of(double day, int digits, char out[SCALE_LABEL])
{
    char iso[CLOCK_ISO_BYTES];
    clock_iso((int64_t)day * DAY_S, iso);
    snprintf(out, SCALE_LABEL, "%.*s", digits, iso);
}

void scale_label(const struct scale *scale, double tick, char out[SCALE_LABEL])
{
    double value = tick / scale->divisor;
    int decimals =
        scale->log ? (int)fmin(fmax(-floor(log10(value) + 1e-9), 0), 9) : scale->decimals;
    if (is(scale->unit, "day")) {
        date_of(tick, scale->date_digits, out);
        return;
    }
    char number[SCALE_LABEL];
    const char *suffix = "";
    if (fabs(scale->high / scale->divisor) >= 1e6) {
        bool giga = fabs(scale->high / scale->divisor) >= 1e9;
        value /= giga ? 1e9 : 1e6;
        suffix = giga ? "G" : "M";
        snprintf(number, sizeof number, "%.4g", value);
        if (value == 0)
            suffix = "";
    } else {
        grouped(value, decimals, number, sizeof number);
    }
    snprintf(out, SCALE_LABEL, "%s%.30s%s", is(scale->unit, "USD") ? "$" : "", number, suffix);
}

void scale_words(const char *unit, double value, char out[SCALE_LABEL])
{
    char number[SCALE_LABEL];
    if (!isfinite(value))
        snprintf(out, SCALE_LABEL, "unknown");
    else if (is(unit, "USD") && fabs(value) < 9e9) {
        char money[MONEY_BYTES];
        money_short(llround(value * 1e9), money);
        snprintf(out, SCALE_LABEL, "$%s", money);
    } else if (is(unit, "s") && value >= 0 && value < 9e9)
        clock_words(llround(value * 1e9), out, SCALE_LABEL);
    else if (is(unit, "day"))
        date_of(value, 10, out);
    else {
        few_digits(value, number, sizeof number);
        bool bare = !*unit || is(unit, "÷ base") || is(unit, "batch");
        snprintf(out, SCALE_LABEL, "%.24s%s%.12s", number, bare ? "" : " ", bare ? "" : unit);
    }
}
