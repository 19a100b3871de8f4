// SPDX-License-Identifier: Apache-2.0
#include "measure/command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "save/guard.h"
#include "measure/code.h"
#include "measure/measure.h"
#include "measure/parallel.h"
#include "measure/python.h"
#include "measure/runner.h"
#include "measure/sampling.h"
#include "measure/saving.h"
#include "measure/session.h"
#include "measure/streams.h"
#include "follow/child.h"
#include "machine/sample/sampler.h"

#define COMMAND_GRACE_NS INT64_C(10000000000)

struct command_job {
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
    int told;                // the last signal of the user's that ends programs; 0: none
    int64_t deaf_ns;         // when the command is asked next whether it ignores it
    // The next signal for processes that must end, SIGTERM or SIGKILL, and its time.
    int next_signal;
    int64_t next_ns;
    int64_t give_up_ns;
};

// ---- The record of a user's command: its name, how it ended, its exit code.

// Before the run: name, framework, command.
static int job_describe(const struct command_job *job, struct err *err)
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
static void say_last_line(struct command_job *job)
{
    char line[200];
    streams_last_line(&job->streams, line, sizeof line);
    if (line[0] != '\0')
        buf_printf(job->session->says, "its last line: %s\n", line);
}

// After it: how it ended. `*finished`: by itself, at the end of its training.
static int job_note_end(struct command_job *job, bool *finished, struct err *err)
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

static int note_relay(struct command_job *job, const struct relay *relay, const char *name,
                      struct err *err)
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

// lost or held up
static int job_note_output(struct command_job *job, struct err *err)
{
    const struct streams *s = &job->streams;
    TRY(note_relay(job, &s->out, job->options->output_to_stderr ? "stderr" : "stdout", err));
    return s->err.buffer ? note_relay(job, &s->err, "stderr", err) : 0;
}

