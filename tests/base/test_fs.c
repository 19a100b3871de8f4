// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"

static char dir[256];
static char path[300];

static int make_dir(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/fs-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/file", dir);
    return 0;
}

static int files_in_dir(void)
{
    int count = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));)
        count += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    closedir(d);
    return count;
}

TEST(writes_and_reads_back)
{
    struct err err = {0};
    assert_ok(fs_write(path, "one\0two", 7, &err), &err);
    struct buf b = {0};
    assert_ok(fs_read(path, 100, &b, &err), &err);
    assert_int_equal(b.len, 7);
    assert_memory_equal(b.data, "one\0two", 7);
    buf_release(&b);
    assert_int_equal(files_in_dir(), 1); // no temporary file left
    struct stat st;
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0666 & ~mask);
}

TEST(errors_name_the_file)
{
    struct err err = {0};
    struct buf b = {0};
    assert_int_equal(fs_read("/nonexistent/x", 10, &b, &err), ERR_MISSING);
    assert_string_equal(err.text, "cannot open '/nonexistent/x': no such file or directory");
    err = (struct err){0};
    assert_int_equal(fs_write("/nonexistent/x", "a", 1, &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "'/nonexistent/x'"));
    err = (struct err){0};
    assert_int_equal(fs_read(dir, 10, &b, &err), ERR_IO); // a folder
    err = (struct err){0};
    assert_ok(fs_write(path, "0123456789", 10, &err), &err);
    assert_int_equal(fs_read(path, 9, &b, &err), ERR_FORMAT); // larger than allowed
    buf_release(&b);
}

// tests/dist/test_image.sh has more of it.
TEST(names_the_owner)
{
    struct err err = {0};
    struct buf b = {0};
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(setresuid(65532, 65532, 0), 0);
    int rc = fs_read(path, 10, &b, &err), without = fs_read(path, 10, &b, NULL);
    assert_int_equal(setresuid(0, 0, 0), 0);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(rc, ERR_IO);
    assert_int_equal(without, ERR_IO);
    assert_non_null(strstr(err.hint, "belongs to user 0, and this is user 65532"));
    assert_non_null(strstr(err.hint, "--user 0:0"));
}

// A disk that is full in the middle: RLIMIT_FSIZE cuts the write as a full disk would (EFBIG).
TEST(cut_write_leaves_the_old_file)
{
    struct err err = {0};
    assert_ok(fs_write(path, "old", 3, &err), &err);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGXFSZ, SIG_IGN);
        struct rlimit limit = {4096, 4096};
        setrlimit(RLIMIT_FSIZE, &limit);
        static char big[100000];
        struct err e = {0};
        int rc = fs_write(path, big, sizeof big, &e);
        _exit(rc == ERR_IO && strstr(e.text, path) ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    struct buf b = {0};
    assert_ok(fs_read(path, 100, &b, &err), &err);
    assert_string_equal(buf_str(&b), "old");
    buf_release(&b);
    assert_int_equal(files_in_dir(), 1);
}

// Killed at any moment: the file is the old one or the new one, never a part.
TEST(killed_writer_leaves_a_whole_file)
{
    struct err err = {0};
    enum { SIZE = 200000 };
    static char text[SIZE];
    memset(text, 'a', SIZE);
    assert_ok(fs_write(path, text, SIZE, &err), &err);
    for (int round = 0; round < 40; round++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (char c = 'b';; c = c == 'z' ? 'b' : (char)(c + 1)) {
                memset(text, c, SIZE);
                if (fs_write(path, text, SIZE, NULL) != 0)
                    _exit(1);
            }
        }
        clock_sleep_ns((round % 10 + 1) * 500000);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        struct buf b = {0};
        assert_ok(fs_read(path, SIZE + 1, &b, &err), &err);
        assert_int_equal(b.len, SIZE);
        for (size_t i = 1; i < b.len; i++)
            assert_int_equal(b.data[i], b.data[0]);
        buf_release(&b);
    }
}

