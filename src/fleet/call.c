// SPDX-License-Identifier: Apache-2.0
#include "fleet/target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"

enum { EVENTS = 64, PIECE = 64 << 10, STREAM_MASK = 3, STACK = 64 << 10, DROPPED_MOST = 64 << 20 };
#define LOOK_NS (50 * NS_PER_MS) // between two looks at processes, where the kernel has no pidfd

// ---- a call

void call_arg(struct call *call, const char *arg)
{
    while (!call->failed && call->argc + 1 >= call->capacity) // with the null behind it
        if (array_grow(&call->argv, call->capacity, &call->capacity, sizeof *call->argv, NULL))
            call->failed = true;
    if (call->failed)
        return;
    call->argv[call->argc] = strdup(arg);
    call->failed = !call->argv[call->argc];
    call->argc += !call->failed;
    call->argv[call->argc] = NULL;
}

void call_argf(struct call *call, const char *format, ...)
{
    SCOPED(buf_release) struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    call->failed |= text.failed;
    call_arg(call, buf_str(&text));
}

void call_args(struct call *call, char *const *args)
{
    for (; *args; args++)
        call_arg(call, *args);
}

void call_words(struct call *call, const char *words)
{
    for (size_t len; *words; words += len + (words[len] == ' ')) {
        len = strcspn(words, " ");
        call_argf(call, "%.*s", (int)len, words);
    }
}

int call_check(const struct call *call, struct err *err)
{
    return call->failed ? err_memory(err) : buf_check(&call->input, err);
}

void call_release(struct call *call)
{
    for (size_t i = 0; i < call->argc; i++)
        free(call->argv[i]);
    free(call->argv);
    free(call->input_file);
    buf_release(&call->input);
    *call = (struct call){0};
}

void call_result_release(struct call_result *result)
{
    buf_release(&result->out);
    buf_release(&result->err_text);
}

// The last line with something in it.
static void add_last_line(const struct buf *text, struct buf *out)
{
    const char *all = buf_str(text);
    size_t end = text->len, begin;
    while (end > 0 && strchr("\r\n \t", all[end - 1]))
        end--;
    for (begin = end; begin > 0 && all[begin - 1] != '\n' && all[begin - 1] != '\r';)
        begin--;
    size_t len = end - begin;
    buf_add(out, all + begin, len < 300 ? len : 300);
}

bool call_says(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strstr(text, *words))
            return true;
    return false;
}

int call_failed(const struct call_result *result, int code, const char *what, struct err *err)
{
    SCOPED(buf_release) struct buf how = {0};
    add_last_line(&result->err_text, &how);
    bool said = how.len > 0;
    buf_adds(&how, said ? " (" : "");
    if (result->timed_out)
        buf_printf(&how, "no answer within %lld s", (long long)(result->wall_ns / NS_PER_S));
    else if (result->exited)
        buf_printf(&how, "exit code %d", result->exit_code);
    else
        buf_printf(&how, "ended by signal %d", result->signal);
    buf_adds(&how, said ? ")" : "");
    return err_set(err, result->timed_out ? ERR_TIMEOUT : code, "%s%s%.400s", what ? what : "",
                   what ? ": " : "", buf_str(&how));
}

// ---- the pool

struct running {
    struct call call;
    void *tag;
    struct running *prev, *next; // in `live`, then in `ended`
    pid_t pid;
    int pidfd;              // -1 where the kernel has none
    int in, out, err, file; // our ends of its pipes, and the file to feed it; -1: closed
    size_t fed;             // bytes of the input so far
    size_t dropped;         // bytes of its output that were not kept
    int64_t started_ns, stop_ns;
    bool ended;
    struct call_result result;
};

// Nothing here walks through all calls, but for what is over its limit: thousands run at a time.
struct calls {
    int epoll;
    int low[3];                 // kept for the descriptors of a program that starts; -1: none
    char *stack;                // of a program that starts
    struct running live, ended; // rings with these as their heads
    size_t running;
    int64_t stop_ns; // no call is over its limit before
    bool watch;      // some have no pidfd
};

// An event's number is the address of its call with the stream in the lowest bits.
enum stream { STREAM_IN, STREAM_OUT, STREAM_ERR, STREAM_PID };

static void ring_init(struct running *head)
{
    head->prev = head->next = head;
}

static void ring_remove(struct running *r)
{
    r->prev->next = r->next;
    r->next->prev = r->prev;
}

static void ring_add(struct running *head, struct running *r) // behind the others
{
    r->prev = head->prev;
    r->next = head;
    head->prev->next = r;
    head->prev = r;
}

