// SPDX-License-Identifier: Apache-2.0
// systemd, on a machine of the user's own: a service and its timer. The machine stays up.
#include "base/words.h"
#include "fleet/emit.h"
#include "fleet/emit_time.h"
#include "base/shell.h"

enum { SPARE_S = 120 }; // for timeout(1), which comes first

// A word as systemd.service(5) reads it: quotes and C's escapes, '%' and '$' twice.
static void word(struct buf *out, const char *text)
{
    buf_adds(out, " \"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            buf_addc(out, '\\');
        if (c == '%' || c == '$')
            buf_addc(out, (char)c);
        if (c < ' ' || c == 127)
            buf_printf(out, "\\x%02x", c);
        else
            buf_addc(out, (char)c);
    }
    buf_addc(out, '"');
}

static void service(struct buf *out, const struct emit_task *task)
{
    emit_comments(out, task, "the task. The machine stays up after it.");
    buf_printf(out,
               "[Unit]\n"
               "Description=fare cron: %s\n"
               "Wants=network-online.target\n"
               "After=network-online.target\n\n"
               "[Service]\n"
               // Not oneshot, for which RuntimeMaxSec= has no effect.
               "Type=exec\n"
               "WorkingDirectory=",
               task->name);
    for (const char *p = task->folder; *p; p++)
        buf_printf(out, *p == '%' ? "%%%%" : "%c", *p);
    // timeout(1) takes a command that begins with '-', '@' or ':', which systemd would not.
    buf_printf(out, "\nExecStart=/usr/bin/timeout -k 60 %lld", (long long)task->limit_s);
    for (size_t i = 0; task->command[i]; i++)
        word(out, task->command[i]);
    buf_printf(out, "\nRuntimeMaxSec=%lld\n", (long long)task->limit_s + SPARE_S);
}

static void timer(struct buf *out, const struct emit_task *task)
{
    emit_comments(out, task, "when the task starts.");
    buf_printf(out,
               "[Unit]\n"
               "Description=fare cron: %s\n\n"
               "[Timer]\n",
               task->name);
    emit_on_calendar(out, &task->tab, task->time_zone);
    buf_adds(out, "AccuracySec=1s\n"
                  // A start that was missed because the machine was off is made up for, once.
                  "Persistent=true\n\n"
                  "[Install]\n"
                  "WantedBy=timers.target\n");
}

static int set_up(const struct emit_task *task, struct emit_files *files, struct err *err)
{
    struct buf *out = emit_add(files, "set-up.sh", true);
    struct buf *unit = emit_add(files, words("%s.service", task->name).s, false);
    struct buf *timed = emit_add(files, words("%s.timer", task->name).s, false);
    service(unit, task);
    timer(timed, task);
    emit_set_up_head(out, task, "sets the task up with systemd.");
    return emit_template(out, "systemd-set-up.sh", err);
}

static int remove_task(const struct emit_task *task, struct emit_files *files, struct err *err)
{
    return emit_remove(task, files, "systemd-remove.sh", err);
}

const struct emitter emit_systemd = {
    .name = "systemd",
    .set_up = set_up,
    .remove = remove_task,
};