TEST(abandon_leaves_no_trace)
{
    struct err err = {0};
    unlink(path);
    int before = files_in_dir();
    struct fs_writer w = {0};
    assert_ok(fs_begin(&w, path, 0600, &err), &err);
    assert_ok(fs_add(&w, "x", 1, &err), &err);
    fs_abandon(&w);
    assert_int_equal(files_in_dir(), before);
    fs_abandon(&w); // twice is fine
    struct fs_writer zero = {0};
    fs_abandon(&zero);
    assert_int_equal(fcntl(0, F_GETFD) == -1, 0); // and did not close stdin
}

TEST(replacing_keeps_mode_and_link)
{
    struct err err = {0};
    struct stat st;
    char link[300], name[300];
    assert_ok(fs_write(path, "secret", 6, &err), &err);
    assert_int_equal(chmod(path, 0600), 0);
    assert_ok(fs_write(path, "new", 3, &err), &err);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    snprintf(link, sizeof link, "%s/link", dir);
    assert_int_equal(symlink("file", link), 0);
    assert_ok(fs_write(link, "through", 7, &err), &err);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 7);
    unlink(link);
    // A name as long as a file system allows still has room for its temporary one.
    int used = snprintf(name, sizeof name, "%s/", dir);
    char *longest = malloc((size_t)used + 256);
    assert_non_null(longest);
    memcpy(longest, name, (size_t)used);
    memset(longest + used, 'n', 255);
    longest[used + 255] = '\0';
    assert_ok(fs_write(longest, "x", 1, &err), &err);
    unlink(longest);
    free(longest);
}