int calls_new(struct calls **out, struct err *err)
{
    struct calls *calls = calloc(1, sizeof *calls);
    if (!calls)
        return err_memory(err);
    calls->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (calls->epoll < 0) {
        int number = errno;
        free(calls);
        return err_errno(err, number, "cannot wait for programs");
    }
    calls->stack = malloc(STACK); // without it programs start in the usual way
    for (int i = 0; i < 3; i++)
        calls->low[i] = fcntl(calls->epoll, F_DUPFD_CLOEXEC, 3);
    // Four descriptors for each call: as many as we may have.
    struct rlimit most;
    if (getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur < most.rlim_max) {
        most.rlim_cur = most.rlim_max < 65536 ? most.rlim_max : 65536;
        setrlimit(RLIMIT_NOFILE, &most);
    }
    ring_init(&calls->live);
    ring_init(&calls->ended);
    calls->stop_ns = INT64_MAX;
    signal(SIGPIPE, SIG_IGN); // a program may end without reading its input
    *out = calls;
    return 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void running_free(struct running *r)
{
    close_fd(&r->in);
    close_fd(&r->out);
    close_fd(&r->err);
    close_fd(&r->file);
    close_fd(&r->pidfd);
    call_release(&r->call);
    call_result_release(&r->result);
    free(r);
}

static void free_all(struct running *head)
{
    while (head->next != head) {
        struct running *r = head->next;
        ring_remove(r);
        if (!r->ended) {
            kill(-r->pid, SIGKILL);
            waitpid(r->pid, NULL, 0);
        }
        running_free(r);
    }
}

void calls_free(struct calls *calls)
{
    if (!calls)
        return;
    free_all(&calls->live);
    free_all(&calls->ended);
    for (int i = 0; i < 3; i++)
        close_fd(&calls->low[i]);
    close(calls->epoll);
    free(calls->stack);
    free(calls);
}

// The pipes: `theirs` are its stdin, stdout and stderr.
static int make_pipes(struct running *r, int theirs[3], struct err *err)
{
    int *ours[] = {&r->in, &r->out, &r->err};
    for (int i = 0; i < 3; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            return err_errno(err, errno, "cannot start '%s'", r->call.argv[0]);
        *ours[i] = ends[i == 0];
        theirs[i] = ends[i != 0];
        fcntl(*ours[i], F_SETFL, O_NONBLOCK);
    }
    return 0;
}

// Signals that this process ignores or catches; a program starts with their defaults.
static const int ours[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP};
enum { OURS = sizeof ours / sizeof *ours };

static int spawn(struct running *r, const int theirs[3])
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t how;
    sigset_t none, usual;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&how);
    sigemptyset(&none);
    sigemptyset(&usual);
    for (int i = 0; i < OURS; i++)
        sigaddset(&usual, ours[i]);
    for (int i = 0; i < 3; i++)
        posix_spawn_file_actions_adddup2(&actions, theirs[i], i);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &usual);
    posix_spawnattr_setflags(&how,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int number = posix_spawnp(&r->pid, r->call.argv[0], &actions, &how, r->call.argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&how);
    return number;
}

// posix_spawn() gives each program a copy of our descriptors, thousands of them, which its exec
// then closes one by one: half of the time that a start takes. So a program starts here with ours,
// and takes its own copy of the lowest ones alone (Linux 5.9). It shares our memory until its exec,
// while we stand still.
struct spawning {
    char *const *argv;
    const int *low;
    sigset_t none;
    struct sigaction by_default;
    int number; // what went wrong
    bool kept;  // our descriptors are not its own
};

static int become(void *arg)
{
    struct spawning *start = arg;
    unsigned above = 0;
    for (int i = 0; i < 3; i++)
        above = above > (unsigned)start->low[i] ? above : (unsigned)start->low[i];
    if (syscall(SYS_close_range, above + 1, ~0u, CLOSE_RANGE_UNSHARE) != 0) {
        start->kept = true;
        _exit(127);
    }
    for (int i = 0; i < OURS; i++)
        sigaction(ours[i], &start->by_default, NULL);
    bool good = setsid() >= 0;
    for (int i = 0; i < 3 && good; i++)
        good = dup2(start->low[i], i) == i;
    if (good && sigprocmask(SIG_SETMASK, &start->none, NULL) == 0)
        execvp(start->argv[0], start->argv);
    start->number = errno;
    _exit(127);
}

