// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

bool units_parse_bytes(const char *text, int64_t *bytes)
{
    static const struct {
        const char *name;
        int64_t size;
    } units[] = {{"", 1},          {"B", 1},           {"K", 1 << 10},         {"KiB", 1 << 10},
                 {"Ki", 1 << 10},  {"Mi", 1 << 20},    {"Gi", 1 << 30},        {"Ti", 1LL << 40},
                 {"kB", 1000},     {"KB", 1000},       {"M", 1 << 20},         {"MiB", 1 << 20},
                 {"MB", 1000000},  {"G", 1 << 30},     {"GiB", 1 << 30},       {"GB", 1000000000},
                 {"T", 1LL << 40}, {"TiB", 1LL << 40}, {"TB", 1000000000000LL}};
    int64_t whole = 0, part = 0, scale = 1;
    const char *p = text;
    if (!isdigit((unsigned char)*p))
        return false;
    for (; isdigit((unsigned char)*p); p++)
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, *p - '0', &whole))
            return false;
    if (*p == '.') {
        if (!isdigit((unsigned char)p[1]))
            return false;
        for (p++; isdigit((unsigned char)*p); p++) {
            if (scale >= 1000000)
                return false; // finer than anyone means
            part = part * 10 + (*p - '0');
            scale *= 10;
        }
    }
    if (*p == ' ')
        p++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(p, units[i].name) != 0)
            continue;
        int64_t fraction, total;
        if (__builtin_mul_overflow(whole, units[i].size, &total) ||
            __builtin_mul_overflow(part, units[i].size, &fraction) ||
            __builtin_add_overflow(total, fraction / scale, &total))
            return false;
        *bytes = total;
        return true;
    }
    return false;
}

// Three significant digits, and no ".0": 1.25, 23.5, 512.
static struct units_text scaled(double value, double step, const char *const *names)
{
    struct units_text out;
    while (names[1] && value >= step - step / 2000) { // 999.6 rounds to 1000: take the next unit
        value /= step;
        names++;
    }
    int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(out.s, sizeof out.s, "%.*f", digits, value);
    if (strchr(out.s, '.')) {
        size_t len = strlen(out.s);
        while (out.s[len - 1] == '0')
            out.s[--len] = '\0';
        if (out.s[len - 1] == '.')
            out.s[len - 1] = '\0';
    }
    size_t len = strlen(out.s);
    snprintf(out.s + len, sizeof out.s - len, " %s", *names);
    return out;
}

struct units_text units_bytes(int64_t bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", NULL};
    return scaled((double)bytes, 1024, names);
}

struct units_text units_flops(double flops_per_s)
{
    static const char *const names[] = {"FLOP/s",  "kFLOP/s", "MFLOP/s", "GFLOP/s",
                                        "TFLOP/s", "PFLOP/s", NULL};
    return scaled(flops_per_s, 1000, names);
}

struct units_text units_rate(double bytes_per_s)
{
    static const char *const names[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", NULL};
    return scaled(bytes_per_s, 1000, names);
}

struct units_text units_count(int64_t count, const char *noun)
{
    struct units_text out;
    snprintf(out.s, sizeof out.s, "%lld %.11s%s", (long long)count, noun, count == 1 ? "" : "s");
    return out;
}

struct units_text units_grouped(const char *number)
{
    enum { THIRD = 3 };
    struct units_text out;
    const size_t sign = *number == '-', whole = sign + strspn(number + sign, "0123456789");
    size_t len = 0;
    for (size_t i = 0; number[i] && len + 2 < sizeof out.s; i++) {
        if (i > sign && i < whole && (whole - i) % THIRD == 0)
            out.s[len++] = ',';
        out.s[len++] = number[i];
    }
    out.s[len] = '\0';
    return out;
}

struct units_text units_number(double value)
{
    struct units_text out;
    double unit = value >= 100 ? pow(10, floor(log10(value)) - 2) : 0; // of the third digit
    if (unit > 0)
        snprintf(out.s, sizeof out.s, "%.0f", fmin(round(value / unit) * unit, 1e15));
    else
        snprintf(out.s, sizeof out.s, "%.3g", value);
    return out;
}

struct units_text units_time(double s)
{
    struct units_text out;
    clock_words((int64_t)(fmin(fmax(s, 0), 9e9) * 1e9), out.s, sizeof out.s);
    return out;
}

double units_half_width(double low, double high, double middle)
{
    return middle > 0 ? fmax((high - low) / 2 / middle * 100, 0.1) : 0.1;
}

struct units_text units_step(double ms)
{
    struct units_text out;
    if (ms >= 999.95)
        return units_time(ms / 1e3);
    snprintf(out.s, sizeof out.s, "%.4g ms", ms);
    return out;
}

struct units_text units_pace(double per_s, const char *noun)
{
    struct units_text out;
    if (per_s > 0 && per_s < 1) {
        snprintf(out.s, sizeof out.s, "%s %s %.11s", units_time(1 / per_s).s,
                 strchr("aeiou", noun[0]) ? "an" : "a", noun);
        return out;
    }
    snprintf(out.s, sizeof out.s, "%.16s a second", units_number(per_s).s);
    return out;
}

const char *units_period(int64_t per_s)
{
    static const struct {
        int64_t s;
        const char *words;
    } known[] = {{1, "a second"},
                 {60, "a minute"},
                 {3600, "an hour"},
                 {86400, "a day"},
                 {2592000, "a month of 30 days"},
                 {2628000, "a month of 730 hours"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].s == per_s)
            return known[i].words;
    return "its period";
}
