// SPDX-License-Identifier: Apache-2.0
// A member's unit is the end of its name, so the table of a record tells which of them are times.
#include "ledger/times.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "record/read.h"
#include "record/run.h"

#define MOST_S (100 * 366 * 86400.0)

// How many of the member are a second; 0: it is no time. What is "per_s" is a speed.
static double per_second(const char *name)
{
    static const struct {
        const char *end;
        double per_s;
    } units[] = {{"_ns", 1e9}, {"_ms", 1e3}, {"_us", 1e6}, {"per_s", 0}, {"_s", 1}};
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t end = strlen(units[i].end);
        if (len > end && strcmp(name + len - end, units[i].end) == 0)
            return units[i].per_s;
    }
    return 0;
}

static int check_number(const char *name, double value, struct err *err)
{
    double per_s = per_second(name);
    if (per_s == 0 || (value >= 0 && value <= MOST_S * per_s))
        return 0;
    return err_set(err, ERR_FORMAT, "%s: %.12g is no time: expected 0 to 100 years", name, value);
}

static int check_reals(const struct field *f, const void *at, struct err *err)
{
    const struct list *list = at;
    const double *items = list->items;
    int rc = 0;
    for (size_t i = 0; i < list->count && rc == 0; i++)
        rc = check_number(f->name, items[i], err);
    return rc;
}

static int check_record(const struct field *fields, const char *record, struct err *err);

static int check_list(const struct field *f, const void *at, struct err *err)
{
    const struct list *list = at;
    const char *items = list->items;
    int rc = 0;
    for (size_t i = 0; i < list->count && rc == 0; i++) {
        rc = check_record(f->sub, items + i * f->sub_size, err);
        if (rc != 0)
            err_context(err, "%s[%zu]", f->name, i);
    }
    return rc;
}

static int check_record(const struct field *fields, const char *record, struct err *err)
{
    int rc = 0;
    for (const struct field *f = fields; f->name && rc == 0; f++) {
        const void *at = record + f->at;
        const struct maybe_int *number = at;
        const struct maybe_real *real = at;
        switch (f->kind) {
        case FIELD_INT:
            rc = number->known ? check_number(f->name, (double)number->v, err) : 0;
            break;
        case FIELD_REAL:
            rc = real->known ? check_number(f->name, real->v, err) : 0;
            break;
        case FIELD_REALS:
            rc = check_reals(f, at, err);
            break;
        case FIELD_LIST:
            rc = check_list(f, at, err);
            break;
        case FIELD_OBJECT:
            rc = check_record(f->sub, at, err);
            if (rc != 0)
                err_context(err, "%s", f->name);
            break;
        default:
            break;
        }
    }
    return rc;
}

// A quick look that lets pass what is surely right: after a name that ends like a time's comes a
// number, or a list of numbers, without a sign or an exponent and with few digits before the point.
// Whatever else it is, the table is asked.
static bool may_be_wrong(const char *text, size_t len)
{
    if (memchr(text, '\\', len)) // a name may be written in another way
        return true;
    const char *end = text + len;
    for (const char *p = text; (p = memchr(p, ':', (size_t)(end - p))); p++) {
        const char *name = p;
        while (name > text &&
               (name[-1] == ' ' || name[-1] == '\t' || name[-1] == '\n' || name[-1] == '\r'))
            name--;
        if (name - text < 4 || name[-1] != '"' || name[-2] != 's')
            continue;
        int digits = name[-3] == '_' ? 9 : name[-3] == 'm' ? 12 : name[-3] == 'u' ? 15 : 18;
        int run = 0;
        const char *v = p + 1;
        for (; v < end && *v != '"' && *v != '}' && *v != '{'; v++) {
            if (*v == '-' || *v == '+' || *v == 'e' || *v == 'E')
                return true;
            if (*v == '.') // what is behind it is small
                while (v + 1 < end && v[1] >= '0' && v[1] <= '9')
                    v++;
            run = *v >= '0' && *v <= '9' ? run + 1 : 0;
            if (run > digits)
                return true;
        }
        p = v - 1 > p ? v - 1 : p;
    }
    return false;
}

static bool has_time(const struct field *f)
{
    for (const struct field *sub = f->sub; sub && sub->name; sub++)
        if (has_time(sub))
            return true;
    return per_second(f->name) > 0 || strcmp(f->name, "started") == 0;
}

static bool has_interval(const struct field *f)
{
    return strcmp(f->name, "started") == 0 || strcmp(f->name, "projection") == 0 ||
           strcmp(f->name, "steady") == 0;
}

// The table of a run without what holds no time, so that it is passed over; or with just the
// members that must fit each other.
static const struct field *timed_fields(bool all)
{
    enum { MOST = 96 };
    static struct field tables[2][MOST];
    struct field *table = tables[all];
    size_t count = 0;
    if (table[0].name)
        return table;
    for (const struct field *f = run_fields; f->name; f++) {
        assert(count + 1 < MOST);
        if (all ? has_time(f) : has_interval(f))
            table[count++] = *f;
    }
    return table;
}

static int check_interval(const char *what, struct maybe_real low, struct maybe_real high,
                          struct err *err)
{
    if (!low.known || !high.known || low.v <= high.v)
        return 0;
    return err_set(err, ERR_FORMAT, "%s: the interval ends (%.12g) before it begins (%.12g)", what,
                   high.v, low.v);
}

int times_check(const char *text, size_t len, struct err *err)
{
    struct run run = {0};
    int64_t date;
    bool all = may_be_wrong(text, len);
    const struct field *fields = timed_fields(all);
    int rc = record_from_kept(fields, text, len, &run, err);
    if (rc == 0 && all)
        rc = check_record(fields, (const char *)&run, err);
    if (rc == 0)
        rc = check_interval("projection", run.projection.low_s, run.projection.high_s, err);
    if (rc == 0)
        rc = check_interval("steady", run.steady.low_ms, run.steady.high_ms, err);
    if (rc == 0 && run.started && !clock_parse(run.started, &date))
        rc = err_set(err, ERR_FORMAT, "started: '%.40s' is not a date", run.started);
    record_release(fields, &run);
    return rc;
}
