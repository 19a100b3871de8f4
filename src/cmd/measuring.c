// SPDX-License-Identifier: Apache-2.0
#include "cmd/measuring.h"

#include <unistd.h>

#include "cmd/run_text.h"

// Not in the header: a table of choices must have one address.
const char *const measuring_identities[] = {"hashed", "plain", "none", NULL};

int measuring_without_command(const struct measure_options *o, struct err *err)
{
    const char *name = o->step_pattern           ? "step-pattern"
                       : o->total_steps          ? "total-steps"
                       : o->total_epochs         ? "total-epochs"
                       : o->grace_ns && !o->with ? "grace"
                                                 : NULL;
    if (!name)
        return 0;
    err_set(err, ERR_USAGE, "--%s needs a command", name);
    return err_hint(err, "put it after '--': fare run --%s ... -- python train.py", name);
}

int measuring_command(const struct cmd_call *call, struct measure *m, struct err *err)
{
    const struct measure_what what = {.command = call->rest->command};
    if (!call->rest->command[0]) {
        err_set(err, ERR_USAGE, "there is no command after '--'");
        return err_hint(err, "write one: fare run -- python train.py");
    }
    int rc = measure_open(m, m->o, NULL, err);
    if (rc == 0) {
        run_text_says(m, !m->o->json);
        rc = measure_run(m, &what, err);
        *call->exit_code = m->exit_code;
    }
    if (rc != 0)
        return rc;
    measure_say_spent(m, false);
    if (m->o->json)
        return out_record(call->out, runs_fields, &m->runs, err);
    call->out->fd = STDERR_FILENO;
    run_text_command(call->out, m);
    return 0;
}
