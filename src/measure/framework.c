// SPDX-License-Identifier: Apache-2.0
#include "measure/framework.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/folders.h"
#include "base/units.h"
#include "cmd/check.h"
#include "measure/watch.h"
#include "data/parallel.h"
#include "run/checkpoint.h"
#include "measure/command.h"
#include "measure/handover.h"
#include "measure/partial.h"

static int options_of(const struct run_command_options *o, const struct measure_options *m,
                      bool sample, struct command_options *c, struct err *err)
{
    *c = (struct command_options){
        .name = m->name,
        .grace_ns = o->grace_ns > 0 ? o->grace_ns : COMMAND_GRACE_NS,
        .follow = {.step_pattern = o->step_pattern,
                   .total_steps = o->total_steps,
                   .total_epochs = o->total_epochs},
    };
    c->follow.max_s = measure_max_s(m, sample ? MEASURE_MAX_TIME_S : 0);
    c->follow.at_the_latest = m->max_time_ns > 0;
    int rc = measure_until(m, &c->until_ns, err);
    return rc == 0 && sample ? measure_within(m, &c->follow.within, err) : rc;
}

int run_command_unused(const struct run_command_options *o, struct err *err)
{
    const char *name = o->step_pattern           ? "step-pattern"
                       : o->total_steps          ? "total-steps"
                       : o->total_epochs         ? "total-epochs"
                       : o->grace_ns && !o->with ? "grace"
                                                 : NULL;
    if (!name)
        return 0;
    err_set(err, ERR_USAGE, "--%s is for a command, and there is none", name);
    return err_hint(err, "put it behind '--': fare run --%s ... -- python train.py", name);
}

// ---- text, to stderr: stdout is the command's own

