// SPDX-License-Identifier: Apache-2.0
// host: one Linux machine on which a shell can be run: what `ssh` and `here` share.
//
// Each verb is one script, sent as standard input to
//
//     sh -c 'eval "$(dd bs=1 count=N 2>/dev/null)"'
//
// so that no login shell sees any word of the user's. What follows the first N bytes (an archive)
// is the script's own input. On the host everything is below ~/.cache/fare: bundle/VERSION-SHA
// (stays) and tasks/KEY (goes). A task is run by a keeper in a session of its own, which no
// connection ends.
#ifndef FARE_FLEET_HOST_H
#define FARE_FLEET_HOST_H

#include "fleet/target.h"

// Appends "sh -c ..." for the script that is in call->input, as one argument for a remote shell.
void host_command(struct call *call, struct buf *out);

// Fills call->input and the rest but for argv. `here`: on this machine, with this program, and in
// the folder dispatch->folder.from itself, unless that is a git revision.
int host_prepare(const struct fleet *fleet, enum verb verb, const struct place *place,
                 const struct chosen *chosen, bool here, struct call *call,
                 struct err *err) MUST_USE;

// As target->read, for the answer of a script that was reached.
int host_read(const struct fleet *fleet, enum verb verb, struct place *place,
              const struct chosen *chosen, const struct call_result *result,
              struct task_report *reports, struct err *err) MUST_USE;

#endif
