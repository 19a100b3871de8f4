// SPDX-License-Identifier: Apache-2.0
#include "measure/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/runner.h"
#include "run/child.h"
#include "run/follow.h"
#include "run/relay.h"
#include "run/signals.h"
#include "run/tail.h"

enum {
    TICK_MS = 50,      // the longest sleep of poll()
    KILL_MS = 50,      // between two rounds of SIGKILL
    GIVE_UP_MS = 5000, // for processes that not even SIGKILL ends
    SHOW_MS = 100,
    QUIET_MS = 1000, // shorter commands show no progress
};

struct job {
    const struct command_options *options;
    struct session *session;
    struct run *run; // the session's
    int64_t grace_ns;
    struct child child;
    struct relay out, err; // err is unused if both go to the same place
    struct tail tail;
    struct event_lines out_lines, err_lines, event_lines;
    struct follow *follow;

    int64_t show_ns; // when progress is shown next
    bool screen;     // the command has the terminal to itself

    bool failed;      // out of memory
    int rc;           // of the measurement's end
    bool interrupted; // the user ended it
    bool ended_by_us;
    bool spent;      // because the budget was
    bool timed_out;  // or the time limit was reached
    bool waited_out; // our output has no reader any more, or the user does not want to wait
    // The next signal for processes that must end, SIGTERM or SIGKILL, and its time.
    int next_signal;
    int64_t next_ns;
    int64_t give_up_ns;
};

// ---- lines

static void output_line(void *context, char *line, size_t len, bool ended)
{
    struct job *job = context;
    follow_output(job->follow, line, len, ended);
}

static void event_line(void *context, char *line, size_t len, bool ended)
{
    struct job *job = context;
    if (ended)
        follow_event(job->follow, line, len);
}

// Programs that draw set terminal modes, such as a second screen or a hidden cursor.
static void look_for_modes(struct job *job, const char *bytes, size_t len)
{
    if (job->session->watch.name && !job->screen)
        job->screen = memmem(bytes, len, "\x1b[?", 3) != NULL;
}

static void from_out(void *context, const char *bytes, size_t len)
{
    struct job *job = context;
    look_for_modes(job, bytes, len);
    event_lines_add(&job->out_lines, bytes, len, output_line, job);
}

static void from_err(void *context, const char *bytes, size_t len)
{
    struct job *job = context;
    look_for_modes(job, bytes, len);
    event_lines_add(&job->err_lines, bytes, len, output_line, job);
}

static void from_events(void *context, const char *bytes, size_t len)
{
    struct job *job = context;
    event_lines_add(&job->event_lines, bytes, len, event_line, job);
}

// ---- start

