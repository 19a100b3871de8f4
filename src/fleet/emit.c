// SPDX-License-Identifier: Apache-2.0
#include "fleet/emit.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/sha256.h"
#include "base/utf8.h"

// ==== times: a crontab in the words of other schedulers, exactly, or not at all ====

#define ALL_DAYS 0xfffffffeU // bits 1 to 31
#define ALL_WEEK 0x7fU

static const char *const week_from_sunday[] = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};
// systemd's week ends with Sunday: it knows Sat..Sun, but not Sun..Mon.
static const char *const week_from_monday[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

enum emit_days emit_days_of(const struct crontab *tab)
{
    bool days = (tab->days & ALL_DAYS) == ALL_DAYS, weekdays = tab->weekdays == ALL_WEEK;
    if (!tab->any_day && !tab->any_weekday)
        return days || weekdays ? EMIT_EVERY_DAY : EMIT_EITHER;
    if (days)
        return weekdays ? EMIT_EVERY_DAY : EMIT_BY_WEEKDAY;
    return weekdays ? EMIT_BY_DAY : EMIT_BOTH;
}

// For schedulers without a schedule for days that match both day fields.
static int refuse_both(const struct crontab *tab, const char *why, struct err *err)
{
    if (emit_days_of(tab) != EMIT_BOTH)
        return 0;
    err_set(err, ERR_USAGE, "%s", why);
    return err_hint(err, "restrict the day of the month or the day of the week, not both");
}

static void put_value(struct buf *out, int value, const char *const *names)
{
    if (names)
        buf_adds(out, names[value]);
    else
        buf_printf(out, "%d", value);
}

// Appends the numbers of the bits set from `low` to `high`, as "1,3-5", or "*" if all are. `range`
// is what joins the ends of a range, `names` (optional) are written instead of numbers, names[0]
// for 0.
static void emit_list(struct buf *out, uint64_t bits, int low, int high, const char *range,
                      const char *const *names)
{
    uint64_t all = (UINT64_C(2) << high) - (UINT64_C(1) << low);
    const char *between = "";
    if ((bits & all) == all) {
        buf_addc(out, '*');
        return;
    }
    for (int v = low; v <= high; v++) {
        int last = v;
        if (!(bits >> v & 1))
            continue;
        while (last < high && bits >> (last + 1) & 1)
            last++;
        buf_adds(out, between);
        put_value(out, v, names);
        if (last > v) {
            buf_adds(out, last > v + 1 ? range : ",");
            put_value(out, last, names);
        }
        between = ",";
        v = last;
    }
}

// "0 6,18 ": the fields for the time of day.
static void emit_time(struct buf *out, const struct crontab *tab)
{
    emit_list(out, tab->minutes, 0, 59, "-", NULL);
    buf_addc(out, ' ');
    emit_list(out, tab->hours, 0, 23, "-", NULL);
    buf_addc(out, ' ');
}

void emit_crontab(struct buf *out, const struct crontab *tab)
{
    enum emit_days days = emit_days_of(tab);
    emit_time(out, tab);
    emit_list(out, days == EMIT_BY_WEEKDAY || days == EMIT_EVERY_DAY ? ALL_DAYS : tab->days, 1, 31,
              "-", NULL);
    buf_addc(out, ' ');
    emit_list(out, tab->months, 1, 12, "-", NULL);
    buf_addc(out, ' ');
    emit_list(out, days == EMIT_BY_DAY || days == EMIT_EVERY_DAY ? ALL_WEEK : tab->weekdays, 0, 6,
              "-", NULL);
}

// ---- systemd

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
    TRY(refuse_both(tab, "EventBridge has no schedule for days that match both day fields", err));
    put_eventbridge(first, tab, days == EMIT_BY_WEEKDAY);
    if (days == EMIT_EITHER)
        put_eventbridge(second, tab, true);
    return 0;
}

// ==== emit ====

// Before a line with the user's words in single quotes, in which '$' is meant to stay.
#define SHELLCHECK_DOLLARS "# shellcheck disable=SC2016\n"

// 40 hexadecimal digits that stand for a text; they fit into a label of any cloud.
#define EMIT_SUM_BYTES 41

enum { NAME_MAX_LEN = 40, TEMPLATE_MAX = 1 << 16 };

// ---- what may be emitted

#define SMALL  "abcdefghijklmnopqrstuvwxyz"
#define LARGE  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static bool only(const char *text, const char *characters)
{
    return text[strspn(text, characters)] == '\0';
}

