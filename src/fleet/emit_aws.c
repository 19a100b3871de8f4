// SPDX-License-Identifier: Apache-2.0
// AWS: a machine that EventBridge Scheduler starts, with user data for cloud-init. `bootcmd` is run
// at each boot; it writes the script to where cloud-init runs scripts at each boot, once the
// network is there. In base64, as YAML has opinions about some characters.
#include "base/base64.h"
#include "fleet/emit.h"
#include "fleet/emit_time.h"
#include "base/shell.h"

#define IMAGE "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"

static int user_data(struct buf *out, const struct emit_task *task, struct err *err)
{
    struct buf boot = {0};
    int rc = emit_boot(&boot, task, err);
    buf_adds(out, "#cloud-config\n");
    emit_comments(out, task, "at each boot, installs the script that cloud-init then runs.");
    buf_printf(out,
               "bootcmd:\n"
               "  - mkdir -p /var/lib/cloud/scripts/per-boot\n"
               "  - rm -f /var/lib/cloud/scripts/per-boot/fare-%s\n"
               "  - echo ",
               task->name);
    base64_write(out, buf_str(&boot), boot.len);
    buf_printf(out,
               " | base64 -d > /var/lib/cloud/scripts/per-boot/fare-%s\n"
               "  - chmod 755 /var/lib/cloud/scripts/per-boot/fare-%s\n",
               task->name, task->name);
    buf_drop(out, &boot);
    return rc;
}

static int set_up(const struct emit_task *task, struct emit_files *files, struct err *err)
{
    enum { MOST = 16384 }; // bytes of user data
    struct buf first = {0}, second = {0};
    if (task->spot) {
        err_set(err, ERR_USAGE, "a spot instance of AWS cannot be stopped and started like this");
        return err_hint(err, "leave ':spot' out of --offer");
    }
    struct buf *out = emit_add(files, "set-up.sh", true);
    struct buf *data = emit_add(files, "user-data.yaml", false);
    int rc = emit_eventbridge(&first, &second, &task->tab, err);
    if (rc == 0)
        rc = user_data(data, task, err);
    if (rc == 0)
        rc = emit_boot(emit_add(files, "boot.sh", true), task, err);
    if (rc == 0 && data->len > MOST)
        rc = err_set(err, ERR_USAGE, "the command is too long: AWS takes %d bytes of user data",
                     MOST);
    emit_set_up_head(out, task, "sets the task up on AWS.");
    shell_set(out, "expression", buf_str(&first));
    shell_set(out, "expression_2", buf_str(&second));
    shell_set(out, "time_zone", task->time_zone);
    shell_set(out, "region", task->region);
    shell_set(out, "machine", task->machine);
    shell_set(out, "image", task->image ? task->image : IMAGE);
    buf_printf(out, "disk_gb=%lld\n", (long long)task->disk_gb);
    buf_drop(out, &first);
    buf_drop(out, &second);
    return rc == 0 ? emit_template(out, "aws-set-up.sh", err) : rc;
}

static int remove_task(const struct emit_task *task, struct emit_files *files, struct err *err)
{
    struct buf *out = emit_add(files, "remove.sh", true);
    emit_head(out, task, "removes the task from AWS.");
    shell_set(out, "region", task->region);
    return emit_template(out, "aws-remove.sh", err);
}

const struct emitter emit_aws = {
    .name = "aws",
    .provider = "aws",
    .least_gb = 8,
    .set_up = set_up,
    .remove = remove_task,
};
