// SPDX-License-Identifier: Apache-2.0
#include "machine/sample/tasks.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "sample.h"

static double tick_s(double ticks)
{
    return ticks / (double)sysconf(_SC_CLK_TCK);
}

TEST(stat_lines_are_read)
{
    struct host s = host_make();
    struct tree tree = {.root = s.root};
    struct tasks *tasks;
    struct err err = {0};
    bool visible;
    // The name may hold blanks, brackets and line ends; the fields count from the last bracket.
    host_put(&s, "/proc/42/stat",
             "42 (a) R (b\n) Z 7 1 1 0 -1 4194304 1 2 3 4 11 22 33 44 20 0 1 0 12345 1000 99 0 0");
    put_task(&s, 7, 1, 0, 0, 0, 0, 1);
    assert_true(task_is_below(&tree, 42, 7, &visible)); // 7 is its parent
    assert_ok(tasks_new(&tasks, &tree, 42, &err), &err);
    assert_real(tasks_read(tasks)->cpu_s, tick_s(11 + 22 + 33 + 44));
    assert_int(tasks_use(tasks)->memory_bytes, 99 * sysconf(_SC_PAGESIZE));
    tasks_free(tasks);
    static const char *const bad[] = {
        "",
        ")",
        "1 (x)",
        "1 (x) ",
        "1 (x) S",
        "1 (x) S 7 1 1 0 -1 4194304 1 2 3 4 11 22 33 44 20 0 1 0 12345 1000", // one too few
        "1 (x) S 7 1 1 0 -1 4194304 1 2 3 4 -11 22 33 44 20 0 1 0 12345 1000 99",
        "1 (x) S -7 1 1 0 -1 4194304 1 2 3 4 11 22 33 44 20 0 1 0 12345 1000 99",
        "1 (x) S 7 1 1 0 -1 4194304 1 2 3 4 99999999999999999999 22 33 44 20 0 1 0 12345 1000 99",
        "1 (x) S 99999999999 1 1 0 -1 4194304 1 2 3 4 11 22 33 44 20 0 1 0 12345 1000 99",
        "\xff\xfe)))) ((",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        host_put(&s, "/proc/1/stat", bad[i]);
        assert_false(task_is_below(&tree, 1, 1, &visible));
        assert_false(visible);
        assert_int_equal(tasks_new(&tasks, &tree, 1, &err), ERR_MISSING);
    }
    host_remove(&s);
}

// 100 is the run; 110 and 120 its children, 111 a grandchild with a smaller number than its
// parent's sibling; 200 somebody else, 50 a grandchild by a number given out anew.
TEST(descendants_are_found_and_summed)
{
    struct host s = host_make();
    struct tree tree = {.root = s.root};
    struct tasks *tasks;
    struct err err = {0};
    put_task(&s, 100, 1, 10, 20, 5, 5, 1000);
    put_task(&s, 110, 100, 1, 2, 0, 0, 10);
    put_task(&s, 120, 100, 3, 4, 0, 0, 20);
    put_task(&s, 50, 120, 100, 200, 0, 0, 30);
    put_task(&s, 200, 1, 10000, 10000, 0, 0, 100000);
    put_task(&s, 1, 0, 5000, 5000, 1000, 1000, 500);
    put_io(&s, 100, 4096, 8192);
    put_io(&s, 50, 100, 200);
    host_put(&s, "/proc/100/status", "Name:\tx\nVmPeak:\t 999 kB\nVmHWM:\t   8000 kB\n");
    assert_ok(tasks_new(&tasks, &tree, 100, &err), &err);
    const struct tasks_use *use = tasks_read(tasks);
    assert_real(use->cpu_s, tick_s(40 + 3 + 7 + 300));
    assert_int(use->memory_bytes, 1060 * sysconf(_SC_PAGESIZE));
    // The first process's own peak was higher than all are together now.
    assert_int(use->memory_peak_bytes, 8000 * 1024);
    assert_int(use->read_bytes, 4196);
    assert_int(use->write_bytes, 8392);
    put_task(&s, 130, 110, 1000, 0, 0, 0, 5000); // a new one
    use = tasks_read(tasks);
    assert_real(use->cpu_s, tick_s(1350));
    assert_int(use->memory_peak_bytes, 6060 * sysconf(_SC_PAGESIZE));
    // Nonsense is left out: a counter that no disk reaches, a peak of more than all memory.
    put_io(&s, 100, INT64_MAX, 1);
    host_put(&s, "/proc/100/status", "VmHWM:\t 9223372036854775807 kB\n");
    use = tasks_read(tasks);
    assert_int(use->read_bytes, 4196);
    assert_int(use->memory_peak_bytes, 6060 * sysconf(_SC_PAGESIZE));
    tasks_free(tasks);
    host_remove(&s);
}