// What is not a regular file keeps its place in the folder and gets the bytes.
TEST(devices_and_pipes_are_written_through)
{
    struct err err = {0};
    struct stat st;
    char fifo[300], got[8] = "";
    snprintf(fifo, sizeof fifo, "%s/fifo", dir);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    int reader = open(fifo, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_ok(fs_write(fifo, "piped", 5, &err), &err);
    assert_int_equal(read(reader, got, sizeof got), 5);
    assert_string_equal(got, "piped");
    assert_int_equal(lstat(fifo, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    close(reader);
    unlink(fifo);
    char device[300]; // a link to a device: as with -o /dev/full, but without a risk for that
    snprintf(device, sizeof device, "%s/device", dir);
    assert_int_equal(symlink("/dev/full", device), 0);
    assert_int_equal(fs_write(device, "x", 1, &err), ERR_IO);
    assert_non_null(strstr(err.text, "no space left on device"));
    assert_int_equal(lstat(device, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat("/dev/full", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    unlink(device);
    err = (struct err){0};
    assert_int_equal(fs_write(dir, "x", 1, &err), ERR_IO);
    assert_non_null(strstr(err.text, "is a directory"));
}

TEST(links_are_followed)
{
    struct err err = {0};
    struct stat st;
    char first[300], second[300], target[300];
    snprintf(first, sizeof first, "%s/first", dir);
    snprintf(second, sizeof second, "%s/second", dir);
    snprintf(target, sizeof target, "%s/target", dir);
    assert_int_equal(symlink("second", first), 0);
    assert_int_equal(symlink(target, second), 0);
    assert_ok(fs_write(first, "new", 3, &err), &err); // the target did not exist
    assert_int_equal(lstat(first, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(lstat(second, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(lstat(target, &st), 0);
    assert_true(S_ISREG(st.st_mode) && st.st_size == 3);
    unlink(second);
    assert_int_equal(symlink("first", second), 0); // round and round
    assert_int_not_equal(fs_write(first, "x", 1, &err), 0);
    assert_non_null(strstr(err.text, "too many levels of symbolic links"));
    unlink(first);
    unlink(second);
    unlink(target);
}

// `fare ... -o - >>log` and `-o /dev/stdout >>log` add to the log; a link of our own stands in for
// that one, which may be damaged.
TEST(standard_output_is_a_name_too)
{
    char linked[300];
    snprintf(linked, sizeof linked, "%s/stdout", dir);
    const char *const names[] = {"-", linked, "/dev/fd/1", "/proc/self/fd/1"};
    assert_int_equal(symlink("/proc/self/fd/1", linked), 0);
    struct err err = {0};
    assert_ok(fs_write(path, "log\n", 4, &err), &err);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            int log = open(path, O_WRONLY | O_APPEND);
            dup2(log, STDOUT_FILENO);
            _exit(fs_write(names[i], "line\n", 5, NULL) == 0 ? 0 : 1);
        }
        int status;
        waitpid(pid, &status, 0);
        assert_int_equal(status, 0);
    }
    struct buf b = {0};
    assert_ok(fs_read(path, 100, &b, &err), &err);
    assert_string_equal(buf_str(&b), "log\nline\nline\nline\nline\n");
    unlink(linked);
    buf_release(&b);
}

TEST(waits_for_a_pipe_that_does_not)
{
    struct err err = {0};
    int fds[2];
    assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
    enum { SIZE = 300000 };
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[1]);
        fcntl(fds[0], F_SETFL, 0);
        static char got[SIZE];
        size_t total = 0;
        for (ssize_t n; (n = read(fds[0], got, sizeof got)) > 0; total += (size_t)n)
            usleep(1000);
        _exit(total == SIZE ? 0 : 1);
    }
    close(fds[0]);
    static char bytes[SIZE];
    assert_ok(fs_write_fd(fds[1], bytes, SIZE, "it", &err), &err);
    close(fds[1]);
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

TEST(makes_folders)
{
    struct err err = {0};
    char deep[400];
    snprintf(deep, sizeof deep, "%s/a/b//c/", dir);
    assert_ok(fs_mkdirs(deep, &err), &err);
    assert_ok(fs_mkdirs(deep, &err), &err);
    struct stat st;
    assert_int_equal(stat(deep, &st), 0);
    snprintf(deep, sizeof deep, "%s/a/file", dir);
    assert_ok(fs_write(deep, "", 0, &err), &err);
    snprintf(deep, sizeof deep, "%s/a/file/x", dir);
    assert_int_not_equal(fs_mkdirs(deep, &err), 0);
    assert_int_not_equal(fs_mkdirs("", NULL), 0);
}

TEST(knows_where_the_program_lies)
{
    struct err err = {0};
    struct buf b = {0};
    char here[4096];
    ssize_t len = readlink("/proc/self/exe", here, sizeof here - 1);
    assert_true(len > 0);
    here[len] = '\0';
    *strrchr(here, '/') = '\0';
    assert_ok(fs_program_dir(&b, &err), &err);
    assert_string_equal(buf_str(&b), here);
    buf_release(&b);
}

TEST(lists_names_without_dots)
{
    char where[4200];
    int plain = 0, hidden = 0, others = 0;
    snprintf(where, sizeof where, "%s/names/.hidden", dir);
    assert_int_equal(fs_mkdirs(where, NULL), 0);
    snprintf(where, sizeof where, "%s/names/a.csv", dir);
    assert_int_equal(fs_write(where, "", 0, NULL), 0);
    assert_string_equal(fs_name(where), "a.csv");
    assert_string_equal(fs_name("a.csv"), "a.csv");
    *strrchr(where, '/') = '\0';
    SCOPED(fs_close) int folder = open(where, O_RDONLY | O_DIRECTORY);
    for (int again = 0; again < 2; again++) { // the folder stays open, and begins anew
        SCOPED(fs_close_folder) DIR *names = again ? fs_names(folder) : opendir(where);
        for (const char *name; (name = fs_next(names));) {
            plain += strcmp(name, "a.csv") == 0;
            hidden += strcmp(name, ".hidden") == 0;
            others++;
        }
        assert_int_equal(errno, 0);
    }
    assert_int_equal(plain, 2);
    assert_int_equal(hidden, 2);
    assert_int_equal(others, 4);
    assert_null(fs_next(NULL));
    assert_true(text_ends("a.csv", ".csv") && text_ends(".csv", ".csv") && text_ends("x", ""));
    assert_false(text_ends("csv", ".csv") || text_ends("a.csv2", ".csv"));
}

int main(void)
{
    return run_all_tests(make_dir, NULL);
}
