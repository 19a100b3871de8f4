// SPDX-License-Identifier: Apache-2.0
// How a step is divided, from times of ranks that are written by hand.
#include "measure/parallel.h"

#include "test.h"

#define S 1000000000

static struct rank_times at(int rank, unsigned by, int64_t covered, int64_t open, int64_t all)
{
    return (struct rank_times){.rank = rank,
                               .size = 2,
                               .pid = 100 + rank,
                               .by = by,
                               .covered_ns = covered,
                               .open_ns = open,
                               .all_ns = all};
}

static bool near(struct maybe_real v, double expected)
{
    return v.known && v.v > expected - 1e-9 && v.v < expected + 1e-9;
}

static void derive(struct rank_times *begin, struct rank_times *end, int count, int64_t ranks,
                   struct run *run)
{
    struct err err = {0};
    run->step_ms = some_real(100);
    assert_ok(parallel_derive(begin, end, count, ranks, run, &err), &err);
}

// Rank 0 is in exchanges for 4 of 10 s, rank 1 for 1: of a step of 100 ms 10 are communication, and
// rank 0 waits 30, which is 15 in the mean.
TEST(the_slowest_rank_waits_least)
{
    struct rank_times begin[] = {at(0, RANK_MPI, 5ll * S, 1ll * S, 1ll * S),
                                 at(1, RANK_MPI, 90ll * S, 2ll * S, 2ll * S)};
    struct rank_times end[] = {at(0, RANK_MPI, 15ll * S, 5ll * S, 6ll * S),
                               at(1, RANK_MPI, 100ll * S, 3ll * S, 4ll * S)};
    struct run run = {0};
    derive(begin, end, 2, 2, &run);
    assert_true(near(run.step_communication_ms, 10));
    assert_true(near(run.step_waiting_ms, 15));
    assert_true(near(run.step_calculation_ms, 75));
    assert_true(near(run.parallel.exchange_ms, 25));
    assert_true(near(run.parallel.hidden_ms, 10)); // 1 s of 10 in both
    assert_int_equal(run.parallel.slowest_rank.v, 1);
    assert_true(near(run.parallel.most_ms, 90));
    assert_true(near(run.parallel.least_ms, 60));
    assert_string_equal(run.parallel.from, "MPI's calls");
    record_release(run_fields, &run);
}

// Of four ranks one was seen: its exchanges hold waiting that nobody can tell apart.
TEST(not_all_were_seen)
{
    struct rank_times begin[] = {at(0, RANK_GLOO, 0, 0, 0)},
                      end[] = {at(0, RANK_GLOO, 10ll * S, 3ll * S, 3ll * S)};
    struct run run = {0};
    derive(begin, end, 1, 4, &run);
    assert_true(near(run.parallel.exchange_ms, 30));
    assert_true(near(run.step_calculation_ms, 70));
    assert_false(run.step_communication_ms.known);
    assert_false(run.step_waiting_ms.known);
    assert_false(run.parallel.slowest_rank.known);
    assert_int_equal(run.parallel.ranks_seen.v, 1);
    record_release(run_fields, &run);
}

// NCCL's times are those of the recorded steps, and the beginning does not count.
TEST(kernels)
{
    struct rank_times begin[] = {at(0, RANK_NCCL, 2ll * S, 1ll * S, -1),
                                 at(1, RANK_NCCL, 3ll * S, S, -1)};
    struct rank_times end[] = {at(0, RANK_NCCL, 2ll * S, S / 2, -1),
                               at(1, RANK_NCCL, 1ll * S, S / 10, -1)};
    struct run run = {0};
    derive(begin, end, 2, 2, &run);
    assert_true(near(run.step_communication_ms, 10));
    assert_true(near(run.parallel.exchange_ms, 17.5));
    assert_false(run.parallel.hidden_ms.known);
    assert_string_equal(run.parallel.from, "NCCL's kernels");
    record_release(run_fields, &run);
}

TEST(what_is_not_known_is_absent)
{
    // Exchanges beside the training only; no time passed; more than all of it.
    struct rank_times begin[] = {at(0, RANK_GLOO, 0, -1, 0), at(1, RANK_MPI, 5, 0, 0),
                                 at(2, RANK_MPI, 0, 0, 0)};
    struct rank_times end[] = {at(0, RANK_GLOO, S, -1, S), at(1, RANK_MPI, 5, 0, 0),
                               at(2, RANK_MPI, S, 2ll * S, 2ll * S)};
    struct run run = {0};
    derive(begin, end, 3, 3, &run);
    assert_int_equal(run.parallel.ranks_seen.v, 0);
    assert_false(run.parallel.exchange_ms.known);
    assert_false(run.step_calculation_ms.known);
    record_release(run_fields, &run);
}