TEST(lists_of_children_are_used_where_the_kernel_has_them)
{
    struct host s = host_make();
    struct tree tree = {.root = s.root};
    struct tasks *tasks;
    struct err err = {0};
    put_task(&s, 100, 1, 1, 0, 0, 0, 1);
    put_task(&s, 110, 100, 10, 0, 0, 0, 1);
    put_task(&s, 120, 110, 100, 0, 0, 0, 1);
    put_task(&s, 130, 100, 1000, 0, 0, 0, 1); // its parent's lists do not name it
    host_put(&s, "/proc/100/task/100/children", "");
    host_put(&s, "/proc/100/task/103/children", "110 99999 "); // one vanished in between
    host_put(&s, "/proc/110/task/110/children", "120 ");
    assert_ok(tasks_new(&tasks, &tree, 100, &err), &err);
    tasks_read(tasks);
    assert_real(tasks_use(tasks)->cpu_s, tick_s(111));
    tasks_free(tasks);
    host_remove(&s);
}

TEST(time_never_goes_back)
{
    struct host s = host_make();
    struct tree tree = {.root = s.root};
    struct tasks *tasks;
    struct err err = {0};
    put_task(&s, 100, 1, 10, 0, 0, 0, 1);
    put_task(&s, 110, 100, 200, 0, 0, 0, 1);
    put_task(&s, 111, 110, 30, 0, 0, 0, 1);
    put_task(&s, 120, 100, 500, 0, 0, 0, 1);
    put_io(&s, 100, 0, 0);
    put_io(&s, 120, 70000, 1000);
    assert_ok(tasks_new(&tasks, &tree, 100, &err), &err);
    tasks_read(tasks);
    assert_real(tasks_use(tasks)->cpu_s, tick_s(740));
    // 120 ends and is waited for, having used 7 more: now it is in its parent's.
    end_task(&s, 120);
    put_task(&s, 100, 1, 10, 0, 500, 7, 1);
    put_io(&s, 100, 70000, 1000);
    tasks_read(tasks);
    assert_real(tasks_use(tasks)->cpu_s, tick_s(747));
    assert_int(tasks_use(tasks)->read_bytes, 70000);
    // 110 ends and nobody waits; its child lives on, with process 1 as its parent.
    end_task(&s, 110);
    put_task(&s, 111, 1, 31, 0, 0, 0, 1);
    tasks_read(tasks);
    assert_real(tasks_use(tasks)->cpu_s, tick_s(748));
    put_task(&s, 111, 1, 50, 0, 0, 0, 1);
    tasks_read(tasks);
    assert_real(tasks_use(tasks)->cpu_s, tick_s(767));
    // Now the run itself ends, and the last one too.
    end_task(&s, 111);
    end_task(&s, 100);
    tasks_read(tasks);
    assert_real(tasks_use(tasks)->cpu_s, tick_s(767));
    assert_int(tasks_use(tasks)->read_bytes, 70000);
    assert_absent(tasks_use(tasks)->memory_bytes);
    tasks_read(tasks);
    assert_real(tasks_use(tasks)->cpu_s, tick_s(767));
    tasks_free(tasks);
    host_remove(&s);
}

// The grandchild ended first, was waited for by the child, which ended and was waited for too: all
// of it is the run's now, once.
TEST(a_branch_that_ends_counts_once)
{
    struct host s = host_make();
    struct tree tree = {.root = s.root};
    struct tasks *tasks;
    struct err err = {0};
    put_task(&s, 100, 1, 10, 0, 0, 0, 1);
    put_task(&s, 110, 100, 200, 0, 0, 0, 1);
    put_task(&s, 111, 110, 30, 0, 0, 0, 1);
    assert_ok(tasks_new(&tasks, &tree, 100, &err), &err);
    tasks_read(tasks);
    assert_real(tasks_use(tasks)->cpu_s, tick_s(240));
    end_task(&s, 111);
    end_task(&s, 110);
    put_task(&s, 100, 1, 11, 0, 231, 0, 1);
    tasks_read(tasks);
    assert_real(tasks_use(tasks)->cpu_s, tick_s(242));
    tasks_free(tasks);
    host_remove(&s);
}

