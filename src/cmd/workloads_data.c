// SPDX-License-Identifier: Apache-2.0
// workloads data: list the public data sets, fetch one, print its folder.
#include "cmd/workloads.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/units.h"
#include "cmd/table.h"
#include "train/data/fetch.h"
#include "train/data/sets.h"
#include "record/field.h"
#include "train/workload/workload.h"

#define DATA_SCHEMA "fare.data/1"

struct set_row {
    char *name;
    char *workloads;
    char *path;
    struct maybe_bool here;
    struct maybe_int download_bytes;
};
struct set_list {
    char *schema;
    LIST_OF(struct set_row) sets;
};

#define T struct set_row
static const struct field row_fields[] = {
    FIELD(FIELD_TEXT, T, name, "name of the set"),
    FIELD(FIELD_TEXT, T, workloads, "the workloads that train on it"),
    FIELD(FIELD_TEXT, T, path, "its folder, present or not"),
    FIELD(FIELD_BOOL, T, here, "it was fetched"),
    FIELD(FIELD_INT, T, download_bytes, "size of the download, if known"),
    FIELD_END,
};
#undef T
#define T struct set_list
static const struct field list_fields[] = {
    FIELD(FIELD_TEXT, T, schema, "`" DATA_SCHEMA "`"),
    FIELD_SUB(FIELD_LIST, T, sets, row_fields, "one per set"),
    FIELD_END,
};
#undef T

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int describe_set(const struct public_set *set, struct set_row *row, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0}, users = {0};
    int64_t bytes = 0;
    bool all_known = true;
    for (const struct public_file *file = set->files; file->name; file++) {
        bytes += file->url ? file->bytes : 0;
        all_known &= !file->url || file->bytes > 0;
    }
    for (size_t i = 0; workloads[i]; i++)
        if (workloads[i]->data && strcmp(workloads[i]->data, set->name) == 0)
            buf_printf(&users, "%s%s", users.len ? ", " : "", workloads[i]->name);
    int rc = data_cache_dir(set->name, &path, err);
    if (rc == 0)
        rc = buf_check(&users, err);
    if (rc == 0)
        rc = text_set(&row->name, set->name, err);
    if (rc == 0)
        rc = text_set(&row->workloads, buf_str(&users), err);
    if (rc == 0)
        rc = text_set(&row->path, buf_str(&path), err);
    row->here = some_bool(rc == 0 && is_folder(buf_str(&path)));
    if (all_known && bytes > 0)
        row->download_bytes = some_int(bytes);
    return rc;
}

static void print_list(struct out *out, const struct set_list *all)
{
    static const struct table_column columns[] = {{"name", TABLE_LEFT},
                                                  {"download", TABLE_RIGHT},
                                                  {"trained by", TABLE_LEFT},
                                                  {"folder", TABLE_LEFT, 1, 0, ""}};
    struct table table = TABLE(columns);
    for (size_t i = 0; i < all->sets.count; i++) {
        const struct set_row *row = &all->sets.items[i];
        const struct units_text bytes = units_bytes(row->download_bytes.v);
        const char *const cells[] = {row->name, row->download_bytes.known ? bytes.s : "-",
                                     row->workloads, row->here.v ? row->path : "not here"};
        table_row(&table, OUT_PLAIN, cells, NULL);
    }
    table_print(&table, out);
}

static int list(const struct cmd_call *call, struct err *err)
{
    const struct cmd_common *common = call->options;
    struct set_list all = {0};
    int rc = text_set(&all.schema, DATA_SCHEMA, err);
    for (const struct public_set *set = public_sets; rc == 0 && set->name; set++) {
        struct set_row *row = LIST_ADD(&all.sets, err);
        rc = row ? describe_set(set, row, err) : ERR_MEMORY;
    }
    if (rc == 0 && common->json)
        rc = out_record(call->out, list_fields, &all, err);
    else if (rc == 0)
        print_list(call->out, &all);
    record_release(list_fields, &all);
    return rc;
}

static int print_one(const struct cmd_call *call, const struct public_set *set, struct err *err)
{
    struct set_list one = {0};
    int rc = text_set(&one.schema, DATA_SCHEMA, err);
    struct set_row *row = rc == 0 ? LIST_ADD(&one.sets, err) : NULL;
    rc = row ? describe_set(set, row, err) : ERR_MEMORY;
    if (rc == 0)
        rc = out_record(call->out, list_fields, &one, err);
    record_release(list_fields, &one);
    return rc;
}

