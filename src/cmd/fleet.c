// SPDX-License-Identifier: Apache-2.0
// `fare run --on`: from options to a plan, and from a plan to its end.
#include "cmd/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "cmd/runs.h"
#include "fleet/queues.h"
#include "fleet/script.h"
#include "fleet/target.h"

bool fleet_wanted(const struct fleet_options *o)
{
    return o->on.count > 0 || o->sweep.count > 0;
}

// ---- fare's options, written again

struct words_list {
    char **items;
    size_t count, capacity;
};

static int add_word(struct words_list *list, struct buf *word, struct err *err)
{
    TRY(array_grow(&list->items, list->count + 1, &list->capacity, sizeof *list->items, err));
    list->items[list->count] = buf_take(word, err);
    list->items[list->count + 1] = NULL;
    return list->items[list->count++] ? 0 : ERR_MEMORY;
}

static int add_number(struct words_list *list, const struct opt *opt, int64_t v, struct err *err)
{
    struct buf word = {0};
    buf_printf(&word, "--%s=", opt->name);
    if (opt->kind == OPT_DURATION && v % NS_PER_S == 0)
        buf_printf(&word, "%llds", (long long)(v / NS_PER_S));
    else if (opt->kind == OPT_DURATION)
        buf_printf(&word, "%lld.%06lldms", (long long)(v / NS_PER_MS), (long long)(v % NS_PER_MS));
    else
        buf_printf(&word, "%lld", (long long)v);
    return add_word(list, &word, err);
}

static int add_text(struct words_list *list, const struct opt *opt, const char *text,
                    struct err *err)
{
    struct buf word = {0};
    buf_printf(&word, "--%s%s%s", opt->name, text ? "=" : "", text ? text : "");
    return add_word(list, &word, err);
}

static int add_option(struct words_list *list, const struct opt *opt, const void *value,
                      const void *standard, struct err *err)
{
    switch (opt->kind) {
    case OPT_FLAG:
        return *(const bool *)value ? add_text(list, opt, NULL, err) : 0;
    case OPT_TEXT:
    case OPT_CHOICE: {
        const char *text = *(const char *const *)value;
        return text ? add_text(list, opt, text, err) : 0;
    }
    case OPT_TEXTS: {
        const struct opt_texts *texts = value;
        for (size_t i = 0; i < texts->count; i++)
            TRY(add_text(list, opt, texts->items[i], err));
        return 0;
    }
    case OPT_COUNT:
    case OPT_DURATION:
    case OPT_BYTES: {
        int64_t v = *(const int64_t *)value;
        return v != *(const int64_t *)standard ? add_number(list, opt, v, err) : 0;
    }
    }
    return 0;
}

static bool is_for_there(const struct opt *opt, const char *const *except)
{
    if (opt->group && (strcmp(opt->group, FLEET_GROUP) == 0 || strcmp(opt->group, "Money") == 0))
        return false;
    for (; *except; except++)
        if (strcmp(*except, opt->name) == 0)
            return false;
    return true;
}

char **fleet_arguments(const struct opt *options, const void *values, const void *defaults,
                       const char *const *except, struct err *err)
{
    struct words_list list = {0};
    int rc = array_grow(&list.items, 0, &list.capacity, sizeof *list.items, err);
    if (rc == 0)
        list.items[0] = NULL;
    for (; rc == 0 && options->name; options++)
        if (is_for_there(options, except))
            rc = add_option(&list, options, (const char *)values + options->at,
                            (const char *)defaults + options->at, err);
    if (rc == 0)
        return list.items;
    fleet_arguments_free(list.items);
    return NULL;
}

void fleet_arguments_free(char **arguments)
{
    for (char **word = arguments; word && *word; word++)
        free(*word);
    free(arguments);
}

// ---- the plan

static int read_sweep(const struct fleet_job *job, char *const *command, struct sweep *sweep,
                      struct err *err)
{
    if (job->o->sweep.count > 0 && !command) {
        err_set(err, ERR_USAGE, "--sweep is for a command: it fills in {NAME}");
        return err_hint(err, "fare run --sweep lr=0.1,0.01 -- python train.py --lr {lr}");
    }
    for (size_t i = 0; i < job->o->sweep.count; i++)
        TRY(sweep_add(sweep, job->o->sweep.items[i], err));
    return command ? sweep_check(sweep, command, err) : 0;
}

static int read_places(const struct cmd_call *call, const struct fleet_job *job,
                       struct places *places, struct err *err)
{
    const struct fleet_options *o = job->o;
    const char *workload = job->workload_count > 0 ? job->workloads[0] : NULL;
    struct ledger *ledger = NULL;
    bool sky = false;
    for (size_t i = 0; i < o->on.count; i++) {
        bool top = o->top > 0 && strcmp(o->on.items[i], target_sky.name) == 0;
        sky |= top;
        TRY(top ? desk_ledger(call->desk, &ledger, err) : 0);
        TRY(top ? sky_top(places, workload, call->rest->command, ledger, (size_t)o->top, err)
                : target_parse(o->on.items[i], places, err));
    }
    if (o->top > 0 && !sky)
        return err_set(err, ERR_USAGE, "--top goes with '--on sky'");
    if (o->on.count == 0)
        TRY(target_parse("here", places, err));
    plan_unique(places);
    return plan_prices(places, err);
}

