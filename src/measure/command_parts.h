// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of command.h: a command being measured (command.c) and what its record says
// about it (command_record.c).
#ifndef FARE_MEASURE_COMMAND_PARTS_H
#define FARE_MEASURE_COMMAND_PARTS_H

#include "measure/command.h"
#include "measure/interpreter.h"
#include "measure/sampling.h"
#include "measure/streams.h"
#include "measure/parallel.h"
#include "measure/tracing.h"
#include "run/child.h"

struct job {
    const struct command_options *options;
    struct session *session;
    struct run *run; // the session's
    int64_t grace_ns;
    struct child child;
    struct streams streams;
    struct follow *follow;
    struct tracing tracing;
    struct parallel *parallel; // null: off
    struct interpreter interpreter;

    int64_t show_ns;     // when progress is shown next
    int64_t activity_ns; // when follow_activity() is called next
    bool screen;         // the command has the terminal to itself
    bool samples;        // its counter counts samples, as of the last journalled record

    bool failed;             // out of memory
    int rc;                  // of the measurement's end
    bool interrupted;        // the user ended it
    enum sampling_end ended; // why we ended it
    int64_t idle_ns;         // since when nothing is used; 0: something is
    bool terminated;         // the job was told of a notice by SIGTERM
    bool waited_out;         // our output has no reader any more, or the user does not want to wait
    // The next signal for processes that must end, SIGTERM or SIGKILL, and its time.
    int next_signal;
    int64_t next_ns;
    int64_t give_up_ns;
};

// Before the run: name, framework, command.
int job_describe(const struct job *job, struct err *err) MUST_USE;

// After it: how it ended. `*finished`: by itself, at the end of its training.
int job_note_end(struct job *job, bool *finished, struct err *err) MUST_USE;
int job_note_output(struct job *job, struct err *err) MUST_USE; // lost or held up

// As in shells; 0 if we ended it as planned. `rc`: of command_run().
int job_exit_code(const struct job *job, int rc);

#endif
