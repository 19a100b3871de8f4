// SPDX-License-Identifier: Apache-2.0
// A file, for other tools and for tests: it is a notice while it exists. It may hold the seconds
// that are left, a date, or an object with "in_s" or "time"; "risk" alone means that nothing is
// decided yet. Whatever else it holds is a notice with the usual lead.
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "guard/notice_source.h"

#define FILE_MAX ((size_t)64 << 10)
#define MOST_S   86400.0

static void count(double seconds, struct notice_found *found)
{
    if (!(seconds >= 0 && seconds <= MOST_S))
        return;
    found->counted = true;
    found->left_ns = (int64_t)(seconds * 1e9);
}

void notice_file_read(const char *text, size_t len, struct notice_found *found)
{
    *found = (struct notice_found){.known = true, .kind = NOTICE_END};
    snprintf(found->words, sizeof found->words, "a file announces the end of this machine");
    char line[64] = "", *end;
    size_t short_len = len < sizeof line ? len : sizeof line - 1;
    memcpy(line, text, short_len);
    line[short_len] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    double seconds = strtod(line, &end);
    if (strcmp(line, "risk") == 0)
        found->kind = NOTICE_RISK;
    else if (end != line && *end == '\0')
        count(seconds, found);
    else
        found->dated = clock_parse(line, &found->date_s);
    json_t *json = line[0] == '{' ? json_loadb(text, len, 0, NULL) : NULL;
    const json_t *in = json_object_get(json, "in_s");
    const char *time = json_string_value(json_object_get(json, "time"));
    if (json_is_number(in))
        count(json_number_value(in), found);
    else if (time)
        found->dated = clock_parse(time, &found->date_s);
    json_decref(json);
}

static void ask(struct notice_asker *a, struct notice_found *found)
{
    struct buf text = {0};
    int rc = fs_read(a->value, FILE_MAX, &text, NULL);
    *found = (struct notice_found){.known = rc == ERR_MISSING};
    if (rc == 0)
        notice_file_read(buf_str(&text), text.len, found);
    buf_release(&text);
}

const struct notice_source notice_file = {
    .name = "file",
    .every_ns = 500 * NS_PER_MS,
    .lead_ns = 30 * NS_PER_S,
    .most_ns = 86400 * NS_PER_S,
    .ask = ask,
};