static int check_name(const char *name, struct err *err)
{
    size_t len = strlen(name);
    if (len > 0 && len <= NAME_MAX_LEN && name[0] >= 'a' && name[0] <= 'z' &&
        name[len - 1] != '-' && only(name, SMALL DIGITS "-"))
        return 0;
    err_set(err, ERR_USAGE, "'%.60s' cannot be the name of a task", name);
    return err_hint(err, "a small letter, then small letters, digits and '-': 40 at most");
}

int emit_check(const struct emit_task *task, struct err *err)
{
    TRY(check_name(task->name, err));
    for (size_t i = 0; task->command && task->command[i]; i++)
        if (utf8_bad(task->command[i], strlen(task->command[i])) < strlen(task->command[i])) {
            err_set(err, ERR_USAGE, "word %zu of the command is not UTF-8", i + 1);
            return err_hint(err, "put the command into a script and name that");
        }
    if (task->time_zone && (!*task->time_zone || strlen(task->time_zone) > 60 ||
                            !only(task->time_zone, SMALL LARGE DIGITS "/_+-. ()")))
        return err_set(err, ERR_USAGE, "'%.60s' is not a time zone", task->time_zone);
    if (task->region && !only(task->region, SMALL DIGITS "-"))
        return err_set(err, ERR_USAGE, "'%.60s' is not a region", task->region);
    if (task->folder && strpbrk(task->folder, "\n\r"))
        return err_set(err, ERR_USAGE, "the name of this folder has a line break");
    return 0;
}

// ---- texts

void emit_release(struct emit_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        buf_release(&files->items[i].text);
    files->count = 0;
}

// The next file; there is room for EMIT_FILES.
static struct buf *emit_add(struct emit_files *files, const char *name, bool program)
{
    struct emit_file *file = &files->items[files->count++];
    snprintf(file->name, sizeof file->name, "%s", name);
    file->program = program;
    return &file->text;
}

// A comment must not end early, for a shell, systemd, YAML or a terminal: all but plain ASCII is
// '?'.
static void put_comment(struct buf *out, const char *label, const char *text)
{
    buf_printf(out, "# %s", label);
    for (; *text; text++)
        buf_addc(out, *text >= ' ' && *text < 127 ? *text : '?');
    buf_addc(out, '\n');
}

// Comments: what this is, the schedule, the command. Not the cost: prices change, and files that
// are compared with what is installed must not.
static void emit_comments(struct buf *out, const struct emit_task *task, const char *what)
{
    struct buf words = {0};
    put_comment(out, "Written by fare cron: ", what);
    if (task->schedule) {
        put_comment(out, "Schedule: ", task->schedule);
        put_comment(out, "Time zone: ", task->time_zone ? task->time_zone : "the scheduler's own");
    }
    if (task->command) {
        shell_quote_all(&words, task->command);
        put_comment(out, "Command:", buf_str(&words));
        buf_printf(out, "# Time limit: %lld s\n", (long long)task->limit_s);
    }
    buf_drop(out, &words);
}

// The start of a script: "#!/bin/sh", the comments, the name as a variable; `cost`: with the cost,
// for set-up.sh.
static void emit_head(struct buf *out, const struct emit_task *task, bool cost, const char *what)
{
    buf_adds(out, "#!/bin/sh\n");
    emit_comments(out, task, what);
    for (const char *line = cost ? task->cost : NULL; line && *line;) {
        size_t len = strcspn(line, "\n");
        buf_printf(out, "# %.*s\n", (int)len, line);
        line += len + (line[len] == '\n');
    }
    shell_set(out, "name", task->name);
}

// Appends share/cron/NAME without its head, which ends with the first empty line.
static int emit_template(struct buf *out, const char *name, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0}, text = {0};
    TRY(folder_share(&path, err));
    buf_printf(&path, "/cron/%s", name);
    TRY(buf_check(&path, err));
    TRY(fs_read(buf_str(&path), TEMPLATE_MAX, &text, err));
    const char *body = strstr(buf_str(&text), "\n\n");
    buf_adds(out, body ? body + 1 : buf_str(&text));
    return 0;
}

// The script that a cloud's machine runs at each boot.
static int emit_boot(struct buf *out, const struct emit_task *task, struct err *err)
{
    emit_head(out, task, false, "what the machine runs at each boot.");
    buf_printf(out, "limit_s=%lld\n" SHELLCHECK_DOLLARS "set --", (long long)task->limit_s);
    shell_quote_all(out, task->command);
    buf_addc(out, '\n');
    return emit_template(out, "boot.sh", err);
}

