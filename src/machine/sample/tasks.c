// SPDX-License-Identifier: Apache-2.0
#include "machine/sample/tasks.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "machine/sample/source.h"

#define FOREIGN_MAX 32768 // remembered processes that are not the run's
#define NEW_MAX     1024  // new processes per scan; the rest waits for the next one

enum { CPU, READ, WRITE, WAIT, COUNTERS }; // ticks, bytes, bytes, ticks

struct run_task {
    pid_t pid, parent;
    struct proc_file stat, io;
    int64_t start_ticks;
    int64_t used[COUNTERS];     // by it and the children it waited for
    int64_t waited[COUNTERS];   // the part of `used` that may come from those children
    int64_t grown[COUNTERS];    // growth of `waited` since the last reading
    int64_t vanished[COUNTERS]; // used by descendants that ended since the last reading
    int64_t resident_pages;
    int64_t readings;
    bool io_known;
    bool worker;
    bool gone;
};

struct newcomer {
    pid_t pid, parent;
    bool ours;
};

struct tasks {
    struct tree tree;
    pid_t pid;
    bool top_gone;   // the run's own process has ended
    bool have_lists; // the kernel has task/*/children
    int proc_fd;     // /proc, for names; -1: none
    int count;
    int64_t last_pid; // the newest pid at the last scan; -1: unknown
    int64_t tick_hz, page_bytes;
    int64_t lost[COUNTERS]; // used by processes that nobody waited for
    int64_t sum[COUNTERS];
    int64_t workers_ticks;
    bool io_known, wait_known;
    struct proc_file loadavg, status;
    bool our_child;         // its final figures are in our rusage once it was waited for
    struct rusage children; // our children's, at the start
    struct tasks_use use;
    int foreign_count, scanned_count;
    pid_t foreign[FOREIGN_MAX], scanned[FOREIGN_MAX];
    struct newcomer new[NEW_MAX];
    char names[32768]; // of directory entries
    struct run_task all[TASKS_MAX];
};

struct task_stat { // of /proc/PID/stat (proc_pid_stat(5)); times in clock ticks
    pid_t parent;
    int64_t own_ticks, children_ticks; // user and system; children: those waited for
    int64_t start_ticks;               // start time; with the pid, its identity
    int64_t resident_pages;
    int64_t wait_ticks; // of the main thread for block devices; 0 if unknown
};

static bool stat_parse(const char *text, struct task_stat *out)
{
    // The name is in brackets and may itself contain brackets.
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || !isalpha((unsigned char)at[2]))
        return false;
    at += 3;
    int fields = 0;
    enum { PPID = 0, UTIME = 10, STIME, CUTIME, CSTIME, START = 18, RSS = 20, DELAY = 38 };
    int64_t v[DELAY + 1] = {0}; // fields 4 and up; old kernels end before DELAY
    for (int i = 0; i <= DELAY && text_number(&at, &v[i]); i++)
        fields = i + 1;
    if (fields <= RSS)
        return false;
    for (int i = UTIME; i <= CSTIME; i++)
        if (v[i] < 0 || v[i] > COUNT_MAX)
            return false;
    if (v[PPID] < 0 || v[PPID] > INT_MAX || v[RSS] > COUNT_MAX / 4096)
        return false;
    *out = (struct task_stat){
        .parent = (pid_t)v[PPID],
        .own_ticks = v[UTIME] + v[STIME],
        .children_ticks = v[CUTIME] + v[CSTIME],
        .start_ticks = v[START],
        .resident_pages = v[RSS] > 0 ? v[RSS] : 0,
        .wait_ticks = v[DELAY] > 0 && v[DELAY] <= COUNT_MAX ? v[DELAY] : 0,
    };
    return true;
}

static bool stat_of(const struct tree *tree, pid_t pid, struct task_stat *out)
{
    struct proc_file file = {0};
    char text[1024];
    bool ok = proc_file_open(&file, tree, "/proc/%d/stat", (int)pid) &&
              proc_file_read(&file, text, sizeof text) > 0 && stat_parse(text, out);
    proc_file_close(&file);
    return ok;
}

