// SPDX-License-Identifier: Apache-2.0
// Shared by the sources: names of phases, splitting bytes into lines.
#include "run/event.h"

#include <string.h>
#include <strings.h>

#include "run/meter.h"

void event_release(struct event *event)
{
    json_decref(event->about);
    event->about = NULL;
}

bool event_phase(const char *name, struct maybe_int *phase)
{
    static const struct {
        const char *name;
        enum meter_phase phase;
    } names[] = {
        {"setup", METER_SETUP},         {"kernels", METER_KERNELS},
        {"compile", METER_KERNELS},     {"load", METER_LOAD},
        {"device", METER_DEVICE},       {"train", METER_TRAIN},
        {"evaluate", METER_EVALUATE},   {"eval", METER_EVALUATE},
        {"test", METER_EVALUATE},       {"validate", METER_EVALUATE},
        {"validation", METER_EVALUATE}, {"checkpoint", METER_CHECKPOINT},
        {"save", METER_CHECKPOINT},     {"idle", METER_IDLE},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(names[i].name, name) == 0) {
            *phase = some_int(names[i].phase);
            return true;
        }
    return false;
}

// The length of the escape sequence at `p`: ESC [ parameters final, or ESC and one byte.
static size_t escape_length(const char *p, size_t len)
{
    if (len < 2)
        return len;
    if (p[1] != '[')
        return 2;
    size_t i = 2;
    while (i < len && ((unsigned char)p[i] < 0x40 || (unsigned char)p[i] > 0x7e))
        i++;
    return i < len ? i + 1 : len;
}

size_t event_clean(char *line, size_t len)
{
    size_t out = 0;
    for (size_t i = 0; i < len;) {
        unsigned char c = (unsigned char)line[i];
        if (c == 0x1b) {
            i += escape_length(line + i, len - i);
            continue;
        }
        if (c == '\t' || c == '\0')
            line[out++] = ' ';
        else if (c >= 0x20 && c != 0x7f)
            line[out++] = (char)c;
        i++;
    }
    line[out] = '\0';
    return out;
}

static void end_line(struct event_lines *lines, event_line_fn *each, void *context)
{
    lines->line[lines->len] = '\0';
    size_t len = lines->len;
    lines->len = 0;
    lines->cut = false;
    if (len > 0)
        each(context, lines->line, len, true);
}

static void append(struct event_lines *lines, const char *bytes, size_t len)
{
    size_t free_bytes = EVENT_LINE_MAX - lines->len;
    if (len > free_bytes)
        lines->cut = true;
    len = len < free_bytes ? len : free_bytes;
    for (size_t i = 0; i < len; i++)
        lines->line[lines->len + i] = bytes[i] ? bytes[i] : ' ';
    lines->len += len;
}

// A bar has no newline until it is overwritten, long after its text is complete. tqdm's ends with a
// bracket; those of Keras, rich and Ultralytics are drawn.
static bool maybe_bar(const struct event_lines *lines)
{
    const char *line = lines->line;
    size_t len = lines->len;
    return len > 0 && len <= EVENT_PATTERN_MAX &&
           (line[len - 1] == ']' || memmem(line, len, "\xe2\x94\x81", 3) ||
            memmem(line, len, "[=", 2));
}

void event_lines_add(struct event_lines *lines, const char *bytes, size_t len, event_line_fn *each,
                     void *context)
{
    size_t from = 0;
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != '\n' && bytes[i] != '\r' && bytes[i] != '\b')
            continue;
        if (i > from && !lines->cut)
            append(lines, bytes + from, i - from);
        end_line(lines, each, context);
        from = i + 1;
    }
    if (len > from && !lines->cut)
        append(lines, bytes + from, len - from);
    if (maybe_bar(lines)) {
        char copy[EVENT_PATTERN_MAX + 1];
        memcpy(copy, lines->line, lines->len);
        copy[lines->len] = '\0';
        each(context, copy, lines->len, false);
    }
}

void event_lines_end(struct event_lines *lines, event_line_fn *each, void *context)
{
    end_line(lines, each, context);
}
