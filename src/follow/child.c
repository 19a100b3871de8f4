// SPDX-License-Identifier: Apache-2.0
#include "follow/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"

static const int taken[] = {SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
                            SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};
enum { TAKEN = sizeof taken / sizeof *taken, WITHOUT_STOPS = TAKEN - 2 };

static int ends[2] = {-1, -1};
static struct sigaction before[TAKEN];
static bool installed[TAKEN], held[TAKEN];
static volatile sig_atomic_t came; // while held

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    unsigned char two[2] = {(unsigned char)number, info && info->si_code == SI_KERNEL};
    ssize_t ignored = write(ends[1], two, sizeof two); // a full pipe holds enough signals
    (void)ignored;
    errno = saved;
}

int signals_begin(bool stops, sigset_t *mask, struct err *err)
{
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return err_errno(err, errno, "cannot make a pipe");
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, mask);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&action.sa_mask);
    for (int i = 0; i < (stops ? TAKEN : WITHOUT_STOPS); i++) {
        installed[i] = sigaction(taken[i], NULL, &before[i]) == 0 &&
                       before[i].sa_handler != SIG_IGN && sigaction(taken[i], &action, NULL) == 0;
    }
    return 0;
}

void signals_unblock(const sigset_t *mask)
{
    pthread_sigmask(SIG_SETMASK, mask, NULL);
}

static void on_held(int number)
{
    came = number;
}

