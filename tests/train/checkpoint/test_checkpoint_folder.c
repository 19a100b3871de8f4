// SPDX-License-Identifier: Apache-2.0
// Folders of checkpoints: which one is taken, which ones go, and what is left by whoever is killed
// or runs out of disk in the middle.
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/rng.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/toy_engine.h"

static char dir[256];

static int make_dir(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/checkpoint-XXXXXX", base ? base : "/tmp");
    return mkdtemp(dir) ? 0 : -1;
}

static int empty_dir(void **state)
{
    (void)state;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));)
        unlinkat(dirfd(d), e->d_name, 0);
    return closedir(d);
}

static int remove_dir(void **state)
{
    return empty_dir(state) != 0 || rmdir(dir) != 0;
}

static void save_at(const char *name, int64_t iteration)
{
    struct err err = {0};
    struct buf p = {0};
    struct engine_program program;
    toy_start(&program);
    struct checkpoint_place place = {.iteration = iteration};
    assert_ok(checkpoint_path(dir, name, iteration, &p, &err), &err);
    assert_ok(checkpoint_save(buf_str(&p), &toy_subject, &program, &place, &err), &err);
    buf_release(&p);
}

static void write_file(const char *name, const char *bytes, size_t len)
{
    struct err err = {0};
    char p[600];
    snprintf(p, sizeof p, "%s/%s", dir, name);
    assert_ok(fs_write(p, bytes, len, &err), &err);
}