bool task_is_below(const struct tree *tree, pid_t pid, pid_t top, bool *visible)
{
    struct task_stat stat;
    *visible = false;
    for (int depth = 0; depth < 1000 && pid > 0; depth++) { // a recorded tree may have a cycle
        bool there = stat_of(tree, pid, &stat);
        *visible |= there;
        if (pid == top)
            return there;
        if (!there)
            return false;
        pid = stat.parent;
    }
    return false;
}

static struct run_task *tasks_find(struct tasks *t, pid_t pid)
{
    for (int i = 0; i < t->count; i++)
        if (t->all[i].pid == pid)
            return &t->all[i];
    return NULL;
}

static bool read_stat(struct tasks *t, struct run_task *task, struct task_stat *out)
{
    char text[1024];
    if (task->stat.open)
        return proc_file_read(&task->stat, text, sizeof text) > 0 && stat_parse(text, out);
    return stat_of(&t->tree, task->pid, out) &&
           (task->start_ticks < 0 || out->start_ticks == task->start_ticks);
}

static bool read_io(struct tasks *t, struct run_task *task, int64_t *in, int64_t *out)
{
    char text[512];
    struct proc_file file = task->io;
    if (!task->io.open &&
        (!t->io_known || !proc_file_open(&file, &t->tree, "/proc/%d/io", task->pid)))
        return false;
    bool ok = proc_file_read(&file, text, sizeof text) > 0 && text_keyed(text, "read_bytes", in) &&
              text_keyed(text, "write_bytes", out) && *in >= 0 && *out >= 0 && *in <= COUNT_MAX &&
              *out <= COUNT_MAX;
    if (!task->io.open)
        proc_file_close(&file);
    return ok;
}

static void task_read(struct tasks *t, struct run_task *task)
{
    struct task_stat stat;
    errno = 0;
    bool there = read_stat(t, task, &stat);
    task->gone = !there && errno != EMFILE && errno != ENFILE; // out of descriptors: unchanged
    memset(task->grown, 0, sizeof task->grown);
    memset(task->vanished, 0, sizeof task->vanished);
    if (!there)
        return;
    task->parent = stat.parent;
    task->start_ticks = stat.start_ticks;
    task->resident_pages = stat.resident_pages;
    int64_t used[COUNTERS] = {
        [CPU] = stat.own_ticks + stat.children_ticks, [WAIT] = stat.wait_ticks};
    int64_t waited[COUNTERS] = {[CPU] = stat.children_ticks};
    task->io_known = read_io(t, task, &used[READ], &used[WRITE]);
    for (int c = READ; c <= WRITE; c++) // the file does not separate them
        waited[c] = task->io_known ? used[c] : task->waited[c];
    for (int c = 0; c < COUNTERS; c++) {
        if ((c == READ || c == WRITE) && !task->io_known)
            used[c] = task->used[c];
        if (c == CPU && task->worker && used[c] > task->used[c])
            t->workers_ticks += used[c] - task->used[c];
        task->used[c] = used[c] > task->used[c] ? used[c] : task->used[c];
        task->grown[c] = waited[c] - task->waited[c];
        task->waited[c] = waited[c];
    }
}

static size_t command_line(const struct tasks *t, pid_t pid, char *text, size_t size)
{
    struct proc_file file = {0};
    proc_file_open(&file, &t->tree, "/proc/%d/cmdline", (int)pid);
    size_t len = proc_file_read(&file, text, size);
    proc_file_close(&file);
    return len;
}

// Asked at the second reading: a process has its parent's command line until it starts its own.
static void judge_worker(struct tasks *t, struct run_task *task)
{
    char own[1024], parents[1024];
    if (task->readings++ != 1 || task->pid == t->pid)
        return;
    size_t len = command_line(t, task->pid, own, sizeof own);
    task->worker = len > 0 && (memmem(own, len, "--multiprocessing-fork", 22) ||
                               (command_line(t, task->parent, parents, sizeof parents) == len &&
                                memcmp(own, parents, len) == 0));
    if (task->worker)
        t->workers_ticks += task->used[CPU];
}