void signals_end(bool hold)
{
    // A handler: what is ignored would be ignored by programs that start later, too.
    struct sigaction action = {.sa_handler = on_held, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    came = 0;
    for (int i = 0; i < TAKEN; i++) {
        int number = taken[i];
        held[i] = hold && installed[i] &&
                  (number == SIGTERM || number == SIGHUP || number == SIGUSR1 || number == SIGUSR2);
        if (installed[i])
            sigaction(number, held[i] ? &action : &before[i], NULL);
        installed[i] = false;
    }
    for (int i = 0; i < 2; i++) {
        if (ends[i] >= 0)
            close(ends[i]);
        ends[i] = -1;
    }
}

void signals_release(void)
{
    for (int i = 0; i < TAKEN; i++) {
        if (held[i])
            sigaction(taken[i], &before[i], NULL);
        held[i] = false;
    }
    if (came)
        raise(came);
    came = 0;
}

int signals_fd(void)
{
    return ends[0];
}

bool signals_next(struct signals_one *one)
{
    unsigned char two[2];
    ssize_t got;
    while ((got = read(ends[0], two, sizeof two)) < 0 && errno == EINTR)
        ;
    if (got != (ssize_t)sizeof two)
        return false;
    *one = (struct signals_one){two[0], two[1]};
    return true;
}

// ---- The process

// A message from the keeper. In the other direction go the numbers of streams to close.
struct message {
    enum { STARTED, NOT_STARTED, ENDED } kind;
    pid_t pid;
    int number; // errno, or the wait status
    long max_rss_kib;
};

static void tell(int fd, const struct message *message)
{
    while (write(fd, message, sizeof *message) < 0 && errno == EINTR)
        ;
}

// ---- in the children: only async-signal-safe calls

static void close_from(unsigned first)
{
    if (syscall(SYS_close_range, first, ~0U, 0) == 0)
        return;
    long most = sysconf(_SC_OPEN_MAX);
    for (long fd = first; fd < (most > 0 && most < 65536 ? most : 65536); fd++)
        close((int)fd);
}

_Noreturn static void become_command(const struct child_options *o, int fault)
{
    if (o->own_group)
        setpgid(0, 0);
    static const int reset[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};
    // Reset our handlers; signals that were ignored when we started (nohup) stay ignored.
    for (size_t i = 0; i < sizeof reset / sizeof *reset; i++) {
        struct sigaction now;
        if (sigaction(reset[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            signal(reset[i], SIG_DFL);
    }
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    bool good = true;
    if (o->extra >= 0) {
        if (fault == o->extra_as) // frees the requested number
            fault = fcntl(fault, F_DUPFD_CLOEXEC, o->extra_as + 1);
        good = o->extra == o->extra_as ? fcntl(o->extra, F_SETFD, 0) == 0
                                       : dup2(o->extra, o->extra_as) >= 0;
    }
    if (o->ends_with_us)
        prctl(PR_SET_PDEATHSIG, SIGKILL); // with the keeper
    good = good && dup2(o->out, 1) >= 0 && dup2(o->err, 2) >= 0;
    sigprocmask(SIG_SETMASK, o->mask, NULL);
    if (good)
        execvpe(o->argv[0], o->argv, o->env);
    int number = errno;
    ssize_t ignored = write(fault, &number, sizeof number);
    (void)ignored;
    _exit(127);
}

// Descriptors of the keeper.
enum { KEEPER_STATUS = 3, KEEPER_STREAMS = 4, KEEPER_HOLD = 8, KEEPER_END = 9 };

// Closes all descriptors but these.
static void close_descriptors(const struct child_options *o, int status)
{
    const int given[] = {
        status, o->streams[0].from, o->streams[0].to, o->streams[1].from, o->streams[1].to, o->hold,
    };
    int high[sizeof given / sizeof *given];
    size_t count = sizeof given / sizeof *given;
    for (size_t i = 0; i < count; i++)
        high[i] = given[i] >= 0 ? fcntl(given[i], F_DUPFD, KEEPER_END) : -1;
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        dup2(null, fd);
    for (size_t i = 0; i < count; i++)
        if (high[i] < 0 || dup2(high[i], KEEPER_STATUS + (int)i) < 0)
            close(KEEPER_STATUS + (int)i);
    close_from(KEEPER_END);
}

// Copies available data; false at the end of the stream. Data that cannot be written is dropped:
// the command must not wait for a reader that is gone.
static bool hand_on(int from, int to)
{
    static char bytes[65536];
    ssize_t got;
    while ((got = read(from, bytes, sizeof bytes)) > 0)
        for (ssize_t at = 0, put; at < got; at += put) {
            put = write(to, bytes + at, (size_t)(got - at));
            if (put < 0 && errno == EAGAIN)
                poll(&(struct pollfd){to, POLLOUT, 0}, 1, -1);
            if (put < 0 && errno != EAGAIN && errno != EINTR)
                put = got - at;
            else if (put < 0)
                put = 0;
        }
    return got < 0 && (errno == EAGAIN || errno == EINTR);
}

static void nothing(int number)
{
    (void)number;
}

// Kills every process of the tree: orphans become our children, one generation after the other.
_Noreturn static void kill_all(void)
{
    static char list[65536];
    for (int round = 0; round < 2000; round++) {
        int fd = open("/proc/thread-self/children", O_RDONLY);
        ssize_t got = fd >= 0 ? read(fd, list, sizeof list - 1) : -1;
        if (fd >= 0)
            close(fd);
        list[got > 0 ? got : 0] = '\0';
        for (char *at = list; *at;) {
            pid_t pid = 0;
            for (; *at >= '0' && *at <= '9'; at++)
                pid = pid * 10 + (*at - '0');
            if (pid > 0)
                kill(pid, SIGKILL);
            at += *at != '\0';
        }
        pid_t ended;
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (ended < 0 && errno == ECHILD)
            break;
        poll(NULL, 0, 5);
    }
    _exit(0);
}

// Does as fare says; if fare was killed, relays the streams from now on, or kills the tree.
static void obey(struct pollfd fds[3], bool ends_with_us)
{
    unsigned char stream;
    ssize_t got = read(KEEPER_STATUS, &stream, sizeof stream);
    if (got > 0 && stream < 2)
        close(KEEPER_STREAMS + 2 * stream);
    if (got > 0 || (got < 0 && errno == EINTR))
        return;
    if (ends_with_us)
        kill_all();
    fds[0].fd = -1;
    fds[1].fd = KEEPER_STREAMS;
    fds[2].fd = KEEPER_STREAMS + 2;
}

// Reaps until no child is left. The other end of the status socket closes if fare is killed.
_Noreturn static void reap(pid_t command, bool ends_with_us)
{
    struct pollfd fds[] = {{KEEPER_STATUS, POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}};
    sigset_t others;
    sigfillset(&others);
    sigdelset(&others, SIGCHLD);
    for (;;) {
        int code;
        struct rusage usage;
        pid_t ended;
        while ((ended = wait4(-1, &code, WNOHANG, &usage)) > 0)
            if (ended == command)
                tell(KEEPER_STATUS, &(struct message){ENDED, ended, code, usage.ru_maxrss});
        bool last = ended < 0 && errno == ECHILD;
        if (!last && ppoll(fds, 3, NULL, &others) > 0 && fds[0].revents != 0)
            obey(fds, ends_with_us);
        for (int i = 1; i < 3; i++)
            if (fds[i].fd >= 0 && !hand_on(fds[i].fd, fds[i].fd + 1))
                fds[i].fd = -1;
        if (last)
            _exit(0);
    }
}

_Noreturn static void keep(const struct child_options *o, int status, int fault)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t command = fork();
    if (command == 0)
        become_command(o, fault);
    const struct message first = {command > 0 ? STARTED : NOT_STARTED, command, errno, 0};
    static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                                  SIGUSR2, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    signal(SIGCHLD, nothing);
    close_descriptors(o, status);
    tell(KEEPER_STATUS, &first);
    reap(command, o->ends_with_us);
}

// ---- in fare's process

static int start(struct child *child, const struct child_options *o, const int status[2],
                 const int fault[2], struct err *err)
{
    child->keeper = fork();
    if (child->keeper < 0) {
        child->keeper = 0;
        return err_errno(err, errno, "cannot start a process");
    }
    if (child->keeper == 0)
        keep(o, status[1], fault[1]);
    return 0;
}

int child_start(struct child *child, const struct child_options *o, struct err *err)
{
    *child = (struct child){.status = -1, .own_group = o->own_group};
    int status[2] = {-1, -1}, fault[2] = {-1, -1};
    int rc = 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, status) != 0 ||
        pipe2(fault, O_CLOEXEC) != 0)
        rc = err_errno(err, errno, "cannot make a pipe");
    if (rc == 0)
        rc = start(child, o, status, fault, err);
    if (status[1] >= 0)
        close(status[1]);
    if (fault[1] >= 0)
        close(fault[1]);
    child->status = status[0];
    struct message message = {0};
    int number = 0;
    // The first message comes at once; exec closes the other pipe.
    if (rc == 0) {
        ssize_t got;
        while ((got = read(child->status, &message, sizeof message)) < 0 && errno == EINTR)
            ;
        if (got != (ssize_t)sizeof message || message.kind != STARTED)
            rc = err_errno(err, got > 0 ? message.number : EAGAIN, "cannot start a process");
        child->pid = message.pid;
    }
    if (rc == 0) {
        ssize_t got;
        while ((got = read(fault[0], &number, sizeof number)) < 0 && errno == EINTR)
            ;
        if (got > 0)
            rc = err_errno(err, number, "cannot start '%s'", o->argv[0]);
        fcntl(child->status, F_SETFL, O_NONBLOCK);
    }
    if (fault[0] >= 0)
        close(fault[0]);
    if (rc != 0) {
        if (child->keeper > 0)
            while (waitpid(child->keeper, NULL, 0) < 0 && errno == EINTR)
                ;
        child->keeper = 0;
        child_release(child);
    }
    return rc;
}

void child_read(struct child *child)
{
    struct message message;
    while (child->status >= 0) {
        ssize_t got = read(child->status, &message, sizeof message);
        if (got < 0 && (errno == EINTR || errno == ECONNRESET)) // it ended before child_cut() came
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got == (ssize_t)sizeof message && message.kind == ENDED) {
            child->ended = true;
            child->wait_status = message.number;
            child->max_rss_kib = message.max_rss_kib;
        }
        if (got <= 0) {
            close(child->status);
            child->status = -1;
        }
    }
}

