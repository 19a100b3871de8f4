// SPDX-License-Identifier: Apache-2.0
// emit_parts: what the emitters share: times, heads of scripts, templates.
#ifndef FARE_FLEET_EMIT_PARTS_H
#define FARE_FLEET_EMIT_PARTS_H

#include "fleet/emit.h"

#define ALL_DAYS 0xfffffffeU // bits 1 to 31
#define ALL_WEEK 0x7fU

// Before a line with the user's words in single quotes, in which '$' is meant to stay.
#define SHELLCHECK_DOLLARS "# shellcheck disable=SC2016\n"

// For schedulers without a schedule for days that match both day fields: ERR_USAGE with `why`.
int emit_refuse_both(const struct crontab *tab, const char *why, struct err *err) MUST_USE;

// Appends the numbers of the bits set from `low` to `high`, as "1,3-5", or "*" if all are. `range`
// is what joins the ends of a range, `names` (optional) are written instead of numbers, names[0]
// for 0.
void emit_list(struct buf *out, uint64_t bits, int low, int high, const char *range,
               const char *const *names);

// "0 6,18 ": the fields for the time of day.
void emit_time(struct buf *out, const struct crontab *tab);

// The next file; there is room for EMIT_FILES.
struct buf *emit_add(struct emit_files *files, const char *name, bool program);

// Comments: what this is, the schedule, the command. Not the cost: prices change, and files that
// are compared with what is installed must not.
void emit_comments(struct buf *out, const struct emit_task *task, const char *what);

// The start of a script: "#!/bin/sh", the comments, the name as a variable; `cost`: with the cost,
// for set-up.sh.
void emit_head(struct buf *out, const struct emit_task *task, bool cost, const char *what);

// Appends share/cron/NAME without its head, which ends with the first empty line.
int emit_template(struct buf *out, const char *name, struct err *err) MUST_USE;

extern const struct emitter emit_gcloud, emit_aws, emit_azure, emit_systemd, emit_slurm, emit_k8s;

#endif
