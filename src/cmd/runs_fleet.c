// SPDX-License-Identifier: Apache-2.0
// runs resume, runs cancel: measurements on other machines whose dispatcher ended before them.
#include "cmd/fleet.h"
#include "cmd/runs.h"

struct resume_options {
    struct cmd_common common;
    const char *ledger;
    bool failed;
};

static int open_one(const struct cmd_call *call, struct state *state, struct err *err)
{
    return state_open(state, call->rest->count > 0 ? call->rest->args[0] : NULL, true, err);
}

// Those that failed wait again; one that may still run is looked at, not run twice.
static int renew_failed(struct state *state, struct err *err)
{
    for (size_t i = 0; i < state->dispatch.tasks.count; i++) {
        struct task *task = &state->dispatch.tasks.items[i];
        if (task_state(task) != TASK_FAILED || task_unsettled(task))
            continue;
        TRY(text_set(&task->now.problem, NULL, err));
        TRY(task_set_state(task, TASK_WAITING, err));
        TRY(state_note(state, task, err));
    }
    return state_flush(state, err);
}

static int resume(const struct cmd_call *call, struct err *err)
{
    const struct resume_options *o = call->options;
    SCOPED(state_close) struct state state = {0};
    TRY(open_one(call, &state, err));
    if (o->failed)
        TRY(renew_failed(&state, err));
    return fleet_go(call, &state, false, err);
}

static int cancel(const struct cmd_call *call, struct err *err)
{
    const struct resume_options *o = call->options;
    SCOPED(state_close) struct state state = {0};
    TRY(open_one(call, &state, err));
    if (!o->common.json && state_ended(&state.dispatch))
        out_wrapf(call->out, 0, "Dispatch %s has ended: nothing of it runs any more.",
                  state.dispatch.id);
    else
        TRY(fleet_go(call, &state, true, err));
    return 0;
}

#define AT(member) offsetof(struct resume_options, member)
static const struct opt resume_table[] = {
    LEDGER_ROW,
    {"failed", 0, OPT_FLAG, NULL, NULL, AT(failed), NULL,
     "also run those again that failed, and only those"},
    {NULL},
};

static const struct opt cancel_table[] = {LEDGER_ROW, {NULL}};
#undef AT

static const struct cmd_example resume_examples[] = {
    {"fare runs resume", "the newest that is not finished"},
    {"fare runs resume 7k3m9q2x --failed", "once more what failed"},
    {NULL, NULL},
};

const struct command runs_resume = {
    .name = "runs resume",
    .summary = "go on with measurements on other machines",
    .arguments = "[ID]",
    .about = "Goes on with a 'fare run --on' or '--sweep' that was interrupted or killed: collects "
             "what ended meanwhile, follows what still runs, and starts what still waits. Nothing "
             "is measured twice. ID is the one that 'fare run' named; without it, the newest that "
             "is not finished.",
    .options = resume_table,
    .options_size = sizeof(struct resume_options),
    .max_args = 1,
    .examples = resume_examples,
    .run = resume,
};

const struct command runs_cancel = {
    .name = "runs cancel",
    .summary = "end measurements on other machines",
    .arguments = "[ID]",
    .about =
        "Ends what a 'fare run --on' or '--sweep' still runs elsewhere and removes its folders "
        "there. Records that came back stay in the ledger.",
    .options = cancel_table,
    .options_size = sizeof(struct resume_options),
    .max_args = 1,
    .run = cancel,
};