void child_cut(struct child *child, int stream)
{
    unsigned char number = (unsigned char)stream;
    if (child->cut[stream] || child->status < 0)
        return;
    child->cut[stream] = true;
    (void)!send(child->status, &number, sizeof number, MSG_NOSIGNAL);
}

// ---- the tree

struct processes {
    struct child_process *items;
    size_t count, cap;
};

// Reads /proc/PID/`what`; false: it is not there.
static bool read_proc(pid_t pid, const char *what, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, size - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return true;
}

// "PID (name, may contain anything) STATE PARENT GROUP ..." and, 11 and 12 after the state, its CPU
// time (proc_pid_stat(5)).
static bool read_process(const char *name, struct child_process *p)
{
    char text[512];
    pid_t pid = (pid_t)strtol(name, NULL, 10);
    if (!read_proc(pid, "stat", text, sizeof text))
        return false;
    const char *after = strrchr(text, ')');
    char state;
    int parent, group;
    long long user, system;
    if (!after ||
        sscanf(after + 1, " %c %d %d %*s %*s %*s %*s %*s %*s %*s %*s %lld %lld", &state, &parent,
               &group, &user, &system) != 5 ||
        state == 'Z')
        return false;
    *p = (struct child_process){pid, parent, group, user + system, false};
    return true;
}