static void add_task(struct tasks *t, pid_t pid, pid_t parent)
{
    if (t->count == TASKS_MAX || tasks_find(t, pid))
        return;
    struct run_task *task = &t->all[t->count];
    *task = (struct run_task){.pid = pid, .parent = parent, .start_ticks = -1};
    if (t->count < TASKS_KEPT) {
        proc_file_open(&task->stat, &t->tree, "/proc/%d/stat", (int)pid);
        if (t->io_known)
            proc_file_open(&task->io, &t->tree, "/proc/%d/io", (int)pid);
    }
    task_read(t, task);
    if (task->start_ticks < 0) { // ended between listing and reading
        proc_file_close(&task->stat);
        proc_file_close(&task->io);
        return;
    }
    memset(task->grown, 0, sizeof task->grown);
    t->count++;
}

// Iterates over the numeric names in a folder without allocating.
struct pids {
    int fd;
    char *buffer;
    size_t size, at, end;
};

static bool pids_next(struct pids *p, pid_t *pid)
{
    for (;;) {
        if (p->at >= p->end) {
            ssize_t got = getdents64(p->fd, p->buffer, p->size);
            if (got <= 0)
                return false;
            p->at = 0;
            p->end = (size_t)got;
        }
        const struct dirent64 *entry = (const void *)(p->buffer + p->at);
        p->at += entry->d_reclen;
        const char *name = entry->d_name;
        int64_t number;
        if (isdigit((unsigned char)name[0]) && text_int(name, &number) && number > 0 &&
            number <= INT_MAX) {
            *pid = (pid_t)number;
            return true;
        }
    }
}

static void add_children(struct tasks *t, const struct run_task *parent)
{
    char path[PATH_MAX], text[4096];
    snprintf(path, sizeof path, "%s/proc/%d/task", t->tree.root, (int)parent->pid);
    struct pids threads = {.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                           .buffer = t->names,
                           .size = sizeof t->names};
    pid_t thread, above = parent->pid;
    while (threads.fd >= 0 && pids_next(&threads, &thread)) {
        struct proc_file list = {0};
        int64_t child;
        if (proc_file_open(&list, &t->tree, "/proc/%d/task/%d/children", (int)above, (int)thread) &&
            proc_file_read(&list, text, sizeof text) > 0)
            for (const char *at = text; text_number(&at, &child);)
                if (child > 0 && child <= INT_MAX)
                    add_task(t, (pid_t)child, above);
        proc_file_close(&list);
    }
    if (threads.fd >= 0)
        close(threads.fd);
}

