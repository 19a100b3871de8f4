// SPDX-License-Identifier: Apache-2.0
#include "fleet/emit.h"

#include <stdio.h>
#include <string.h>

#include "base/folders.h"
#include "base/fs.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "base/shell.h"

enum { NAME_MAX_LEN = 40, TEMPLATE_MAX = 1 << 16 };

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

struct buf *emit_add(struct emit_files *files, const char *name, bool program)
{
    struct emit_file *file = &files->items[files->count++];
    snprintf(file->name, sizeof file->name, "%s", name);
    file->program = program;
    return &file->text;
}

// A comment must not end early, for a shell, systemd, YAML or a terminal: all but plain ASCII is
// '?'.
static void comment(struct buf *out, const char *label, const char *text)
{
    buf_printf(out, "# %s", label);
    for (; *text; text++)
        buf_addc(out, *text >= ' ' && *text < 127 ? *text : '?');
    buf_addc(out, '\n');
}

void emit_comments(struct buf *out, const struct emit_task *task, const char *what)
{
    struct buf words = {0};
    comment(out, "Written by fare cron: ", what);
    if (task->schedule) {
        comment(out, "Schedule: ", task->schedule);
        comment(out, "Time zone: ", task->time_zone ? task->time_zone : "the scheduler's own");
    }
    if (task->command) {
        shell_quote_all(&words, task->command);
        comment(out, "Command:", buf_str(&words));
        buf_printf(out, "# Time limit: %lld s\n", (long long)task->limit_s);
    }
    buf_drop(out, &words);
}

void emit_head(struct buf *out, const struct emit_task *task, const char *what)
{
    buf_adds(out, "#!/bin/sh\n");
    emit_comments(out, task, what);
    shell_set(out, "name", task->name);
}

void emit_set_up_head(struct buf *out, const struct emit_task *task, const char *what)
{
    buf_adds(out, "#!/bin/sh\n");
    emit_comments(out, task, what);
    for (const char *line = task->cost; line && *line;) {
        size_t len = strcspn(line, "\n");
        buf_printf(out, "# %.*s\n", (int)len, line);
        line += len + (line[len] == '\n');
    }
    shell_set(out, "name", task->name);
}

int emit_template(struct buf *out, const char *name, struct err *err)
{
    struct buf path = {0}, text = {0};
    int rc = folder_share(&path, err);
    buf_printf(&path, "/cron/%s", name);
    if (rc == 0)
        rc = buf_check(&path, err);
    if (rc == 0)
        rc = fs_read(buf_str(&path), TEMPLATE_MAX, &text, err);
    if (rc == 0) {
        const char *body = strstr(buf_str(&text), "\n\n");
        buf_adds(out, body ? body + 1 : buf_str(&text));
    }
    buf_release(&path);
    buf_release(&text);
    return rc;
}

int emit_boot(struct buf *out, const struct emit_task *task, struct err *err)
{
    emit_head(out, task, "what the machine runs at each boot.");
    buf_printf(out, "limit_s=%lld\n" SHELLCHECK_DOLLARS "set --", (long long)task->limit_s);
    shell_quote_all(out, task->command);
    buf_addc(out, '\n');
    return emit_template(out, "boot.sh", err);
}

int emit_remove(const struct emit_task *task, struct emit_files *files, const char *template_name,
                struct err *err)
{
    struct buf *out = emit_add(files, "remove.sh", true);
    emit_head(out, task, "removes the task.");
    return emit_template(out, template_name, err);
}

void emit_sum(const struct buf *text, char out[EMIT_SUM_BYTES])
{
    char hex[SHA256_HEX_BYTES];
    sha256_hex_of(buf_str(text), text->len, hex);
    snprintf(out, EMIT_SUM_BYTES, "%.40s", hex);
}
