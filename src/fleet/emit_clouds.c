// SPDX-License-Identifier: Apache-2.0
// The clouds: a machine that is up only while the task works. It runs boot.sh at each boot.
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/sha256.h"
#include "fleet/emit.h"

// 40 hexadecimal digits that stand for a text; they fit into a label of any cloud.
#define EMIT_SUM_BYTES 41

// How often a container is started in one boot, if it fails.
enum { CONTAINER_TRIES = 3 };

// The words of what runs the container: a script with the GPUs, the image and the command as its
// arguments.
static int emit_container(struct buf *out, const struct emit_task *task, struct err *err)
{
    SCOPED(buf_release) struct buf script = {0};
    TRY(emit_template(&script, "container.sh", err));
    TRY(buf_check(&script, err));
    buf_adds(out, " sh -c ");
    shell_quote(out, buf_str(&script));
    buf_printf(out, " 'fare' '%lld' ", (long long)task->gpus);
    shell_quote(out, task->container);
    return 0;
}

// The script that a cloud's machine runs at each boot.
static int emit_boot(struct buf *out, const struct emit_task *task, struct err *err)
{
    emit_head(out, task, false, "what the machine runs at each boot.");
    buf_printf(out, "limit_s=%lld\ntries=%d\n" SHELLCHECK_DOLLARS "set --",
               (long long)task->limit_s, task->container ? CONTAINER_TRIES : 1);
    if (task->container)
        TRY(emit_container(out, task, err));
    shell_quote_all(out, task->command);
    buf_addc(out, '\n');
    return emit_template(out, "boot.sh", err);
}

// The image to boot: the user's, or one on which the command or the container can run.
static const char *emit_image(const struct emitter *emitter, const struct emit_task *task)
{
    return task->image        ? task->image
           : !task->container ? emitter->image
           : task->gpus > 0   ? emitter->containers_gpus
                              : emitter->containers;
}

static void emit_sum(const struct buf *text, char out[EMIT_SUM_BYTES])
{
    char hex[SHA256_HEX_BYTES];
    sha256_hex_of(buf_str(text), text->len, hex);
    snprintf(out, EMIT_SUM_BYTES, "%.40s", hex);
}

// ==== emit_gcloud ====
// Google Cloud: a machine with an instance schedule, which starts it, and a startup script, which
// Google's agent runs at each boot. Google stops the machine itself after --max-run-duration.

enum { GCLOUD_SPARE_S = 600 }; // for the limits within the machine, which come first

// For Container-Optimized OS, whose cloud-init does this at each boot: its /etc is empty after one.
static void gcloud_user_data(struct buf *out, const struct buf *boot, const struct emit_task *task)
{
    buf_adds(out, "#cloud-config\n");
    emit_comments(out, task, "at each boot, starts the service that runs the container.");
    buf_adds(out, "write_files:\n"
                  "  - path: /etc/fare-task.sh\n"
                  "    permissions: '0644'\n"
                  "    encoding: b64\n"
                  "    content: ");
    base64_write(out, buf_str(boot), boot->len);
    buf_adds(out, "\n"
                  "  - path: /etc/systemd/system/fare-task.service\n"
                  "    permissions: '0644'\n"
                  "    content: |\n"
                  "      [Unit]\n"
                  "      Wants=network-online.target docker.socket\n"
                  "      After=network-online.target docker.socket\n"
                  "      [Service]\n"
                  "      Type=exec\n"
                  "      ExecStart=/bin/sh /etc/fare-task.sh\n"
                  "runcmd:\n"
                  "  - systemctl daemon-reload\n"
                  "  - systemctl start --no-block fare-task.service\n");
}

