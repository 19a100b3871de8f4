// SPDX-License-Identifier: Apache-2.0
// Azure: a machine, and a Logic App that starts it, waits until it has powered itself off, and
// deallocates it: Azure has no schedule that starts machines, and bills those that are only
// stopped. cloud-init gets a loader, which cannot be changed later; the task is in the user data,
// which can.
#include <stdio.h>
#include <string.h>

#include "fleet/emit.h"
#include "fleet/emit_time.h"
#include "base/shell.h"

// Azure's own limits of an Until loop.
enum { MOST_ROUNDS = 5000, SPARE_MIN = 10 };

static void numbers(struct buf *out, const char *name, uint64_t bits, int high)
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

// "contains(createArray('01','02'), formatDateTime(T,'dd'))"
static void among(struct buf *out, uint64_t bits, int low, int high, const char *format,
                  const char *time)
{
    const char *between = "";
    buf_adds(out, "contains(createArray(");
    for (int v = low; v <= high; v++)
        if (bits >> v & 1) {
            buf_printf(out, "%s'%02d'", between, v);
            between = ",";
        }
    buf_printf(out, "), formatDateTime(%s,'%s'))", time, format);
}

// dayOfWeek() counts from Sunday, 0, as cron does.
static void weekday(struct buf *out, uint32_t bits, const char *time)
{
    const char *between = "";
    buf_adds(out, "contains(createArray(");
    for (int v = 0; v <= 6; v++)
        if (bits >> v & 1) {
            buf_printf(out, "%s%d", between, v);
            between = ",";
        }
    buf_printf(out, "), dayOfWeek(%s))", time);
}

// The trigger fires at the times of day, on every day; this expression says on which days it
// counts.
static void condition(struct buf *out, const struct crontab *tab, const char *zone)
{
    char time[128];
    enum emit_days days = emit_days_of(tab);
    snprintf(time, sizeof time, "convertFromUtc(utcNow(),'%s')", zone);
    buf_adds(out, "@and(");
    among(out, tab->months, 1, 12, "MM", time);
    buf_adds(out, ", ");
    if (days == EMIT_EITHER || days == EMIT_BOTH)
        buf_adds(out, days == EMIT_EITHER ? "or(" : "and(");
    if (days != EMIT_BY_WEEKDAY && days != EMIT_EVERY_DAY)
        among(out, tab->days, 1, 31, "dd", time);
    if (days == EMIT_EITHER || days == EMIT_BOTH)
        buf_adds(out, ", ");
    if (days != EMIT_BY_DAY && days != EMIT_EVERY_DAY)
        weekday(out, tab->weekdays, time);
    if (days == EMIT_EITHER || days == EMIT_BOTH)
        buf_adds(out, ")");
    if (days == EMIT_EVERY_DAY)
        buf_adds(out, "true");
    buf_adds(out, ")");
}

static void call(struct buf *out, const char *name, const char *method, const char *verb,
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

static void workflow(struct buf *out, const struct emit_task *task)
{
    long long limit_min = (long long)task->limit_s / 60 + SPARE_MIN;
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
    numbers(out, "hours", task->tab.hours, 23);
    buf_adds(out, ", ");
    numbers(out, "minutes", task->tab.minutes, 59);
    buf_adds(out, "}},\n    \"conditions\": [{\"expression\": \"");
    condition(out, &task->tab, task->time_zone);
    buf_adds(out, "\"}],\n    \"runtimeConfiguration\": {\"concurrency\": {\"runs\": 1}}}},\n"
                  "  \"actions\": {\n");
    call(out, "Start", "POST", "start", "{}");
    buf_printf(
        out,
        ",\n    \"Wait\": {\"type\": \"Until\", \"runAfter\": {\"Start\": [\"Succeeded\"]},\n"
        "      \"expression\": \"@or(contains(string(body('Look')), 'PowerState/stopped'), "
        "contains(string(body('Look')), 'PowerState/deallocated'))\",\n"
        "      \"limit\": {\"count\": %d, \"timeout\": \"PT%lldM\"},\n"
        "      \"actions\": {\n"
        "    \"Pause\": {\"type\": \"Wait\", \"runAfter\": {},\n"
        "      \"inputs\": {\"interval\": {\"unit\": \"Minute\", \"count\": %lld}}},\n",
        MOST_ROUNDS, limit_min, pause_min);
    call(out, "Look", "GET", "instanceView", "{\"Pause\": [\"Succeeded\"]}");
    buf_adds(out, "}},\n");
    // However the waiting ends, the machine must not be billed any longer.
    call(out, "Deallocate", "POST", "deallocate",
         "{\"Wait\": [\"Succeeded\", \"Failed\", \"TimedOut\", \"Skipped\"]}");
    buf_adds(out, "\n  }\n}\n");
}

static int set_up(const struct emit_task *task, struct emit_files *files, struct err *err)
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
    workflow(flow, task);
    TRY(emit_template(loader, "azure-loader.yaml", err));
    emit_sum(boot, sum);
    emit_sum(flow, flow_sum);
    emit_set_up_head(out, task, "sets the task up on Azure.");
    shell_set(out, "region", task->region);
    shell_set(out, "machine", task->machine);
    shell_set(out, "priority", task->spot ? "Spot" : "Regular");
    shell_set(out, "image", task->image ? task->image : "Ubuntu2404");
    buf_printf(out, "disk_gb=%lld\nsum=%s\nflow_sum=%s\n", (long long)task->disk_gb, sum, flow_sum);
    return emit_template(out, "azure-set-up.sh", err);
}

static int remove_task(const struct emit_task *task, struct emit_files *files, struct err *err)
{
    return emit_remove(task, files, "azure-remove.sh", err);
}

const struct emitter emit_azure = {
    .name = "azure",
    .provider = "azure",
    .least_gb = 30,
    .set_up = set_up,
    .remove = remove_task,
};