static bool same_file(int a, int b)
{
    struct stat one, two;
    return fstat(a, &one) == 0 && fstat(b, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino && one.st_rdev == two.st_rdev;
}

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

static bool sets(const char *entry, const char *variable)
{
    size_t len = strlen(variable);
    return strncmp(entry, variable, len) == 0 && entry[len] == '=';
}

// Our environment, plus the path for events and unbuffered output of Python. Texts are not copied;
// `events` holds the new one.
static char **make_environment(const struct job *job, struct buf *events, struct err *err)
{
    extern char **environ;
    static char unbuffered[] = "PYTHONUNBUFFERED=1";
    size_t have = 0, count = 0;
    while (environ && environ[have])
        have++;
    char **env = calloc(have + 3, sizeof *env);
    if (job->tail.path)
        buf_printf(events, "FARE_EVENTS=%s", job->tail.path);
    if (!env || buf_check(events, err) != 0) {
        free(env);
        err_memory(err);
        return NULL;
    }
    for (size_t i = 0; i < have; i++)
        if (!job->tail.path || !sets(environ[i], "FARE_EVENTS"))
            env[count++] = environ[i];
    if (job->tail.path)
        env[count++] = events->data;
    if (!getenv("PYTHONUNBUFFERED"))
        env[count++] = unbuffered;
    return env;
}

static int open_lines(struct event_lines *lines, struct err *err)
{
    lines->line = malloc(EVENT_LINE_MAX + 1);
    return lines->line ? 0 : err_memory(err);
}

// Whether only the command's output, which passes through here, can come between our lines on the
// terminal.
static bool is_ours_alone(void)
{
    struct stat out;
    return isatty(STDERR_FILENO) &&
           (same_file(STDOUT_FILENO, STDERR_FILENO) ||
            (fstat(STDOUT_FILENO, &out) == 0 && !S_ISFIFO(out.st_mode) && !S_ISSOCK(out.st_mode)));
}

// The stream that goes to the terminal with our progress line.
static struct relay *beside_progress(struct job *job)
{
    return job->err.buffer ? &job->err : &job->out;
}

static void hide(void *context)
{
    struct job *job = context;
    watch_hide(&job->session->watch);
}

static int open_streams(struct job *job, struct err *err)
{
    int to = job->options->output_to_stderr ? STDERR_FILENO : STDOUT_FILENO;
    TRY(relay_open(&job->out, to, err));
    // If both go to the same place, one stream keeps their order.
    if (to != STDERR_FILENO && !same_file(to, STDERR_FILENO))
        TRY(relay_open(&job->err, STDERR_FILENO, err));
    TRY(open_lines(&job->out_lines, err));
    TRY(open_lines(&job->err_lines, err));
    TRY(open_lines(&job->event_lines, err));
    job->screen = !is_ours_alone();
    beside_progress(job)->before = job->session->watch.name ? hide : NULL;
    beside_progress(job)->context = job;
    return 0;
}

static int launch(struct job *job, const sigset_t *mask, struct err *err)
{
    struct buf events = {0};
    char **env = make_environment(job, &events, err);
    if (!env) {
        buf_release(&events);
        return ERR_MEMORY;
    }
    const struct child_options options = {
        .argv = job->options->argv,
        .env = env,
        .out = job->out.inside,
        .err = job->err.buffer ? job->err.inside : job->out.inside,
        .streams = {{job->out.from, job->out.to},
                    {job->err.buffer ? job->err.from : -1, job->err.buffer ? job->err.to : -1}},
        .extra = job->tail.inside,
        .extra_as = job->tail.inside_as,
        .own_group = !in_foreground(),
        .mask = mask,
    };
    job->session->plan.start_ns = clock_now_ns();
    int rc = child_start(&job->child, &options, err);
    relay_started(&job->out);
    if (job->err.buffer)
        relay_started(&job->err);
    tail_started(&job->tail);
    free(env);
    buf_release(&events);
    return rc;
}

static int fill(const struct session *s, struct run *part, struct err *err)
{
    const struct job *job = s->runner;
    return follow_peek(job->follow, part, err);
}

static int start_measuring(struct job *job, struct err *err)
{
    struct session *s = job->session;
    bool limited = s->plan.steps == 0;
    const struct follow_options options = {.step_pattern = s->o->step_pattern,
                                           .total_steps = s->o->total_steps,
                                           .total_epochs = s->o->total_epochs,
                                           .argv = job->options->argv,
                                           .sample = limited,
                                           .within = limited ? s->plan.within : 0,
                                           .max_s = limited ? s->plan.max_s : 0,
                                           .at_the_latest = s->plan.max_s_given};
    TRY(session_start(s, job->child.keeper, true, job->options->load_ns, err));
    if (s->meter)
        meter_before(s->meter, METER_LOAD, job->options->load_ns);
    TRY(follow_new(&job->follow, &options, s->meter, job->run, err));
    s->runner = job;
    s->fill = fill;
    job->show_ns = clock_now_ns() + QUIET_MS * NS_PER_MS;
    return 0;
}

// ---- while it runs

static void pass_signals(struct job *job)
{
    struct signals_one s;
    while (signals_next(&s)) {
        bool ends =
            s.number == SIGINT || s.number == SIGTERM || s.number == SIGHUP || s.number == SIGQUIT;
        job->interrupted |= ends && !job->child.ended;
        if (ends && (job->child.ended || job->ended_by_us)) {
            job->next_ns = clock_now_ns(); // no more waiting
            job->waited_out = job->child.ended;
        }
        if (s.number == SIGWINCH) {
            relay_resize(&job->out);
            relay_resize(&job->err);
        }
        // The terminal has signalled the whole group already, but a new size too early.
        if (!job->child.own_group && s.from_kernel && s.number != SIGWINCH)
            continue;
        child_signal(&job->child, s.number);
        if (s.number == SIGTSTP) {
            if (job->session->watch.name)
                hide(job);
            raise(SIGSTOP);
            child_signal(&job->child, SIGCONT);
        }
    }
}

static void work(struct job *job, bool out_writable, bool err_writable)
{
    // Events first: a program reports a step, then prints it, and it must not count twice.
    tail_read(&job->tail, from_events, job);
    relay_work(&job->out, out_writable, from_out, job);
    if (job->err.buffer)
        relay_work(&job->err, err_writable, from_err, job);
    child_read(&job->child);
}

static void wait_for_something(struct job *job)
{
    struct relay *out = &job->out, *err = &job->err;
    bool has_err = err->buffer != NULL;
    struct pollfd fds[] = {
        {signals_fd(), POLLIN, 0},
        {job->child.status, POLLIN, 0},
        {relay_pending(out) ? -1 : out->from, POLLIN, 0},
        {relay_pending(out) ? out->to : -1, POLLOUT, 0},
        {!has_err || relay_pending(err) ? -1 : err->from, POLLIN, 0},
        {has_err && relay_pending(err) ? err->to : -1, POLLOUT, 0},
        {job->tail.watch, POLLIN, 0},
        {job->tail.path ? -1 : job->tail.fd, POLLIN, 0},
    };
    poll(fds, sizeof fds / sizeof *fds, TICK_MS); // poll() skips negative descriptors
    pass_signals(job);
    work(job, fds[3].revents != 0, fds[5].revents != 0);
}

static void show(struct job *job)
{
    struct session *s = job->session;
    const struct relay *beside = beside_progress(job);
    bool within_a_line = beside->last != '\0' && beside->last != '\n';
    int64_t now_ns = clock_now_ns();
    if (!s->watch.name || job->screen || job->child.ended || within_a_line ||
        relay_pending(beside) || now_ns < job->show_ns)
        return;
    struct live live;
    char note[48] = "";
    session_look(s, &live);
    if (live.step > 0 && (live.steps == 0 || live.timed))
        snprintf(note, sizeof note, "step %lld", (long long)live.step);
    watch_show(&s->watch, &live, note);
    job->show_ns = now_ns + SHOW_MS * NS_PER_MS;
}

static void end_measuring(struct job *job, bool finished, struct err *err)
{
    int rc = session_stop(job->session, err);
    int filled = follow_finish(job->follow, finished, job->session->says, err);
    int derived = session_finish(job->session, err);
    job->rc = job->rc != 0 ? job->rc : rc != 0 ? rc : filled != 0 ? filled : derived;
}

// SIGTERM, then SIGKILL repeatedly until no process is left.
static void end_tree(struct job *job)
{
    int64_t now = clock_now_ns();
    if (job->next_signal == 0 || now < job->next_ns || job->child.status < 0)
        return;
    int count = child_signal_all(&job->child, job->next_signal);
    job->next_ns = now + (job->next_signal == SIGTERM ? job->grace_ns : KILL_MS * NS_PER_MS);
    if (job->next_signal == SIGTERM && count > 0 && !job->ended_by_us) {
        char text[96];
        snprintf(text, sizeof text, "%d process%s it left behind %s ended", count,
                 count == 1 ? "" : "es", count == 1 ? "was" : "were");
        job->failed |= run_taint(job->run, text, NULL) != 0;
    }
    if (job->next_signal == SIGKILL && job->give_up_ns == 0)
        job->give_up_ns = now + GIVE_UP_MS * NS_PER_MS;
    job->next_signal = SIGKILL;
}

static bool signal_waits(void)
{
    return poll(&(struct pollfd){signals_fd(), POLLIN, 0}, 1, 0) > 0;
}

// Reads the command's last output for at most two seconds, since processes it left behind may
// continue to write. Reads the events that are in the file now, for up to a minute: the file may be
// endless or have holes, and the user may press Ctrl-C.
static void read_the_rest(struct job *job)
{
    int64_t written = tail_written(&job->tail), now = clock_now_ns();
    int64_t until_ns = now + 2 * NS_PER_S, events_until_ns = now + 60 * NS_PER_S;
    while ((now = clock_now_ns()) < until_ns || (job->tail.at < written && now < events_until_ns &&
                                                 !job->interrupted && !signal_waits())) {
        int64_t at = job->tail.at;
        struct pollfd fds[] = {
            {job->out.from, POLLIN, 0},
            {job->err.buffer ? job->err.from : -1, POLLIN, 0},
            {relay_pending(&job->out) ? job->out.to : -1, POLLOUT, 0},
            {job->err.buffer && relay_pending(&job->err) ? job->err.to : -1, POLLOUT, 0}};
        int ready = poll(fds, 4, 0);
        work(job, fds[2].revents != 0, fds[3].revents != 0);
        if (job->tail.at == at && ready <= 0)
            break;
    }
    if (job->tail.at < written)
        job->failed |= run_taint(job->run, "the last of its events were not read", NULL) != 0;
    event_lines_end(&job->out_lines, output_line, job);
    event_lines_end(&job->err_lines, output_line, job);
    event_lines_end(&job->event_lines, event_line, job);
}

static void end_command(struct job *job, struct err *err)
{
    const struct session *s = job->session;
    double elapsed_s = (double)(clock_now_ns() - s->start_ns) / 1e9;
    job->ended_by_us = true;
    job->timed_out = !job->spent && s->plan.max_s > 0 && elapsed_s >= s->plan.max_s;
    follow_stop(job->follow); // its end is not training
    job->rc = session_stop(job->session, err);
    child_signal(&job->child, SIGTERM);
    job->next_signal = SIGKILL;
    job->next_ns = clock_now_ns() + job->grace_ns;
}

static void run_to_its_end(struct job *job, struct err *err)
{
    struct session *s = job->session;
    while (!job->child.ended && job->child.status >= 0) {
        follow_place(job->follow, &s->step, &s->steps);
        if (!job->ended_by_us && session_due(s))
            session_keep(s);
        wait_for_something(job);
        show(job);
        if (job->ended_by_us) {
            end_tree(job);
            continue;
        }
        job->spent = s->plan.until_ns > 0 && clock_now_ns() >= s->plan.until_ns;
        if ((follow_enough(job->follow) || job->spent) && !job->child.ended)
            end_command(job, err);
    }
    read_the_rest(job);
}

static void read_no_more(void *context, const char *bytes, size_t len)
{
    (void)context, (void)bytes, (void)len;
}

// After the measurement: relays the rest of the output and ends the rest of the tree.
static void wait_for_the_rest(struct job *job)
{
    if (job->next_signal == 0) {
        job->next_signal = SIGTERM;
        job->next_ns = clock_now_ns() + (job->interrupted ? 0 : job->grace_ns);
    }
    // The reader of our output may be slow, unless the user interrupts.
    int64_t reader_until_ns = job->interrupted ? clock_now_ns() + NS_PER_S : INT64_MAX;
    for (;;) {
        struct relay *relays[] = {&job->out, &job->err};
        struct pollfd fds[4] = {{signals_fd(), POLLIN, 0}, {job->child.status, POLLIN, 0}};
        bool writing = false, open = false;
        for (int i = 0; i < 2; i++) {
            struct relay *r = relays[i];
            bool pending = r->buffer && relay_pending(r);
            writing |= pending;
            open |= r->buffer && r->from >= 0;
            fds[2 + i] = (struct pollfd){!r->buffer ? -1
                                         : pending  ? r->to
                                                    : r->from,
                                         pending ? POLLOUT : POLLIN, 0};
        }
        bool tree = job->child.status >= 0;
        bool gave_up = job->give_up_ns > 0 && clock_now_ns() > job->give_up_ns;
        // The tree is gone, so no process holds the other ends: read the rest and stop.
        int ready = poll(fds, 4, tree || writing ? TICK_MS : 0);
        if ((!tree || gave_up) && !writing && (ready <= 0 || !open))
            break;
        if (!tree && (job->waited_out || clock_now_ns() > reader_until_ns))
            break;
        pass_signals(job);
        for (int i = 0; i < 2; i++)
            if (relays[i]->buffer)
                relay_work(relays[i], (fds[2 + i].revents & ~POLLIN) != 0, read_no_more, job);
        child_read(&job->child);
        end_tree(job);
    }
}

// ---- the record

// "train" for `python -u dir/train.py --lr 1`, "llama.finetune" for `python -m llama.finetune`,
// else the program's name.
static int name_of(char *const *argv, char **name, struct err *err)
{
    const char *found = argv[0];
    for (size_t i = 1; argv[i]; i++) {
        size_t len = strlen(argv[i]);
        if (strcmp(argv[i], "-m") == 0 && argv[i + 1])
            return text_set(name, argv[i + 1], err);
        if (len > 3 && strcmp(argv[i] + len - 3, ".py") == 0) {
            found = argv[i];
            break;
        }
    }
    const char *slash = strrchr(found, '/');
    struct buf text = {0};
    buf_adds(&text, slash && slash[1] ? slash + 1 : found);
    if (text.len > 3 && strcmp(buf_str(&text) + text.len - 3, ".py") == 0)
        text.data[text.len -= 3] = '\0';
    int rc = buf_check(&text, err);
    if (rc == 0)
        rc = text_set(name, buf_str(&text), err);
    buf_release(&text);
    return rc;
}

static int describe(const struct job *job, struct err *err)
{
    const struct command_options *o = job->options;
    struct run *run = job->run;
    if (!run->name)
        TRY(name_of(o->argv, &run->name, err));
    if (!run->framework)
        TRY(text_set(&run->framework, "command", err));
    run->command.known = true;
    for (size_t i = 0; o->argv[i]; i++)
        TRY(texts_add(&run->command, o->argv[i], err));
    if (!o->output_to_stderr)
        job->session->watch.name = run->name;
    return 0;
}

static const char *stopped_by(const struct job *job, bool sampled)
{
    return job->interrupted    ? "signal"
           : !job->ended_by_us ? sampled ? "steps" : NULL
           : job->spent        ? "max-spend"
           : job->timed_out    ? "max-time"
                               : "within";
}

static int note_end(struct job *job, bool *finished, struct err *err)
{
    struct run *run = job->run;
    int status = job->child.wait_status;
    *finished = false;
    if (!job->child.ended) { // another process killed the keeper
        run->full = some_bool(false);
        TRY(text_set(&run->problem, "its exit code is unknown", err));
        return text_set(&run->ended, "failed", err);
    }
    char words[48] = "";
    if (WIFEXITED(status)) {
        run->exit_code = some_int(WEXITSTATUS(status));
        if (WEXITSTATUS(status) != 0)
            snprintf(words, sizeof words, "exit code %d", WEXITSTATUS(status));
    } else {
        int number = WTERMSIG(status);
        run->signal = some_int(number);
        const char *name = sigabbrev_np(number);
        if (name)
            snprintf(words, sizeof words, "signal SIG%s", name);
        else
            snprintf(words, sizeof words, "signal %d", number);
    }
    if (job->child.max_rss_kib > 0)
        run->peak_memory_bytes = some_int((int64_t)job->child.max_rss_kib * 1024);
    // With --steps a script ends by itself before the training does.
    const struct run_plan *plan = &job->session->plan;
    bool sampled = job->ended_by_us || (!plan->full && plan->steps > 0 && words[0] == '\0');
    *finished = words[0] == '\0' && !sampled && !job->interrupted;
    run->full = some_bool(*finished);
    bool failed = words[0] != '\0' && !job->ended_by_us && !job->interrupted;
    const char *by = failed ? NULL : stopped_by(job, sampled);
    TRY(text_set(&run->ended,
                 failed                           ? "failed"
                 : job->interrupted               ? "interrupted"
                 : job->ended_by_us && job->spent ? "stopped"
                 : sampled                        ? "sampled"
                                                  : "finished",
                 err));
    if (by)
        TRY(text_set(&run->stopped_by, by, err));
    if (failed)
        TRY(text_set(&run->problem, words, err));
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

// As in shells; 0 if we ended it as planned.
static int exit_code(const struct job *job, int rc)
{
    const struct run *run = job->run;
    if (rc != 0)
        return rc == ERR_MISSING ? 127 : rc == ERR_IO ? 126 : 0;
    if ((job->ended_by_us && !job->interrupted) ||
        (run->ended && strcmp(run->ended, "sampled") == 0))
        return 0;
    if (run->signal.known)
        return 128 + (int)run->signal.v;
    return run->exit_code.known ? (int)run->exit_code.v : 1;
}

// ---- together

static int measure(struct job *job, struct err *err)
{
    bool finished = false;
    run_to_its_end(job, err);
    int rc = note_end(job, &finished, err);
    end_measuring(job, finished, err);
    if (rc == 0)
        rc = job->rc;
    wait_for_the_rest(job);
    relay_end_line(&job->out);
    relay_end_line(&job->err);
    if (rc == 0 && job->failed)
        rc = err_memory(err);
    if (rc == 0)
        rc = note_relay(job, &job->out, job->options->output_to_stderr ? "stderr" : "stdout", err);
    if (rc == 0 && job->err.buffer)
        rc = note_relay(job, &job->err, "stderr", err);
    return rc;
}

static void release(struct job *job)
{
    follow_free(job->follow);
    child_release(&job->child);
    relay_release(&job->out);
    relay_release(&job->err);
    tail_release(&job->tail);
    free(job->out_lines.line);
    free(job->err_lines.line);
    free(job->event_lines.line);
}

int command_run(const struct command_options *options, struct session *session, struct err *err)
{
    struct job job = {.options = options,
                      .session = session,
                      .run = session->run,
                      .grace_ns =
                          session->o->grace_ns > 0 ? session->o->grace_ns : COMMAND_GRACE_NS,
                      .child = {.status = -1}};
    int rc = describe(&job, err);
    if (rc == 0)
        rc = open_streams(&job, err);
    if (rc == 0)
        rc = tail_open(&job.tail, getenv("FARE_EVENTS"), err);
    sigset_t mask;
    if (rc == 0)
        rc = signals_begin(!in_foreground(), &mask, err);
    if (rc == 0) {
        rc = launch(&job, &mask, err);
        signals_unblock(&mask);
        if (rc == 0)
            rc = start_measuring(&job, err);
        if (rc == 0)
            rc = measure(&job, err);
        // After any failure on our side, leave no process behind.
        for (int i = 0; i < 100 && job.child.keeper > 0 && job.child.status >= 0; i++) {
            child_signal_all(&job.child, SIGKILL);
            clock_sleep_ns(10 * NS_PER_MS);
            child_read(&job.child);
        }
        signals_end();
    }
    session->exit_code = exit_code(&job, rc);
    release(&job);
    return rc;
}

// ---- the runner

static int run(struct session *s, struct err *err)
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

static bool takes(const struct session *s)
{
    return s->command != NULL;
}

const struct runner runner_command = {.takes = takes, .run = run};
