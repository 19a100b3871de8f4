// SPDX-License-Identifier: Apache-2.0
// Slurm's scrontab: an entry that submits a script. The command stands in the script, as an entry
// is one line. Slurm decides when there is room for the job; its own times are those of the
// controller.
#include "fleet/emit.h"
#include "fleet/emit_time.h"
#include "base/shell.h"

static int set_up(const struct emit_task *task, struct emit_files *files, struct err *err)
{
    enum { SPARE_MIN = 2 }; // for timeout(1), which comes first
    if (task->time_zone) {
        err_set(err, ERR_USAGE, "a scrontab has no time zone: it counts in the controller's");
        return err_hint(err, "leave --time-zone out, and write the schedule in the controller's");
    }
    if (emit_days_of(&task->tab) == EMIT_BOTH) {
        err_set(err, ERR_USAGE, "scrontab has no schedule for days that match both day fields");
        return err_hint(err, "restrict the day of the month or the day of the week, not both");
    }
    struct buf *out = emit_add(files, "set-up.sh", true);
    struct buf *script = emit_add(files, "task.sh", true);
    struct buf *table = emit_add(files, "scrontab", false);
    emit_head(script, task, "the task, a job of Slurm.");
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
               task->name, (long long)(task->limit_s + 59) / 60 + SPARE_MIN);
    emit_crontab(table, &task->tab);
    buf_printf(table, " @KEEP@/task.sh\n# fare cron end %s\n", task->name);
    emit_set_up_head(out, task, "sets the task up with Slurm.");
    return emit_template(out, "slurm-set-up.sh", err);
}

static int remove_task(const struct emit_task *task, struct emit_files *files, struct err *err)
{
    return emit_remove(task, files, "slurm-remove.sh", err);
}

const struct emitter emit_slurm = {
    .name = "slurm",
    .set_up = set_up,
    .remove = remove_task,
};