static bool all_here(const struct places *places)
{
    for (size_t i = 0; i < places->count; i++)
        if (places->items[i].target != &target_here)
            return false;
    return true;
}

// Whether all places have fare, and the command's folder, in an image of their own.
static bool all_images(const struct places *places)
{
    for (size_t i = 0; i < places->count; i++)
        if (!places->items[i].target->no_bundle || places->items[i].target == &target_here)
            return false;
    return true;
}

// For a command: the folder it runs in.
static int bring(struct state *state, const struct fleet_options *o, bool here, struct err *err)
{
    struct dispatch_folder *folder = &state->dispatch.folder;
    if (o->bring && o->no_bring)
        return err_set(err, ERR_USAGE, "'--bring' and '--no-bring' are opposites: use one");
    SCOPED(free_pointer) char *current = getcwd(NULL, 0);
    if (!current)
        return err_set(err, ERR_FAIL, "the current folder cannot be found");
    if ((here || o->no_bring) && !o->bring)
        return text_set(&folder->from, current, err);
    TRY(bundle_folder(folder, o->bring ? o->bring : current, o->bring ? 0 : BUNDLE_FOLDER_MOST,
                      short_text("%s/folder.tar.gz", state->folder).s, err));
    SCOPED(buf_release) struct buf line = {0};
    buf_adds(&line, "bringing ");
    folder_short(&line, folder->from);
    buf_printf(&line, ", %.1f MB packed%s\n", (double)folder->bytes.v / 1e6,
               o->bring ? "" : " (--no-bring leaves it)");
    out_complain(buf_str(&line));
    return 0;
}

static int fill(struct state *state, const struct cmd_call *call, const struct fleet_job *job,
                const struct sweep *sweep, struct places *places, struct err *err)
{
    struct dispatch *d = &state->dispatch;
    const struct fleet_options *o = job->o;
    SCOPED(buf_release) struct buf home = {0};
    const struct plan_what what = {.workloads = job->workloads,
                                   .workload_count = job->workload_count,
                                   .command = call->rest->command,
                                   .sweep = sweep};
    int64_t limit = o->limit_ns > 0 ? o->limit_ns : job->limit_ns;
    bool here = all_here(places), images = all_images(places);
    TRY(state_home(&home, err));
    if (images && o->bring)
        return err_set(err, ERR_USAGE, "--bring: there the command's folder is that of the image");
    d->jobs = some_int(o->jobs > 0 ? o->jobs : DISPATCH_JOBS);
    d->patience_ns = some_int(o->patience_ns > 0 ? o->patience_ns : DISPATCH_PATIENCE_NS);
    d->runs = some_int(job->runs);
    if (limit > 0)
        d->limit_ns = some_int(limit);
    TRY(text_set(&d->ledger, call->desk->where, err));
    for (char *const *word = job->arguments; *word; word++)
        TRY(task_word_add(&d->arguments, *word, err));
    if (!here && !images)
        TRY(bundle_find(&d->bundle, o->bundle, buf_str(&home), err));
    if (call->rest->command && !images)
        TRY(bring(state, o, here, err));
    return plan_make(d, &what, places, err);
}

// Targets that rent machines say what that costs; then the user decides.
static int confirm(const struct state *state, const struct places *places, bool yes,
                   struct err *err)
{
    const struct fleet fleet = {&state->dispatch, state->folder};
    for (size_t t = 0; targets[t]; t++) {
        bool used = false;
        for (size_t i = 0; i < places->count; i++)
            used |= places->items[i].target == targets[t];
        if (!used || !targets[t]->describe)
            continue;
        struct buf text = {0};
        int rc = targets[t]->describe(&fleet, places, &text, err);
        if (rc == 0)
            out_complain(buf_str(&text));
        buf_release(&text);
        TRY(rc);
        if (yes)
            continue;
        if (!isatty(STDIN_FILENO)) {
            err_set(err, ERR_USAGE, "there is no terminal to ask on");
            return err_hint(err, "--yes agrees to it");
        }
        fprintf(stderr, "fare: start? [y/N] ");
        int answer = getchar();
        if (answer != 'y' && answer != 'Y')
            return err_set(err, ERR_FAIL, "nothing was started");
    }
    return 0;
}

