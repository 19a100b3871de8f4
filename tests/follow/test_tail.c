// SPDX-License-Identifier: Apache-2.0
// The file of FARE_EVENTS with writers on both sides: lines stay whole, and whatever the command
// does to the file, fare goes on.
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "follow/event.h"
#include "follow/relay.h"

#define WRITERS 4
#define LINES   2000
#define TOLD    300
#define NOTICE  "{\"notice\": {\"save\": 1, \"end\": false}}\n"

static void keep(void *context, const char *bytes, size_t len)
{
    buf_add(context, bytes, len);
}

static void append(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void write_lines(const char *path, int writer)
{
    int fd = open(path, O_WRONLY | O_APPEND);
    char line[200];
    for (int i = 0; i < LINES; i++) {
        int len = snprintf(line, sizeof line, "{\"step\": %d, \"pid\": %d, \"pad\": \"%0*d\"}\n", i,
                           writer, 1 + i % 97, 0);
        if (write(fd, line, (size_t)len) != len)
            _exit(1);
    }
    _exit(0);
}

TEST(together)
{
    struct tail tail;
    struct buf got = {0};
    size_t notices = 0, events = 0;
    assert_int_equal(tail_open(&tail, NULL, NULL), 0);
    for (int i = 0; i < WRITERS; i++)
        if (fork() == 0)
            write_lines(tail.path, i);
    for (int i = 0; i < TOLD; i++) {
        assert_true(tail_tell(&tail, NOTICE));
        tail_read(&tail, keep, &got);
    }
    for (int i = 0, status; i < WRITERS; i++)
        assert_true(wait(&status) > 0 && status == 0);
    while (tail.at < tail_written(&tail))
        tail_read(&tail, keep, &got);
    for (char *line = got.data, *end; line < got.data + got.len; line = end + 1) {
        struct event e = {0};
        end = memchr(line, '\n', (size_t)(got.data + got.len - line));
        assert_non_null(end);
        *end = '\0';
        enum event_result result = event_json.read(line, (size_t)(end - line), &e);
        assert_int_not_equal(result, EVENT_MALFORMED);
        notices +=
            result == EVENT_NONE && end > line; // a blank line separates, if one was half there
        events += result == EVENT_READ && e.step.known;
        event_release(&e);
    }
    assert_int_equal(notices, TOLD);
    assert_int_equal(events, WRITERS * LINES);
    buf_release(&got);
    tail_release(&tail);
}

TEST(unended)
{
    struct tail tail;
    struct buf got = {0};
    assert_int_equal(tail_open(&tail, NULL, NULL), 0);
    append(tail.path, "{\"step\": 1");
    assert_true(tail_tell(&tail, NOTICE));
    assert_true(tail_tell(&tail, NOTICE));
    tail_read(&tail, keep, &got);
    assert_string_equal(buf_str(&got), "{\"step\": 1\n" NOTICE NOTICE);
    buf_release(&got);
    tail_release(&tail);
}

TEST(spoiled)
{
    struct tail tail;
    struct buf got = {0}, long_line = {0};
    struct stat st;
    assert_int_equal(tail_open(&tail, NULL, NULL), 0);
    append(tail.path,
           "{\"step\": 1}\n{\"step\": 2, \"loss\": 0.123456789, \"pad\": \"................\"}\n");
    tail_read(&tail, keep, &got);
    assert_int_equal(truncate(tail.path, 0), 0);
    assert_true(tail_tell(&tail, NOTICE)); // at the new end, which is before what was read
    buf_reset(&got);
    tail_read(&tail, keep, &got);
    assert_string_equal(buf_str(&got), NOTICE);
    for (int i = 0; i < 2000; i++)
        buf_addc(&long_line, 'x');
    assert_false(tail_tell(&tail, buf_str(&long_line)));
    assert_int_equal(unlink(tail.path), 0);
    assert_false(tail_tell(&tail, NOTICE));
    assert_int_not_equal(stat(tail.path, &st), 0); // not made again
    assert_int_equal(symlink("/dev/null", tail.path), 0);
    assert_false(tail_tell(&tail, NOTICE));
    assert_int_equal(unlink(tail.path), 0);
    assert_int_equal(mkfifo(tail.path, 0600), 0);
    assert_false(tail_tell(&tail, NOTICE));
    assert_int_equal(unlink(tail.path), 0);
    assert_int_equal(mkdir(tail.path, 0700), 0);
    assert_false(tail_tell(&tail, NOTICE));
    tail_read(&tail, keep, &got);
    buf_release(&got);
    buf_release(&long_line);
    tail_release(&tail);
}

TEST(named)
{
    struct tail tail;
    char folder[] = "/tmp/test-tail-XXXXXX", path[64];
    struct buf got = {0};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/events", folder);
    assert_int_equal(tail_open(&tail, path, NULL), 0);
    assert_true(tail_tell(&tail, NOTICE)); // nobody has made it yet
    tail_read(&tail, keep, &got);
    assert_string_equal(buf_str(&got), NOTICE);
    tail_release(&tail);
    assert_int_equal(tail_open(&tail, "fd:9", NULL), 0);
    assert_false(tail_tell(&tail, NOTICE)); // a pipe goes one way
    tail_release(&tail);
    unlink(path);
    rmdir(folder);
    buf_release(&got);
}
