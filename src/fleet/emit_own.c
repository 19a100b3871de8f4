// SPDX-License-Identifier: Apache-2.0
// What is there already, and stays up: a machine of the user's own with systemd, a cluster with
// Slurm or Kubernetes.
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "fleet/emit.h"
#include "fleet/queues.h"

// ==== emit_systemd ====
// systemd, on a machine of the user's own: a service and its timer. The machine stays up.

// systemd's week ends with Sunday: it knows Sat..Sun, but not Sun..Mon.
static const char *const week_from_monday[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

static void put_on_calendar(struct buf *out, const struct crontab *tab, uint32_t days,
                            uint32_t weekdays, const char *time_zone)
{
    buf_adds(out, "OnCalendar=");
    if (weekdays != ALL_WEEK) {
        emit_list(out, weekdays >> 1 | (weekdays & 1) << 6, 0, 6, "..", week_from_monday);
        buf_addc(out, ' ');
    }
    buf_adds(out, "*-");
    emit_list(out, tab->months, 1, 12, "..", NULL);
    buf_addc(out, '-');
    emit_list(out, days, 1, 31, "..", NULL);
    buf_addc(out, ' ');
    emit_list(out, tab->hours, 0, 23, "..", NULL);
    buf_addc(out, ':');
    emit_list(out, tab->minutes, 0, 59, "..", NULL);
    buf_printf(out, ":00 %s\n", time_zone);
}

// Lines "OnCalendar=Mon,Tue *-*-1..15 06:00:00 UTC": one, or two for EMIT_EITHER.
static void emit_on_calendar(struct buf *out, const struct crontab *tab, const char *time_zone)
{
    switch (emit_days_of(tab)) {
    case EMIT_EITHER:
        put_on_calendar(out, tab, tab->days, ALL_WEEK, time_zone);
        put_on_calendar(out, tab, ALL_DAYS, tab->weekdays, time_zone);
        return;
    case EMIT_EVERY_DAY:
        put_on_calendar(out, tab, ALL_DAYS, ALL_WEEK, time_zone);
        return;
    case EMIT_BY_DAY:
    case EMIT_BY_WEEKDAY:
    case EMIT_BOTH:
        put_on_calendar(out, tab, tab->days, tab->weekdays, time_zone);
    }
}

enum { SYSTEMD_SPARE_S = 120 }; // for timeout(1), which comes first

// A word as systemd.service(5) reads it: quotes and C's escapes, '%' and '$' twice.
static void systemd_word(struct buf *out, const char *text)
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

static void systemd_service(struct buf *out, const struct emit_task *task)
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
        systemd_word(out, task->command[i]);
    buf_printf(out, "\nRuntimeMaxSec=%lld\n", (long long)task->limit_s + SYSTEMD_SPARE_S);
}

static void systemd_timer(struct buf *out, const struct emit_task *task)
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

static int systemd_set_up(const struct emit_task *task, struct emit_files *files, struct err *err)
{
    struct buf *out = emit_add(files, "set-up.sh", true);
    struct buf *unit = emit_add(files, short_text("%s.service", task->name).s, false);
    struct buf *timed = emit_add(files, short_text("%s.timer", task->name).s, false);
    systemd_service(unit, task);
    systemd_timer(timed, task);
    emit_head(out, task, true, "sets the task up with systemd.");
    return emit_template(out, "systemd-set-up.sh", err);
}

const struct emitter emit_systemd = {
    .name = "systemd",
    .set_up = systemd_set_up,
};

// ==== emit_slurm ====
// Slurm's scrontab: an entry that submits a script. The command stands in the script, as an entry
// is one line. Slurm decides when there is room for the job; its own times are those of the
// controller.

static int slurm_set_up(const struct emit_task *task, struct emit_files *files, struct err *err)
{
    enum { SLURM_SPARE_MIN = 2 }; // for timeout(1), which comes first
    if (task->time_zone) {
        err_set(err, ERR_USAGE, "a scrontab has no time zone: it counts in the controller's");
        return err_hint(err, "leave --time-zone out, and write the schedule in the controller's");
    }
    TRY(emit_refuse_both(&task->tab, "scrontab has no schedule for days that match both day fields",
                         err));
    struct buf *out = emit_add(files, "set-up.sh", true);
    struct buf *script = emit_add(files, "task.sh", true);
    struct buf *table = emit_add(files, "scrontab", false);
    emit_head(script, task, false, "the task, a job of Slurm.");
    buf_adds(script, "cd ");
    shell_quote(script, task->folder);
    buf_printf(script,
               " || exit 1\necho \"fare: $name, job $SLURM_JOB_ID\"\n" SHELLCHECK_DOLLARS
               "exec timeout -k 60 %lld",
               (long long)task->limit_s);
    shell_quote_all(script, task->command);
    buf_addc(script, '\n');

    buf_printf(table, "# fare cron begin %s\n", task->name);
    emit_comments(table, task, "an entry for scrontab. Times are those of Slurm's controller.");
    buf_printf(table,
               "#SCRON --job-name=%s\n"
               "#SCRON --time=%lld\n"
               "#SCRON --open-mode=append\n"
               "#SCRON --output=@KEEP@/log/%%j.log\n",
               task->name, (long long)(task->limit_s + 59) / 60 + SLURM_SPARE_MIN);
    emit_crontab(table, &task->tab);
    buf_printf(table, " @KEEP@/task.sh\n# fare cron end %s\n", task->name);
    emit_head(out, task, true, "sets the task up with Slurm.");
    return emit_template(out, "slurm-set-up.sh", err);
}