TEST(more_processes_than_places)
{
    struct host s = host_make();
    struct tree tree = {.root = s.root};
    struct tasks *tasks;
    struct err err = {0};
    put_task(&s, 100, 1, 10, 0, 0, 0, 1);
    for (int i = 0; i < TASKS_MAX + 100; i++)
        put_task(&s, 1000 + i, 100, 1, 0, 0, 0, 1);
    assert_ok(tasks_new(&tasks, &tree, 100, &err), &err);
    tasks_read(tasks);
    assert_real(tasks_use(tasks)->cpu_s, tick_s(10 + TASKS_MAX - 1));
    for (int i = 0; i < TASKS_MAX + 100; i++)
        end_task(&s, 1000 + i);
    put_task(&s, 100, 1, 10, 0, TASKS_MAX + 100, 0, 1); // all waited for
    tasks_read(tasks);
    assert_real(tasks_use(tasks)->cpu_s, tick_s(10 + TASKS_MAX + 100));
    tasks_free(tasks);
    host_remove(&s);
}

TEST(a_process_that_is_not_there)
{
    struct host s = host_make();
    struct tree tree = {.root = s.root};
    struct tasks *tasks;
    struct err err = {0};
    assert_int_equal(tasks_new(&tasks, &tree, 100, &err), ERR_MISSING);
    assert_null(tasks);
    host_put(&s, "/proc/100/stat", "garbage");
    assert_int_equal(tasks_new(&tasks, &tree, 100, &err), ERR_MISSING);
    host_remove(&s);
}

TEST(ancestors_are_asked_for)
{
    struct host s = host_make();
    struct tree tree = {.root = s.root};
    bool visible;
    put_task(&s, 100, 1, 0, 0, 0, 0, 1);
    put_task(&s, 110, 100, 0, 0, 0, 0, 1);
    put_task(&s, 111, 110, 0, 0, 0, 0, 1);
    put_task(&s, 200, 201, 0, 0, 0, 0, 1); // a ring
    put_task(&s, 201, 200, 0, 0, 0, 0, 1);
    assert_true(task_is_below(&tree, 100, 100, &visible) && visible);
    assert_true(task_is_below(&tree, 111, 100, &visible) && visible);
    assert_false(task_is_below(&tree, 100, 110, &visible));
    assert_true(visible);
    assert_false(task_is_below(&tree, 200, 100, &visible));
    assert_false(task_is_below(&tree, 4711, 100, &visible));
    assert_false(visible);
    host_remove(&s);
}

static void burn(double seconds)
{
    struct timespec t;
    volatile double x = 1;
    do {
        for (int i = 0; i < 10000; i++)
            x = x * 1.0000001;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while ((double)t.tv_sec + 1e-9 * (double)t.tv_nsec < seconds);
}

// Real processes: a child burns half a second of CPU time, its own child too; both are counted
// while they live, when they were waited for, and when nobody waited (SIGCHLD ignored).
TEST(real_processes_are_counted)
{
    struct err err = {0};
    for (int ignored = 0; ignored < 2; ignored++) {
        struct tree tree = {.root = ""};
        struct tasks *tasks;
        int go[2];
        assert_int_equal(pipe(go), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            char c;
            close(go[1]);
            signal(SIGCHLD, ignored ? SIG_IGN : SIG_DFL);
            if (read(go[0], &c, 1) != 0)
                _exit(1);
            pid_t child = fork();
            if (child == 0) {
                burn(0.5);
                clock_sleep_ns(300 * NS_PER_MS);
                _exit(0);
            }
            burn(0.5);
            waitpid(child, NULL, 0);
            clock_sleep_ns(600 * NS_PER_MS);
            _exit(0);
        }
        close(go[0]);
        assert_ok(tasks_new(&tasks, &tree, pid, &err), &err);
        double first = tasks_read(tasks)->cpu_s.v, before = first;
        close(go[1]);
        siginfo_t info = {0};
        while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
               info.si_pid == 0) {
            clock_sleep_ns(50 * NS_PER_MS);
            double now = tasks_read(tasks)->cpu_s.v;
            assert_true(now >= before);
            before = now;
        }
        double end = tasks_read(tasks)->cpu_s.v;
        assert_true(end - first > 0.9 && end - first < 1.3);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        tasks_read(tasks);
        assert_true(tasks_use(tasks)->cpu_s.v >= end);
        assert_true(tasks_use(tasks)->cpu_s.v < end + 0.1);
        tasks_free(tasks);
    }
}