static void say_lines(struct out *out, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        out_printf(out, "fare: %.*s\n", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

static void say_step_times(struct out *out, const struct run *run)
{
    static const char before[] = "fare: ";
    double low, high;
    struct buf line = {0};
    if (run->step_plot_ms.count < 2)
        return;
    out_blocks(&line, run->step_plot_ms.items, run->step_plot_ms.count,
               (size_t)out->width - strlen(before), out->unicode, &low, &high);
    out_printf(out, "%s%s\n%s%.4g to %.4g ms a step, from left to right\n", before, buf_str(&line),
               before, low, high);
    out->text.failed |= line.failed;
    buf_release(&line);
}

static void say_speed(struct out *out, const struct run *run)
{
    char time[24];
    if (run->steps.known)
        out_printf(out, "fare: %s", units_count(run->steps.v, "step").s);
    if (run->steps.known && run->total_steps.known)
        out_printf(out, " of %lld", (long long)run->total_steps.v);
    if (run->step_ms.known)
        out_printf(out, ", %.*f ms each", run->step_ms.v < 100 ? 2 : 0, run->step_ms.v);
    if (run->samples_per_s.known)
        out_printf(out, ", %.0f samples/s", run->samples_per_s.v);
    if (run->last_loss.known)
        out_printf(out, ", loss %.4g", run->last_loss.v);
    if (run->test_accuracy.known)
        out_printf(out, ", %.2f %% right held out", run->test_accuracy.v * 100);
    if (run->steps.known)
        out_printf(out, "\n");
    say_step_times(out, run);
    const struct run_projection *p = &run->projection;
    if (!p->wall_s.known)
        return;
    clock_words((int64_t)(p->wall_s.v * 1e9), time, sizeof time);
    out_printf(out, "fare: the whole training takes %s", time);
    if (p->low_s.known && p->high_s.known) {
        char low[24], high[24];
        clock_words((int64_t)(p->low_s.v * 1e9), low, sizeof low);
        clock_words((int64_t)(p->high_s.v * 1e9), high, sizeof high);
        out_printf(out, " (between %s and %s)", low, high);
    }
    out_printf(out, "\n");
}

static void say_bill(struct out *out, const struct run *run, const struct watch_price *price)
{
    struct buf bill = {0};
    if (watch_price_bill(price, run, &bill)) {
        out_printf(out, "fare: ");
        out_wrap_here(out, 6, buf_str(&bill));
    }
    out->text.failed |= bill.failed;
    buf_release(&bill);
}

static void say_run(struct out *out, const struct run *run, const struct watch_price *price,
                    const struct buf *says)
{
    char time[24] = "an unknown time";
    if (run->phases.wall_ns.known)
        clock_words(run->phases.wall_ns.v, time, sizeof time);
    out_printf(out, "fare: %s %s after %s", run->name,
               strcmp(run->ended, "sampled") == 0 ? "was ended" : run->ended, time);
    if (strcmp(run->ended, "sampled") == 0)
        out_printf(out, run->projection.wall_s.known ? ": enough is known" : ": its time is over");
    if (run->problem)
        out_printf(out, ": %s", run->problem);
    out_printf(out, "\n");
    say_speed(out, run);
    say_bill(out, run, price);
    for (size_t i = 0; i < run->taints.count; i++)
        out_printf(out, "fare: %s\n", run->taints.items[i]);
    say_lines(out, buf_str(says));
}

// ---- the line on the terminal

static void show(void *context, const struct live *live)
{
    struct watch *watch = context;
    char note[48] = "";
    if (!live) {
        watch_hide(watch);
        return;
    }
    if (live->step > 0 && (live->steps == 0 || live->timed))
        snprintf(note, sizeof note, "step %lld", (long long)live->step);
    watch_show(watch, live, note);
}

static int run_watched(struct command_options *c, struct run *run, struct buf *says,
                       struct err *err)
{
    struct watch watch = {0};
    char *name = NULL; // as command_run() will call it
    int rc = c->name ? text_set(&name, c->name, err) : command_name(c->argv, &name, err);
    watch.name = name;
    if (!c->output_to_stderr) {
        c->progress = show;
        c->context = &watch;
    }
    if (rc == 0)
        rc = command_run(c, run, says, err);
    watch_end(&watch);
    free(name);
    return rc;
}

// ---- the user's command

int run_command(const struct cmd_call *call, const struct run_command_options *o,
                const struct measure_options *m, bool full, bool json, struct runs *runs,
                struct err *err)
{
    if (!call->rest->command[0]) {
        err_set(err, ERR_USAGE, "there is no command after '--'");
        return err_hint(err, "write one: fare run -- python train.py");
    }
    struct command_options c;
    struct machine machine = {0};
    struct watch_price price = {0};
    struct buf says = {0};
    const struct check_options check = {.no_cloud = m->no_cloud, .no_libraries = true};
    // Nobody's command is cut off who did not say how long it is.
    bool sample = !full && (o->total_steps > 0 || o->total_epochs > 0);
    int rc = measure_check(m, full, err);
    if (rc == 0)
        rc = options_of(o, m, sample, &c, err);
    if (rc != 0)
        return rc;
    c.argv = call->rest->command;
    c.output_to_stderr = json;
    if (rc == 0)
        rc = text_set(&runs->schema, RUNS_SCHEMA, err);
    runs->runs.known = true;
    struct run *run = rc == 0 ? LIST_ADD(&runs->runs, err) : NULL;
    if (rc == 0 && !run)
        rc = ERR_MEMORY;
    if (rc == 0)
        rc = check_machine(&check, &machine, err);
    if (rc == 0)
        rc = measure_begin(m, &machine, true, run, err);
    if (rc == 0) {
        c.journal = measure_journal(m, run);
        watch_price_open(&price, m, run);
        if (!json)
            watch_price_say(&price);
        c.price = &price.live;
        rc = run_watched(&c, run, &says, err);
        // As shells have it: a program that is not there, and one that cannot be started.
        if (rc >= 0)
            *call->exit_code = rc == COMMAND_ENDED_AS_PLANNED ? 0 : command_exit_code(run);
        else if (rc == ERR_MISSING)
            *call->exit_code = 127;
        else if (rc == ERR_IO)
            *call->exit_code = 126;
        rc = rc > 0 ? 0 : rc;
        if (rc == 0 && c.until_ns > 0 && clock_now_ns() >= c.until_ns &&
            strcmp(run->ended, "stopped") == 0) {
            measure_say_spent(m, &says);
            int64_t late_ns = clock_now_ns() - c.until_ns;
            char late[24];
            clock_words(late_ns, late, sizeof late);
            if (late_ns > NS_PER_S)
                buf_printf(&says, "it took %s to end, which cost more: --grace sets the limit\n",
                           late);
        }
        if (rc == 0)
            measure_keep(m, run, c.journal, &says);
        else
            journal_close(c.journal, false, &says);
    }
    if (rc == 0 && json) {
        rc = out_record(call->out, runs_fields, runs, err);
    } else if (rc == 0) {
        call->out->fd = STDERR_FILENO;
        say_run(call->out, run, &price, &says);
    }
    watch_price_close(&price);
    buf_release(&says);
    machine_release(&machine);
    return rc;
}

// ---- another framework

static int framework_dir(const char *with, struct buf *dir, struct err *err)
{
    int rc = folder_share(dir, err);
    buf_printf(dir, "/frameworks/%s", with);
    return rc == 0 ? buf_check(dir, err) : rc;
}

static int no_framework(const char *with, struct err *err)
{
    struct buf dir = {0}, names = {0};
    DIR *list = framework_dir("", &dir, NULL) == 0 ? opendir(buf_str(&dir)) : NULL;
    const struct dirent *entry;
    while (list && (entry = readdir(list)))
        if (entry->d_name[0] != '.')
            buf_printf(&names, "%s%s", names.len ? ", " : "", entry->d_name);
    if (list)
        closedir(list);
    err_set(err, ERR_USAGE, "there is no framework '%s'", with);
    err_hint(err, "there is: %s", names.len ? buf_str(&names) : "none");
    buf_release(&dir);
    buf_release(&names);
    return ERR_USAGE;
}

// share/frameworks/WITH/NAME.py.
static int find_script(const char *with, const char *name, struct buf *script, struct err *err)
{
    struct stat st;
    int rc = framework_dir(with, script, err);
    if (rc != 0)
        return rc;
    if (strchr(with, '/') || stat(buf_str(script), &st) != 0 || !S_ISDIR(st.st_mode))
        return no_framework(with, err);
    buf_printf(script, "/%s.py", name);
    rc = buf_check(script, err);
    if (rc == 0 && stat(buf_str(script), &st) != 0)
        rc = err_set(err, ERR_MISSING, "%s has no %s: there is no '%s'", with, name,
                     buf_str(script));
    return rc;
}

static const char *find_python(void)
{
    const char *python = getenv("FARE_PYTHON");
    return python && *python ? python : "python3";
}

// "--seed 1 --threads 2 ..." for the script. `numbers` holds the digits.
struct arguments {
    char *items[24];
    size_t count;
    char numbers[8][24];
    size_t used;
};

static void add(struct arguments *a, const char *name, const char *value)
{
    a->items[a->count++] = (char *)(uintptr_t)name; // exec promises not to change them
    if (value)
        a->items[a->count++] = (char *)(uintptr_t)value;
}

// What is below `least` was not given.
static void add_number(struct arguments *a, const char *name, int64_t value, int64_t least)
{
    if (value < least)
        return;
    char *text = a->numbers[a->used++];
    snprintf(text, sizeof a->numbers[0], "%lld", (long long)value);
    add(a, name, text);
}

static int note_what(const struct workload *workload, const char *with, struct run *run,
                     struct err *err)
{
    int rc = run->name ? 0 : text_set(&run->name, workload->name, err);
    if (rc == 0)
        rc = text_set(&run->workload, workload->name, err);
    return rc == 0 ? text_set(&run->framework, with, err) : rc;
}

// Which net and recipe: those of the definition, for this data, whoever trains them.
static int note_definition(const struct workload *workload, const struct data_pair *data,
                           const struct native_options *t, struct run *run, struct err *err)
{
    char net_sum[SHA256_HEX_BYTES], identity[SHA256_HEX_BYTES + 8];
    struct net net;
    struct recipe recipe = workload->recipe;
    struct buf words = {0};
    int rc = workload_net(workload, data, &t->variant, &net, err);
    if (rc != 0)
        return rc;
    recipe.batch = t->batch > 0 ? t->batch : recipe.batch;
    checkpoint_fingerprint(&net, net_sum);
    checkpoint_recipe_text(&recipe, &words);
    snprintf(identity, sizeof identity, "sha256:%s", net_sum);
    rc = buf_check(&words, err);
    if (rc == 0)
        rc = text_set(&run->net, identity, err);
    if (rc == 0)
        rc = text_set(&run->recipe, buf_str(&words), err);
    buf_release(&words);
    net_release(&net);
    return rc;
}

// Operations of a step, from the definition: the same for whoever trains it.
static void note_flops(const struct workload *workload, const struct native_options *t,
                       struct run *run)
{
    struct net net;
    struct net_cost cost;
    if (!workload->build || workload_net_as_defined(workload, &t->variant, &net, NULL) != 0)
        return;
    net_cost(&net, t->batch > 0 ? t->batch : workload->recipe.batch, &cost);
    run->step_flops = some_real(cost.forward_flops + cost.backward_flops);
    net_release(&net);
}

static void add_options(struct arguments *a, const struct workload *workload,
                        const struct native_options *t)
{
    bool l1 = workload->metric == WORKLOAD_L1;
    if (!t->full && workload->recipe.phase_count > 1)
        add(a, "--sample", NULL);
    if (t->precision)
        add(a, "--precision", t->precision);
    add_number(a, "--seed", t->seed, 0);
    add_number(a, "--threads", parallel_threads((int)t->threads), 1); // as many as fare's own
    add_number(a, "--epochs", t->epochs, 1);
    add_number(a, "--batch", t->batch, 1);
    add_number(a, "--steps", t->full || l1 ? 0 : t->steps, 1);
    add_number(a, "--n", l1 ? t->n : 0, 1);
    add_number(a, "--m", l1 ? t->m : 0, 1);
    add_number(a, "--dim", l1 ? t->dim : 0, 1);
}

static int run_script(const struct workload *workload, const struct run_command_options *o,
                      const struct native_options *t, struct command_options *c, struct run *run,
                      struct buf *says, struct err *err)
{
    static char variable[] = "PYTHONDONTWRITEBYTECODE=1"; // share/ stays as it is
    char *const no_bytecode[] = {variable, NULL};
    c->grace_ns = o->grace_ns > 0 ? o->grace_ns : COMMAND_GRACE_NS;
    c->name = run->name;
    c->framework = o->with;
    c->until_ns = t->until_ns;
    c->set = no_bytecode;
    c->journal = t->journal;
    c->sample = !t->full && t->steps > 0;
    // The script tells its total.
    if (!t->full && t->steps == 0 && workload->metric != WORKLOAD_L1)
        c->follow = (struct follow_options){.within = t->within, .max_s = t->max_s};
    note_flops(workload, t, run);
    c->price = t->price;
    int rc = run_watched(c, run, says, err);
    rc = rc > 0 ? 0 : rc;
    if (rc == 0 && strcmp(run->ended, "stopped") == 0 && !training_over(t))
        training_stop = 1; // nor those that would come next
    // One that ends well without having trained is no training.
    if (rc == 0 && strcmp(run->ended, "finished") == 0 && !(run->steps.known && run->steps.v > 0)) {
        rc = text_set(&run->ended, "failed", err);
        if (rc == 0)
            rc = text_set(&run->problem, "it ended without having told of a step", err);
    }
    if (rc == 0 && strcmp(run->ended, "failed") == 0) {
        rc =
            err_set(err, ERR_FAIL, "%s with '%s' failed: %s", o->with, find_python(), run->problem);
        err_hint(err, "its own words are above; FARE_PYTHON names another Python");
    }
    return rc;
}

static int nothing_yet(void *context, struct run *part, struct err *err)
{
    (void)context, (void)part, (void)err;
    return 0;
}

// Handing over the data may take a while, and it may be killed then.
static void keep_beginning(const struct native_options *t, const struct run *run)
{
    struct partial partial;
    partial_begin(&partial, t->journal, clock_now_ns());
    partial_keep(&partial, run, nothing_yet, NULL);
}

// Opens the set as fare's own training does, or makes it, and writes it down for the script.
static int hand_over(const struct workload *workload, const struct native_options *t,
                     struct handover *handover, struct run *run, struct err *err)
{
    const struct handover_options how = {
        .threads = (int)t->threads, .stop = &training_stop, .until_ns = t->until_ns};
    struct data_pair data = {0};
    struct buf dir = {0};
    int64_t began_ns = clock_now_ns();
    int found = native_data_dir(workload, t->data, &dir, err);
    int rc = found < 0 ? found : 0;
    if (rc == 0)
        rc = native_data_open(workload, found > 0 ? buf_str(&dir) : NULL, how.threads, &data, err);
    if (rc == 0)
        rc = native_describe_data(&data, run, err);
    if (rc == 0)
        rc = note_definition(workload, &data, t, run, err);
    int64_t opened_ns = clock_now_ns();
    if (rc == 0)
        rc = handover_write(handover, &data, &how, err);
    handover->took_ns += opened_ns - began_ns;
    data_release(&data);
    buf_release(&dir);
    return rc;
}

int run_framework(const struct workload *workload, const struct run_command_options *o,
                  const struct native_options *t, bool json, struct run *run, struct buf *says,
                  struct err *err)
{
    struct buf script = {0};
    struct handover handover = {0};
    struct arguments a = {.count = 0};
    int rc = find_script(o->with, workload->name, &script, err);
    if (rc == 0 && (t->engine || t->checkpoint || t->from || t->generate > 0))
        rc = err_set(err, ERR_USAGE,
                     "engines, checkpoints and generated text are fare's own: "
                     "--with has none of them");
    if (rc == 0)
        rc = note_what(workload, o->with, run, err);
    if (rc == 0)
        keep_beginning(t, run);
    if (rc == 0)
        rc = workload->metric == WORKLOAD_L1 ? native_describe_l1(t, run, err)
                                             : hand_over(workload, t, &handover, run, err);
    if (rc == 0 && training_over(t)) { // before it began
        rc = text_set(&run->ended, "stopped", err);
    } else if (rc == 0) {
        add(&a, find_python(), NULL);
        add(&a, buf_str(&script), NULL);
        if (handover.path)
            add(&a, "--data", handover.path);
        add_options(&a, workload, t);
        struct command_options c = {
            .argv = a.items, .output_to_stderr = json, .load_ns = handover.took_ns};
        rc = run_script(workload, o, t, &c, run, says, err);
    }
    struct err other = {0};
    if (rc != 0 && run->workload && !run->ended && // its data could not be handed over
        (text_set(&run->ended, "failed", &other) != 0 ||
         text_set(&run->problem, err->text, &other) != 0))
        rc = err_memory(err);
    handover_remove(&handover);
    buf_release(&script);
    return rc;
}