int fleet_run(const struct cmd_call *call, const struct fleet_job *job, struct err *err)
{
    SCOPED(state_close) struct state state = {0};
    SCOPED(places_release) struct places places = {.market = call->desk->market};
    SCOPED(sweep_release) struct sweep sweep = {0};
    int rc = read_sweep(job, call->rest->command, &sweep, err);
    if (rc == 0)
        rc = read_places(call, job, &places, err);
    if (rc == 0)
        rc = state_new(&state, err);
    if (rc == 0)
        rc = fill(&state, call, job, &sweep, &places, err);
    if (rc == 0)
        rc = confirm(&state, &places, job->o->yes, err);
    if (rc == 0)
        rc = state_plan(&state, err);
    if (rc != 0)
        state_remove(&state);
    if (rc == 0)
        rc = fleet_go(call, &state, false, err);
    return rc;
}

// ---- the other end

void fleet_frame(const char *key, const struct runs *runs, int code, int64_t began_s)
{
    SCOPED(buf_release) struct buf records = {0}, reply = {0}, frame = {0};
    for (size_t i = 0; i < runs->runs.count; i++) {
        struct buf line = {0};
        if (record_to_line(run_fields, &runs->runs.items[i], &line, NULL) == 0)
            buf_printf(&records, "%s\n", buf_str(&line));
        buf_drop(&records, &line);
    }
    reply_write(&reply, key, code, began_s, clock_date_s(), &records);
    frame_write(&frame, key, buf_str(&reply), reply.len);
    if (!records.failed && !reply.failed && !frame.failed)
        fprintf(stderr, "\n%s", buf_str(&frame));
}

// ---- carrying it out

static void say_interrupted(const struct dispatch *d)
{
    SCOPED(buf_release) struct buf text = {0};
    buf_printf(&text,
               "interrupted; what runs elsewhere goes on. 'fare runs resume %s' collects it, "
               "'fare runs cancel %s' ends it\n",
               d->id, d->id);
    out_complain(buf_str(&text));
}

// "dispatch 7k3m9q2x: 12 measurements on 4 places".
static void say_begin(const struct dispatch *d, bool cancel)
{
    SCOPED(buf_release) struct buf text = {0};
    if (cancel) {
        out_complain(short_text("dispatch %s: ending what still waits or runs\n", d->id).s);
        return;
    }
    buf_printf(&text, "dispatch %s: %s", d->id,
               units_count((int64_t)d->tasks.count, "measurement").s);
    buf_printf(&text, ", %s; Ctrl-C leaves them to go on\n",
               units_count((int64_t)d->places.count, "place").s);
    out_complain(buf_str(&text));
}

// After a cancellation, what failed before it is no news.
static void set_exit_code(const struct cmd_call *call, const struct dispatch *d, bool cancel,
                          bool interrupted)
{
    struct state_counts counts;
    state_count(d, &counts);
    if (interrupted)
        *call->exit_code = 130;
    else if ((cancel ? counts.unsettled : counts.of[TASK_FAILED]) > 0)
        *call->exit_code = 1;
}

static void say_failed(const struct dispatch *d, bool cancel)
{
    struct state_counts counts;
    SCOPED(buf_release) struct buf text = {0};
    state_count(d, &counts);
    if (counts.of[TASK_FAILED] == 0)
        return;
    if (counts.unsettled > 0)
        buf_printf(&text,
                   "%zu may still run where they are: 'fare runs resume %s' looks again, 'fare "
                   "runs cancel %s' ends them\n",
                   counts.unsettled, d->id, d->id);
    if (!cancel)
        buf_printf(&text, "'fare runs resume %s --failed' runs those that failed again\n", d->id);
    if (text.len > 0)
        out_complain(buf_str(&text));
}

int fleet_go(const struct cmd_call *call, struct state *state, bool cancel, struct err *err)
{
    const struct cmd_common *common = call->options;
    SCOPED(places_release) struct places places = {.market = call->desk->market};
    struct ledger *ledger;
    struct fleet_live live = {0};
    bool interrupted = false;
    const struct dispatch *d = &state->dispatch;
    if (!call->desk->where)
        call->desk->where = d->ledger;
    TRY(plan_places(d, &places, err));
    TRY(runs_open(call->desk, true, &ledger, err));
    const struct dispatch_options o = {
        .cancel = cancel, .arg = &live, .says = fleet_live_says, .draw = fleet_live_draw};
    say_begin(d, cancel);
    fleet_live_begin(&live, &places);
    int rc = dispatch_run(state, &places, ledger, &o, &interrupted, err);
    fleet_live_end(&live);
    if (rc != 0) {
        err_hint(err, "'fare runs resume %s' goes on once that is put right", d->id);
        return rc;
    }
    if (interrupted)
        say_interrupted(d);
    if (common->json)
        TRY(out_record(call->out, dispatch_fields, d, err));
    else if (!interrupted)
        TRY(fleet_text(call->out, d, &places, ledger, err));
    if (!interrupted)
        say_failed(d, cancel);
    set_exit_code(call, d, cancel, interrupted);
    return 0;
}