static int gcloud_set_up(const struct emit_task *task, struct emit_files *files, struct err *err)
{
    struct buf schedule = {0};
    char sum[EMIT_SUM_BYTES];
    if (!*task->region) {
        err_set(err, ERR_USAGE, "the region is missing: where is the machine?");
        return err_hint(err, "such as --region us-central1");
    }
    TRY(emit_refuse_both(
        &task->tab, "Google does not say what it makes of this schedule's two day fields", err));
    struct buf *out = emit_add(files, "set-up.sh", true), *boot = emit_add(files, "boot.sh", true);
    TRY(emit_boot(boot, task, err));
    emit_sum(boot, sum);
    if (task->container)
        gcloud_user_data(emit_add(files, "user-data.yaml", false), boot, task);
    emit_crontab(&schedule, &task->tab);
    emit_head(out, task, true, "sets the task up on Google Cloud.");
    shell_set(out, "schedule", buf_str(&schedule));
    shell_set(out, "time_zone", task->time_zone);
    shell_set(out, "region", task->region);
    shell_set(out, "machine", task->machine);
    shell_set(out, "model", task->spot ? "SPOT" : "STANDARD");
    shell_set(out, "image", emit_image(&emit_gcloud, task));
    shell_set(out, "metadata",
              task->container ? "user-data=user-data.yaml" : "startup-script=boot.sh");
    buf_printf(out, "disk_gb=%lld\nmost_s=%lld\nsum=%s\n", (long long)task->disk_gb,
               (long long)task->limit_s + GCLOUD_SPARE_S, sum);
    buf_drop(out, &schedule);
    return emit_template(out, "gcloud-set-up.sh", err);
}

const struct emitter emit_gcloud = {
    .name = "gcloud",
    .provider = "gcp",
    .image = "debian-cloud/debian-12",
    // Has Docker, and installs a driver at each boot.
    .containers = "cos-cloud/cos-stable",
    .containers_gpus = "cos-cloud/cos-stable",
    .least_gb = 10,
    .least_container_gb = 10,
    .set_up = gcloud_set_up,
};

// ==== emit_aws ====
// AWS: a machine that EventBridge Scheduler starts, with user data for cloud-init. `bootcmd` is run
// at each boot; it writes the script to where cloud-init runs scripts at each boot, once the
// network is there. In base64, as YAML has opinions about some characters.

// Before a parameter that has the image's identifier, as in share/images.csv; the script asks for
// it.
#define AWS_BY_NAME "resolve:ssm:"

static const char *const week_from_sunday[] = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};

// ---- EventBridge Scheduler: one of the two day fields is always '?'

static void put_eventbridge(struct buf *out, const struct crontab *tab, bool by_weekday)
{
    buf_adds(out, "cron(");
    emit_time(out, tab);
    if (by_weekday)
        buf_addc(out, '?');
    else
        emit_list(out, emit_days_of(tab) == EMIT_EVERY_DAY ? ALL_DAYS : tab->days, 1, 31, "-",
                  NULL);
    buf_addc(out, ' ');
    emit_list(out, tab->months, 1, 12, "-", NULL);
    buf_addc(out, ' ');
    if (by_weekday)
        emit_list(out, tab->weekdays, 0, 6, "-", week_from_sunday);
    else
        buf_addc(out, '?');
    buf_adds(out, " *)");
}

// "cron(0 6 ? * MON-FRI *)" for EventBridge Scheduler; a second one for EMIT_EITHER, otherwise
// empty. ERR_USAGE for EMIT_BOTH, which has no such expression.
static int emit_eventbridge(struct buf *first, struct buf *second, const struct crontab *tab,
                            struct err *err)
{
    enum emit_days days = emit_days_of(tab);
    TRY(emit_refuse_both(tab, "EventBridge has no schedule for days that match both day fields",
                         err));
    put_eventbridge(first, tab, days == EMIT_BY_WEEKDAY);
    if (days == EMIT_EITHER)
        put_eventbridge(second, tab, true);
    return 0;
}

static int aws_user_data(struct buf *out, const struct emit_task *task, struct err *err)
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

static int aws_set_up(const struct emit_task *task, struct emit_files *files, struct err *err)
{
    enum { MOST = 16384 }; // bytes of user data
    SCOPED(buf_release) struct buf first = {0}, second = {0};
    if (task->spot) {
        err_set(err, ERR_USAGE, "a spot instance of AWS cannot be stopped and started like this");
        return err_hint(err, "leave ':spot' out of --offer");
    }
    struct buf *out = emit_add(files, "set-up.sh", true);
    struct buf *data = emit_add(files, "user-data.yaml", false);
    TRY(emit_eventbridge(&first, &second, &task->tab, err));
    TRY(aws_user_data(data, task, err));
    TRY(emit_boot(emit_add(files, "boot.sh", true), task, err));
    if (data->len > MOST)
        return err_set(err, ERR_USAGE, "the command is too long: AWS takes %d bytes of user data",
                       MOST);
    emit_head(out, task, true, "sets the task up on AWS.");
    shell_set(out, "expression", buf_str(&first));
    shell_set(out, "expression_2", buf_str(&second));
    shell_set(out, "time_zone", task->time_zone);
    shell_set(out, "region", task->region);
    shell_set(out, "machine", task->machine);
    const char *image = emit_image(&emit_aws, task);
    shell_set(
        out, "image",
        image + (strncmp(image, AWS_BY_NAME, strlen(AWS_BY_NAME)) == 0 ? strlen(AWS_BY_NAME) : 0));
    buf_printf(out, "disk_gb=%lld\n", (long long)task->disk_gb);
    return emit_template(out, "aws-set-up.sh", err);
}

