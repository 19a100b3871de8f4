// SPDX-License-Identifier: Apache-2.0
// cron_emit: `fare cron --emit`: options → a task for fleet/emit.h, and its files to a folder or to
// standard output.
#ifndef FARE_CMD_CRON_EMIT_H
#define FARE_CMD_CRON_EMIT_H

#include "cmd/cmd.h"
#include "fleet/emit.h"
#include "bill/cron.h"

struct emit_options {
    const char *emit, *name, *time_zone, *region, *image, *output;
    const char *container, *cpu;
    bool remove;
    int64_t memory;   // bytes; 0: not said
    int64_t limit_ns; // -1: by the up-time
};

// Rows for the table of a command whose macro AT() gives the offset of a member.
// clang-format off
#define EMIT_ROWS \
    {"emit", 0, OPT_CHOICE, "WHAT", NULL, AT(emit.emit), "Set it up", \
     "write the files that make it happen, for the command after --", .choice = emitter_name}, \
    {"output", 'o', OPT_TEXT, "DIR", NULL, AT(emit.output), "Set it up", \
     "write them into this folder instead of to standard output"}, \
    {"remove", 0, OPT_FLAG, NULL, NULL, AT(emit.remove), "Set it up", \
     "with --emit: write the script that removes the task instead"}, \
    {"name", 0, OPT_TEXT, "NAME", NULL, AT(emit.name), "Set it up", \
     "name of the task, and of all that is made for it (default fare-task)"}, \
    {"limit", 0, OPT_DURATION, "TIME", NULL, AT(emit.limit_ns), "Set it up", \
     "end the command after this time (default twice the up-time, 10 min at least)", .least = 1}, \
    {"time-zone", 0, OPT_TEXT, "ZONE", NULL, AT(emit.time_zone), "Set it up", \
     "time zone of the schedule, such as Europe/Berlin (default UTC)"}, \
    {"region", 0, OPT_TEXT, "REGION", NULL, AT(emit.region), "Set it up", \
     "region of the machine (default: the offer's)"}, \
    {"image", 0, OPT_TEXT, "IMAGE", NULL, AT(emit.image), "Set it up", \
     "image of the machine, as the provider names it (default: one on which the command, the " \
     "container and the GPUs can run)"}, \
    {"container", 0, OPT_TEXT, "IMAGE", NULL, AT(emit.container), "Set it up", \
     "run the command in a container of this image (without a command: what the image runs), " \
     "started again if it fails"}, \
    {"cpu", 0, OPT_TEXT, "QUANTITY", NULL, AT(emit.cpu), "Set it up", \
     "Kubernetes: processors that the container asks for, such as 2 or 500m"}, \
    {"memory", 0, OPT_BYTES, "SIZE", NULL, AT(emit.memory), "Set it up", \
     "Kubernetes: memory that the container asks for, and its limit"}
// clang-format on

// Changes `ask` to what is set up: no functions or rules that are not emitted, a disk that the
// image fits on (`disk_given`: the user chose its size), the offer in --region. `offer` owns that
// text.
int emit_ask(const struct emit_options *o, bool disk_given, struct cron_ask *ask, struct buf *offer,
             struct err *err) MUST_USE;

// What cannot be set up together is ERR_USAGE: a container without its image, settings of another
// scheduler.
int emit_options_check(const struct emit_options *o, char *const *command,
                       struct err *err) MUST_USE;

// The image with drivers for a machine with GPUs, from share/images.csv, and the disk that holds
// it.
// `*image` is null if the user or the emitter has one. ERR_USAGE if nobody has.
int emit_gpus(const struct emit_options *o, struct market *market, const char **image,
              int64_t *disk_gb, struct err *err) MUST_USE;

// Writes the files for `record`, the bill; null: the cost is unknown, or --remove. `image`
// (optional) is that of a machine with GPUs.
int emit_write(const struct emit_options *o, const struct cron_ask *ask, char *const *command,
               const char *image, const struct schedule_record *record, struct out *out,
               struct err *err) MUST_USE;

#endif
