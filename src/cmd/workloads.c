// SPDX-License-Identifier: Apache-2.0
// workloads: the native workloads, their data, and the helper for Python programs.
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advise/estimate/model.h"
#include "base/fs.h"
#include "base/progress.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/out.h"
#include "record/field.h"
#include "record/workload.h"
#include "train/data/fetch.h"
#include "train/data/sets.h"
#include "train/workload/workload.h"

// ==== their data ====
// `fare workloads data`: lists the public data sets, fetches one, prints its folder.

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
    TRY(data_cache_dir(set->name, &path, err));
    TRY(buf_check(&users, err));
    row->here = some_bool(is_folder(buf_str(&path)));
    if (all_known && bytes > 0)
        row->download_bytes = some_int(bytes);
    return TEXTS_SET(err, {&row->name, set->name}, {&row->workloads, buf_str(&users)},
                     {&row->path, buf_str(&path)});
}

static void print_sets(struct out *out, const struct set_list *all)
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

static int list_sets(const struct cmd_call *call, struct err *err)
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
        print_sets(call->out, &all);
    record_release(list_fields, &all);
    return rc;
}

static int print_set(const struct cmd_call *call, const struct public_set *set, struct err *err)
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

static bool show_progress(void *context, const char *file, int64_t done, int64_t total)
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
        .set = set, .allow_file = true, .progress = show_progress, .context = &progress};
    SCOPED(data_got_release) struct data_got got = {0};
    int rc = data_get(&what, &got, err);
    progress_end(&progress);
    const struct cmd_common *common = call->options;
    if (rc == 0 && common->json)
        rc = print_set(call, set, err);
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
    TRY(data_cache_dir(name, &dir, err));
    if (!is_folder(buf_str(&dir))) {
        err_set(err, ERR_MISSING, "%s is not here (it would be %s)", name, buf_str(&dir));
        return err_hint(err, "'fare workloads data get %s' fetches it", name);
    }
    if (((const struct cmd_common *)call->options)->json)
        return print_set(call, set, err);
    out_printf(call->out, "%s\n", buf_str(&dir));
    return 0;
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
    .run = list_sets,
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

static const struct command *const data_commands[] = {&list_command, &get_command, &path_command,
                                                      NULL};

static const struct cmd_example data_examples[] = {
    {"fare workloads data get mnist", "fetch one, check it, and keep it for later runs"},
    {"fare workloads data path mnist", "its folder"},
    {NULL, NULL},
};

static const struct command workloads_data = {
    .name = "workloads data",
    .summary = "the public data sets: list, get, path",
    .about = "Lists the public data sets that the workloads were defined on, or fetches one.",
    .subcommands = data_commands,
    .examples = data_examples,
};

// ==== language models ====
// `fare workloads models`: the shapes that are known by name, or as a config.json has it.

// "8.03 B", "124 M".
static struct units_text in_billions(int64_t count)
{
    struct units_text out;
    snprintf(out.s, sizeof out.s, count < 999500000 ? "%.3g M" : "%.3g B",
             (double)count / (count < 999500000 ? 1e6 : 1e9));
    return out;
}

static struct units_text plain_count(struct maybe_int count)
{
    struct units_text out = {"-"};
    if (count.known)
        snprintf(out.s, sizeof out.s, "%lld", (long long)count.v);
    return out;
}

static struct maybe_int some_count(double count) // 0: unknown
{
    return count >= 1 ? some_int((int64_t)count) : (struct maybe_int){0};
}

static int describe_model(const struct model_found *found, struct model_info *out, struct err *err)
{
    const struct model_shape *s = &found->shape;
    const struct model_row *row = found->model;
    const bool many = s->experts > 1;
    out->parameters = some_count(s->params);
    out->active = some_count(many ? s->active : 0);
    out->layers = some_count(s->layers);
    out->width = some_count(s->hidden);
    out->heads = some_count(s->heads);
    out->kv_heads = some_count(s->kv);
    out->head_size = some_count(s->head_size);
    out->ff_width = some_count(s->ffn);
    out->matrices = some_int(s->gated > 0 ? 3 : 2);
    out->experts = some_count(many ? s->experts : 0);
    out->chosen = some_count(many ? s->chosen : 0);
    out->vocabulary = some_count(s->vocab);
    out->context = some_count(found->context);
    out->tied = some_bool(s->tied > 0);
    TRY(text_set(&out->name, found->name, err));
    SCOPED(buf_release) struct buf aliases = {0};
    for (const char *at = row ? row->aliases : NULL; at && *at; at++)
        buf_adds(&aliases, *at == ';' ? ", " : (char[]){*at, '\0'});
    TRY(buf_check(&aliases, err));
    if (aliases.len)
        TRY(text_set(&out->aliases, buf_str(&aliases), err));
    if (row && row->source)
        TRY(text_set(&out->source, row->source, err));
    return row && row->date ? text_set(&out->date, row->date, err) : 0;
}