static void touch(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

static bool exists(const char *name)
{
    char p[600];
    snprintf(p, sizeof p, "%s/%s", dir, name);
    return access(p, F_OK) == 0;
}

static void expect_newest(const char *name, const char *expected, const char *damage)
{
    struct err err = {0};
    struct buf p = {0}, damaged = {0};
    int rc = checkpoint_newest(dir, name, &p, &damaged, &err);
    assert_int_equal(rc, expected ? 1 : 0);
    assert_string_equal(buf_str(&p) + (expected ? strlen(dir) + 1 : 0), expected ? expected : "");
    if (damage)
        assert_non_null(strstr(buf_str(&damaged), damage));
    else
        assert_string_equal(buf_str(&damaged), "");
    buf_release(&p);
    buf_release(&damaged);
}

TEST_WITH(names_are_by_iteration, NULL, empty_dir)
{
    struct err err = {0};
    struct buf p = {0};
    assert_ok(checkpoint_path("d", "mlp", 1234, &p, &err), &err);
    assert_string_equal(buf_str(&p), "d/mlp-000000001234.safetensors");
    assert_ok(checkpoint_path("d/", "mlp", INT64_C(1234567890123), &p, &err), &err);
    assert_string_equal(buf_str(&p), "d/mlp-1234567890123.safetensors");
    buf_release(&p);
}

TEST_WITH(finds_the_newest_whole_one, NULL, empty_dir)
{
    struct err err = {0};
    struct buf p = {0};
    assert_int_equal(checkpoint_newest("/nonexistent", "mlp", &p, NULL, &err), 0);
    assert_int_equal(checkpoint_newest("/dev/null", "mlp", &p, NULL, &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "cannot open the folder '/dev/null'"));
    expect_newest("mlp", NULL, NULL);
    save_at("mlp", 900);
    save_at("mlp", 1000);
    save_at("cnn", 5000);
    expect_newest("mlp", "mlp-000000001000.safetensors", NULL);
    // Not ours: not even looked at.
    touch("mlp-99.safetensors", "");
    touch("mlp-0000000000009999.safetensors", "");
    touch("mlp-00000000zzzz.safetensors", "");
    touch("mlp-000000009999.safetensors.bak", "");
    touch(".fare-tmp-77-1-55f6bb77660", "x");
    expect_newest("mlp", "mlp-000000001000.safetensors", NULL);
    save_at("mlp", INT64_C(1000000000000)); // thirteen digits, before the others in the alphabet
    expect_newest("mlp", "mlp-1000000000000.safetensors", NULL);
    touch("mlp-2000000000000.safetensors", "half a fi");
    expect_newest("mlp", "mlp-1000000000000.safetensors", "mlp-2000000000000.safetensors' is not");
    write_file("mlp-2000000000001.safetensors", "\2\0\0\0\0\0\0\0{}", 10); // no text in it
    expect_newest("mlp", "mlp-1000000000000.safetensors",
                  "mlp-2000000000001.safetensors' is not a checkpoint");
    // Cut by one byte, as a copy that did not finish.
    char last[600];
    struct stat st;
    snprintf(last, sizeof last, "%s/mlp-1000000000000.safetensors", dir);
    assert_int_equal(stat(last, &st), 0);
    assert_int_equal(truncate(last, st.st_size - 1), 0);
    expect_newest("mlp", "mlp-000000001000.safetensors", "mlp-1000000000000.safetensors' is not a");
    buf_release(&p);
}

TEST_WITH(removes_old_ones, NULL, empty_dir)
{
    struct err err = {0};
    for (int i = 1; i <= 5; i++)
        save_at("mlp", i * 100);
    save_at("cnn", 100);
    save_at("mlp", 9000); // of another training that was here before
    assert_ok(checkpoint_prune(dir, "mlp", 2, 500, &err), &err);
    assert_true(exists("mlp-000000000500.safetensors") && exists("mlp-000000000400.safetensors"));
    assert_false(exists("mlp-000000000300.safetensors") || exists("mlp-000000000100.safetensors"));
    assert_true(exists("cnn-000000000100.safetensors") && exists("mlp-000000009000.safetensors"));

    // The newest are damaged: they do not count, and the last whole one stays.
    touch("mlp-000000000500.safetensors", "");
    touch("mlp-000000000600.safetensors", "garbage");
    save_at("mlp", 200);
    assert_ok(checkpoint_prune(dir, "mlp", 1, 600, &err), &err);
    assert_true(exists("mlp-000000000400.safetensors"));
    assert_false(exists("mlp-000000000200.safetensors"));
    assert_ok(checkpoint_prune("/nonexistent", "mlp", 1, 600, &err), &err);

    // Temporary files: an old one goes, a fresh one may be somebody's.
    touch(".fare-tmp-77-1-55f6bb77660", "x");
    touch(".fare-tmp-77-2-55f6bb77661", "x");
    touch(".bashrc", "x");
    const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    static const char *const aged[] = {".fare-tmp-77-1-55f6bb77660", ".bashrc"};
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(utimensat(fd, aged[i], long_ago, 0), 0);
    close(fd);
    assert_ok(checkpoint_prune(dir, "mlp", 1, 600, &err), &err);
    assert_false(exists(aged[0]));
    assert_true(exists(aged[1]) && exists(".fare-tmp-77-2-55f6bb77661"));
}

// Trains from the newest checkpoint to the end, saving as it goes; says each saved iteration.
static int train_and_save(int64_t end, int say)
{
    struct err err = {0};
    struct buf p = {0}, notes = {0};
    struct engine_program program;
    struct checkpoint_place place = {0};
    toy_start(&program);
    int found = checkpoint_newest(dir, "mlp", &p, &notes, &err);
    if (found < 0 || notes.len > 0)
        return 2; // a damaged one: what was written was not whole
    if (found && checkpoint_restore(buf_str(&p), &toy_subject, &program, &place, &notes, &err) != 0)
        return 3;
    while (place.iteration < end) {
        toy_train(&program, place.iteration, place.iteration + 1);
        place.iteration++;
        place.stage = program.stage;
        place.score.count += 10;
        place.score.loss += 1.0 / (double)place.iteration;
        if (checkpoint_path(dir, "mlp", place.iteration, &p, &err) != 0 ||
            checkpoint_save(buf_str(&p), &toy_subject, &program, &place, &err) != 0 ||
            write(say, &place.iteration, sizeof place.iteration) < 0 ||
            checkpoint_prune(dir, "mlp", 2, place.iteration, &err) != 0)
            return 4;
    }
    buf_release(&p);
    buf_release(&notes);
    return 0;
}

// Killed at random moments until it is through. What it said was saved is never lost, everything
// found is whole, and the end is that of a training that was left alone.
TEST_WITH(killed_at_any_moment, NULL, empty_dir)
{
    enum { END = 300, KILLS = 60 };
    struct rng rng;
    rng_init(&rng, (uint64_t)time(NULL)); // a new try each time; any must hold
    int64_t said = 0;
    int kills = 0, status = -1;
    while (!(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0)
            _exit(train_and_save(END, ends[1]));
        close(ends[1]);
        if (kills < KILLS) { // on a slow disk it gets nowhere before that
            const struct timespec wait = {.tv_nsec = (long)rng_below(&rng, 6000000)};
            nanosleep(&wait, NULL);
            kill(child, SIGKILL);
            kills++;
        }
        for (int64_t iteration; read(ends[0], &iteration, sizeof iteration) > 0;)
            said = iteration;
        close(ends[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status))
            assert_int_equal(WEXITSTATUS(status), 0);

        struct err err = {0};
        struct buf p = {0}, damaged = {0};
        struct engine_program program;
        struct checkpoint_place place = {0};
        toy_start(&program);
        int found = checkpoint_newest(dir, "mlp", &p, &damaged, &err);
        assert_string_equal(buf_str(&damaged), "");
        assert_int_equal(found, said > 0 ? 1 : found);
        if (found)
            assert_ok(
                checkpoint_restore(buf_str(&p), &toy_subject, &program, &place, &damaged, &err),
                &err);
        assert_true(place.iteration == said || place.iteration == said + 1);
        said = place.iteration; // one that was saved, but not said any more
        buf_release(&p);
        buf_release(&damaged);
    }
    struct err err = {0};
    struct buf notes = {0};
    struct engine_program program, through;
    struct checkpoint_place place;
    char p[600];
    double loss = 0;
    snprintf(p, sizeof p, "%s/mlp-%012d.safetensors", dir, END);
    toy_start(&program);
    assert_ok(checkpoint_restore(p, &toy_subject, &program, &place, &notes, &err), &err);
    toy_start(&through);
    toy_train(&through, 0, END);
    for (int i = 1; i <= END; i++)
        loss += 1.0 / i;
    assert_memory_equal(program.values, through.values, sizeof through.values);
    assert_memory_equal(&place.score.loss, &loss, sizeof loss);
    assert_int_equal(place.score.count, 10 * END);
}

// A real full disk: a file system of 64 KiB, seen by a child alone.
static int on_a_full_disk(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", dir, "tmpfs", 0, "size=64k") != 0)
        return 77;
    struct err err = {0};
    struct buf p = {0}, damaged = {0};
    struct engine_program program;
    toy_start(&program);
    struct checkpoint_place place = {0};
    int rc = 0;
    while (rc == 0 && place.iteration < 100) {
        place.iteration++;
        if (checkpoint_path(dir, "mlp", place.iteration, &p, &err) != 0)
            return 1;
        rc = checkpoint_save(buf_str(&p), &toy_subject, &program, &place, &err);
    }
    if (rc != ERR_IO || !strstr(err.text, "no space left on device"))
        return 2;
    // The one before is found, and what did not fit is gone.
    err = (struct err){0};
    if (checkpoint_newest(dir, "mlp", &p, &damaged, &err) != 1 || damaged.len > 0 ||
        checkpoint_restore(buf_str(&p), &toy_subject, &program, &place, &damaged, &err) != 0)
        return 3;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));)
        if (strstr(e->d_name, "tmp"))
            return 4;
    closedir(d);
    buf_release(&p);
    buf_release(&damaged);
    return 0;
}

TEST_WITH(a_full_disk_costs_nothing_old, NULL, empty_dir)
{
    pid_t child = fork();
    if (child == 0)
        _exit(on_a_full_disk());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip(); // may not mount
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    return run_all_tests(make_dir, remove_dir);
}