const struct emitter emit_slurm = {
    .name = "slurm",
    .set_up = slurm_set_up,
};

// ==== emit_k8s ====
// Kubernetes: a CronJob on nodes that stay up. The container runs once, is started again where it
// failed, and never beside itself. Words stand in YAML's double quotes, in escapes that YAML 1.1
// and 1.2 share.

enum { K8S_TRIES = 3, K8S_LATE_S = 600 };

static void k8s_yaml(struct buf *out, const char *text)
{
    size_t len = strlen(text);
    buf_addc(out, '"');
    while (len > 0) {
        uint32_t c;
        size_t bytes = utf8_next(text, len, &c);
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", (int)c);
        else if (c >= ' ' && c < 127)
            buf_addc(out, (char)c);
        else
            buf_printf(out, c > 0xffff ? "\\U%08x" : "\\u%04x", c);
        text += bytes;
        len -= bytes;
    }
    buf_addc(out, '"');
}

// Kubernetes replaces $(NAME) by the value of a variable; "$$" is a dollar.
static void k8s_argument(struct buf *out, const char *word)
{
    struct buf twice = {0};
    for (; *word; word++)
        buf_printf(&twice, *word == '$' ? "$$" : "%c", *word);
    k8s_yaml(out, buf_str(&twice));
    buf_drop(out, &twice);
}

static void k8s_memory_line(struct buf *out, int64_t bytes)
{
    const int64_t mib = INT64_C(1) << 20;
    if (bytes > 0)
        buf_printf(out,
                   bytes % mib ? "                  memory: \"%lld\"\n"
                               : "                  memory: \"%lldMi\"\n",
                   (long long)(bytes % mib ? bytes : bytes / mib));
}

// Memory is a limit too: a container that takes more than it asked for would end others.
static void k8s_resources(struct buf *out, const struct emit_task *task)
{
    if (task->cpu || task->memory || task->gpus > 0)
        buf_adds(out, "              resources:\n");
    if (task->cpu || task->memory)
        buf_adds(out, "                requests:\n");
    if (task->cpu)
        buf_printf(out, "                  cpu: \"%s\"\n", task->cpu);
    k8s_memory_line(out, task->memory);
    if (task->memory || task->gpus > 0)
        buf_adds(out, "                limits:\n");
    k8s_memory_line(out, task->memory);
    if (task->gpus > 0)
        buf_printf(out, "                  nvidia.com/gpu: \"%lld\"\n", (long long)task->gpus);
}

static void k8s_container(struct buf *out, const struct emit_task *task)
{
    buf_adds(out, "          containers:\n            - name: task\n              image: ");
    k8s_yaml(out, task->container);
    buf_addc(out, '\n');
    if (task->command && task->command[0])
        buf_adds(out, "              args:\n");
    for (size_t i = 0; task->command && task->command[i]; i++) {
        buf_adds(out, "                - ");
        k8s_argument(out, task->command[i]);
        buf_addc(out, '\n');
    }
    k8s_resources(out, task);
}

static void k8s_cronjob(struct buf *out, const struct emit_task *task)
{
    emit_comments(out, task, "a CronJob: when the task starts, and what runs.");
    buf_printf(out,
               "apiVersion: batch/v1\n"
               "kind: CronJob\n"
               "metadata:\n"
               "  name: %s\n"
               "  labels:\n"
               "    app.kubernetes.io/managed-by: fare\n"
               "spec:\n"
               "  schedule: \"",
               task->name);
    emit_crontab(out, &task->tab);
    buf_printf(out,
               "\"\n"
               "  timeZone: \"%s\"\n"
               "  concurrencyPolicy: Forbid\n"
               // A start that is missed for longer is left out.
               "  startingDeadlineSeconds: %d\n"
               "  jobTemplate:\n"
               "    spec:\n"
               "      backoffLimit: %d\n"
               "      activeDeadlineSeconds: %lld\n"
               "      template:\n"
               "        metadata:\n"
               "          labels:\n"
               "            fare-task: %s\n"
               "        spec:\n"
               "          restartPolicy: OnFailure\n",
               task->time_zone, K8S_LATE_S, K8S_TRIES, (long long)task->limit_s, task->name);
    if (task->gpus > 0)
        buf_adds(out, "          tolerations:\n"
                      "            - key: nvidia.com/gpu\n"
                      "              operator: Exists\n"
                      "              effect: NoSchedule\n");
    k8s_container(out, task);
}

static int k8s_set_up(const struct emit_task *task, struct emit_files *files, struct err *err)
{
    if (task->cpu && !k8s_is_quantity(task->cpu))
        return err_set(err, ERR_USAGE, "'%.40s' is not a quantity of Kubernetes, such as 4 or 500m",
                       task->cpu);
    TRY(emit_refuse_both(&task->tab,
                         "a CronJob has no schedule for days that match both day fields", err));
    struct buf *out = emit_add(files, "set-up.sh", true);
    k8s_cronjob(emit_add(files, "cronjob.yaml", false), task);
    emit_head(out, task, true, "sets the task up on Kubernetes.");
    return emit_template(out, "k8s-set-up.sh", err);
}

const struct emitter emit_k8s = {
    .name = "k8s",
    .stays_up = true,
    .needs_container = true,
    .set_up = k8s_set_up,
};