static bool show(void *context, const char *file, int64_t done, int64_t total)
{
    struct progress *progress = context;
    if (progress->view.label != file) {
        progress_end(progress);
        progress_begin(progress, STDERR_FILENO, file, PROGRESS_BYTES, total);
    }
    progress_update(progress, done, total);
    return true;
}

static int get_set(const struct cmd_call *call, const struct public_set *set, struct err *err)
{
    const char *name = set->name;
    struct progress progress = {0};
    if (!set->files->name) {
        err_set(err, ERR_USAGE, "there is no public set '%s' to fetch", name);
        return err_hint(err, "--data names your own files; without it they are made");
    }
    const struct data_get what = {
        .set = set, .allow_file = true, .progress = show, .context = &progress};
    SCOPED(data_got_release) struct data_got got = {0};
    int rc = data_get(&what, &got, err);
    progress_end(&progress);
    const struct cmd_common *common = call->options;
    if (rc == 0 && common->json)
        rc = print_one(call, set, err);
    else if (rc == 0 && got.already)
        out_printf(call->out, "%s is already here: %s\n", name, got.path);
    else if (rc == 0)
        out_printf(call->out, "%s: %s (%d files checked against known sums)\n", name, got.path,
                   got.checked);
    if (rc == 0 && got.unchecked > 0 && !common->json)
        out_printf(call->out, "%d files have no known sum; these were recorded:\n%s", got.unchecked,
                   buf_str(&got.sums));
    return rc;
}

static int print_path(const struct cmd_call *call, const struct public_set *set, struct err *err)
{
    const char *name = set->name;
    SCOPED(buf_release) struct buf dir = {0};
    int rc = data_cache_dir(name, &dir, err);
    if (rc == 0 && !is_folder(buf_str(&dir))) {
        rc = err_set(err, ERR_MISSING, "%s is not here (it would be %s)", name, buf_str(&dir));
        err_hint(err, "'fare workloads data get %s' fetches it", name);
    } else if (rc == 0 && ((const struct cmd_common *)call->options)->json) {
        rc = print_one(call, set, err);
    } else if (rc == 0) {
        out_printf(call->out, "%s\n", buf_str(&dir));
    }
    return rc;
}

// By its own name, or that of a workload that trains on it.
static const struct public_set *find_set(const char *name, struct err *err)
{
    for (size_t i = 0; workloads[i]; i++)
        if (workloads[i]->data && strcmp(workloads[i]->name, name) == 0)
            return public_set_find(workloads[i]->data, err);
    return public_set_find(name, err);
}

static int with_set(const struct cmd_call *call,
                    int (*act)(const struct cmd_call *, const struct public_set *, struct err *),
                    struct err *err)
{
    if (call->rest->count == 0) {
        err_set(err, ERR_USAGE, "the name of a data set is missing");
        return err_hint(err, "'fare workloads data list' lists them");
    }
    const struct public_set *set = find_set(call->rest->args[0], err);
    return set ? act(call, set, err) : ERR_USAGE;
}

static int get(const struct cmd_call *call, struct err *err)
{
    return with_set(call, get_set, err);
}

static int path(const struct cmd_call *call, struct err *err)
{
    return with_set(call, print_path, err);
}

static const struct command list_command = {
    .name = "workloads data list",
    .summary = "list the data sets, and whether they were fetched",
    .run = list,
};

static const struct command get_command = {
    .name = "workloads data get",
    .summary = "fetch a data set",
    .arguments = "NAME",
    .about = "Fetches a data set, or that of a workload, into your cache and checks it. Later "
             "runs use it.",
    .max_args = 1,
    .run = get,
};

static const struct command path_command = {
    .name = "workloads data path",
    .summary = "print the folder of a data set",
    .arguments = "NAME",
    .max_args = 1,
    .run = path,
};

static const struct command *const subcommands[] = {&list_command, &get_command, &path_command,
                                                    NULL};

static const struct cmd_example examples[] = {
    {"fare workloads data get mnist", "fetch one, check it, and keep it for later runs"},
    {"fare workloads data path mnist", "its folder"},
    {NULL, NULL},
};

const struct command workloads_data = {
    .name = "workloads data",
    .summary = "the public data sets: list, get, path",
    .about = "Lists the public data sets that the workloads were defined on, or fetches one.",
    .subcommands = subcommands,
    .examples = examples,
};