// All of a short child's life lies between two readings, and it has been waited for before the
// second: time, memory and disk come from what the kernel says of our children.
TEST(a_child_that_was_waited_for)
{
    struct tree tree = {.root = ""};
    struct tasks *tasks;
    struct err err = {0};
    const size_t bytes = (size_t)200 << 20;
    int go[2];
    assert_int_equal(pipe(go), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char c;
        close(go[1]);
        if (read(go[0], &c, 1) != 0)
            _exit(1);
        char *memory =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            _exit(1);
        memset(memory, 1, bytes);
        burn(0.5);
        _exit(0);
    }
    close(go[0]);
    assert_ok(tasks_new(&tasks, &tree, pid, &err), &err);
    double first = tasks_read(tasks)->cpu_s.v;
    close(go[1]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    const struct tasks_use *use = tasks_read(tasks);
    assert_true(use->cpu_s.v - first > 0.45 && use->cpu_s.v - first < 0.8);
    assert_true(use->memory_peak_bytes.known);
    assert_true(use->memory_peak_bytes.v >= (int64_t)bytes);
    assert_true(use->memory_peak_bytes.v < (int64_t)bytes * 3 / 2);
    tasks_free(tasks);
}

static void put_command(const struct host *s, int pid, const char *words)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    host_put(s, path, words); // one word here: a text ends at the first NUL
}

// 100 the keeper, 110 the training, 111 and 112 its loaders by fork() and by spawn, 113 a compiler.
TEST(workers_are_told_apart)
{
    struct host s = host_make();
    struct tree tree = {.root = s.root};
    struct tasks *tasks;
    struct err err = {0};
    put_task(&s, 100, 1, 500, 0, 0, 0, 1);
    put_task(&s, 110, 100, 1000, 0, 0, 0, 1);
    put_task(&s, 111, 110, 50, 0, 0, 0, 1);
    put_task(&s, 112, 110, 60, 10, 0, 0, 1);
    put_task(&s, 113, 110, 400, 0, 0, 0, 1);
    put_command(&s, 100, "fare");
    put_command(&s, 110, "python");
    put_command(&s, 111, "python");
    put_command(&s, 112, "python -c from multiprocessing.spawn import … --multiprocessing-fork");
    put_command(&s, 113, "python"); // between fork() and exec()
    assert_ok(tasks_new(&tasks, &tree, 100, &err), &err);
    assert_real(tasks_read(tasks)->workers_cpu_s, 0);
    put_command(&s, 113, "cc1plus");
    put_task(&s, 113, 110, 800, 0, 0, 0, 1);
    assert_real(tasks_read(tasks)->workers_cpu_s, tick_s(50 + 70));
    put_task(&s, 111, 110, 80, 5, 0, 0, 1);
    assert_real(tasks_read(tasks)->workers_cpu_s, tick_s(85 + 70));
    end_task(&s, 111); // its use stays
    assert_real(tasks_read(tasks)->workers_cpu_s, tick_s(85 + 70));
    tasks_free(tasks);
    host_remove(&s);
}

// Field 42 counts only if the kernel is told to; 110 ends, and its wait stays.
TEST(waiting_for_a_disk)
{
#define WAITS(pid, parent, ticks)                                                                  \
    pid " (x) D " parent " 1 1 0 -1 4194304 1 2 3 4 11 22 0 0 20 0 1 0 12345 1000 99 0 1 1 0 0 0 " \
        "0 0 0 0 0 0 0 17 0 0 0 " ticks " 0 0\n"
    struct host s = host_make();
    struct tree tree = {.root = s.root};
    struct tasks *tasks;
    struct err err = {0};
    host_put(&s, "/proc/100/stat", WAITS("100", "1", "300"));
    host_put(&s, "/proc/110/stat", WAITS("110", "100", "40"));
    host_put(&s, "/proc/sys/kernel/task_delayacct", "0\n");
    assert_ok(tasks_new(&tasks, &tree, 100, &err), &err);
    assert_absent(tasks_read(tasks)->disk_wait_s);
    tasks_free(tasks);
    host_put(&s, "/proc/sys/kernel/task_delayacct", "1\n");
    assert_ok(tasks_new(&tasks, &tree, 100, &err), &err);
    assert_real(tasks_read(tasks)->disk_wait_s, tick_s(340));
    host_put(&s, "/proc/110/stat", WAITS("110", "100", "90"));
    assert_real(tasks_read(tasks)->disk_wait_s, tick_s(390));
    end_task(&s, 110);
    assert_real(tasks_read(tasks)->disk_wait_s, tick_s(390));
    tasks_free(tasks);
    host_remove(&s);
#undef WAITS
}