const struct emitter emit_aws = {
    .name = "aws",
    .provider = "aws",
    .image = "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id",
    // Amazon Linux with Docker; the one for GPUs has their driver and NVIDIA's container toolkit.
    .containers = "/aws/service/ecs/optimized-ami/amazon-linux-2023/recommended/image_id",
    .containers_gpus = "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id",
    .least_gb = 8,
    .least_container_gb = 30,
    .set_up = aws_set_up,
    .remove_takes_region = true,
};

// ==== emit_azure ====
// Azure: a machine, and a Logic App that starts it, waits until it has powered itself off, and
// deallocates it: Azure has no schedule that starts machines, and bills those that are only
// stopped. cloud-init gets a loader, which cannot be changed later; the task is in the user data,
// which can.

// Azure's own limits of an Until loop.
enum { AZURE_MOST_ROUNDS = 5000, AZURE_SPARE_MIN = 10 };

static void azure_numbers(struct buf *out, const char *name, uint64_t bits, int high)
{
    const char *between = "";
    buf_printf(out, "\"%s\": [", name);
    for (int v = 0; v <= high; v++)
        if (bits >> v & 1) {
            buf_printf(out, "%s%d", between, v);
            between = ", ";
        }
    buf_adds(out, "]");
}

// "contains(createArray('01','02'), formatDateTime(T,'dd'))"; without a format the day of the week,
// "contains(createArray(0,6), dayOfWeek(T))", which counts from Sunday, 0, as cron does.
static void azure_among(struct buf *out, uint64_t bits, int low, int high, const char *format,
                        const char *time)
{
    const char *between = "";
    buf_adds(out, "contains(createArray(");
    for (int v = low; v <= high; v++)
        if (bits >> v & 1) {
            buf_printf(out, format ? "%s'%02d'" : "%s%d", between, v);
            between = ",";
        }
    if (format)
        buf_printf(out, "), formatDateTime(%s,'%s'))", time, format);
    else
        buf_printf(out, "), dayOfWeek(%s))", time);
}

// The trigger fires at the times of day, on every day; this expression says on which days it
// counts.
static void azure_condition(struct buf *out, const struct crontab *tab, const char *zone)
{
    char time[128];
    enum emit_days days = emit_days_of(tab);
    bool two = days == EMIT_EITHER || days == EMIT_BOTH;
    snprintf(time, sizeof time, "convertFromUtc(utcNow(),'%s')", zone);
    buf_adds(out, "@and(");
    azure_among(out, tab->months, 1, 12, "MM", time);
    buf_adds(out, !two ? ", " : days == EMIT_EITHER ? ", or(" : ", and(");
    if (days != EMIT_BY_WEEKDAY && days != EMIT_EVERY_DAY)
        azure_among(out, tab->days, 1, 31, "dd", time);
    buf_adds(out, two ? ", " : "");
    if (days != EMIT_BY_DAY && days != EMIT_EVERY_DAY)
        azure_among(out, tab->weekdays, 0, 6, NULL, time);
    buf_adds(out, two ? "))" : days == EMIT_EVERY_DAY ? "true)" : ")");
}

static void azure_call(struct buf *out, const char *name, const char *method, const char *verb,
                       const char *after)
{
    buf_printf(out,
               "    \"%s\": {\"type\": \"Http\", \"runAfter\": %s,\n"
               "      \"inputs\": {\"method\": \"%s\",\n"
               "        \"uri\": \"https://management.azure.com@{parameters('vm')}/%s"
               "?api-version=2024-07-01\",\n"
               "        \"authentication\": {\"type\": \"ManagedServiceIdentity\", \"audience\": "
               "\"https://management.azure.com/\"}}}",
               name, after, method, verb);
}

