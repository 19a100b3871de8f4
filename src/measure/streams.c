// SPDX-License-Identifier: Apache-2.0
#include "measure/streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define READ_SHARE 8                // of the time goes into reading lines, at most
#define CREDIT_MAX (50 * NS_PER_MS) // what a quiet time can save up

// ---- open and close

static bool same_file(int a, int b)
{
    struct stat one, two;
    return fstat(a, &one) == 0 && fstat(b, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino && one.st_rdev == two.st_rdev;
}

static int open_lines(struct event_lines *lines, struct err *err)
{
    lines->line = malloc(EVENT_LINE_MAX + 1);
    return lines->line ? 0 : err_memory(err);
}

int streams_open(struct streams *s, int to, struct err *err)
{
    TRY(relay_open(&s->out, to, err));
    // If both go to the same place, one stream keeps their order.
    if (to != STDERR_FILENO && !same_file(to, STDERR_FILENO))
        TRY(relay_open(&s->err, STDERR_FILENO, err));
    TRY(open_lines(&s->out_lines, err));
    TRY(open_lines(&s->err_lines, err));
    TRY(open_lines(&s->event_lines, err));
    return tail_open(&s->tail, getenv("FARE_EVENTS"), err);
}

void streams_started(struct streams *s)
{
    relay_started(&s->out);
    if (s->err.buffer)
        relay_started(&s->err);
    tail_started(&s->tail);
}

void streams_release(struct streams *s)
{
    relay_release(&s->out);
    relay_release(&s->err);
    tail_release(&s->tail);
    free(s->out_lines.line);
    free(s->err_lines.line);
    free(s->event_lines.line);
}

// ---- lines

static void output_line(void *context, char *line, size_t len, bool ended)
{
    struct streams *s = context;
    follow_output(s->follow, line, len, ended);
}

static void event_line(void *context, char *line, size_t len, bool ended)
{
    struct streams *s = context;
    if (ended && s->event)
        s->event(s->context, line);
    if (ended)
        follow_event(s->follow, line, len);
}

static void keep_last(struct streams_last *last, const char *bytes, size_t len)
{
    if (len >= STREAMS_LAST) {
        memcpy(last->bytes, bytes + len - STREAMS_LAST, STREAMS_LAST);
        last->len = STREAMS_LAST;
        return;
    }
    size_t keep = last->len + len > STREAMS_LAST ? STREAMS_LAST - len : last->len;
    memmove(last->bytes, last->bytes + last->len - keep, keep);
    memcpy(last->bytes + keep, bytes, len);
    last->len = keep + len;
}

static void read_lines(struct streams *s, struct event_lines *lines, struct streams_last *last,
                       const char *bytes, size_t len)
{
    int64_t began_ns = clock_now_ns();
    s->credit_ns += (began_ns - s->credit_at_ns) / READ_SHARE;
    s->credit_ns = s->credit_ns < CREDIT_MAX ? s->credit_ns : CREDIT_MAX;
    s->credit_at_ns = began_ns;
    last->unread = s->credit_ns < 0 && !s->every_line;
    if (last->unread) {
        lines->len = 0;
        lines->cut = true; // until the next line begins
        return;
    }
    event_lines_add(lines, bytes, len, output_line, s);
    s->credit_ns -= clock_now_ns() - began_ns;
}

static void from_output(struct streams *s, struct event_lines *lines, struct streams_last *last,
                        const char *bytes, size_t len)
{
    keep_last(last, bytes, len);
    if (!s->modes)
        s->modes = memmem(bytes, len, "\x1b[?", 3) != NULL;
    if (s->follow)
        read_lines(s, lines, last, bytes, len);
}

static void from_out(void *context, const char *bytes, size_t len)
{
    struct streams *s = context;
    from_output(s, &s->out_lines, &s->out_last, bytes, len);
}

static void from_err(void *context, const char *bytes, size_t len)
{
    struct streams *s = context;
    from_output(s, &s->err_lines, &s->err_last, bytes, len);
}

static void from_events(void *context, const char *bytes, size_t len)
{
    struct streams *s = context;
    event_lines_add(&s->event_lines, bytes, len, event_line, s);
}

// The last lines have the final figures.
static void end_lines(struct streams *s, struct event_lines *lines, const struct streams_last *last)
{
    const char *newline = last->unread ? memchr(last->bytes, '\n', last->len) : NULL;
    if (newline)
        event_lines_add(lines, newline, last->len - (size_t)(newline - last->bytes), output_line,
                        s);
    event_lines_end(lines, output_line, s);
}

void streams_end_lines(struct streams *s)
{
    end_lines(s, &s->out_lines, &s->out_last);
    end_lines(s, &s->err_lines, &s->err_last);
    event_lines_end(&s->event_lines, event_line, s);
}

// ---- while it runs

static struct pollfd poll_relay(const struct relay *r)
{
    if (!r->buffer)
        return (struct pollfd){.fd = -1};
    return relay_pending(r) ? (struct pollfd){r->to, POLLOUT, 0}
                            : (struct pollfd){r->from, POLLIN, 0};
}

void streams_poll(const struct streams *s, struct pollfd fds[STREAMS_FDS])
{
    fds[0] = poll_relay(&s->out);
    fds[1] = poll_relay(&s->err);
    fds[2] = (struct pollfd){s->follow ? s->tail.watch : -1, POLLIN, 0};
    fds[3] = (struct pollfd){s->follow && !s->tail.path ? s->tail.fd : -1, POLLIN, 0};
}

void streams_work(struct streams *s, const struct pollfd fds[STREAMS_FDS])
{
    // Events first: a program reports a step, then prints it, and it must not count twice.
    if (s->follow)
        tail_read(&s->tail, from_events, s);
    relay_work(&s->out, (fds[0].revents & ~POLLIN) != 0, from_out, s);
    if (s->err.buffer)
        relay_work(&s->err, (fds[1].revents & ~POLLIN) != 0, from_err, s);
}

bool streams_pending(const struct streams *s)
{
    return relay_pending(&s->out) || (s->err.buffer && relay_pending(&s->err));
}

bool streams_reading(const struct streams *s)
{
    return s->out.from >= 0 || (s->err.buffer && s->err.from >= 0);
}

struct relay *streams_beside(struct streams *s)
{
    return s->err.buffer ? &s->err : &s->out;
}

// ---- the end

static bool last_line(const struct streams_last *last, char *out, size_t size)
{
    char text[STREAMS_LAST + 1];
    memcpy(text, last->bytes, last->len);
    size_t end = last->len;
    out[0] = '\0';
    while (end > 0 && out[0] == '\0') {
        size_t from = end;
        while (from > 0 && text[from - 1] != '\n' && text[from - 1] != '\r')
            from--;
        text[end] = '\0';
        event_clean(text + from, end - from);
        const char *words = text + from + strspn(text + from, " ");
        snprintf(out, size, "%s", words);
        end = from > 0 ? from - 1 : 0;
    }
    return out[0] != '\0';
}

void streams_last_line(struct streams *s, char *out, size_t size)
{
    if (!last_line(&s->err_last, out, size))
        last_line(&s->out_last, out, size);
}