// As in shells; 0 if we ended it as planned. `rc`: of command_run().
static int job_exit_code(const struct command_job *job, int rc)
{
    const struct run *run = job->run;
    if (rc == ERR_MEMORY && job->child.ended) // what it did is not our fault to change
        return WIFSIGNALED(job->child.wait_status) ? 128 + WTERMSIG(job->child.wait_status)
                                                   : WEXITSTATUS(job->child.wait_status);
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

// ---- Running it

enum {
    TICK_MS = 50,      // the longest sleep of poll()
    KILL_MS = 50,      // between two rounds of SIGKILL
    GIVE_UP_MS = 5000, // for processes that not even SIGKILL ends
    SHOW_MS = 100,
    ACTIVITY_MS = 500, // as often as the sampler reads
    QUIET_MS = 1000,   // shorter commands show no progress
    OTHER_FDS = 2,     // before the streams': signals, the keeper's messages
};

#define IDLE_SHARE 0.02 // of the GPUs or CPUs: less is no work

// ---- start

// Whether we are in the foreground of a terminal.
static bool in_foreground(void)
{
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool us = tcgetpgrp(fd) == getpgrp();
    close(fd);
    return us;
}

static bool sets(const char *entry, const char *other)
{
    size_t len = strcspn(other, "=");
    return strncmp(entry, other, len) == 0 && entry[len] == '=';
}

// Our environment with `own` variables ("NAME=value", ending with null) instead of those of the
// same name. Texts are not copied.
static char **make_environment(char *const *own, struct err *err)
{
    extern char **environ;
    size_t have = 0, more = 0, count = 0;
    while (environ && environ[have])
        have++;
    while (own[more])
        more++;
    char **env = calloc(have + more + 1, sizeof *env);
    if (!env) {
        err_memory(err);
        return NULL;
    }
    for (size_t i = 0; i < have; i++) {
        bool replaced = false;
        for (size_t k = 0; k < more; k++)
            replaced |= sets(environ[i], own[k]);
        if (!replaced)
            env[count++] = environ[i];
    }
    memcpy(env + count, own, more * sizeof *own);
    return env;
}

static int start_child(struct command_job *job, char *const *env, const sigset_t *mask,
                       struct err *err)
{
    struct streams *s = &job->streams;
    const struct saving *saving = job->session->saving;
    const struct child_options options = {
        .argv = saving && job->session->command ? saving_command(saving) : job->options->argv,
        .ends_with_us = saving != NULL,
        .env = env,
        .out = s->out.inside,
        .err = s->err.buffer ? s->err.inside : s->out.inside,
        .streams = {{s->out.from, s->out.to},
                    {s->err.buffer ? s->err.from : -1, s->err.buffer ? s->err.to : -1}},
        .extra = s->tail.inside,
        .extra_as = s->tail.inside_as,
        .hold = s->tail.folder.path ? s->tail.folder.lock : -1,
        .own_group = !in_foreground(),
        .mask = mask,
    };
    job->session->plan.start_ns = clock_now_ns();
    int rc = child_start(&job->child, &options, err);
    streams_started(s);
    return rc;
}

// The command's environment: the path for events, unbuffered output of Python, the GPU's records.
static int launch(struct command_job *job, const sigset_t *mask, struct err *err)
{
    static char unbuffered[] = "PYTHONUNBUFFERED=1";
    SCOPED(buf_release) struct buf events = {0};
    char *own[5 + SAVING_VARIABLES + PARALLEL_VARIABLES] = {NULL};
    size_t count = 0;
    if (job->session->saving)
        count = saving_environment(job->session->saving, own, count);
    if (job->streams.tail.path) {
        buf_printf(&events, "FARE_EVENTS=%s", job->streams.tail.path);
        own[count++] = events.data;
    }
    if (!getenv("PYTHONUNBUFFERED"))
        own[count++] = unbuffered;
    count = tracing_environment(&job->tracing, own, count);
    parallel_environment(job->parallel, own, count);
    TRY(buf_check(&events, err));
    SCOPED(free_pointer) char **env = make_environment(own, err);
    return env ? start_child(job, env, mask, err) : ERR_MEMORY;
}

// Whether only the command's output, which passes through here, can come between our lines on the
// terminal.
static bool is_ours_alone(const struct command_job *job)
{
    struct stat out;
    return isatty(STDERR_FILENO) &&
           (!job->streams.err.buffer ||
            (fstat(STDOUT_FILENO, &out) == 0 && !S_ISFIFO(out.st_mode) && !S_ISSOCK(out.st_mode)));
}

static void hide(void *context)
{
    struct command_job *job = context;
    watch_hide(&job->session->watch);
}

static int open_streams(struct command_job *job, struct err *err)
{
    TRY(streams_open(&job->streams, job->options->output_to_stderr ? STDERR_FILENO : STDOUT_FILENO,
                     err));
    struct relay *beside = streams_beside(&job->streams);
    beside->before = job->session->watch.name ? hide : NULL;
    beside->context = job;
    job->screen = !is_ours_alone(job);
    return 0;
}

static int command_fill(const struct session *s, struct run *part, struct err *err)
{
    struct command_job *job = s->runner;
    TRY(follow_peek(job->follow, part, err));
    const char *counts = part->progress.counts;
    job->samples = counts && strcmp(counts, "samples") == 0;
    return 0;
}

static void event(void *context, const char *line)
{
    const struct command_job *job = context;
    saving_event(job->session->saving, line);
}

static int start_measuring(struct command_job *job, struct err *err)
{
    struct session *s = job->session;
    bool limited = s->plan.steps == 0;
    const struct follow_options options = {.step_pattern = s->o->step_pattern,
                                           .total_steps = s->o->total_steps,
                                           .total_epochs = s->o->total_epochs,
                                           .argv = job->options->argv,
                                           .sample = limited && !s->plan.full,
                                           .within = limited ? s->plan.within : 0,
                                           .max_s = limited ? s->plan.max_s : 0,
                                           .at_the_latest = s->plan.max_s_given};
    TRY(session_start(s, job->child.keeper, true, job->options->load_ns, err));
    if (s->meter)
        meter_before(s->meter, METER_LOAD, job->options->load_ns);
    TRY(follow_new(&job->follow, &options, s->meter, job->run, err));
    job->streams.follow = job->follow;
    job->streams.every_line = s->o->step_pattern != NULL;
    job->streams.event = s->saving ? event : NULL;
    job->streams.context = job;
    s->runner = job;
    s->fill = command_fill;
    job->show_ns = clock_now_ns() + QUIET_MS * NS_PER_MS;
    return 0;
}

// ---- while it runs

// A notice is in force: what ends the job now is an interruption, not the user.
static bool is_saved(const struct command_job *job)
{
    return job->session->saving && saving_told(job->session->saving);
}

static void pass_signals(struct command_job *job)
{
    struct signals_one s;
    while (signals_next(&s)) {
        bool ends = child_ends(s.number);
        if (job->session->saving && saving_signal(job->session->saving, s.number))
            continue; // told as a notice
        job->interrupted |= ends && !job->child.ended && !is_saved(job);
        if (ends && (job->child.ended || job->ended)) {
            job->next_ns = clock_now_ns(); // no more waiting
            job->waited_out = job->child.ended;
        }
        if (ends) {
            if (!job->told || s.number == SIGINT) // a second Ctrl-C: no more waiting
                job->deaf_ns = clock_now_ns() + (job->told ? 0 : job->grace_ns);
            job->told = s.number;
        }
        if (s.number == SIGWINCH) {
            relay_resize(&job->streams.out);
            relay_resize(&job->streams.err);
        }
        // The terminal has signalled the whole group already, but a new size too early, and its
        // end only to the leader of the session.
        bool leader = s.number == SIGHUP && getsid(0) == getpid();
        bool sent = !job->child.own_group && s.from_kernel && s.number != SIGWINCH && !leader;
        if (!sent || ends) // a stopped process has yet to receive it
            child_signal(&job->child, sent ? SIGCONT : s.number);
        if (sent)
            continue;
        if (s.number == SIGTSTP) {
            if (job->session->watch.name)
                hide(job);
            raise(SIGSTOP);
            child_signal(&job->child, SIGCONT);
        }
    }
}

// Waits up to `ms` and does the work that came. False: nothing came.
static bool wait_for_something(struct command_job *job, int ms)
{
    struct pollfd fds[OTHER_FDS + STREAMS_FDS] = {{signals_fd(), POLLIN, 0},
                                                  {job->child.status, POLLIN, 0}};
    streams_poll(&job->streams, fds + OTHER_FDS);
    int ready = poll(fds, OTHER_FDS + STREAMS_FDS, ms); // poll() skips negative descriptors
    pass_signals(job);
    streams_work(&job->streams, fds + OTHER_FDS);
    if (job->streams.out.cut)
        child_cut(&job->child, 0);
    if (job->streams.err.cut)
        child_cut(&job->child, 1);
    child_read(&job->child);
    return ready > 0;
}

static void show(struct command_job *job)
{
    struct session *s = job->session;
    struct relay *beside = streams_beside(&job->streams);
    int64_t now_ns = clock_now_ns();
    if (!s->watch.name || job->child.ended || relay_pending(beside) || now_ns < job->show_ns)
        return;
    job->show_ns = now_ns + SHOW_MS * NS_PER_MS;
    bool within_a_line = beside->last != '\0' && beside->last != '\n';
    struct live live;
    session_look(s, &live);
    if (!beside->lost && watch_tell(&s->watch, &live, within_a_line))
        beside->last = '\n';
    if (job->screen || job->streams.modes || within_a_line)
        return;
    SCOPED(buf_release) struct buf note = {0};
    if (live.steps == 0 || live.timed)
        watch_place(&live, &note);
    watch_show(&s->watch, &live, buf_str(&note));
}

// SIGTERM, then SIGKILL repeatedly until no process is left.
static void end_tree(struct command_job *job)
{
    int64_t now = clock_now_ns();
    if (job->next_signal == 0 || now < job->next_ns || job->child.status < 0)
        return;
    int count = child_signal_all(&job->child, job->next_signal);
    job->next_ns = now + (job->next_signal == SIGTERM ? job->grace_ns : KILL_MS * NS_PER_MS);
    if (job->next_signal == SIGTERM && count > 0 && !job->ended) {
        char text[96];
        snprintf(text, sizeof text, "%d process%s it left behind %s ended", count,
                 count == 1 ? "" : "es", count == 1 ? "was" : "were");
        job->failed |= run_taint(job->run, text, NULL) != 0;
    }
    if (job->next_signal == SIGKILL && job->give_up_ns == 0)
        job->give_up_ns = now + GIVE_UP_MS * NS_PER_MS;
    job->next_signal = SIGKILL;
}

// A command that ignores the user's signal gets SIGTERM after the grace, and one that ignores that
// too SIGKILL. One that handles it is left to its answer, and one under nohup outlives its
// terminal.
static void end_deaf(struct command_job *job)
{
    int64_t now = clock_now_ns();
    if (job->told == 0 || now < job->deaf_ns || is_saved(job))
        return;
    job->deaf_ns = now + NS_PER_S;
    if (!child_ignores(&job->child, job->told))
        return;
    if (child_ignores(&job->child, SIGTERM)) {
        child_signal_all(&job->child, SIGKILL);
    } else if (job->told != SIGHUP) {
        child_signal_all(&job->child, SIGTERM);
        job->told = SIGTERM;
        job->deaf_ns = now + job->grace_ns;
    }
}

static bool signal_waits(void)
{
    return poll(&(struct pollfd){signals_fd(), POLLIN, 0}, 1, 0) > 0;
}

// Reads the command's last output for at most two seconds, since processes it left behind may
// continue to write. Reads the events that are in the file now, for up to a minute: the file may be
// endless or have holes, and the user may press Ctrl-C.
static void read_the_rest(struct command_job *job)
{
    struct streams *s = &job->streams;
    int64_t written = tail_written(&s->tail), now = clock_now_ns();
    int64_t until_ns = now + 2 * NS_PER_S, events_until_ns = now + 60 * NS_PER_S;
    while ((now = clock_now_ns()) < until_ns || (s->tail.at < written && now < events_until_ns &&
                                                 !job->interrupted && !signal_waits())) {
        int64_t at = s->tail.at;
        struct pollfd fds[STREAMS_FDS];
        streams_poll(s, fds);
        int ready = poll(fds, 2, 0); // the output alone
        streams_work(s, fds);
        if (s->tail.at == at && ready <= 0)
            break;
    }
    if (s->tail.at < written)
        job->failed |= run_taint(job->run, "its last events were not read", NULL) != 0;
    streams_end_lines(s);
}

// Which Python the command runs. Scripts of our own are not described.
static void look_at_python(struct command_job *job, bool now)
{
    const struct session *s = job->session;
    if (s->command && interpreter_look(&job->interpreter, &job->child, s->plan.start_ns, now,
                                       &job->run->code, NULL) != 0)
        job->failed = true;
}

static void end_command(struct command_job *job, enum sampling_end why, struct err *err)
{
    look_at_python(job, true);
    job->ended = why;
    parallel_stop(job->parallel, why);
    follow_stop(job->follow); // its end is not training
    job->rc = session_stop(job->session, err);
    if (why == SAMPLING_LEASE)
        child_signal_all(&job->child, SIGKILL);
    else if (!job->terminated) // a second one ends programs that are writing
        child_signal(&job->child, SIGTERM);
    job->next_signal = SIGKILL;
    job->next_ns = clock_now_ns() + job->grace_ns;
}

// Tells loading from training: a counter that runs while the machine is idle is no training.
static void report_activity(struct command_job *job)
{
    int64_t now_ns = clock_now_ns();
    double busy;
    struct maybe_real work;
    if (now_ns < job->activity_ns || !job->session->sampler)
        return;
    job->activity_ns = now_ns + ACTIVITY_MS * NS_PER_MS;
    enum sampler_busy of = sampler_busy(job->session->sampler, &busy, &work);
    if (of != SAMPLER_UNKNOWN)
        follow_activity(job->follow, busy, work);
    if (of == SAMPLER_GPUS)
        tracing_activity(&job->tracing, busy);
    if (of == SAMPLER_UNKNOWN || busy >= IDLE_SHARE)
        job->idle_ns = 0;
    else if (job->idle_ns == 0)
        job->idle_ns = now_ns;
    if (of == SAMPLER_CPUS)
        follow_others(job->follow, sampler_others(job->session->sampler));
    struct maybe_int written = sampler_written(job->session->sampler);
    if (written.known)
        follow_written(job->follow, written.v);
}

// Writes lines at once, below the command's own output.
static void say_now(struct command_job *job, const struct buf *lines)
{
    struct relay *beside = streams_beside(&job->streams);
    bool within_a_line = beside->last != '\0' && beside->last != '\n';
    if (lines->len == 0 || beside->lost)
        return;
    if (job->session->watch.name)
        watch_hide(&job->session->watch);
    if (watch_say(&job->session->watch, buf_str(lines), within_a_line))
        beside->last = '\n';
}

// Does what the job's safety asks for. Returns why the command must end now, if it must.
static enum sampling_end keep_safe(struct command_job *job)
{
    struct saving *saving = job->session->saving;
    SCOPED(buf_release) struct buf lines = {0};
    if (!saving)
        return SAMPLING_GOES_ON;
    unsigned wishes = saving_look(saving, &lines);
    say_now(job, &lines);
    if (wishes & (GUARD_SAVE | GUARD_TELL | GUARD_RECALL)) {
        char line[240];
        saving_line(saving, line, sizeof line);
        (void)!tail_tell(&job->streams.tail, line); // FARE_NOTICE has it too
    }
    int number = wishes & GUARD_TELL ? saving_tell(saving, job->child.pid) : 0;
    if (number)
        child_signal(&job->child, number);
    job->terminated |= number == SIGTERM;
    if (wishes & GUARD_KILL)
        child_signal_all(&job->child, SIGKILL);
    const char *by = saving_by(saving);
    if (!(wishes & (GUARD_END | GUARD_KILL)) || job->ended)
        return SAMPLING_GOES_ON;
    return strcmp(by, "lease") == 0       ? SAMPLING_LEASE
           : strcmp(by, "max-spend") == 0 ? SAMPLING_SPENT
                                          : SAMPLING_NOTICE;
}

// Notes the progress. Returns why the command must end now, if it must.
static enum sampling_end judge(struct command_job *job)
{
    struct session *s = job->session;
    struct run_plan *plan = &s->plan;
    struct follow_state state;
    struct sampling now;
    bool enough = sampling_look(job->follow, s->meter, plan->within, &state, &now);
    s->step = state.step;
    s->steps = state.total;
    s->noun = state.epochs ? "epoch" : job->samples ? "sample" : NULL;
    s->rate = state.steps_per_s;
    s->loss = state.loss;
    enum sampling_end told = parallel_stopped(job->parallel);
    if (told)
        return told;
    if (plan->until_ns > 0 && clock_now_ns() >= plan->until_ns)
        return SAMPLING_SPENT;
    if (s->o->idle_ns > 0 && job->idle_ns > 0 && clock_now_ns() - job->idle_ns >= s->o->idle_ns)
        return SAMPLING_IDLE;
    if (plan->full || !s->command) {
        bool late = plan->max_s > 0 && now.elapsed_s >= plan->max_s;
        return !enough ? SAMPLING_GOES_ON : late ? SAMPLING_TIME : SAMPLING_WITHIN;
    }
    now.asked = s->o->within != NULL;
    now.limit_s = plan->max_s_given ? plan->max_s : 0;
    if (now.steps > 0 && !plan->max_s_given) // for the progress line
        plan->max_s = sampling_until_s(&now);
    return sampling_judge(&now);
}

static void run_to_its_end(struct command_job *job, struct err *err)
{
    struct session *s = job->session;
    while (!job->child.ended && job->child.status >= 0) {
        if (!job->ended && session_due(s))
            session_keep(s);
        wait_for_something(job, TICK_MS);
        show(job);
        enum sampling_end unsafe = job->child.ended ? SAMPLING_GOES_ON : keep_safe(job);
        if (unsafe)
            end_command(job, unsafe, err);
        if (job->ended) {
            end_tree(job);
            continue;
        }
        end_deaf(job);
        report_activity(job);
        look_at_python(job, false);
        job->failed |= tracing_work(&job->tracing, job->follow, NULL) != 0;
        job->failed |= parallel_work(job->parallel, &job->child, job->follow, &job->tracing) != 0;
        enum sampling_end why = judge(job);
        if (why && !job->child.ended)
            end_command(job, why, err);
    }
    read_the_rest(job);
}

static void end_measuring(struct command_job *job, bool finished, struct err *err)
{
    int rc = tracing_finish(&job->tracing, job->follow, job->run, job->session->says, err);
    int stopped = session_stop(job->session, err);
    int filled = follow_finish(job->follow, finished, job->session->says, err);
    int joined = parallel_finish(job->parallel, job->child.ended ? job->child.wait_status : SIGKILL,
                                 signal_waits, job->run, job->session->says, err);
    int derived = session_finish(job->session, err);
    job->rc = job->rc != 0   ? job->rc
              : rc != 0      ? rc
              : stopped != 0 ? stopped
              : filled != 0  ? filled
              : joined != 0  ? joined
                             : derived;
    job->streams.follow = NULL;
}

// After the measurement: relays the rest of the output and ends the rest of the tree.
static void wait_for_the_rest(struct command_job *job)
{
    if (job->next_signal == 0) {
        job->next_signal = SIGTERM;
        job->next_ns = clock_now_ns() + (job->interrupted || is_saved(job) ? 0 : job->grace_ns);
    }
    // The reader of our output may be slow, unless the user interrupts.
    int64_t reader_until_ns = job->interrupted ? clock_now_ns() + NS_PER_S : INT64_MAX;
    for (;;) {
        bool tree = job->child.status >= 0, writing = streams_pending(&job->streams);
        bool gave_up = job->give_up_ns > 0 && clock_now_ns() > job->give_up_ns;
        bool came = wait_for_something(job, tree || writing ? TICK_MS : 0);
        // The tree is gone, so no process holds the other ends: read the rest and stop.
        if ((!tree || gave_up) && !writing && (!came || !streams_reading(&job->streams)) &&
            !streams_pending(&job->streams))
            break;
        if (!tree && (job->waited_out || clock_now_ns() > reader_until_ns))
            break;
        end_tree(job);
    }
}

// A terminal shows both streams; elsewhere our words follow only one of them.
static void end_lines(struct command_job *job)
{
    struct streams *s = &job->streams;
    struct relay *beside = streams_beside(s);
    if (s->out.terminal || (beside == &s->out && job->session->watch.name))
        relay_end_line(&s->out);
    if (s->err.buffer)
        relay_end_line(&s->err);
}

// ---- together

static int measure(struct command_job *job, struct err *err)
{
    bool finished = false;
    run_to_its_end(job, err);
    int rc = job_note_end(job, &finished, err);
    end_measuring(job, finished, err);
    if (rc == 0)
        rc = job->rc;
    wait_for_the_rest(job);
    end_lines(job);
    if (rc == 0 && job->failed)
        rc = err_memory(err);
    return rc == 0 ? job_note_output(job, err) : rc;
}

// Without memory to measure it with, a command that was started goes on to its end all the same.
static void run_unmeasured(struct command_job *job)
{
    while (!job->child.ended && job->child.status >= 0)
        wait_for_something(job, TICK_MS);
    wait_for_the_rest(job);
}

// Between the ends of which our signals are the command's.
static int run_signalled(struct command_job *job, const sigset_t *mask, struct err *err)
{
    struct session *s = job->session;
    int rc = s->saving ? saving_start(s->saving, err) : 0;
    if (rc == 0)
        rc = launch(job, mask, err);
    signals_unblock(mask);
    TRY(rc);
    rc = start_measuring(job, err);
    if (rc == 0)
        return measure(job, err);
    run_unmeasured(job);
    return rc;
}

static int run_job(struct command_job *job, struct err *err)
{
    sigset_t mask;
    TRY(job_describe(job, err));
    TRY(open_streams(job, err));
    TRY(tracing_open(&job->tracing, job->session, err));
    TRY(parallel_open(&job->parallel, job->session, job->options->argv, err));
    TRY(signals_begin(!in_foreground(), &mask, err));
    int rc = run_signalled(job, &mask, err);
    // After any failure on our side, leave no process behind.
    for (int i = 0; i < 100 && job->child.keeper > 0 && job->child.status >= 0; i++) {
        child_signal_all(&job->child, SIGKILL);
        clock_sleep_ns(10 * NS_PER_MS);
        child_read(&job->child);
    }
    signals_end(job->session->saving != NULL);
    return rc;
}

int command_run(const struct command_options *options, struct session *session, struct err *err)
{
    struct command_job job = {.options = options,
                              .session = session,
                              .run = session->run,
                              .grace_ns = session->o->grace_ns > 0 ? session->o->grace_ns
                                                                   : COMMAND_GRACE_NS,
                              .child = {.status = -1}};
    int rc = run_job(&job, err);
    session->exit_code = job_exit_code(&job, rc);
    follow_free(job.follow);
    interpreter_release(&job.interpreter);
    tracing_release(&job.tracing);
    parallel_free(job.parallel);
    child_release(&job.child);
    streams_release(&job.streams);
    return rc;
}

// ---- the runner

static int command_runner_run(struct session *s, struct err *err)
{
    const struct command_options options = {.argv = s->command, .output_to_stderr = s->o->json};
    TRY(command_run(&options, s, err));
    int64_t late_ns = s->plan.until_ns > 0 ? clock_now_ns() - s->plan.until_ns : 0;
    if (late_ns > NS_PER_S && strcmp(s->run->ended, "stopped") == 0) {
        char late[24];
        clock_words(late_ns, late, sizeof late);
        buf_printf(s->says, "it took %s to stop, which is billed too: --grace sets the limit\n",
                   late);
    }
    return 0;
}

static bool command_takes(const struct session *s)
{
    return s->command != NULL;
}

const struct runner runner_command = {.takes = command_takes, .run = command_runner_run};