int emit_remove(const struct emitter *emitter, const struct emit_task *task,
                struct emit_files *files, struct err *err)
{
    struct buf *out = emit_add(files, "remove.sh", true);
    emit_head(out, task, false, "removes the task.");
    if (emitter->remove_takes_region)
        shell_set(out, "region", task->region);
    return emit_template(out, short_text("%s-remove.sh", emitter->name).s, err);
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

static int gcloud_set_up(const struct emit_task *task, struct emit_files *files, struct err *err)
{
    struct buf schedule = {0};
    char sum[EMIT_SUM_BYTES];
    if (!*task->region) {
        err_set(err, ERR_USAGE, "the region is missing: where is the machine?");
        return err_hint(err, "such as --region us-central1");
    }
    TRY(refuse_both(&task->tab,
                    "Google does not say what it makes of this schedule's two day fields", err));
    struct buf *out = emit_add(files, "set-up.sh", true), *boot = emit_add(files, "boot.sh", true);
    TRY(emit_boot(boot, task, err));
    emit_sum(boot, sum);
    emit_crontab(&schedule, &task->tab);
    emit_head(out, task, true, "sets the task up on Google Cloud.");
    shell_set(out, "schedule", buf_str(&schedule));
    shell_set(out, "time_zone", task->time_zone);
    shell_set(out, "region", task->region);
    shell_set(out, "machine", task->machine);
    shell_set(out, "model", task->spot ? "SPOT" : "STANDARD");
    shell_set(out, "image", task->image ? task->image : "debian-cloud/debian-12");
    buf_printf(out, "disk_gb=%lld\nmost_s=%lld\nsum=%s\n", (long long)task->disk_gb,
               (long long)task->limit_s + GCLOUD_SPARE_S, sum);
    buf_drop(out, &schedule);
    return emit_template(out, "gcloud-set-up.sh", err);
}

static const struct emitter emit_gcloud = {
    .name = "gcloud",
    .provider = "gcp",
    .least_gb = 10,
    .set_up = gcloud_set_up,
};

// ==== emit_aws ====
// AWS: a machine that EventBridge Scheduler starts, with user data for cloud-init. `bootcmd` is run
// at each boot; it writes the script to where cloud-init runs scripts at each boot, once the
// network is there. In base64, as YAML has opinions about some characters.

#define AWS_IMAGE                                                                                  \
    "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"

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
    shell_set(out, "image", task->image ? task->image : AWS_IMAGE);
    buf_printf(out, "disk_gb=%lld\n", (long long)task->disk_gb);
    return emit_template(out, "aws-set-up.sh", err);
}

static const struct emitter emit_aws = {
    .name = "aws",
    .provider = "aws",
    .least_gb = 8,
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
    emit_sum(boot, sum);
    emit_sum(flow, flow_sum);
    emit_head(out, task, true, "sets the task up on Azure.");
    shell_set(out, "region", task->region);
    shell_set(out, "machine", task->machine);
    shell_set(out, "priority", task->spot ? "Spot" : "Regular");
    shell_set(out, "image", task->image ? task->image : "Ubuntu2404");
    buf_printf(out, "disk_gb=%lld\nsum=%s\nflow_sum=%s\n", (long long)task->disk_gb, sum, flow_sum);
    return emit_template(out, "azure-set-up.sh", err);
}

static const struct emitter emit_azure = {
    .name = "azure",
    .provider = "azure",
    .least_gb = 30,
    .set_up = azure_set_up,
};

// ==== emit_systemd ====
// systemd, on a machine of the user's own: a service and its timer. The machine stays up.

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

static const struct emitter emit_systemd = {
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
    TRY(refuse_both(&task->tab, "scrontab has no schedule for days that match both day fields",
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

static const struct emitter emit_slurm = {
    .name = "slurm",
    .set_up = slurm_set_up,
};

// ==== all of them ====

static const struct emitter *const emitters[] = {&emit_gcloud, &emit_aws, &emit_azure,
                                                 &emit_systemd, &emit_slurm};
#define EMITTERS (sizeof emitters / sizeof *emitters)

const char *emitter_name(size_t i)
{
    return i < EMITTERS ? emitters[i]->name : NULL;
}

const struct emitter *emitter_find(const char *name)
{
    for (size_t i = 0; i < EMITTERS; i++)
        if (strcmp(emitters[i]->name, name) == 0)
            return emitters[i];
    return NULL;
}
