// SPDX-License-Identifier: Apache-2.0
// patterns: the table of built-in formats, and the user's own pattern.
#include <regex.h>

#include "base/buf.h"
#include "run/formats.h"

const struct event_source event_patterns[] = {
    {"progress bar", formats_bar},
    {"Hugging Face Trainer", formats_trainer},
    {"log lines", formats_line},
    {NULL, NULL},
};

int event_pattern_compile(const char *pattern, regex_t *out, struct err *err)
{
    struct buf text = {.max = 64 << 10};
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
