// SPDX-License-Identifier: Apache-2.0
// here: this machine, one task after the other, with this program and in this folder. For sweeps.
#include "fleet/host.h"

static int parse(const char *value, struct places *places, struct err *err)
{
    if (value)
        return err_set(err, ERR_USAGE, "--on here takes no value");
    return places_add(places, &target_here, NULL, NULL, err) ? 0 : ERR_MEMORY;
}

static int prepare(const struct fleet *fleet, struct place *place, enum verb verb,
                   const struct chosen *chosen, struct call *call, struct err *err)
{
    struct buf command = {0};
    int rc = host_prepare(fleet, verb, place, chosen, true, call, err);
    host_command(call, &command);
    call_arg(call, "sh");
    call_arg(call, "-c");
    call_arg(call, buf_str(&command));
    call->failed |= command.failed;
    buf_release(&command);
    return rc;
}

static int read_answer(const struct fleet *fleet, struct place *place, enum verb verb,
                       const struct chosen *chosen, const struct call_result *result,
                       struct task_report *reports, struct err *err)
{
    return host_read(fleet, verb, place, chosen, result, reports, err);
}

const struct target target_here = {
    .name = "here",
    .about = "this machine, one after the other",
    .parse = parse,
    .prepare = prepare,
    .read = read_answer,
    .look_waits = true,
    .no_bundle = true,
};
