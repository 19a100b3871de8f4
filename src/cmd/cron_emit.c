// SPDX-License-Identifier: Apache-2.0
#include "cmd/cron_emit.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/money.h"
#include "base/units.h"

#define LEAST_LIMIT_S INT64_C(600)

// ---- what is asked

int emit_ask(const struct emit_options *o, bool disk_given, struct cron_ask *ask, struct buf *offer,
             struct err *err)
{
    const struct emitter *emitter = emitter_find(o->emit);
    struct scheduling *b = &ask->extras;
    int64_t least_gb = o->container ? emitter->least_container_gb : emitter->least_gb;
    if (!emitter->stays_up) { // else the machine that is started is only compared
        b->rules = b->rules < 0 ? 0 : b->rules;
        b->function_ms = b->function_ms < 0 ? 0 : b->function_ms;
    }
    if (ask->disk_gb < least_gb && disk_given)
        return err_set(err, ERR_USAGE, "'--disk' is too small: its image needs %lld GB",
                       (long long)least_gb);
    if (ask->disk_gb < least_gb)
        ask->disk_gb = least_gb;
    if (ask->tasks > 1)
        return err_set(err, ERR_USAGE, "'--emit' sets up one task, not several: leave --tasks out");
    if (!ask->offer || !o->region || strchr(ask->offer, '@'))
        return 0;
    size_t name = strcspn(ask->offer, ":");
    buf_printf(offer, "%.*s@%s%s", (int)name, ask->offer, o->region, ask->offer + name);
    TRY(buf_check(offer, err));
    ask->offer = buf_str(offer);
    return 0;
}

int emit_gpus(const struct emit_options *o, struct market *market, const char **image,
              int64_t *disk_gb, struct err *err)
{
    enum { OTHER_GB = 100 }; // of a disk for an image that says nothing of it
    const struct emitter *emitter = emitter_find(o->emit);
    const struct boot_images *images;
    const struct boot_image *found = NULL;
    *image = NULL;
    *disk_gb = emitter->provider ? OTHER_GB : 0;
    if (o->image || (o->container && emitter->containers_gpus) || !emitter->provider)
        return 0;
    TRY(market_boot_images(market, &images, err));
    for (size_t i = 0; (found = boot_images_find(images, emitter->provider, i)); i++)
        if (strcmp(found->machine, "vm") == 0)
            break;
    if (!found) {
        err_set(err, ERR_USAGE, "--image is missing: a machine with GPUs needs one with drivers");
        return err_hint(err, "images.csv has none of %s", emitter->provider);
    }
    *image = found->image;
    *disk_gb = found->disk_gb > 0 ? found->disk_gb : OTHER_GB;
    return 0;
}

static int only_for(bool given, const char *option, const char *what, struct err *err)
{
    return given ? err_set(err, ERR_USAGE, "--%s is for %s", option, what) : 0;
}

int emit_options_check(const struct emit_options *o, char *const *command, struct err *err)
{
    const struct emitter *emitter = o->emit ? emitter_find(o->emit) : NULL;
    bool cluster = emitter && emitter->needs_container, cloud = emitter && emitter->provider;
    if (!emitter && (o->remove || o->output || o->container || command)) {
        err_set(err, ERR_USAGE, "--emit is missing: which scheduler is it for?");
        return err_hint(err, "gcloud, aws, azure, systemd, slurm or k8s");
    }
    TRY(only_for(o->cpu && !cluster, "cpu", "--emit k8s", err));
    TRY(only_for(o->memory && !cluster, "memory", "--emit k8s", err));
    TRY(only_for(o->image && !cloud, "image", "a cloud's machine: --emit gcloud, aws or azure",
                 err));
    TRY(only_for(o->container && !cluster && !cloud, "container",
                 "--emit gcloud, aws, azure and k8s", err));
    if (!emitter || o->remove)
        return 0;
    if (cluster && !o->container) {
        err_set(err, ERR_USAGE, "--container is missing: which image does Kubernetes run?");
        return err_hint(err, "such as --container python:3.13");
    }
    if (!o->container && (!command || !command[0])) {
        err_set(err, ERR_USAGE, "the command is missing: what does the task run?");
        return err_hint(err, "it stands after --, such as: fare cron ... --emit %s -- python3 a.py",
                        o->emit);
    }
    return 0;
}

