// SPDX-License-Identifier: Apache-2.0
#include "cmd/measuring.h"

#include <unistd.h>

#include "base/clock.h"
#include "cmd/run_text.h"
#include "measure/after.h"
#include "measure/join.h"
#include "follow/event.h"

#define SHOWN 48 // bytes of a command

// Not in the header: a table of choices must have one address.
const char *const measuring_identities[] = {"hashed", "plain", "none", NULL};

int measuring_without_command(const struct measure_options *o, struct err *err)
{
    const char *name = o->step_pattern           ? "step-pattern"
                       : o->total_steps          ? "total-steps"
                       : o->total_epochs         ? "total-epochs"
                       : o->grace_ns && !o->with ? "grace"
                       : o->checkpoints          ? "checkpoints"
                       : o->on_notice            ? "on-notice"
                       : o->retry                ? "retry"
                       : o->idle_ns              ? "idle"
                                                 : NULL;
    if (!name)
        return 0;
    err_set(err, ERR_USAGE, "--%s needs a command", name);
    return err_hint(err, "put it after '--': fare run --%s ... -- python train.py", name);
}

// A batch job must not end early because an option of samples was left in its command line.
static int check(const struct cmd_call *call, const struct measure_options *o, struct err *err)
{
    if (!call->rest->command[0]) {
        err_set(err, ERR_USAGE, "there is no command after '--'");
        return err_hint(err, "write one: fare run -- python train.py");
    }
    if (o->step_pattern) { // before the command starts
        regex_t compiled;
        TRY(event_pattern_compile(o->step_pattern, &compiled, err));
        regfree(&compiled);
    }
    if (o->sample && o->full)
        return err_set(err, ERR_USAGE, "--sample and --full exclude each other");
    if (o->within && !o->sample) {
        err_set(err, ERR_USAGE, "--within is for samples; 'fare run -- COMMAND' runs to its end");
        return err_hint(err, "--sample stops the command once its total time is known");
    }
    return 0;
}

// "python train.py --lr 0.001", cut if it is long.
static void add_command(struct buf *to, const struct secrets *secrets, char *const *command)
{
    SCOPED(buf_release) struct buf all = {0};
    for (size_t i = 0; command[i] && all.len <= SHOWN; i++) {
        buf_adds(&all, i > 0 ? " " : "");
        secret_mask_word(secrets, i > 0 ? command[i - 1] : NULL, command[i], &all);
    }
    size_t len = all.len;
    bool cut = len > SHOWN;
    if (cut)
        for (len = SHOWN - 3; len > 0 && ((unsigned char)all.data[len] & 0xc0) == 0x80; len--)
            ;                        // not within a character
    for (size_t i = 0; i < len; i++) // a script in an argument has several lines
        all.data[i] = all.data[i] == '\n' ? ' ' : all.data[i];
    buf_add(to, buf_str(&all), len);
    buf_adds(to, cut ? "..." : "");
    to->failed |= all.failed;
}

static void say_sampling(const struct cmd_call *call, const struct measure *m, bool bare)
{
    SCOPED(buf_release) struct buf line = {0};
    buf_adds(&line, "sampling: this will be stopped once its total time is known; ");
    if (bare) {
        buf_adds(&line, "'fare run -- ");
        add_command(&line, &m->secrets, call->rest->command);
        buf_adds(&line, "' runs it to the end\n");
    } else {
        buf_adds(&line, "without --sample it runs to the end\n");
    }
    out_complain(buf_str(&line));
}

int measuring_joins(struct measure_options *o, struct err *err)
{
    struct worker place;
    if (o->alone || !join_place(&place))
        return 0;
    if (o->save || o->retry > 0) {
        err_set(err, ERR_USAGE, "--%s is for one fare process, not for %d of a job",
                o->save ? "save" : "retry", place.size);
        return err_hint(err,
                        "start the launcher with fare, as in 'fare run -- %s ...', or give "
                        "--ranks 1: each process is a run of its own",
                        place.by);
    }
    o->follows = place.rank > 0;
    if (o->follows) { // the first one decides when all end
        o->no_ledger = o->no_cloud = true;
        o->sample = false;
        o->max_time_ns = 0;
        o->within = o->max_spend = NULL;
    }
    return 0;
}

// Runs it, again where --retry or a lost lease say so.
static int run_again(const struct cmd_call *call, struct measure *m, struct err *err)
{
    const struct measure_what what = {.command = call->rest->command};
    struct retry retry = {0};
    for (;;) {
        int64_t pause_ns = NS_PER_S;
        int rc = measure_run(m, &what, err);
        size_t count = m->runs.runs.count;
        bool again = rc == 0 && m->again;
        if (again)
            buf_adds(&m->says, "the lease was lost: starting again\n");
        else if (rc == 0 && count > 0)
            again = retry_again(&retry, m->o->retry, &m->runs.runs.items[count - 1], &pause_ns,
                                &m->says);
        if (!again)
            return rc;
        run_text_says(m, false);
        clock_sleep_ns(pause_ns);
    }
}

int measuring_command(const struct cmd_call *call, struct measure *m, bool bare, struct err *err)
{
    TRY(check(call, m->o, err));
    TRY(measure_open(m, m->o, call->desk, err));
    if (m->o->follows)
        buf_reset(&m->says);
    run_text_says(m, !m->o->json);
    if (m->o->sample)
        say_sampling(call, m, bare);
    int rc = run_again(call, m, err);
    *call->exit_code = m->exit_code;
    if (rc != 0)
        return rc;
    if (m->o->follows) {
        out_complain(buf_str(&m->words));
        return 0;
    }
    measure_say_spent(m, false);
    if (!m->o->json)
        call->out->fd = STDERR_FILENO;
    return 0;
}