static int by_number(const void *a, const void *b)
{
    const pid_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

// Reads the parent of every process that is new in /proc, and adopts those whose parent is the
// run's, until no more are found. The others are remembered: a process cannot become a descendant
// later.
static void scan(struct tasks *t)
{
    if (t->proc_fd < 0 || lseek(t->proc_fd, 0, SEEK_SET) < 0)
        return;
    struct pids list = {.fd = t->proc_fd, .buffer = t->names, .size = sizeof t->names};
    int new = 0;
    pid_t pid;
    t->scanned_count = 0;
    while (pids_next(&list, &pid)) {
        struct task_stat stat;
        bool known =
            bsearch(&pid, t->foreign, (size_t)t->foreign_count, sizeof pid, by_number) != NULL;
        if (known && t->scanned_count < FOREIGN_MAX)
            t->scanned[t->scanned_count++] = pid;
        if (known || new == NEW_MAX || tasks_find(t, pid) || !stat_of(&t->tree, pid, &stat))
            continue;
        t->new[new ++] = (struct newcomer){.pid = pid, .parent = stat.parent};
    }
    for (bool found = true; found;) {
        found = false;
        for (int i = 0; i < new; i++) {
            if (t->new[i].ours || !tasks_find(t, t->new[i].parent))
                continue;
            t->new[i].ours = found = true;
            add_task(t, t->new[i].pid, t->new[i].parent);
        }
    }
    bool sorted = true;
    for (int i = 0; i < new && t->scanned_count < FOREIGN_MAX; i++)
        if (!t->new[i].ours)
            t->scanned[t->scanned_count++] = t->new[i].pid;
    for (int i = 1; sorted && i < t->scanned_count; i++)
        sorted = t->scanned[i - 1] < t->scanned[i];
    if (!sorted)
        qsort(t->scanned, (size_t)t->scanned_count, sizeof *t->scanned, by_number);
    memcpy(t->foreign, t->scanned, (size_t)t->scanned_count * sizeof *t->scanned);
    t->foreign_count = t->scanned_count;
}

// The last number in /proc/loadavg is the newest pid, threads included.
static void discover(struct tasks *t)
{
    char text[128];
    int64_t last = -1;
    if (proc_file_read(&t->loadavg, text, sizeof text) > 0) {
        const char *at = strrchr(text, ' ');
        if (at && text_number(&at, &last) && last == t->last_pid)
            return;
    }
    t->last_pid = last;
    if (!t->have_lists) {
        scan(t);
        return;
    }
    for (int i = 0; i < t->count; i++) // the count grows meanwhile
        add_children(t, &t->all[i]);
}

// The nearest living ancestor, whose counters take over.
static struct run_task *surviving_ancestor(struct tasks *t, const struct run_task *task)
{
    struct run_task *above = tasks_find(t, task->parent);
    for (int depth = 0; above && above->gone && depth < TASKS_MAX; depth++)
        above = tasks_find(t, above->parent);
    return above && !above->gone ? above : NULL;
}

static void remove_ended(struct tasks *t)
{
    for (int i = 0; i < t->count; i++) {
        const struct run_task *task = &t->all[i];
        struct run_task *above = task->gone ? surviving_ancestor(t, task) : NULL;
        for (int c = 0; task->gone && c < COUNTERS; c++)
            *(above ? &above->vanished[c] : &t->lost[c]) += task->used[c];
    }
    int kept = 0;
    for (int i = 0; i < t->count; i++) {
        struct run_task *task = &t->all[i];
        for (int c = 0; !task->gone && c < COUNTERS; c++)
            if (task->vanished[c] > task->grown[c])
                t->lost[c] += task->vanished[c] - task->grown[c];
        if (task->gone) {
            t->top_gone |= task->pid == t->pid;
            proc_file_close(&task->stat);
            proc_file_close(&task->io);
        } else {
            t->all[kept++] = *task;
        }
    }
    t->count = kept;
}

// If the run's process was our child and is gone, someone has waited for it; our own counters then
// have its use after the last reading.
static void add_waited_child(struct tasks *t)
{
    struct rusage now;
    if (!t->top_gone || !t->our_child || getrusage(RUSAGE_CHILDREN, &now) != 0)
        return;
    const struct rusage *then = &t->children;
    double cpu_s = (double)(now.ru_utime.tv_sec - then->ru_utime.tv_sec + now.ru_stime.tv_sec -
                            then->ru_stime.tv_sec) +
                   1e-6 * (double)(now.ru_utime.tv_usec - then->ru_utime.tv_usec +
                                   now.ru_stime.tv_usec - then->ru_stime.tv_usec);
    int64_t used[COUNTERS] = {(int64_t)(cpu_s * (double)t->tick_hz),
                              (now.ru_inblock - then->ru_inblock) * 512,
                              (now.ru_oublock - then->ru_oublock) * 512};
    for (int c = 0; c < COUNTERS; c++)
        t->sum[c] = used[c] > t->sum[c] ? used[c] : t->sum[c];
    int64_t peak =
        (int64_t)now.ru_maxrss * 1024; // of the largest child ever, and of us at its start
    if (now.ru_maxrss > then->ru_maxrss &&
        (!t->use.memory_peak_bytes.known || peak > t->use.memory_peak_bytes.v))
        t->use.memory_peak_bytes = some_int(peak);
}

static void add_up(struct tasks *t)
{
    int64_t resident = 0, peak = 0;
    for (int c = 0; c < COUNTERS; c++) {
        int64_t sum = t->lost[c];
        for (int i = 0; i < t->count; i++)
            sum += t->all[i].used[c];
        t->sum[c] = sum > t->sum[c] ? sum : t->sum[c];
    }
    for (int i = 0; i < t->count; i++)
        resident += t->all[i].resident_pages * t->page_bytes;
    t->use.memory_bytes = t->count > 0 ? some_int(resident) : (struct maybe_int){0};
    char text[2048];
    bool told = proc_file_read(&t->status, text, sizeof text) > 0 &&
                text_keyed(text, "VmHWM", &peak) && peak > 0 && peak <= COUNT_MAX / 1024;
    peak = told ? peak * 1024 : 0;
    peak = resident > peak ? resident : peak;
    if (peak > 0 && (!t->use.memory_peak_bytes.known || peak > t->use.memory_peak_bytes.v))
        t->use.memory_peak_bytes = some_int(peak);
}

const struct tasks_use *tasks_read(struct tasks *t)
{
    for (int i = 0; i < t->count; i++) {
        task_read(t, &t->all[i]);
        judge_worker(t, &t->all[i]);
    }
    remove_ended(t);
    discover(t);
    add_up(t);
    add_waited_child(t);
    t->use.cpu_s = some_real((double)t->sum[CPU] / (double)t->tick_hz);
    t->use.workers_cpu_s = some_real((double)t->workers_ticks / (double)t->tick_hz);
    if (t->wait_known)
        t->use.disk_wait_s = some_real((double)t->sum[WAIT] / (double)t->tick_hz);
    if (t->io_known) {
        t->use.read_bytes = some_int(t->sum[READ]);
        t->use.write_bytes = some_int(t->sum[WRITE]);
    }
    return &t->use;
}

const struct tasks_use *tasks_use(const struct tasks *t)
{
    return &t->use;
}

int tasks_new(struct tasks **out, const struct tree *tree, pid_t pid, struct err *err)
{
    struct tasks *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t)
        return err_memory(err);
    t->tree = *tree;
    t->pid = pid;
    t->last_pid = -1;
    t->tick_hz = sysconf(_SC_CLK_TCK) > 0 ? sysconf(_SC_CLK_TCK) : 100;
    t->page_bytes = sysconf(_SC_PAGESIZE);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/proc", tree->root);
    t->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof path, "%s/proc/%d/task/%d/children", tree->root, (int)pid, (int)pid);
    t->have_lists = access(path, R_OK) == 0;
    proc_file_open(&t->loadavg, tree, "/proc/loadavg");
    proc_file_open(&t->status, tree, "/proc/%d/status", (int)pid);
    struct proc_file counted = {0};
    int64_t on = 0;
    proc_file_open(&counted, tree, "/proc/sys/kernel/task_delayacct");
    t->wait_known = proc_file_int(&counted, &on) && on == 1;
    proc_file_close(&counted);
    t->io_known = true; // until the run's own process denies access
    add_task(t, pid, 0);
    if (t->count == 0) { // already ended, or no /proc
        tasks_free(t);
        return ERR_MISSING;
    }
    t->io_known = t->all[0].io_known;
    t->our_child = tree->root[0] == '\0' && t->all[0].parent == getpid();
    getrusage(RUSAGE_CHILDREN, &t->children);
    *out = t;
    return 0;
}

void tasks_free(struct tasks *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->count; i++) {
        proc_file_close(&t->all[i].stat);
        proc_file_close(&t->all[i].io);
    }
    proc_file_close(&t->loadavg);
    proc_file_close(&t->status);
    if (t->proc_fd >= 0)
        close(t->proc_fd);
    free(t);
}