static int list_processes(struct processes *list)
{
    DIR *dir = opendir("/proc");
    if (!dir)
        return ERR_IO;
    const struct dirent *entry;
    int rc = 0;
    while (rc == 0 && (entry = readdir(dir))) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        rc = array_grow(&list->items, list->count, &list->cap, sizeof *list->items, NULL);
        if (rc == 0)
            list->count += read_process(entry->d_name, &list->items[list->count]);
    }
    closedir(dir);
    return rc;
}

static bool is_ours(const struct processes *list, pid_t pid, pid_t root)
{
    if (pid == root)
        return true;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].pid == pid)
            return list->items[i].ours;
    return false;
}

// Marks the keeper's descendants.
static void mark_tree(struct processes *list, pid_t keeper)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < list->count; i++) {
            struct child_process *p = &list->items[i];
            if (!p->ours && p->pid != keeper && is_ours(list, p->parent, keeper))
                p->ours = again = true;
        }
    }
}

static bool deliver(pid_t pid, int number)
{
    bool sent = kill(pid, number) == 0;
    if (sent && child_ends(number))
        kill(pid, SIGCONT);
    return sent;
}

bool child_ends(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

int child_list(const struct child *child, struct child_process **out)
{
    struct processes list = {0};
    int count = 0;
    *out = NULL;
    int rc = child->keeper > 0 ? list_processes(&list) : ERR_IO;
    if (rc != 0) {
        free(list.items);
        return rc;
    }
    mark_tree(&list, child->keeper);
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].ours)
            list.items[count++] = list.items[i];
    *out = list.items;
    return count;
}

// "SigIgn:" of proc_pid_status(5).
static bool ignores(pid_t pid, int number)
{
    char text[4096];
    const char *at = read_proc(pid, "status", text, sizeof text) ? strstr(text, "\nSigIgn:") : NULL;
    return at && strtoull(at + strlen("\nSigIgn:"), NULL, 16) >> (number - 1) & 1;
}

bool child_ignores(const struct child *child, int number)
{
    struct child_process *list;
    pid_t group = child->own_group ? child->pid : getpgrp();
    int count = child_list(child, &list), asked = 0, deaf = 0;
    for (int i = 0; i < count; i++) {
        bool reached = list[i].group == group;
        asked += reached;
        deaf += reached && ignores(list[i].pid, number);
    }
    free(list);
    return asked > 0 && deaf == asked;
}

// Signals the processes of the tree in `group`; 0: all of them.
static int signal_tree(const struct child *child, pid_t group, int number)
{
    struct child_process *list;
    int count = child_list(child, &list), signalled = 0;
    for (int i = 0; i < count; i++)
        if (group == 0 || list[i].group == group)
            signalled += deliver(list[i].pid, number);
    free(list);
    return count < 0 ? count : signalled;
}

void child_signal(const struct child *child, int number)
{
    if (child->keeper <= 0 || child->status < 0)
        return;
    kill(child->keeper, SIGCONT); // it reports the end
    if (child->own_group)
        deliver(-child->pid, number);
    else if (signal_tree(child, getpgrp(), number) < 0 && !child->ended)
        deliver(child->pid, number);
}

int child_signal_all(const struct child *child, int number)
{
    if (child->keeper <= 0 || child->status < 0)
        return 0;
    int count = signal_tree(child, 0, number);
    if (count < 0) // no /proc: signal the group
        child_signal(child, number);
    return count;
}

void child_release(struct child *child)
{
    if (child->keeper > 0)
        while (waitpid(child->keeper, NULL, child->status < 0 ? 0 : WNOHANG) < 0 && errno == EINTR)
            ;
    child->keeper = 0;
    if (child->status >= 0)
        close(child->status);
    child->status = -1;
}