static int find_limit(const struct emit_options *o, const struct cron_ask *ask, int64_t up_ns,
                      int64_t *limit_s, struct err *err)
{
    int64_t gap_s = crontab_gap_s(&ask->tab), up_s = up_ns / NS_PER_S;
    char gap[32];
    clock_words(gap_s * NS_PER_S, gap, sizeof gap);
    if (o->limit_ns >= 0) {
        *limit_s = o->limit_ns < NS_PER_S ? 1 : o->limit_ns / NS_PER_S;
        if (gap_s == 0 || *limit_s <= gap_s)
            return 0;
        err_set(err, ERR_USAGE, "'--limit' is longer than the %s between two starts", gap);
        return err_hint(err, "a task that is still running cannot start again");
    }
    if (up_ns < 0) {
        err_set(err, ERR_USAGE, "--limit is missing: after what time is the command ended?");
        return err_hint(err, "or give --up or --run, and it is twice that");
    }
    *limit_s = 2 * up_s > LEAST_LIMIT_S ? 2 * up_s : LEAST_LIMIT_S;
    if (gap_s > 0 && *limit_s > gap_s)
        *limit_s = gap_s;
    return 0;
}

// Splits "gcp/n1-standard-1@us-east1-b:spot". A zone becomes its region: us-east1-b, us-east-1a.
static int split_offer(const struct emitter *emitter, const char *offer, struct buf *machine,
                       struct buf *region, bool *spot, struct err *err)
{
    size_t provider = strlen(emitter->provider);
    if (strncmp(offer, emitter->provider, provider) != 0 || offer[provider] != '/') {
        err_set(err, ERR_USAGE, "'%s' is not an offer of %s", offer, emitter->provider);
        return err_hint(err, "--emit %s starts machines of %s only", emitter->name,
                        emitter->provider);
    }
    const char *name = offer + provider + 1, *at = strchr(name, '@');
    buf_add(machine, name, strcspn(name, "@:"));
    *spot = strstr(name, ":spot");
    if (at) {
        size_t len = strcspn(at + 1, ":");
        const char *end = at + 1 + len;
        if (len > 2 && isalpha((unsigned char)end[-1]) && end[-2] == '-')
            len -= 2;
        else if (len > 2 && isalpha((unsigned char)end[-1]) && strcmp(emitter->name, "aws") == 0)
            len -= 1;
        buf_add(region, at + 1, len);
    }
    return buf_lost(err);
}

// ---- the cost, for the heads of the files

// The machine that stays up is the first of those that the bill compares.
static void node_lines(const struct schedule_record *r, struct buf *out)
{
    const struct schedule_alternative *node = r->always_up.items;
    if (r->always_up.count == 0)
        return;
    buf_printf(out, "Cost (derived) of a node that stays up, for all tasks: %s USD a month; ",
               money_brief(node->amount).s);
    if (node->cheaper_from_tasks.known)
        buf_printf(out, "it pays from %s on.\n", units_count(node->cheaper_from_tasks.v, "task").s);
    else
        buf_adds(out, "it never pays.\n");
}

static void cost_lines(const struct schedule_record *r, bool stays_up, struct buf *out)
{
    char total[MONEY_BYTES], with[MONEY_BYTES];
    if (!r) {
        buf_adds(out, "Cost: unknown, as no --offer was given.\n");
        return;
    }
    if (stays_up)
        node_lines(r, out);
    money_short(r->total.nano, total);
    money_short(r->total_with_allowances.nano, with);
    buf_printf(out, "Cost (derived)%s: %s USD a month",
               stays_up ? " of a machine that is started for each task instead" : "", total);
    if (strcmp(total, with) != 0)
        buf_printf(out, ", %s with the free allowances", with);
    buf_printf(out, ", without tax and traffic; prices of %s:\n", r->date);
    for (size_t i = 0; i < r->items.count; i++) {
        const struct schedule_item *item = &r->items.items[i];
        buf_printf(out, "  %s: %s: %s\n", item->name, item->what,
                   item->amount.known ? money_exact(item->amount).s : "unknown");
    }
    buf_printf(out, "  %s, %s\n", r->offer, r->rate_source);
    if (r->up_source)
        buf_printf(out, "  up each time: %s\n", r->up_source);
}