// "Lightning-AI/litgpt" of "github.com/Lightning-AI/litgpt/blob/26857050/litgpt/config.py".
static struct short_text repository(const char *source)
{
    const char *from = strncmp(source, "github.com/", 11) == 0 ? source + 11 : source;
    const char *to = strstr(from, "/blob/");
    return short_text("%.*s", to ? (int)(to - from) : (int)strlen(from), from);
}

static void print_models(struct out *out, const struct model_list *all)
{
    static const struct table_column columns[] = {
        {"name", TABLE_LEFT},       {"parameters", TABLE_RIGHT}, {"active", TABLE_RIGHT},
        {"layers", TABLE_RIGHT},    {"width", TABLE_RIGHT},      {"heads", TABLE_LEFT, 2},
        {"experts", TABLE_LEFT, 3}, {"from", TABLE_LEFT, 1, 12}};
    struct table table = TABLE(columns);
    for (size_t i = 0; i < all->models.count; i++) {
        const struct model_info *m = &all->models.items[i];
        const struct short_text heads =
            short_text(m->kv_heads.v == m->heads.v ? "%lld" : "%lld/%lld", (long long)m->heads.v,
                       (long long)m->kv_heads.v);
        const struct short_text experts =
            short_text(m->experts.known ? "%lld of %lld" : "-", (long long)m->chosen.v,
                       (long long)m->experts.v);
        const char *const cells[] = {m->name,
                                     in_billions(m->parameters.v).s,
                                     m->active.known ? in_billions(m->active.v).s : "-",
                                     plain_count(m->layers).s,
                                     plain_count(m->width).s,
                                     heads.s,
                                     experts.s,
                                     m->source ? repository(m->source).s : "-"};
        table_row(&table, OUT_PLAIN, cells, NULL);
    }
    table_print(&table, out);
}

static void print_model(struct out *out, const struct model_info *m)
{
    out_row(out, "Model", "%s", m->name);
    if (m->aliases)
        out_row(out, "Also", "%s", m->aliases);
    out_row(out, "Size", "%s parameters", in_billions(m->parameters.v).s);
    if (m->active.known)
        out_row(out, "Experts", "%lld of %lld for a token, which meets %s parameters",
                (long long)m->chosen.v, (long long)m->experts.v, in_billions(m->active.v).s);
    out_row(out, "Layers", "%lld, %lld wide; %s %lld wide, of %lld matrices",
            (long long)m->layers.v, (long long)m->width.v,
            m->experts.known ? "an expert" : "feed-forward", (long long)m->ff_width.v,
            (long long)m->matrices.v);
    out_row(out, "Attention", "%s of %lld, %lld of keys and values",
            units_count(m->heads.v, "head").s, (long long)m->head_size.v, (long long)m->kv_heads.v);
    out_row(out, "Embedding", "%s; input and output %s", units_count(m->vocabulary.v, "token").s,
            m->tied.v ? "share it" : "have one each");
    if (m->context.known)
        out_row(out, "Context", "%s", units_count(m->context.v, "token").s);
    if (m->source)
        out_row(out, "Source", "%s%s%s", m->source, m->date ? ", read " : "",
                m->date ? m->date : "");
}

static int describe_models(const struct cmd_call *call, const struct model_tables *tables,
                           struct model_list *all, struct err *err)
{
    const bool one = call->rest->count > 0;
    TRY(text_set(&all->schema, MODELS_SCHEMA, err));
    for (size_t i = 0; i < (one ? 1 : tables->models.count); i++) {
        struct model_found found;
        TRY(model_find(tables, one ? call->rest->args[0] : tables->models.items[i].name, &found,
                       err));
        if (!one && found.model != &tables->models.items[i])
            continue; // yours takes its place
        struct model_info *info = LIST_ADD(&all->models, err);
        TRY(info ? describe_model(&found, info, err) : ERR_MEMORY);
    }
    if (((const struct cmd_common *)call->options)->json)
        return out_record(call->out, model_list_fields, all, err);
    if (one)
        print_model(call->out, &all->models.items[0]);
    else
        print_models(call->out, all);
    return 0;
}

