// SPDX-License-Identifier: Apache-2.0
// workloads: the native workloads, their data, and the helper for Python programs.
#include "cmd/workloads.h"

#include <stdio.h>

#include "base/fs.h"
#include "base/units.h"
#include "cmd/table.h"
#include "record/workload.h"
#include "train/workload/workload.h"

static const struct cmd_example examples[] = {
    {"fare workloads", "the list, with parameters and operations per step"},
    {"fare workloads cnn", "one of them, layer by layer"},
    {"fare workloads data get mnist", "fetch a data set and keep it for later runs"},
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
    &workloads_list, &workloads_show, &workloads_data, &workloads_python, NULL,
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
