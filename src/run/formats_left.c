// SPDX-License-Identifier: Apache-2.0
// The time left, as programs print it, and the table of scikit-learn's gradient boosting, which has
// it in its last column:
//
//       Iter       Train Loss   Remaining Time
//          1           1.2980            7.89m
#include <string.h>

#include "run/formats.h"

#define SPAN_MAX 1e10 // seconds

static double unit_of(const char *p, size_t *len)
{
    static const struct {
        const char *word;
        double s;
    } units[] = {
        {"d", 86400},  {"day", 86400}, {"days", 86400}, {"h", 3600}, {"hr", 3600},
        {"hrs", 3600}, {"hour", 3600}, {"hours", 3600}, {"m", 60},   {"min", 60},
        {"mins", 60},  {"minute", 60}, {"minutes", 60}, {"s", 1},    {"sec", 1},
        {"secs", 1},   {"second", 1},  {"seconds", 1},
    };
    *len = 0;
    while (formats_letter(p[*len]))
        (*len)++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].word) == *len && strncmp(units[i].word, p, *len) == 0)
            return units[i].s;
    return 0;
}

// "16:23:34.6": what stands behind its first colon.
static const char *read_clock(const char *p, double *v)
{
    for (int fields = 1; fields < 3 && *p == ':' && formats_digit(p[1]); fields++) {
        double next;
        p = formats_real(p + 1, &next);
        if (!p)
            return NULL;
        *v = *v * 60 + next;
    }
    return p;
}

const char *formats_span(const char *p, double *s, double *unit_s)
{
    double sum = 0, last = SPAN_MAX;
    const char *end = NULL;
    p += strspn(p, " :='\"");
    while (formats_digit(*p)) {
        double v;
        size_t len;
        const char *start = p;
        p = formats_real(p, &v);
        if (!p || !(v < SPAN_MAX))
            break;
        if (*p == ':' && formats_digit(p[1])) {
            end = read_clock(p, &v);
            sum += v;
            *unit_s = 1;
            break;
        }
        double unit = unit_of(formats_blanks(p), &len);
        if (unit <= 0 || unit >= last) // what follows is not part of it: "eta: 18h4m   4m"
            break;
        const char *point = memchr(start, '.', (size_t)(p - start));
        *unit_s = last = unit;
        for (const char *q = point; q && q + 1 < p; q++)
            *unit_s /= 10;
        sum += v * unit;
        end = p = formats_blanks(p) + len;
        p += strspn(p, " ,");
        p += strncmp(p, "and ", 4) == 0 ? 4 : 0;
    }
    *s = sum;
    return end && sum < SPAN_MAX ? end : NULL;
}

enum event_result formats_row(const char *line, size_t len, struct event *event)
{
    const char *p = formats_blanks(line);
    int64_t step;
    double loss, left, unit;
    if (p == line || len > EVENT_PATTERN_MAX)
        return EVENT_NONE;
    p = formats_count(p, &step);
    if (!p || *p != ' ')
        return EVENT_NONE;
    const char *column = formats_blanks(p);
    p = formats_real(column, &loss);
    if (!p || *p != ' ' || !memchr(column, '.', (size_t)(p - column)))
        return EVENT_NONE;
    const char *last = strrchr(p, ' '); // "OOB Improve" may stand between
    while (last && last[1] == '\0' && last > p)
        for (last--; last > p && *last != ' '; last--) {
        }
    const char *end = last ? formats_span(last, &left, &unit) : NULL;
    if (!end || *formats_blanks(end) != '\0' || !strchr(last, '.'))
        return EVENT_NONE;
    *event = (struct event){.step = some_int(step),
                            .counts = COUNTS_STEPS,
                            .loss = some_real(loss),
                            .left_s = some_real(left),
                            .left_unit_s = unit,
                            .bar = formats_counter("row", 3, 0)};
    return EVENT_READ;
}