static int models(const struct cmd_call *call, struct err *err)
{
    struct model_tables *tables = NULL;
    struct model_list all = {0};
    int rc = model_tables_open(&tables, err);
    if (rc == 0)
        rc = describe_models(call, tables, &all, err);
    record_release(model_list_fields, &all);
    model_tables_close(tables);
    return rc;
}

static const struct cmd_example model_examples[] = {
    {"fare workloads models", "the models that are known by name"},
    {"fare workloads models meta-llama/Meta-Llama-3-8B", "one of them, by any of its names"},
    {"fare workloads models 13b", "the model that stands for a size"},
    {NULL, NULL},
};

static const struct command workloads_models = {
    .name = "workloads models",
    .summary = "list language models by their shape, or show one",
    .arguments = "[NAME|SIZE|CONFIG.JSON]",
    .about = "Lists the language models whose shape is known, or shows one: by name, by size "
             "(\"8b\": a typical model), or from a config.json of the transformers library. "
             "Rows of your own go into ~/.config/fare/models.csv.",
    .max_args = 1,
    .examples = model_examples,
    .run = models,
};

// ==== the workloads ====

static const struct cmd_example examples[] = {
    {"fare workloads", "the list, with parameters and operations per step"},
    {"fare workloads cnn", "one of them, layer by layer"},
    {"fare workloads data get mnist", "fetch a data set and keep it for later runs"},
    {"fare workloads models", "the language models that are known by name"},
    {"fare workloads python-helper > fare.py", "progress of your own training, for 'fare run --'"},
    {NULL, NULL},
};

// "2.35 T": three significant digits.
static struct units_text flops(double value)
{
    static const char *const names[] = {"", " k", " M", " G", " T", " P"};
    int unit = 0;
    struct units_text out;
    while (value >= 999.5 && unit < 5) {
        value /= 1000;
        unit++;
    }
    snprintf(out.s, sizeof out.s, "%.3g%s", value, names[unit]);
    return out;
}

static void print_list(struct out *out, const struct workload_list *list)
{
    static const struct table_column columns[] = {
        {"name", TABLE_LEFT},   {"parameters", TABLE_RIGHT}, {"FLOP/step", TABLE_RIGHT},
        {"batch", TABLE_RIGHT}, {"epochs", TABLE_RIGHT, 1},  {"task", TABLE_LEFT, 2, 24, ""}};
    struct table table = TABLE(columns);
    for (size_t i = 0; i < list->workloads.count; i++) {
        const struct workload_info *w = &list->workloads.items[i];
        char parameters[24] = "-", cost[24] = "-", batch[24] = "-", epochs[24] = "-";
        if (w->parameters.known) {
            snprintf(parameters, sizeof parameters, "%lld", (long long)w->parameters.v);
            snprintf(cost, sizeof cost, "%s", flops(w->forward_flops.v + w->backward_flops.v).s);
            snprintf(batch, sizeof batch, "%lld", (long long)w->batch.v);
        }
        if (w->epochs.known)
            snprintf(epochs, sizeof epochs, "%lld", (long long)w->epochs.v);
        const char *const cells[] = {w->name, parameters, cost, batch, epochs, w->summary};
        table_row(&table, OUT_PLAIN, cells, NULL);
    }
    table_print(&table, out);
}

static void print_layers(struct out *out, const struct workload_info *w)
{
    static const struct table_column columns[] = {{"layer", TABLE_LEFT, 0, 10},
                                                  {"kind", TABLE_LEFT, 1},
                                                  {"output", TABLE_LEFT},
                                                  {"parameters", TABLE_RIGHT}};
    struct table table = TABLE(columns);
    char parameters[24];
    for (size_t i = 0; i < w->layers.count; i++) {
        const struct workload_layer *l = &w->layers.items[i];
        snprintf(parameters, sizeof parameters, "%lld", (long long)l->parameters.v);
        const char *const cells[] = {l->name, l->op, l->output,
                                     l->parameters.known ? parameters : ""};
        table_row(&table, OUT_PLAIN, cells, NULL);
    }
    snprintf(parameters, sizeof parameters, "%lld", (long long)w->parameters.v);
    const char *const sum[] = {"total", "", "", parameters};
    table_row(&table, OUT_BOLD, sum, NULL);
    table_print(&table, out);
}

