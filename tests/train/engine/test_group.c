// SPDX-License-Identifier: Apache-2.0
// Groups of forked processes. What ranks other than 0 find wrong is told by their exit codes, which
// rank 0's group notices or not: they say it with group_fail().
#include "train/engine/group.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "test.h"

#define COUNT 300000 // more than fits into one piece of shared memory

// In every rank.
#define CHECK(group, ok)                                                                           \
    do {                                                                                           \
        if (!(ok))                                                                                 \
            group_fail(group, "line " TEXT(__LINE__) ": " #ok);                                    \
    } while (0)
#define TEXT(x)  TEXT2(x)
#define TEXT2(x) #x

// Runs `body` in `size` ranks; the error that rank 0 ends with.
static struct err in_ranks(int size, void (*body)(struct group *group))
{
    struct err err = {0};
    struct group *group = NULL;
    assert_ok(group_fork(&group, size, &err), &err);
    int rank = group_place(group).rank;
    body(group);
    int rc = group_barrier(group, &err);
    if (rank != 0) {
        group_free(group);
        _exit(0);
    }
    assert_int_equal(rc, err.code);
    group_free(group);
    return err;
}

// Numbers whose sum depends on the order.
static float number(int rank, int64_t i)
{
    return (float)((double)(i % 1000 + 1) / 7 * pow(1000, (rank + i) % 4));
}

static void body_sum(struct group *group)
{
    struct group_place place = group_place(group);
    float *values = malloc(COUNT * sizeof *values);
    struct err err = {0};
    CHECK(group, values);
    for (int64_t i = 0; values && i < COUNT; i++)
        values[i] = number(place.rank, i);
    CHECK(group, group_sum(group, values, COUNT, &err) == 0);
    for (int64_t i = 0; values && i < COUNT; i++) {
        float sum = number(0, i);
        for (int r = 1; r < place.size; r++)
            sum += number(r, i);
        CHECK(group, memcmp(&values[i], &sum, sizeof sum) == 0);
    }
    double reals[2] = {place.rank + 0.5, 1e300};
    CHECK(group, group_sum_reals(group, reals, 2, &err) == 0);
    CHECK(group, reals[0] == place.size * (place.size - 1) / 2.0 + 0.5 * place.size);
    free(values);
}

TEST(test_sum)
{
    for (int size = 2; size <= 5; size++) {
        struct err err = in_ranks(size, body_sum);
        assert_string_equal(err.text, "");
    }
}

static void body_data(struct group *group)
{
    struct group_place place = group_place(group);
    size_t bytes = 1300000;
    char *data = malloc(bytes);
    struct err err = {0};
    memset(data, place.rank + 1, bytes);
    CHECK(group, group_broadcast(group, data, bytes, &err) == 0);
    CHECK(group, data[0] == 1 && data[bytes / 2] == 1 && data[bytes - 1] == 1);
    int64_t mine = place.rank * 11, all[8];
    CHECK(group, group_gather(group, &mine, sizeof mine, all, &err) == 0);
    for (int i = 0; i < place.size; i++)
        CHECK(group, all[i] == i * 11);
    free(data);
}

TEST(test_broadcast_and_gather)
{
    struct err err = in_ranks(3, body_data);
    assert_string_equal(err.text, "");
}

// Sums that go on beside other work; more of them than the queue holds.
static void body_start(struct group *group)
{
    static float values[3000][3];
    struct err err = {0};
    int rank = group_place(group).rank;
    for (int i = 0; i < 3000; i++) {
        for (int k = 0; k < 3; k++)
            values[i][k] = (float)(rank + i + k);
        CHECK(group, group_sum_start(group, values[i], 3, &err) == 0);
    }
    CHECK(group, group_wait(group, &err) == 0);
    for (int i = 0; i < 3000; i++)
        CHECK(group, values[i][2] == (float)(2 * i + 5));
}

TEST(test_start_and_wait)
{
    struct err err = in_ranks(2, body_start);
    assert_string_equal(err.text, "");
}

// Fewer ranks for a while, and all of them again.
static void body_use(struct group *group)
{
    struct err err = {0};
    for (int size = 4; size >= 1; size--) {
        CHECK(group, group_use(group, size, &err) == 0);
        struct group_place place = group_place(group);
        CHECK(group, place.size == size && place.local_size == size);
        float one = 1;
        for (int i = 0; i < size; i++) { // different numbers of calls
            one = 1;
            if (place.rank < size)
                CHECK(group, group_sum(group, &one, 1, &err) == 0);
        }
        CHECK(group, one == (place.rank < size ? (float)size : 1));
    }
    CHECK(group, group_use(group, 4, &err) == 0);
    float one = 1;
    CHECK(group, group_sum(group, &one, 1, &err) == 0);
    CHECK(group, one == 4);
}

TEST(test_use)
{
    struct err err = in_ranks(4, body_use);
    assert_string_equal(err.text, "");
}

TEST(test_share)
{
    int64_t first, part;
    group_share(NULL, 7, &first, &part);
    assert_int_equal(first, 0);
    assert_int_equal(part, 7);
    struct group_place place = group_place(NULL);
    assert_int_equal(place.size, 1);
    assert_int_equal(place.nodes, 1);
}

static void body_share(struct group *group)
{
    static const int64_t want[4][2] = {{0, 3}, {3, 3}, {6, 2}, {8, 2}};
    int rank = group_place(group).rank;
    int64_t first, part;
    group_share(group, 10, &first, &part);
    CHECK(group, first == want[rank][0] && part == want[rank][1]);
    group_share(group, 2, &first, &part);
    CHECK(group, part == (rank < 2) && (part == 0 || first == rank));
}

TEST(test_shares)
{
    struct err err = in_ranks(4, body_share);
    assert_string_equal(err.text, "");
}

// ---- ranks that do not go on ----

static void body_killed(struct group *group)
{
    struct err err = {0};
    if (group_place(group).rank == 1)
        raise(SIGKILL);
    for (int rc = 0; rc == 0;)
        rc = group_barrier(group, &err);
}

static void body_failing(struct group *group)
{
    struct err err = {0};
    if (group_place(group).rank == 2)
        group_fail(group, "the disk is on fire");
    for (int rc = 0; rc == 0;)
        rc = group_barrier(group, &err);
}

// Rank 0 calculates, and still learns of it.
static void body_leaving(struct group *group)
{
    struct err err = {0};
    if (group_place(group).rank == 1)
        _exit(7);
    if (group_place(group).rank == 0)
        while (group_check(group, &err) == 0)
            clock_sleep_ns(NS_PER_MS);
}

TEST(test_lost_ranks)
{
    int64_t began_ns = clock_now_ns();
    assert_string_equal(in_ranks(3, body_killed).text, "rank 1 was killed by signal 9 (Killed)");
    assert_string_equal(in_ranks(4, body_failing).text, "rank 2: the disk is on fire");
    assert_string_equal(in_ranks(2, body_leaving).text, "rank 1 ended with exit code 7");
    assert_true(clock_now_ns() - began_ns < 5 * NS_PER_S);
}

// What a slow rank costs the others is waiting, not communication.
static void body_slow(struct group *group)
{
    struct err err = {0};
    float one = 1;
    if (group_place(group).rank == 1)
        clock_sleep_ns(300 * NS_PER_MS);
    CHECK(group, group_sum(group, &one, 1, &err) == 0);
    struct group_times times;
    group_times(group, &times);
    if (group_place(group).rank == 0)
        CHECK(group, times.waiting_ns > 250 * NS_PER_MS && times.waiting_ns < 2 * NS_PER_S);
    CHECK(group, times.communication_ns < 200 * NS_PER_MS);
}

TEST(test_slow_rank)
{
    struct err err = in_ranks(2, body_slow);
    assert_string_equal(err.text, "");
}

TEST(test_refused)
{
    struct err err = {0};
    struct group *group = NULL;
    assert_int_equal(group_fork(&group, 1, &err), ERR_USAGE);
    assert_int_equal(group_fork(&group, 100000, &err), ERR_USAGE);
    assert_null(group);
    group_free(NULL);
    group_fail(NULL, "alone");
}
