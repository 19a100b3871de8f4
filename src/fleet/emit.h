// SPDX-License-Identifier: Apache-2.0
// emit: files that make a task run on a schedule: on a cloud's machine that is up only while the
// task works, with systemd, or with Slurm.
//
// An emitter is one file emit_NAME.c that ends in one such table; its row stands in emitters[]. It
// only writes texts: fare itself starts nothing and speaks no cloud's API. A script is a head with
// the values, each quoted (shell.h), and a template from share/cron/, whose own head is left out.
// So templates are plain shell, and nothing from outside ends up in the middle of code.
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
    int64_t least_gb;     // of a disk, by its default image; 0: any
    // Both fill `files`. set_up fails with ERR_USAGE for a task that the scheduler cannot express;
    // remove only needs name and region.
    int (*set_up)(const struct emit_task *task, struct emit_files *files, struct err *err);
    int (*remove)(const struct emit_task *task, struct emit_files *files, struct err *err);
};

extern const struct emitter emit_gcloud, emit_aws, emit_azure, emit_systemd, emit_slurm;

const char *emitter_name(size_t i); // null behind the last
const struct emitter *emitter_find(const char *name);

// ERR_USAGE unless every scheduler takes them: the name is a small letter, then small letters,
// digits and '-', 40 at most; the command is UTF-8; time zone and region have only characters of
// such names.
int emit_check(const struct emit_task *task, struct err *err) MUST_USE;

// ---- for emitters

// The next file; there is room for EMIT_FILES.
struct buf *emit_add(struct emit_files *files, const char *name, bool program);

// Comments: what this is, the schedule, the command. Not the cost: prices change, and files that
// are compared with what is installed must not.
void emit_comments(struct buf *out, const struct emit_task *task, const char *what);

// The start of a script: "#!/bin/sh", the comments, the name as a variable.
void emit_head(struct buf *out, const struct emit_task *task, const char *what);

// The same for set-up.sh, with the cost.
void emit_set_up_head(struct buf *out, const struct emit_task *task, const char *what);

// Appends share/cron/NAME without its head, which ends with the first empty line.
int emit_template(struct buf *out, const char *name, struct err *err) MUST_USE;

// The script that a cloud's machine runs at each boot.
int emit_boot(struct buf *out, const struct emit_task *task, struct err *err) MUST_USE;

// remove.sh of a template that only needs the name.
int emit_remove(const struct emit_task *task, struct emit_files *files, const char *template_name,
                struct err *err) MUST_USE;

// Before a line with the user's words in single quotes, in which '$' is meant to stay.
#define SHELLCHECK_DOLLARS "# shellcheck disable=SC2016\n"

// 40 hexadecimal digits that stand for a text; they fit into a label of any cloud.
#define EMIT_SUM_BYTES 41
void emit_sum(const struct buf *text, char out[EMIT_SUM_BYTES]);

#endif