static void print_one(struct out *out, const struct workload_info *w)
{
    out_row(out, w->name, "%s", w->summary);
    out_row(out, "From", "%s", w->origin);
    if (!w->parameters.known) {
        out_row(out, "Run", "fare run %s [--n N --m M --dim D]", w->name);
        return;
    }
    if (w->epochs.known)
        out_row(out, "Recipe", "%s, batch %lld, %s", w->optimizer, (long long)w->batch.v,
                units_count(w->epochs.v, "epoch").s);
    else
        out_row(out, "Recipe", "%s, batch %lld, %s", w->optimizer, (long long)w->batch.v,
                units_count(w->steps.v, "step").s);
    if (w->reach_accuracy.known)
        out_row(out, "Reaches", "%.1f %% on the real data", w->reach_accuracy.v * 100);
    if (w->reach_loss.known)
        out_row(out, "Reaches", "a loss of %.2f on the real data", w->reach_loss.v);
    out_row(out, "Step", "%s FLOP forward, %s backward, at least %s moved",
            flops(w->forward_flops.v).s, flops(w->backward_flops.v).s,
            units_bytes((int64_t)w->bytes.v).s);
    out_printf(out, "\n");
    print_layers(out, w);
}

static int describe_all(const struct cmd_call *call, const struct workload *only, struct err *err)
{
    const struct cmd_common *common = call->options;
    struct workload_list all = {0};
    int rc = text_set(&all.schema, WORKLOADS_SCHEMA, err);
    for (size_t i = 0; rc == 0 && workloads[i]; i++) {
        if (only && workloads[i] != only)
            continue;
        struct workload_info *info = LIST_ADD(&all.workloads, err);
        rc = info ? workload_describe(workloads[i], only != NULL, info, err) : ERR_MEMORY;
    }
    if (rc == 0 && common->json)
        rc = out_record(call->out, workload_list_fields, &all, err);
    else if (rc == 0 && only)
        print_one(call->out, &all.workloads.items[0]);
    else if (rc == 0)
        print_list(call->out, &all);
    record_release(workload_list_fields, &all);
    return rc;
}

static int list(const struct cmd_call *call, struct err *err)
{
    return describe_all(call, NULL, err);
}

static int show(const struct cmd_call *call, struct err *err)
{
    if (call->rest->count == 0) {
        err_set(err, ERR_USAGE, "'fare workloads show' needs the name of a workload");
        return err_hint(err, "'fare workloads' lists them");
    }
    const struct workload *only = workload_find(call->rest->args[0], err);
    return only ? describe_all(call, only, err) : ERR_USAGE;
}

static int python_helper(const struct cmd_call *call, struct err *err)
{
    enum { MOST = 1 << 20 };
    SCOPED(buf_release) struct buf path = {0};
    TRY(folder_share(&path, err));
    buf_adds(&path, "/python/fare.py");
    TRY(buf_check(&path, err));
    return fs_read(buf_str(&path), MOST, &call->out->text, err);
}

static const struct command workloads_list = {
    .name = "workloads list",
    .summary = "list the workloads with their size and the work of a step",
    .run = list,
};

static const struct command workloads_show = {
    .name = "workloads show",
    .summary = "show one workload, layer by layer",
    .arguments = "NAME",
    .about = "Shows a workload's recipe, the result of a correct training, and its layers.",
    .max_args = 1,
    .run = show,
};

static const struct command workloads_python = {
    .name = "workloads python-helper",
    .summary = "print fare.py, which reports a Python program's progress to fare",
    .about = "Prints a Python module without dependencies. A program that imports it reports its "
             "steps, epochs and phases to 'fare run -- COMMAND'; docs/measuring-a-command.md "
             "describes it.",
    .run = python_helper,
};

static const struct command *const subcommands[] = {
    &workloads_list, &workloads_show, &workloads_data, &workloads_models, &workloads_python, NULL,
};

const struct command cmd_workloads = {
    .name = "workloads",
    .group = "Measure",
    .summary = "the native workloads and their data",
    .arguments = "[NAME]",
    .about = "Lists the native workloads, or shows one layer by layer. Each trains on its public "
             "data set if 'fare workloads data get' fetched it, otherwise on synthetic data.",
    .subcommands = subcommands,
    .with_argument = &workloads_show,
    .examples = examples,
};
