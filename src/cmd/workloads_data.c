// SPDX-License-Identifier: Apache-2.0
// workloads data: lists the public data sets, fetches one, says where it is.
#include "cmd/workloads.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/units.h"
#include "data/fetch.h"
#include "data/sets.h"
#include "record/field.h"
#include "workload/workload.h"

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
    FIELD(FIELD_INT, T, download_bytes, "size of the download, where known"),
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
    struct buf path = {0}, users = {0};
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
    buf_release(&path);
    buf_release(&users);
    return rc;
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
    for (size_t i = 0; rc == 0 && !common->json && i < all.sets.count; i++) {
        const struct set_row *row = &all.sets.items[i];
        const char *where = row->here.v ? row->path : "not here";
        bool below = 37 + out_columns(where) > call->out->width;
        out_printf(call->out, "%-10s %-10s %-14s%s%s\n", row->name,
                   row->download_bytes.known ? units_bytes(row->download_bytes.v).s : "size ?",
                   row->workloads, below ? "\n  " : " ", where);
    }
    record_release(list_fields, &all);
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

static int get(const struct cmd_call *call, const struct public_set *set, struct err *err)
{
    const char *name = set->name;
    struct progress progress = {0};
    const struct data_get what = {
        .set = set, .allow_file = true, .progress = show, .context = &progress};
    struct data_got got = {0};
    int rc = data_get(&what, &got, err);
    progress_end(&progress);
    if (rc == 0 && got.already)
        out_printf(call->out, "%s is already here: %s\n", name, got.path);
    else if (rc == 0)
        out_printf(call->out, "%s: %s (%d files checked against known sums)\n", name, got.path,
                   got.checked);
    if (rc == 0 && got.unchecked > 0)
        out_printf(call->out, "%d files have no known sum; these were recorded:\n%s", got.unchecked,
                   buf_str(&got.sums));
    data_got_release(&got);
    return rc;
}

static int path(const struct cmd_call *call, const char *name, struct err *err)
{
    struct buf dir = {0};
    int rc = data_cache_dir(name, &dir, err);
    if (rc == 0 && !is_folder(buf_str(&dir))) {
        rc = err_set(err, ERR_MISSING, "%s is not here (it would be %s)", name, buf_str(&dir));
        err_hint(err, "'fare workloads data get %s' fetches it", name);
    } else if (rc == 0) {
        out_printf(call->out, "%s\n", buf_str(&dir));
    }
    buf_release(&dir);
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

int workloads_data(const struct cmd_call *call, const char *const *args, size_t count,
                   struct err *err)
{
    const char *verb = count > 0 ? args[0] : "list";
    if (strcmp(verb, "list") == 0 && count <= 1)
        return list(call, err);
    bool getting = strcmp(verb, "get") == 0;
    if ((!getting && strcmp(verb, "path") != 0) || count != 2) {
        err_set(err, ERR_USAGE, "'fare workloads data' takes list, get NAME or path NAME");
        return err_hint(err, "'fare workloads data list' shows the names");
    }
    const struct public_set *set = find_set(args[1], err);
    if (!set)
        return ERR_USAGE;
    return getting ? get(call, set, err) : path(call, set->name, err);
}
