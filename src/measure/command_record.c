// SPDX-License-Identifier: Apache-2.0
// The record of a user's command: its name, how it ended, its exit code.
#include "measure/command_parts.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "measure/code.h"
#include "measure/measure.h"

int job_describe(const struct job *job, struct err *err)
{
    const struct command_options *o = job->options;
    struct run *run = job->run;
    if (!run->name)
        TRY(code_name(o->argv, &run->name, err));
    if (!run->framework)
        TRY(text_set(&run->framework, "command", err));
    run->command.known = true;
    for (size_t i = 0; o->argv[i]; i++) {
        struct buf word = {0};
        secret_mask_word(job->session->secrets, i > 0 ? o->argv[i - 1] : NULL, o->argv[i], &word);
        TRY(texts_take(&run->command, &word, err));
    }
    if (!o->output_to_stderr && !job->session->o->follows)
        job->session->watch.name = run->name;
    return 0;
}

// ---- the end

// "exit code 3", "signal SIGSEGV"; empty after a success.
static void end_words(struct run *run, int status, char *out, size_t size)
{
    out[0] = '\0';
    if (WIFEXITED(status)) {
        run->exit_code = some_int(WEXITSTATUS(status));
        if (WEXITSTATUS(status) != 0)
            snprintf(out, size, "exit code %d", WEXITSTATUS(status));
        return;
    }
    int number = WTERMSIG(status);
    run->signal = some_int(number);
    const char *name = sigabbrev_np(number);
    if (name)
        snprintf(out, size, "signal SIG%s", name);
    else
        snprintf(out, size, "signal %d", number);
}

// The command's own last words help more than its exit code.
static void say_last_line(struct job *job)
{
    char line[200];
    streams_last_line(&job->streams, line, sizeof line);
    if (line[0] != '\0')
        buf_printf(job->session->says, "its last line: %s\n", line);
}

int job_note_end(struct job *job, bool *finished, struct err *err)
{
    struct run *run = job->run;
    *finished = false;
    if (!job->child.ended) { // another process killed the keeper
        run->full = some_bool(false);
        TRY(text_set(&run->problem, "its exit code is unknown", err));
        return text_set(&run->ended, "failed", err);
    }
    char words[48];
    end_words(run, job->child.wait_status, words, sizeof words);
    if (job->child.max_rss_kib > 0)
        run->peak_memory_bytes = some_int((int64_t)job->child.max_rss_kib * 1024);
    const struct run_plan *plan = &job->session->plan;
    bool ours = job->ended != SAMPLING_GOES_ON, good = words[0] == '\0';
    // With --steps a script ends by itself before the training does.
    bool sampled = ours || (!plan->full && plan->steps > 0 && good);
    bool failed = !good && !ours && !job->interrupted;
    *finished = good && !sampled && !job->interrupted;
    run->full = some_bool(*finished);
    const char *ended = failed             ? "failed"
                        : job->interrupted ? "interrupted"
                        : job->ended == SAMPLING_SPENT || job->ended == SAMPLING_IDLE ? "stopped"
                        : job->ended == SAMPLING_NOTICE || job->ended == SAMPLING_LEASE
                            ? "interrupted"
                        : sampled ? "sampled"
                                  : "finished";
    const char *by = failed             ? NULL
                     : job->interrupted ? "signal"
                     : ours             ? sampling_word(job->ended)
                     : sampled          ? "steps"
                                        : NULL;
    TRY(text_set(&run->ended, ended, err));
    if (by)
        TRY(text_set(&run->stopped_by, by, err));
    if (failed) {
        TRY(text_set(&run->problem, words, err));
        say_last_line(job);
    }
    return 0;
}

static int note_relay(struct job *job, const struct relay *relay, const char *name, struct err *err)
{
    char text[160];
    if (relay->lost) {
        const char *why = strerrordesc_np(relay->lost);
        snprintf(text, sizeof text, "part of its output was lost: cannot write to %s: %s", name,
                 why ? why : "unknown error");
        TRY(run_taint(job->run, text, err));
    }
    if (relay->blocked_ns > NS_PER_S) {
        char time[24];
        clock_words(relay->blocked_ns, time, sizeof time);
        snprintf(text, sizeof text, "it waited %s for the reader of its output", time);
        TRY(run_taint(job->run, text, err));
    }
    return 0;
}

int job_note_output(struct job *job, struct err *err)
{
    const struct streams *s = &job->streams;
    TRY(note_relay(job, &s->out, job->options->output_to_stderr ? "stderr" : "stdout", err));
    return s->err.buffer ? note_relay(job, &s->err, "stderr", err) : 0;
}

int job_exit_code(const struct job *job, int rc)
{
    const struct run *run = job->run;
    if (rc != 0)
        return rc == ERR_MISSING ? 127 : rc == ERR_IO ? 126 : 0;
    if ((job->ended != SAMPLING_GOES_ON && !job->interrupted) ||
        (run->ended && strcmp(run->ended, "sampled") == 0))
        return 0;
    if (run->signal.known)
        return 128 + (int)run->signal.v;
    int code = run->exit_code.known ? (int)run->exit_code.v : 1;
    return code != 0 ? code : parallel_exit_code(job->parallel);
}
