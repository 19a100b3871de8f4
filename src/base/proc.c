// SPDX-License-Identifier: Apache-2.0
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

// Both ends of two pipes; index 0 is for reading, 1 for writing.
struct pipes {
    int out[2], err[2];
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void pipes_close(struct pipes *p)
{
    for (int i = 0; i < 2; i++) {
        close_fd(&p->out[i]);
        close_fd(&p->err[i]);
    }
}

static bool child_prepare(const struct pipes *p)
{
    setpgid(0, 0);
    int in = open("/dev/null", O_RDONLY);
    if (in < 0 || dup2(in, 0) < 0 || dup2(p->out[1], 1) < 0 || dup2(p->err[1], 2) < 0)
        return false;
    static const int reset[] = {SIGPIPE, SIGINT, SIGTERM, SIGCHLD, SIGILL,
                                SIGSEGV, SIGBUS, SIGFPE,  SIGABRT};
    for (size_t i = 0; i < sizeof reset / sizeof *reset; i++)
        signal(reset[i], SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    return true;
}

_Noreturn static void child_call(const struct pipes *p, int (*call)(void *), void *context,
                                 pid_t parent)
{
    if (!child_prepare(p))
        _exit(127);
    // The child ends with its parent, which may have ended while the child was made.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    int rc = call(context);
    fflush(stdout);
    _exit(rc);
}

static void parent_prepare(struct proc *proc, struct pipes *p)
{
    setpgid(proc->pid, proc->pid); // as the child does: neither need wait for the other
    proc->out = p->out[0];
    proc->err = p->err[0];
    p->out[0] = p->err[0] = -1;
    pipes_close(p);
    fcntl(proc->out, F_SETFL, O_NONBLOCK);
    fcntl(proc->err, F_SETFL, O_NONBLOCK);
    proc->pidfd = (int)syscall(SYS_pidfd_open, proc->pid, 0);
    if (proc->options.timeout_ms > 0)
        proc->stop_ns = proc->started_ns + proc->options.timeout_ms * NS_PER_MS;
}

int proc_start_call(struct proc *proc, int (*call)(void *context), void *context,
                    const struct proc_options *options, struct err *err)
{
    static const struct proc_options defaults;
    memset(proc, 0, sizeof *proc);
    proc->out = proc->err = proc->pidfd = -1;
    proc->options = options ? *options : defaults;

    struct pipes pipes;
    memset(&pipes, -1, sizeof pipes);
    if (pipe2(pipes.out, O_CLOEXEC) != 0 || pipe2(pipes.err, O_CLOEXEC) != 0) {
        int rc = err_errno(err, errno, "cannot make a pipe");
        pipes_close(&pipes);
        return rc;
    }
    fflush(stdout); // or the child would write what is buffered a second time
    pid_t parent = getpid();
    proc->started_ns = clock_now_ns();
    proc->pid = fork();
    if (proc->pid < 0) {
        int rc = err_errno(err, errno, "cannot start a process");
        proc->pid = 0;
        pipes_close(&pipes);
        return rc;
    }
    if (proc->pid == 0)
        child_call(&pipes, call, context, parent);
    parent_prepare(proc, &pipes);
    return 0;
}

// Reads all that is available; closes the descriptor at the end of the stream. Beyond the cap,
// bytes are read and dropped, so that the child never blocks on a full pipe.
static void drain(int *fd, struct buf *out, size_t keep_max)
{
    char chunk[16384];
    while (*fd >= 0) {
        ssize_t got = read(*fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            close_fd(fd);
            return;
        }
        size_t left = out->len < keep_max ? keep_max - out->len : 0;
        buf_add(out, chunk, (size_t)got < left ? (size_t)got : left);
    }
}

static void enforce_limit(struct proc *proc, int64_t now)
{
    if (proc->stop_ns == 0 || now < proc->stop_ns)
        return;
    proc->timed_out = true;
    kill(-proc->pid, SIGKILL);
    proc->stop_ns = 0;
}

// How long poll() may sleep. Without a pidfd, a child that left its pipes to others is noticed
// only by asking, so ask every 10 ms.
static int sleep_ms(const struct proc *proc, int64_t now)
{
    int64_t ms = proc->pidfd >= 0 ? 60000 : 10;
    if (proc->stop_ns > 0) {
        int64_t left = (proc->stop_ns - now + NS_PER_MS - 1) / NS_PER_MS;
        if (left < ms)
            ms = left > 0 ? left : 0;
    }
    return (int)ms;
}

static void close_all(struct proc *proc)
{
    close_fd(&proc->out);
    close_fd(&proc->err);
    close_fd(&proc->pidfd);
    proc->pid = 0;
}

int proc_finish(struct proc *proc, struct proc_result *result, struct err *err)
{
    memset(result, 0, sizeof *result);
    size_t keep = proc->options.keep_max ? proc->options.keep_max : PROC_KEEP_MAX;
    result->out.max = result->err_text.max = keep;
    result->timeout_ms = proc->options.timeout_ms;

    int status = 0;
    for (;;) {
        pid_t ended = waitpid(proc->pid, &status, WNOHANG);
        if (ended < 0 && errno != EINTR) {
            int rc = err_errno(err, errno, "cannot wait for process %d", (int)proc->pid);
            close_all(proc);
            return rc;
        }
        // Also after its end: its last words are still in the pipes.
        drain(&proc->out, &result->out, keep);
        drain(&proc->err, &result->err_text, keep);
        if (ended == proc->pid)
            break;
        int64_t now = clock_now_ns();
        enforce_limit(proc, now);
        struct pollfd fds[3] = {
            {proc->out, POLLIN, 0}, {proc->err, POLLIN, 0}, {proc->pidfd, POLLIN, 0}};
        poll(fds, 3, sleep_ms(proc, now)); // which ignores negative descriptors
    }
    result->wall_ns = clock_now_ns() - proc->started_ns;
    result->timed_out = proc->timed_out;
    if (proc->timed_out)
        kill(-proc->pid, SIGKILL); // its own children, if it left any
    result->exited = WIFEXITED(status);
    if (result->exited)
        result->exit_code = WEXITSTATUS(status);
    else
        result->signal = WTERMSIG(status);
    close_all(proc);
    if (buf_check(&result->out, err) != 0 || buf_check(&result->err_text, err) != 0)
        return ERR_MEMORY;
    return 0;
}

void proc_kill(struct proc *proc)
{
    if (proc->pid > 0) {
        kill(-proc->pid, SIGKILL);
        kill(proc->pid, SIGKILL);
        while (waitpid(proc->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        close_all(proc);
    }
}

void proc_result_release(struct proc_result *result)
{
    buf_release(&result->out);
    buf_release(&result->err_text);
}

void proc_result_words(const struct proc_result *result, struct buf *out)
{
    if (result->timed_out)
        buf_printf(out, "not finished within %lld ms", (long long)result->timeout_ms);
    else if (result->exited)
        buf_printf(out, "exit code %d", result->exit_code);
    else if (sigabbrev_np(result->signal))
        buf_printf(out, "signal SIG%s", sigabbrev_np(result->signal));
    else
        buf_printf(out, "signal %d", result->signal);
}

const char *env_value(char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (; env && *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

bool proc_in_path(const char *name)
{
    const char *path = getenv("PATH");
    bool found = false;
    while (path && *path && !found && !strchr(name, '/')) {
        SCOPED(buf_release) struct buf file = {0};
        size_t len = strcspn(path, ":");
        buf_add(&file, path, len);
        buf_printf(&file, "/%s", name);
        found = !file.failed && access(buf_str(&file), X_OK) == 0;
        path += len + (path[len] == ':');
    }
    return found;
}

// ==== resident ====
// Loading libcurl touches some 7 MiB of two TLS libraries, most of it once.

#define LARGE (1 << 20) // bytes

void resident_keep_little(void)
{
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, LARGE);
    mallopt(M_ARENA_MAX, 1);
}

// A range of /proc/self/smaps: its first line, then "Name: value" lines.
struct range {
    uintptr_t from, until;
    bool file; // mapped from a file, and not writable
};

static bool read_range(const char *line, struct range *range)
{
    char rights[5];
    uint64_t inode;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %" SCNu64, &range->from, &range->until,
               rights, &inode) != 4)
        return false;
    range->file = inode != 0 && rights[1] != 'w' && rights[3] == 'p';
    return true;
}

void resident_trim(void)
{
    char line[1024];
    struct range range = {0};
    malloc_trim(0);
    FILE *smaps = fopen("/proc/self/smaps", "re");
    while (smaps && fgets(line, sizeof line, smaps)) {
        uint64_t kib;
        // A page that the loader has changed counts as anonymous: dropping it would undo the
        // change.
        if (sscanf(line, "Anonymous: %" SCNu64, &kib) == 1) {
            if (range.file && kib == 0)
                (void)!madvise((void *)range.from, range.until - range.from, MADV_DONTNEED);
            range.file = false;
        } else if (!read_range(line, &range)) {
            continue;
        }
    }
    if (smaps)
        fclose(smaps);
}

void resident_trim_above(size_t bytes)
{
    size_t pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    bool known = statm && fscanf(statm, "%*u %zu", &pages) == 1;
    if (statm)
        fclose(statm);
    if (!known || pages > bytes / (size_t)sysconf(_SC_PAGESIZE))
        resident_trim();
}
