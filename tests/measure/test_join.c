// SPDX-License-Identifier: Apache-2.0
// Fare processes of one job that talk to each other: 64 of them, strangers, and messages that
// cannot be. Each process is a real one; the environment is set as launchers set it.
#include "measure/join_parts.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "test.h"

enum { SIZE = 64 };

static bool never(void)
{
    return false;
}

static struct join *open_seat(int rank, int size, int nodes)
{
    struct err err = {0};
    struct join *j = NULL;
    struct worker place = {.by = "mpirun", .rank = rank, .size = size, .nodes = nodes};
    assert_ok(join_new(&j, &place, &err), &err);
    return j;
}

static void name_job(const char *name)
{
    char job[64];
    snprintf(job, sizeof job, "test-%s-%d", name, (int)getpid());
    setenv("PMIX_NAMESPACE", job, 1);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    setenv("FARE_JOIN", "30", 1);
    setenv("FARE_JOIN_SECRET", "only this test knows it", 1);
}

// A process that tells its number and ends with it as its code.
static void other(int rank, int size, int nodes)
{
    struct join *j = open_seat(rank, size, nodes);
    struct rank_times r = {.rank = rank,
                           .size = size,
                           .pid = getpid(),
                           .by = RANK_MPI,
                           .covered_ns = 1000,
                           .open_ns = rank};
    struct buf why = {0};
    join_tell(j, &r, 1);
    bool heard = join_ended(j, rank << 8, &why);
    _exit(heard && why.len == 0 ? 0 : 1);
}

static void reap(int count)
{
    for (int i = 0; i < count; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
}

static void all_are_heard(int size, int nodes)
{
    for (int rank = 1; rank < size; rank++)
        if (fork() == 0)
            other(rank, size, nodes);
    struct join *j = open_seat(0, size, nodes);
    int count;
    join_wait(j, never);
    const struct join_seat *seats = join_look(j, &count);
    assert_int_equal(count, size - 1);
    for (int i = 0; i < count; i++) {
        assert_int_equal(seats[i].state, JOIN_ENDED);
        assert_int_equal(WEXITSTATUS(seats[i].status), i + 1);
        assert_int_equal(seats[i].count, 1);
        assert_int_equal(seats[i].ranks[0].open_ns, i + 1);
    }
    join_free(j);
    reap(size - 1);
}

TEST(of_one_machine)
{
    name_job("local");
    all_are_heard(SIZE, 1);
}

TEST(of_several_machines)
{
    name_job("apart");
    all_are_heard(SIZE, 2);
}

// The first port belongs to another program, which accepts and says nothing.
TEST(a_taken_port)
{
    name_job("taken");
    struct join *probe = open_seat(0, 2, 2);
    struct sockaddr_in6 to = {.sin6_family = AF_INET6,
                              .sin6_port = htons((uint16_t)join_port(probe, 0))};
    join_free(probe);
    int fd = socket(AF_INET6, SOCK_STREAM, 0), again = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
    assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(listen(fd, 4), 0);
    all_are_heard(2, 2);
    close(fd);
}

static int connect_as_stranger(const struct join *j)
{
    struct sockaddr_un to;
    socklen_t len = join_address(j, &to);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, len), 0);
    return fd;
}

TEST(strangers)
{
    name_job("strangers");
    struct join *j = open_seat(0, 2, 1);
    int count, silent[200];
    static struct join_message m;
    for (int i = 0; i < 200; i++)
        silent[i] = connect_as_stranger(j);
    int liar = connect_as_stranger(j);
    memset(&m, 0xff, sizeof m);
    assert_true(send(liar, &m, sizeof m, MSG_NOSIGNAL) > 0);
    join_look(j, &count);
    clock_sleep_ns(50 * NS_PER_MS);
    const struct join_seat *seats = join_look(j, &count);
    assert_int_equal(seats[0].state, JOIN_ABSENT);
    if (fork() == 0)
        other(1, 2, 1);
    join_wait(j, never);
    assert_int_equal(join_look(j, &count)[0].state, JOIN_ENDED);
    for (int i = 0; i < 200; i++)
        close(silent[i]);
    close(liar);
    join_free(j);
    reap(1);
}

TEST(messages_that_cannot_be)
{
    static struct join_message good;
    good = (struct join_message){.bytes = sizeof good, .count = 1};
    good.ranks[0] = (struct rank_times){.covered_ns = 100, .open_ns = 50, .all_ns = -1};
    assert_true(join_valid(&good));
#define WRONG(change)                                                                              \
    do {                                                                                           \
        static struct join_message m;                                                              \
        m = good;                                                                                  \
        change;                                                                                    \
        assert_false(join_valid(&m));                                                              \
    } while (0)
    WRONG(m.bytes--);
    WRONG(m.kind = 2);
    WRONG(memset(m.host, 'h', sizeof m.host));
    WRONG(m.count = -1);
    WRONG(m.count = RANK_TIMES_MOST + 1);
    WRONG(m.ranks[0].covered_ns = INT64_MIN);
    WRONG(m.ranks[0].covered_ns = INT64_MAX);
    WRONG(m.ranks[0].open_ns = 101);
    WRONG(m.ranks[0].all_ns = INT64_MIN);
}

// The others end when the first one says so.
TEST(stopping)
{
    name_job("stop");
    pid_t pid = fork();
    if (pid == 0) {
        struct join *o = open_seat(1, 2, 1);
        struct buf why = {0};
        for (int i = 0; i < 2000 && !join_stopped(o); i++)
            clock_sleep_ns(10 * NS_PER_MS);
        bool stopped = join_stopped(o) == 2;
        _exit(join_ended(o, 0, &why) && stopped ? 0 : 1);
    }
    struct join *j = open_seat(0, 2, 1);
    int count;
    while (join_look(j, &count)[0].state == JOIN_ABSENT)
        clock_sleep_ns(10 * NS_PER_MS);
    join_stop(j, 2);
    join_wait(j, never);
    assert_int_equal(join_look(j, &count)[0].state, JOIN_ENDED);
    join_free(j);
    reap(1);
}
