// SPDX-License-Identifier: Apache-2.0
// Temporary folders: gone at the end, and after a kill by the next start; others' are left alone.
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"

static char place[256];

static int make_place(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(place, sizeof place, "%s/scratch-XXXXXX", base ? base : "/tmp");
    return mkdtemp(place) ? 0 : -1;
}

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static void put(const char *folder, const char *name)
{
    char path[400];
    struct err err = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(fs_write(path, "x", 1, &err), &err);
}

TEST(removes_its_files)
{
    struct err err = {0};
    struct scratch s;
    struct stat st;
    char path[300];
    assert_ok(scratch_make(&s, place, &err), &err);
    assert_int_equal(stat(s.path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    put(s.path, "events");
    put(s.path, ".hidden");
    snprintf(path, sizeof path, "%s", s.path);
    scratch_remove(&s);
    assert_false(exists(path));
    scratch_remove(&s);
    scratch_remove(&(struct scratch){0});
    assert_int_equal(scratch_make(&s, "/nonexistent", &err), ERR_MISSING);
    assert_null(s.path);
}

// A process with a folder of its own, which it tells, and a second that has a copy of the lock.
static pid_t start_owner(char path[300], pid_t *copy)
{
    int told[2];
    assert_int_equal(pipe(told), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct scratch s;
        if (scratch_make(&s, place, NULL) != 0)
            _exit(1);
        put(s.path, "events");
        pid_t other = copy ? fork() : 0;
        if (copy && other == 0)
            for (;;)
                pause();
        char line[320] = "";
        snprintf(line, sizeof line, "%d %s", (int)other, s.path);
        (void)!write(told[1], line, sizeof line);
        for (;;)
            pause();
    }
    char line[320];
    int other;
    assert_int_equal(read(told[0], line, sizeof line), (int)sizeof line);
    assert_int_equal(sscanf(line, "%d %299s", &other, path), 2);
    if (copy)
        *copy = other;
    close(told[0]);
    close(told[1]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void look(void)
{
    struct err err = {0};
    struct scratch s;
    assert_ok(scratch_make(&s, place, &err), &err);
    scratch_remove(&s);
}

TEST(the_next_start_removes_those_of_killed_processes)
{
    char path[300];
    pid_t pid = start_owner(path, NULL);
    look();
    assert_true(exists(path));
    end(pid);
    assert_true(exists(path));
    look();
    assert_false(exists(path));
}

TEST(a_copy_of_the_lock_keeps_it)
{
    char path[300];
    pid_t copy, pid = start_owner(path, &copy);
    end(pid);
    look();
    assert_true(exists(path));
    kill(copy, SIGKILL); // not our child: it is gone once its lock is
    for (int i = 0; i < 500 && exists(path); i++) {
        usleep(10000);
        look();
    }
    assert_false(exists(path));
}

TEST(other_folders_stay)
{
    char mine[300], linked[300], target[300], file[400];
    snprintf(mine, sizeof mine, "%s/fare-mydata", place); // as long as one of ours
    assert_int_equal(mkdir(mine, 0700), 0);
    put(mine, "results");
    snprintf(target, sizeof target, "%s/elsewhere", place);
    snprintf(linked, sizeof linked, "%s/fare-linked", place);
    assert_int_equal(mkdir(target, 0700), 0);
    put(target, ".lock");
    assert_int_equal(symlink(target, linked), 0);
    look();
    assert_true(exists(mine));
    assert_true(exists(linked));
    snprintf(file, sizeof file, "%s/.lock", target);
    assert_true(exists(file));
}

int main(void)
{
    return run_all_tests(make_place, NULL);
}
