// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "command.h"

static void run(const char *script, const struct proc_options *options, struct proc_result *result)
{
    struct err err = {0};
    const char *argv[] = {"sh", "-c", script, NULL};
    assert_ok(command_run(argv, options, result, &err), &err);
}

static void assert_words(const struct proc_result *result, const char *words)
{
    struct buf b = {0};
    proc_result_words(result, &b);
    assert_string_equal(buf_str(&b), words);
    buf_release(&b);
}

TEST(keeps_output_and_code)
{
    struct proc_result r;
    run("echo out; echo wrong >&2; exit 3", NULL, &r);
    assert_true(r.exited);
    assert_int_equal(r.exit_code, 3);
    assert_string_equal(buf_str(&r.out), "out\n");
    assert_string_equal(buf_str(&r.err_text), "wrong\n");
    assert_true(r.wall_ns > 0);
    assert_words(&r, "exit code 3");
    proc_result_release(&r);
}

TEST(tells_signals)
{
    struct proc_result r;
    run("kill -ILL $$", NULL, &r);
    assert_false(r.exited);
    assert_int_equal(r.signal, SIGILL);
    assert_false(r.timed_out);
    assert_words(&r, "signal SIGILL");
    proc_result_release(&r);
}

TEST(input_is_empty)
{
    struct proc_result r;
    run("cat; echo end", NULL, &r);
    assert_string_equal(buf_str(&r.out), "end\n");
    proc_result_release(&r);
}

// A child that writes without end neither blocks nor fills our memory.
TEST(drops_what_is_over_the_cap)
{
    struct proc_result r;
    run("head -c 3000000 /dev/zero; echo end >&2", &(struct proc_options){.keep_max = 1000}, &r);
    assert_int_equal(r.out.len, 1000);
    assert_int_equal(r.exit_code, 0);
    assert_string_equal(buf_str(&r.err_text), "end\n");
    proc_result_release(&r);
}

TEST(time_limit_ends_it)
{
    struct proc_result r;
    run("sleep 20", &(struct proc_options){.timeout_ms = 100}, &r);
    assert_true(r.timed_out);
    assert_int_equal(r.signal, SIGKILL);
    assert_in_range(r.wall_ns / NS_PER_MS, 100, 3000);
    assert_words(&r, "not finished within 100 ms");
    proc_result_release(&r);
    // Ignoring SIGTERM does not help, and its own children go too.
    run("trap '' TERM; sleep 20 & while :; do sleep 0.05; done",
        &(struct proc_options){.timeout_ms = 100}, &r);
    assert_int_equal(r.signal, SIGKILL);
    proc_result_release(&r);
}

// A grandchild that keeps the pipes open must not keep us waiting.
TEST(left_behind_grandchild_does_not_block)
{
    struct proc_result r;
    int64_t start = clock_now_ns();
    run("sleep 3 & echo done", NULL, &r);
    assert_true(clock_now_ns() - start < 2 * NS_PER_S);
    assert_string_equal(buf_str(&r.out), "done\n");
    proc_result_release(&r);
}

static int call_prints(void *context)
{
    printf("hello %s", (const char *)context);
    return 7;
}

static int call_crashes(void *context)
{
    (void)context;
    raise(SIGSEGV);
    return 0;
}

static int call_leaves_nothing_behind(void *context)
{
    // Descriptors other than the three are the parent's business, but the pipes must not leak.
    (void)context;
    return fcntl(0, F_GETFD) == -1 ? 1 : 0;
}

TEST(calls_run_in_a_child)
{
    struct err err = {0};
    struct proc proc[3];
    struct proc_result r;
    char world[] = "world";
    assert_ok(proc_start_call(&proc[0], call_prints, world, NULL, &err), &err);
    assert_ok(proc_start_call(&proc[1], call_crashes, NULL, NULL, &err), &err);
    assert_ok(proc_start_call(&proc[2], call_leaves_nothing_behind, NULL, NULL, &err), &err);
    assert_ok(proc_finish(&proc[0], &r, &err), &err);
    assert_int_equal(r.exit_code, 7);
    assert_string_equal(buf_str(&r.out), "hello world");
    proc_result_release(&r);
    assert_ok(proc_finish(&proc[1], &r, &err), &err);
    assert_int_equal(r.signal, SIGSEGV);
    proc_result_release(&r);
    assert_ok(proc_finish(&proc[2], &r, &err), &err);
    assert_int_equal(r.exit_code, 0);
    proc_result_release(&r);
}

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

TEST(no_descriptor_is_left_open)
{
    int before = open_descriptors();
    struct proc_result r;
    run("true", NULL, &r);
    proc_result_release(&r);
    struct proc proc;
    const char *sleeper[] = {"sleep", "20", NULL};
    assert_int_equal(command_start(&proc, sleeper, NULL, NULL), 0);
    pid_t pid = proc.pid;
    proc_kill(&proc);
    assert_int_equal(kill(pid, 0), -1); // gone, and waited for
    assert_int_equal(open_descriptors(), before);
    proc_kill(&(struct proc){0});
}
