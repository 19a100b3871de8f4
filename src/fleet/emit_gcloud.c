// SPDX-License-Identifier: Apache-2.0
// Google Cloud: a machine with an instance schedule, which starts it, and a startup script, which
// Google's agent runs at each boot. Google stops the machine itself after --max-run-duration.
#include "fleet/emit.h"
#include "fleet/emit_time.h"
#include "base/shell.h"

enum { SPARE_S = 600 }; // for the limits within the machine, which come first

static int set_up(const struct emit_task *task, struct emit_files *files, struct err *err)
{
    struct buf schedule = {0};
    char sum[EMIT_SUM_BYTES];
    if (!*task->region) {
        err_set(err, ERR_USAGE, "the region is missing: where is the machine?");
        return err_hint(err, "such as --region us-central1");
    }
    if (emit_days_of(&task->tab) == EMIT_BOTH) {
        err_set(err, ERR_USAGE,
                "Google does not say what it makes of this schedule's two day fields");
        return err_hint(err, "restrict the day of the month or the day of the week, not both");
    }
    struct buf *out = emit_add(files, "set-up.sh", true), *boot = emit_add(files, "boot.sh", true);
    TRY(emit_boot(boot, task, err));
    emit_sum(boot, sum);
    emit_crontab(&schedule, &task->tab);
    emit_set_up_head(out, task, "sets the task up on Google Cloud.");
    shell_set(out, "schedule", buf_str(&schedule));
    shell_set(out, "time_zone", task->time_zone);
    shell_set(out, "region", task->region);
    shell_set(out, "machine", task->machine);
    shell_set(out, "model", task->spot ? "SPOT" : "STANDARD");
    shell_set(out, "image", task->image ? task->image : "debian-cloud/debian-12");
    buf_printf(out, "disk_gb=%lld\nmost_s=%lld\nsum=%s\n", (long long)task->disk_gb,
               (long long)task->limit_s + SPARE_S, sum);
    buf_drop(out, &schedule);
    return emit_template(out, "gcloud-set-up.sh", err);
}

static int remove_task(const struct emit_task *task, struct emit_files *files, struct err *err)
{
    return emit_remove(task, files, "gcloud-remove.sh", err);
}

const struct emitter emit_gcloud = {
    .name = "gcloud",
    .provider = "gcp",
    .least_gb = 10,
    .set_up = set_up,
    .remove = remove_task,
};
