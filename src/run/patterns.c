// SPDX-License-Identifier: Apache-2.0
// patterns: the table of built-in formats, and the user's own pattern.
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "run/formats.h"

const struct event_source event_patterns[] = {
    {"progress bar", formats_bar},
    {"Hugging Face Trainer", formats_trainer},
    {"log lines", formats_line},
    {"scikit-learn", formats_row},
    {NULL, NULL},
};

// ---- how large it gets: regcomp() copies what is repeated, and takes memory by the square of it

#define DEPTH_MAX     64
#define TIMES_MAX     32768
#define POSITIONS_MAX 2000 // positions: a few megabytes

struct size {
    int64_t all, last; // positions of the group so far, and of its last part
};

static void add_part(struct size *s, int64_t positions)
{
    s->last = positions;
    s->all += positions;
}

static void repeat_part(struct size *s, int64_t times)
{
    s->all += s->last * (times > 1 ? times - 1 : 0);
    s->last *= times > 1 ? times : 1;
}

// "[^]a-z]", from its bracket to the last one.
static const char *skip_set(const char *p)
{
    p += p[1] == '^' ? 2 : 1;
    p += *p == ']';
    while (*p && *p != ']') {
        const char kind = p[0] == '[' ? p[1] : '\0'; // "[:digit:]"
        const char *end = NULL;
        if (kind == ':' || kind == '.' || kind == '=')
            end = strstr(p + 2, (const char[]){kind, ']', '\0'});
        p = end ? end + 2 : p + 1;
    }
    return *p ? p : p - 1;
}

// "{3}", "{3,}" or "{3,5}": how often at most. 1 for other text.
static int64_t times_of(const char *p)
{
    char *end;
    long low = strtol(p + 1, &end, 10), high = low;
    if (*end == ',')
        high = end[1] == '}' ? low + 1 : strtol(end + 1, &end, 10);
    high = low > high ? low : high;
    return high < TIMES_MAX ? high : TIMES_MAX;
}

// Whether a pattern is too large to compile. Errors of syntax are regcomp()'s.
static bool is_absurd(const char *pattern)
{
    struct size levels[DEPTH_MAX] = {{0}};
    int depth = 0;
    for (const char *p = pattern; *p; p++) {
        struct size *s = &levels[depth];
        if (p[0] == '\\' && p[1]) {
            p++;
            add_part(s, 1);
        } else if (*p == '[') {
            p = skip_set(p);
            add_part(s, 1);
        } else if (*p == '(') {
            if (++depth == DEPTH_MAX)
                return true;
            levels[depth] = (struct size){0};
        } else if (*p == ')' && depth > 0) {
            add_part(&levels[--depth], s->all + 1);
        } else if (*p == '{') {
            repeat_part(s, times_of(p));
        } else if (*p == '+') {
            repeat_part(s, 2);
        } else if (*p != '*' && *p != '?') {
            add_part(s, 1);
        }
        if (levels[depth].all > POSITIONS_MAX)
            return true;
    }
    return false;
}

int event_pattern_compile(const char *pattern, regex_t *out, struct err *err)
{
    struct buf text = {0};
    if (is_absurd(pattern)) {
        err_set(err, ERR_USAGE, "--step-pattern '%.40s%s' is too large to compile", pattern,
                strlen(pattern) > 40 ? "..." : "");
        return err_hint(err, "repeat less: '[0-9]+' instead of '[0-9]{1,1000}'");
    }
    for (const char *p = pattern; *p; p++) {
        if (p[0] == '\\' && p[1] == 'd') {
            buf_adds(&text, "[0-9]");
            p++;
        } else {
            buf_addc(&text, *p);
            if (p[0] == '\\' && p[1])
                buf_addc(&text, *++p);
        }
    }
    int rc = buf_check(&text, err);
    int failed = rc == 0 ? regcomp(out, buf_str(&text), REG_EXTENDED) : 0;
    if (failed == REG_ESPACE) {
        rc = err_memory(err);
    } else if (failed != 0) {
        char why[128];
        regerror(failed, out, why, sizeof why);
        rc = err_set(err, ERR_USAGE, "--step-pattern '%s' is not a regular expression: %s", pattern,
                     why);
        err_hint(err, "use the syntax of grep -E: 'step ([0-9]+)/([0-9]+)'");
    }
    buf_release(&text);
    return rc;
}

static void group(const char *line, const regmatch_t *at, struct maybe_int *out)
{
    int64_t v;
    if (at->rm_so >= 0 && formats_digits(line + at->rm_so, &v) == line + at->rm_eo)
        *out = some_int(v);
}

enum event_result event_pattern_read(const regex_t *pattern, const char *line, size_t len,
                                     struct event *event)
{
    regmatch_t at[3];
    if (len > EVENT_PATTERN_MAX || regexec(pattern, line, 3, at, 0) != 0)
        return EVENT_NONE;
    if (pattern->re_nsub == 0) {
        event->steps = some_int(1);
        return EVENT_READ;
    }
    group(line, &at[1], &event->step);
    if (pattern->re_nsub > 1)
        group(line, &at[2], &event->total_steps);
    return event->step.known ? EVENT_READ : EVENT_MALFORMED;
}
