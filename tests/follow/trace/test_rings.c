// SPDX-License-Identifier: Apache-2.0
// A ring is the command's file: whatever it holds, reading it ends well.
#include "follow/trace/trace.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "test.h"
#include "follow/trace/account.h"

static char folder[] = "/tmp/fare-rings-XXXXXX";

static int make(const struct trace_file *file, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "%s/0.ring", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, file, size), (ssize_t)size);
    return fd;
}

static struct trace_file *blank(void)
{
    struct trace_file *file = calloc(1, sizeof *file);
    assert_non_null(file);
    file->header = (struct trace_header){
        .magic = TRACE_MAGIC, .version = sizeof *file, .state = TRACE_RECORDING, .names = 1};
    return file;
}

static void name(struct trace_file *file, const char *text)
{
    struct trace_header *h = &file->header;
    file->names[h->names++] = (struct trace_name){h->text_used, (uint32_t)strlen(text)};
    memcpy(file->text + h->text_used, text, strlen(text));
    h->text_used += (uint32_t)strlen(text);
}

TEST(records_are_read_and_sorted)
{
    struct trace_file *file = blank();
    struct ring ring = {.fd = -1};
    struct err err = {0};
    name(file, "nvjet_tst_64x64");
    name(file, "elementwise");
    file->records[0] = (struct trace_record){.start_ns = 900, .duration_ns = 50, .name = 2};
    file->records[1] = (struct trace_record){.start_ns = 100, .duration_ns = 70, .name = 1};
    file->records[2] = (struct trace_record){.start_ns = 500, .kind = TRACE_COPY_IN, .size = 8};
    file->records[3] = (struct trace_record){.start_ns = 600, .name = 4000}; // unknown
    file->header.head = 4;
    file->header.cupti_ns = 1000;
    file->header.clock_ns = 5000;
    int fd = make(file, sizeof *file);
    assert_int_equal(ring_open(&ring, folder, 0), 1);
    assert_ok(ring_read(&ring, &err), &err);
    ring_sort(&ring);
    assert_int_equal(ring.count, 4);
    struct stat left; // the place is taken, the memory is not
    char path[64];
    snprintf(path, sizeof path, "%s/0.ring", folder);
    assert_int_equal(stat(path, &left), 0);
    assert_int_equal(left.st_size, 0);
    assert_int_equal(ring.items[0].start_ns, 100 - 900); // from the first that came
    assert_int_equal(ring.items[0].end_ns, 170 - 900);
    assert_int_equal(ring.items[0].class, CLASS_MATMUL);
    assert_int_equal(ring.items[0].precision, PRECISION_BF16);
    assert_int_equal(ring.items[1].class, CLASS_IN);
    assert_int_equal(ring.items[2].class, CLASS_UNKNOWN);
    assert_int_equal(ring.items[3].class, CLASS_ELEMENTWISE);
    assert_int_equal(ring_clock(&ring, 1100 - 900), 5100);
    // The writer sees how far we are, and what we want.
    struct trace_header h;
    ring_want(&ring, true);
    assert_int_equal(pread(fd, &h, sizeof h, 0), (ssize_t)sizeof h);
    assert_int_equal(h.tail, 4);
    assert_int_equal(h.wanted, 1);
    ring_close(&ring);
    close(fd);
    free(file);
}

TEST(the_newest_records_are_kept)
{
    struct trace_file *file = blank();
    struct ring ring = {.fd = -1};
    struct err err = {0};
    int fd = make(file, sizeof *file);
    assert_int_equal(ring_open(&ring, folder, 0), 1);
    uint64_t total = 0;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < TRACE_RECORDS; i++)
            file->records[i] = (struct trace_record){.start_ns = ++total};
        file->header.head = total;
        assert_int_equal(pwrite(fd, file, sizeof *file, 0), (ssize_t)sizeof *file);
        assert_ok(ring_read(&ring, &err), &err);
    }
    ring_sort(&ring);
    assert_true(ring.count >= RING_WINDOW / 2 && ring.count <= RING_WINDOW);
    assert_int_equal(ring.items[ring.count - 1].start_ns, total - 1);
    assert_int_equal(ring.items[0].start_ns, total - ring.count);
    ring_close(&ring);
    close(fd);
    free(file);
}

TEST(not_rings)
{
    struct trace_file *file = blank();
    struct ring ring = {.fd = -1};
    assert_int_equal(ring_open(&ring, folder, 7), 0); // none
    close(make(file, 10));
    assert_int_equal(ring_open(&ring, folder, 0), 0);
    file->header.version++;
    close(make(file, sizeof *file));
    assert_int_equal(ring_open(&ring, folder, 0), 0);
    file->header.version--;
    file->header.magic = 0; // not complete yet
    close(make(file, sizeof *file));
    assert_int_equal(ring_open(&ring, folder, 0), 0);
    assert_int_equal(ring.fd, -1);
    free(file);
}

// Random bytes in the header, the names and the records; then it is cut short.
TEST(hostile_rings)
{
    struct trace_file *file = blank();
    struct rng rng;
    rng_init(&rng, 5);
    for (int round = 0; round < 60; round++) {
        struct ring ring = {.fd = -1};
        struct err err = {0};
        struct pattern pattern;
        struct account account;
        uint64_t *words = (uint64_t *)file;
        for (size_t i = 0; i < sizeof *file / 8; i++)
            words[i] = rng_u64(&rng) >> (round % 3 * 20);
        file->header.magic = TRACE_MAGIC;
        file->header.version = sizeof *file;
        if (round % 2)
            file->header.head = rng_u64(&rng) % TRACE_RECORDS;
        int fd = make(file, sizeof *file);
        assert_int_equal(ring_open(&ring, folder, 0), 1);
        assert_ok(ring_read(&ring, &err), &err);
        ring_sort(&ring);
        assert_ok(pattern_find(ring.items, ring.count, &pattern, &err), &err);
        assert_ok(account_make(ring.items, ring.count, &pattern, &account, &err), &err);
        pattern_release(&pattern);
        assert_int_equal(ftruncate(fd, 50), 0);
        assert_ok(ring_read(&ring, &err), &err);
        assert_true(ring.damaged);
        assert_ok(ring_read(&ring, &err), &err);
        ring_close(&ring);
        close(fd);
    }
    free(file);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    int failed = run_all_tests(NULL, NULL);
    char path[64];
    snprintf(path, sizeof path, "%s/0.ring", folder);
    unlink(path);
    rmdir(folder);
    return failed;
}
