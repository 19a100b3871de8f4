// SPDX-License-Identifier: Apache-2.0
// emit: files that make a task run on a schedule: on a cloud's machine that is up only while the
// task works, with systemd, with Slurm, or on a Kubernetes cluster.
//
// An emitter is a section of emit_clouds.c or emit_own.c that ends in one such table; its row
// stands in emitters[]. It only writes texts: fare itself starts nothing and speaks no cloud's API.
// A script is a head with the values, each quoted (shell.h), and a template from share/cron/, whose
// own head is left out. So templates are plain shell, and nothing from outside ends up in the
// middle of code.
#ifndef FARE_FLEET_EMIT_H
#define FARE_FLEET_EMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "bill/crontab.h"

struct emit_task {
    const char *name;     // see emit_check()
    const char *schedule; // as the user wrote it
    struct crontab tab;
    const char *time_zone; // "UTC", "Europe/Berlin"; Azure: Windows' names; null: not given
    char *const *command;  // null-terminated
    const char *folder;    // absolute: where a user's own machine runs it
    int64_t limit_s;       // the command is ended after this time
    const char *container; // (optional) the image of a container in which the command runs
    int64_t gpus;          // of the machine, or for the container
    const char *cpu;       // Kubernetes: what the container asks for; null: nothing
    int64_t memory;        // bytes; 0: nothing
    const char *machine;   // clouds: the instance type
    const char *region;    // "": the user's default, where there is one
    const char *image;     // null: the emitter's
    bool spot;
    int64_t disk_gb;
    const char *cost; // lines for the head of set-up.sh, each ends in a newline
};

#define EMIT_FILES 5

struct emit_files {
    struct emit_file {
        char name[64];
        bool program; // to be executable
        struct buf text;
    } items[EMIT_FILES];
    size_t count;
};
void emit_release(struct emit_files *files);

struct emitter {
    const char *name;     // the word of --emit
    const char *provider; // of the offers it can start; null: a machine of the user's own
    // Images to boot: plain, for a container, for one with GPUs. Null: with GPUs, the provider's of
    // share/images.csv.
    const char *image, *containers, *containers_gpus;
    int64_t least_gb, least_container_gb; // of a disk, by those images; 0: any
    bool stays_up;        // the machine is there for all tasks: its price is that of the month
    bool needs_container; // the command runs in a container only
    bool remove_takes_region;
    // Fills `files`. ERR_USAGE for a task that the scheduler cannot express.
    int (*set_up)(const struct emit_task *task, struct emit_files *files, struct err *err);
};

const char *emitter_name(size_t i); // null behind the last
const struct emitter *emitter_find(const char *name);

// ERR_USAGE unless every scheduler takes them: the name is a small letter, then small letters,
// digits and '-', 40 at most; the command is UTF-8; time zone, region and the container's image
// have only characters of such names.
int emit_check(const struct emit_task *task, struct err *err) MUST_USE;

// remove.sh, from share/cron/NAME-remove.sh; only needs the task's name and region.
int emit_remove(const struct emitter *emitter, const struct emit_task *task,
                struct emit_files *files, struct err *err) MUST_USE;

// ==== times ====

// Which days match. cron's two day fields mean "either" if both are restricted, but "both" if one
// of them begins with '*' and still leaves days out, as '*/2' does.
enum emit_days { EMIT_EVERY_DAY, EMIT_BY_DAY, EMIT_BY_WEEKDAY, EMIT_EITHER, EMIT_BOTH };
enum emit_days emit_days_of(const struct crontab *tab);

// Five fields with numbers only, without steps.
void emit_crontab(struct buf *out, const struct crontab *tab);

// ==== what the emitters share ====

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