// ENOSYS where the kernel cannot; it is not tried again.
static int spawn_light(struct calls *calls, struct running *r, const int theirs[3])
{
    struct spawning start = {
        .argv = r->call.argv, .low = calls->low, .by_default = {.sa_handler = SIG_DFL}};
    sigset_t all, before;
    if (!calls->stack || calls->low[2] < 0)
        return ENOSYS;
    for (int i = 0; i < 3; i++)
        if (dup3(theirs[i], calls->low[i], O_CLOEXEC) < 0)
            return errno;
    sigemptyset(&start.none);
    sigemptyset(&start.by_default.sa_mask);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); // a handler of ours would run there too
    r->pid =
        clone(become, calls->stack + STACK, CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &start);
    int number = r->pid < 0 ? errno : start.kept ? ENOSYS : start.number;
    if (r->pid > 0 && number != 0)
        waitpid(r->pid, NULL, 0);
    sigprocmask(SIG_SETMASK, &before, NULL);
    // Else the other end of a pipe would stay open.
    for (int i = 0; i < 3; i++)
        dup3(calls->epoll, calls->low[i], O_CLOEXEC);
    if (start.kept) {
        free(calls->stack);
        calls->stack = NULL;
    }
    return number;
}

static bool watch(const struct calls *calls, const struct running *r, enum stream which, int fd)
{
    struct epoll_event event = {.events = which == STREAM_IN ? EPOLLOUT : EPOLLIN,
                                .data.u64 = (uint64_t)(uintptr_t)r | which};
    return epoll_ctl(calls->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

// Writes what the pipe takes; closes it at the end, or if nobody reads.
static void feed(struct running *r)
{
    const struct buf *input = &r->call.input;
    ssize_t n = 1;
    while (n > 0 && r->in >= 0) {
        if (r->fed < input->len)
            n = write(r->in, input->data + r->fed, input->len - r->fed);
        else if (r->file >= 0)
            n = splice(r->file, NULL, r->in, NULL, PIECE, SPLICE_F_NONBLOCK);
        else
            n = 0;
        if (n > 0 && r->fed < input->len)
            r->fed += (size_t)n;
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n < 0 && errno == EAGAIN)
            return;
    }
    close_fd(&r->file);
    close_fd(&r->in);
}

// Reads what is there; without `all` it may leave the rest for the next event. One that writes
// without end is ended: others wait for their turn.
static void collect(struct running *r, int *fd, struct buf *into, bool all)
{
    char piece[16 << 10];
    size_t most = r->call.keep_max ? r->call.keep_max : CALL_KEEP_MAX;
    ssize_t n = -1;
    while (*fd >= 0 && r->dropped <= DROPPED_MOST &&
           ((n = read(*fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))) {
        size_t room = most - into->len, got = n > 0 ? (size_t)n : 0;
        r->result.cut |= got > room;
        r->dropped += got > room ? got - room : 0;
        buf_add(into, piece, got < room ? got : room);
        if (!all && n > 0 && got < sizeof piece)
            break;
    }
    if (n == 0)
        close_fd(fd);
    if (r->dropped > DROPPED_MOST) {
        close_fd(fd);
        if (!r->ended)
            kill(-r->pid, SIGKILL);
    }
}

static int call_begin(struct calls *calls, struct running *r, struct err *err)
{
    int theirs[3] = {-1, -1, -1};
    int rc = 0;
    if (r->call.input_file) {
        r->file = open(r->call.input_file, O_RDONLY | O_CLOEXEC);
        if (r->file < 0)
            rc = err_errno(err, errno, "cannot open '%s'", r->call.input_file);
    }
    if (rc == 0)
        rc = make_pipes(r, theirs, err);
    if (rc == 0) {
        int number = spawn_light(calls, r, theirs);
        if (number == ENOSYS)
            number = spawn(r, theirs);
        if (number != 0)
            rc = err_errno(err, number, "cannot start '%s'", r->call.argv[0]);
    }
    for (int i = 0; i < 3; i++)
        close_fd(&theirs[i]);
    if (rc != 0)
        return rc;
    r->started_ns = clock_now_ns();
    r->stop_ns = r->started_ns + (r->call.limit_ns > 0 ? r->call.limit_ns : CALL_LIMIT_NS);
    r->pidfd = (int)syscall(SYS_pidfd_open, r->pid, 0);
    if (r->pidfd < 0 || !watch(calls, r, STREAM_PID, r->pidfd))
        calls->watch = true;
    watch(calls, r, STREAM_OUT, r->out);
    watch(calls, r, STREAM_ERR, r->err);
    feed(r);
    if (r->in >= 0)
        watch(calls, r, STREAM_IN, r->in);
    return 0;
}

int calls_start(struct calls *calls, struct call *call, void *tag, struct err *err)
{
    TRY(call_check(call, err));
    struct running *r = calloc(1, sizeof *r);
    if (!r)
        return err_memory(err);
    *r = (struct running){
        .call = *call, .tag = tag, .pidfd = -1, .in = -1, .out = -1, .err = -1, .file = -1};
    *call = (struct call){0};
    int rc = call_begin(calls, r, err);
    if (rc != 0) {
        running_free(r);
        return rc;
    }
    ring_add(&calls->live, r);
    calls->running++;
    if (r->stop_ns < calls->stop_ns)
        calls->stop_ns = r->stop_ns;
    return 0;
}

// Reaps it if it has ended. What it wrote before is in the pipes; descendants that keep them open
// (a shared ssh connection) are not waited for.
static void call_look(struct calls *calls, struct running *r)
{
    int status;
    if (r->ended || waitpid(r->pid, &status, WNOHANG) != r->pid)
        return;
    r->ended = true;
    ring_remove(r);
    ring_add(&calls->ended, r);
    calls->running--;
    collect(r, &r->out, &r->result.out, true);
    collect(r, &r->err, &r->result.err_text, true);
    r->result.exited = WIFEXITED(status);
    r->result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    r->result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    r->result.wall_ns = clock_now_ns() - r->started_ns;
    close_fd(&r->in);
    close_fd(&r->out);
    close_fd(&r->err);
    close_fd(&r->pidfd);
}

static void call_serve(struct calls *calls, uint64_t data)
{
    struct running *r = (struct running *)(uintptr_t)(data & ~(uint64_t)STREAM_MASK);
    if (r->ended) // by an event before this one
        return;
    switch ((enum stream)(data & STREAM_MASK)) {
    case STREAM_IN:
        feed(r);
        break;
    case STREAM_OUT:
        collect(r, &r->out, &r->result.out, false);
        break;
    case STREAM_ERR:
        collect(r, &r->err, &r->result.err_text, false);
        break;
    case STREAM_PID:
        call_look(calls, r);
        break;
    }
}

// Kills what is over its limit; finds the time of the next one.
static void enforce(struct calls *calls, int64_t now)
{
    if (now < calls->stop_ns && !calls->watch)
        return;
    int64_t stop_ns = INT64_MAX;
    for (struct running *r = calls->live.next, *next; r != &calls->live; r = next) {
        next = r->next;
        if (calls->watch)
            call_look(calls, r);
        if (r->ended)
            continue;
        if (now >= r->stop_ns) {
            r->result.timed_out = true;
            kill(-r->pid, SIGKILL);
            r->stop_ns = now + NS_PER_S;
        }
        if (r->stop_ns < stop_ns)
            stop_ns = r->stop_ns;
    }
    calls->stop_ns = stop_ns;
}

static int call_take(struct calls *calls, struct call_result *result, void **tag)
{
    struct running *r = calls->ended.next;
    if (r == &calls->ended)
        return 0;
    *result = r->result;
    *tag = r->tag;
    r->result = (struct call_result){0};
    ring_remove(r);
    running_free(r);
    return 1;
}

int calls_wait(struct calls *calls, int64_t wait_ns, struct call_result *result, void **tag,
               struct err *err)
{
    if (call_take(calls, result, tag))
        return 1;
    int64_t now = clock_now_ns(), until = now + wait_ns;
    for (;;) {
        struct epoll_event events[EVENTS];
        enforce(calls, now);
        if (call_take(calls, result, tag))
            return 1;
        int64_t stop = calls->stop_ns < until ? calls->stop_ns : until;
        if (calls->watch && calls->running > 0 && stop > now + LOOK_NS)
            stop = now + LOOK_NS;
        int64_t ms = stop > now ? (stop - now + NS_PER_MS - 1) / NS_PER_MS : 0;
        int n = epoll_wait(calls->epoll, events, EVENTS, ms < 1 << 30 ? (int)ms : 1 << 30);
        int number = errno;
        for (int i = 0; i < n; i++)
            call_serve(calls, events[i].data.u64);
        if (call_take(calls, result, tag))
            return 1;
        if (n < 0)
            return number == EINTR ? 0 : err_errno(err, number, "cannot wait for programs");
        now = clock_now_ns();
        if (now >= until)
            return 0;
    }
}

int call_run(struct call *call, struct call_result *result, struct err *err)
{
    struct calls *calls = NULL;
    void *tag;
    int rc = calls_new(&calls, err);
    if (rc == 0)
        rc = calls_start(calls, call, NULL, err);
    while (rc == 0 && (rc = calls_wait(calls, NS_PER_S, result, &tag, err)) == 0)
        ;
    calls_free(calls);
    return rc > 0 ? 0 : rc;
}