static void azure_workflow(struct buf *out, const struct emit_task *task)
{
    long long limit_min = (long long)task->limit_s / 60 + AZURE_SPARE_MIN;
    long long pause_min = limit_min / 1000 + 1;
    buf_adds(out, "{\n  \"$schema\": \"https://schema.management.azure.com/providers/"
                  "Microsoft.Logic/schemas/2016-06-01/workflowdefinition.json#\",\n"
                  "  \"contentVersion\": \"1.0.0.0\",\n"
                  "  \"parameters\": {\"vm\": {\"type\": \"String\"}},\n"
                  "  \"triggers\": {\"Schedule\": {\"type\": \"Recurrence\",\n"
                  // Without a start, it would fire at once.
                  "    \"recurrence\": {\"frequency\": \"Day\", \"interval\": 1,\n"
                  "      \"startTime\": \"2020-01-01T00:00:00\", \"timeZone\": ");
    buf_printf(out, "\"%s\",\n      \"schedule\": {", task->time_zone);
    azure_numbers(out, "hours", task->tab.hours, 23);
    buf_adds(out, ", ");
    azure_numbers(out, "minutes", task->tab.minutes, 59);
    buf_adds(out, "}},\n    \"conditions\": [{\"expression\": \"");
    azure_condition(out, &task->tab, task->time_zone);
    buf_adds(out, "\"}],\n    \"runtimeConfiguration\": {\"concurrency\": {\"runs\": 1}}}},\n"
                  "  \"actions\": {\n");
    azure_call(out, "Start", "POST", "start", "{}");
    buf_printf(
        out,
        ",\n    \"Wait\": {\"type\": \"Until\", \"runAfter\": {\"Start\": [\"Succeeded\"]},\n"
        "      \"expression\": \"@or(contains(string(body('Look')), 'PowerState/stopped'), "
        "contains(string(body('Look')), 'PowerState/deallocated'))\",\n"
        "      \"limit\": {\"count\": %d, \"timeout\": \"PT%lldM\"},\n"
        "      \"actions\": {\n"
        "    \"Pause\": {\"type\": \"Wait\", \"runAfter\": {},\n"
        "      \"inputs\": {\"interval\": {\"unit\": \"Minute\", \"count\": %lld}}},\n",
        AZURE_MOST_ROUNDS, limit_min, pause_min);
    azure_call(out, "Look", "GET", "instanceView", "{\"Pause\": [\"Succeeded\"]}");
    buf_adds(out, "}},\n");
    // However the waiting ends, the machine must not be billed any longer.
    azure_call(out, "Deallocate", "POST", "deallocate",
               "{\"Wait\": [\"Succeeded\", \"Failed\", \"TimedOut\", \"Skipped\"]}");
    buf_adds(out, "\n  }\n}\n");
}

static int azure_set_up(const struct emit_task *task, struct emit_files *files, struct err *err)
{
    char sum[EMIT_SUM_BYTES], flow_sum[EMIT_SUM_BYTES];
    if (strchr(task->time_zone, '/')) {
        err_set(err, ERR_USAGE, "Azure's Logic Apps know time zones by Windows' names");
        return err_hint(err, "such as --time-zone 'W. Europe Standard Time', or UTC");
    }
    struct buf *out = emit_add(files, "set-up.sh", true), *boot = emit_add(files, "boot.sh", true);
    struct buf *flow = emit_add(files, "workflow.json", false);
    struct buf *loader = emit_add(files, "loader.yaml", false);
    TRY(emit_boot(boot, task, err));
    azure_workflow(flow, task);
    TRY(emit_template(loader, "azure-loader.yaml", err));
    if (task->container && !task->image)
        buf_adds(loader, "packages:\n  - docker.io\n");
    emit_sum(boot, sum);
    emit_sum(flow, flow_sum);
    emit_head(out, task, true, "sets the task up on Azure.");
    shell_set(out, "region", task->region);
    shell_set(out, "machine", task->machine);
    shell_set(out, "priority", task->spot ? "Spot" : "Regular");
    shell_set(out, "image", emit_image(&emit_azure, task));
    buf_printf(out, "disk_gb=%lld\nsum=%s\nflow_sum=%s\n", (long long)task->disk_gb, sum, flow_sum);
    return emit_template(out, "azure-set-up.sh", err);
}

const struct emitter emit_azure = {
    .name = "azure",
    .provider = "azure",
    .image = "Ubuntu2404",
    .containers = "Ubuntu2404", // gets Docker at its first boot
    .least_gb = 30,
    .least_container_gb = 30,
    .set_up = azure_set_up,
};
