// SPDX-License-Identifier: Apache-2.0
#include "fleet/emit.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/utf8.h"

// ==== times: a crontab in the words of other schedulers, exactly, or not at all ====

enum emit_days emit_days_of(const struct crontab *tab)
{
    bool days = (tab->days & ALL_DAYS) == ALL_DAYS, weekdays = tab->weekdays == ALL_WEEK;
    if (!tab->any_day && !tab->any_weekday)
        return days || weekdays ? EMIT_EVERY_DAY : EMIT_EITHER;
    if (days)
        return weekdays ? EMIT_EVERY_DAY : EMIT_BY_WEEKDAY;
    return weekdays ? EMIT_BY_DAY : EMIT_BOTH;
}

int emit_refuse_both(const struct crontab *tab, const char *why, struct err *err)
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

void emit_list(struct buf *out, uint64_t bits, int low, int high, const char *range,
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

void emit_time(struct buf *out, const struct crontab *tab)
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

// ==== emit ====

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
    if (task->container && (!isalnum((unsigned char)*task->container) ||
                            !only(task->container, SMALL LARGE DIGITS "/_+-.:@")))
        return err_set(err, ERR_USAGE, "'%.60s' is not the image of a container", task->container);
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

struct buf *emit_add(struct emit_files *files, const char *name, bool program)
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

void emit_comments(struct buf *out, const struct emit_task *task, const char *what)
{
    struct buf words = {0};
    put_comment(out, "Written by fare cron: ", what);
    if (task->schedule) {
        put_comment(out, "Schedule: ", task->schedule);
        put_comment(out, "Time zone: ", task->time_zone ? task->time_zone : "the scheduler's own");
    }
    if (task->container)
        put_comment(out, "Container: ", task->container);
    if (task->command) {
        shell_quote_all(&words, task->command);
        put_comment(out, "Command:", task->command[0] ? buf_str(&words) : " what the image runs");
        buf_printf(out, "# Time limit: %lld s\n", (long long)task->limit_s);
    }
    buf_drop(out, &words);
}

void emit_head(struct buf *out, const struct emit_task *task, bool cost, const char *what)
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

int emit_template(struct buf *out, const char *name, struct err *err)
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

int emit_remove(const struct emitter *emitter, const struct emit_task *task,
                struct emit_files *files, struct err *err)
{
    struct buf *out = emit_add(files, "remove.sh", true);
    emit_head(out, task, false, "removes the task.");
    if (emitter->remove_takes_region)
        shell_set(out, "region", task->region);
    return emit_template(out, short_text("%s-remove.sh", emitter->name).s, err);
}

// ==== all of them ====

static const struct emitter *const emitters[] = {&emit_gcloud,  &emit_aws,   &emit_azure,
                                                 &emit_systemd, &emit_slurm, &emit_k8s};
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