// ---- files

static int write_file(const char *folder, const struct emit_file *file, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    SCOPED(fs_abandon) struct fs_writer writer = {0};
    buf_printf(&path, "%s/%s", folder, file->name);
    TRY(buf_check(&path, err));
    TRY(fs_begin(&writer, buf_str(&path), file->program ? 0777 : 0666, err));
    TRY(fs_add(&writer, buf_str(&file->text), file->text.len, err));
    return fs_commit(&writer, err);
}

// Standard output has all files, each under a line with its name; a single one is there alone, to
// be piped into a shell.
static void print_files(struct out *out, const struct emit_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        if (files->count > 1)
            out_printf(out, "%s==> %s <==\n", i ? "\n" : "", files->items[i].name);
        buf_add(&out->text, buf_str(&files->items[i].text), files->items[i].text.len);
    }
}

static int put_files(const struct emit_options *o, const struct emit_files *files, struct out *out,
                     struct err *err)
{
    for (size_t i = 0; i < files->count; i++)
        TRY(buf_check(&files->items[i].text, err));
    TRY(buf_lost(err));
    if (!o->output) {
        print_files(out, files);
        return 0;
    }
    TRY(fs_mkdirs(o->output, err));
    for (size_t i = 0; i < files->count; i++)
        TRY(write_file(o->output, &files->items[i], err));
    struct buf names = {0};
    for (size_t i = 0; i < files->count; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", files->items[i].name);
    out_printf(out, "\n");
    out_wrapf(out, 0, "Wrote %s into %s.", buf_str(&names), o->output);
    out_wrapf(out, 0, "Next: sh %s/%s", o->output, files->items[0].name);
    buf_drop(&out->text, &names);
    return 0;
}

static int make_files(const struct emit_options *o, const struct emit_task *task,
                      struct emit_files *files, struct err *err)
{
    const struct emitter *emitter = emitter_find(o->emit);
    TRY(emit_check(task, err));
    return o->remove ? emit_remove(emitter, task, files, err) : emitter->set_up(task, files, err);
}

int emit_write(const struct emit_options *o, const struct cron_ask *ask, char *const *command,
               const char *image, const struct schedule_record *record, struct out *out,
               struct err *err)
{
    static char *const no_words[] = {NULL};
    const struct emitter *emitter = emitter_find(o->emit);
    SCOPED(buf_release) struct buf machine = {0}, region = {0}, cost = {0};
    SCOPED(emit_release) struct emit_files files = {0};
    SCOPED(free_pointer) char *folder = getcwd(NULL, 0);
    bool own_zone = strcmp(o->emit, "slurm") == 0; // has no other
    struct emit_task task = {.name = o->name ? o->name : "fare-task",
                             .time_zone = o->time_zone || own_zone ? o->time_zone : "UTC",
                             .image = o->image ? o->image : image,
                             .container = o->container,
                             .gpus =
                                 record && record->gpus.known ? (int64_t)ceil(record->gpus.v) : 0,
                             .cpu = o->cpu,
                             .memory = o->memory,
                             .disk_gb = ask->disk_gb,
                             .folder = folder ? folder : "/"};
    if (!o->remove) {
        task.schedule = ask->schedule;
        task.tab = ask->tab;
        task.command = command ? command : no_words;
        cost_lines(record, emitter->stays_up, &cost);
        task.cost = buf_str(&cost);
        TRY(find_limit(o, ask, record ? (int64_t)(record->up_s.v * 1e9) : ask->up_ns, &task.limit_s,
                       err));
        if (emitter->provider)
            TRY(split_offer(emitter, record->offer, &machine, &region, &task.spot, err));
    }
    task.machine = buf_str(&machine);
    task.region = o->region ? o->region : buf_str(&region);
    TRY(make_files(o, &task, &files, err));
    return put_files(o, &files, out, err);
}
