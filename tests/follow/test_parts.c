// SPDX-License-Identifier: Apache-2.0
// Time between two reports of steps, divided; how many parts the whole training has.
#include "test.h"

#include <math.h>

#include "base/clock.h"
#include "follow/track.h"

#define S NS_PER_S

static const struct parts_sign evaluation = {.part = PART_EVALUATION};

// Ten intervals of ten steps of 0.1 s.
static void usual(struct parts *p)
{
    int64_t part_ns[PARTS];
    unsigned marks;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(parts_split(p, S, 10, 10 * i, part_ns, &marks), S);
        assert_int_equal(marks, 0);
    }
}

// Ten steps with an evaluation took 5 s: 1 s of steps, 4 s of evaluation.
TEST(the_rest_is_the_part)
{
    struct parts p = {0};
    int64_t part_ns[PARTS];
    unsigned marks;
    usual(&p);
    parts_mark(&p, &evaluation, 0, 4 * S);
    assert_int_equal(parts_split(&p, 5 * S, 10, 100, part_ns, &marks), S);
    assert_int_equal(part_ns[PART_EVALUATION], 4 * S);
    assert_int_equal(part_ns[PART_CHECKPOINT] + part_ns[PART_EPOCH_END], 0);
    assert_int_equal(marks, 1U << PART_EVALUATION);
    assert_int_equal(p.kinds[PART_EVALUATION].seen, 1);
}

// 3 s of evaluation, then 1 s of checkpoint at the end of an epoch: its own time is theirs.
TEST(several_parts_share_the_rest)
{
    struct parts p = {0};
    int64_t part_ns[PARTS];
    unsigned marks;
    usual(&p);
    parts_mark(&p, &evaluation, 0, 3 * S);
    parts_mark(&p, &(struct parts_sign){.part = PART_CHECKPOINT}, 0, 4 * S);
    parts_mark(&p, &(struct parts_sign){.part = PART_EPOCH_END}, 0, 5 * S);
    parts_split(&p, 5 * S, 10, 100, part_ns, &marks);
    assert_int_equal(part_ns[PART_EVALUATION], 3 * S);
    assert_int_equal(part_ns[PART_CHECKPOINT], S);
    assert_int_equal(part_ns[PART_EPOCH_END], 0);
}

// If every interval has a part, it is in the step time, and no longer unseen.
TEST(without_a_usual_time_nothing_is_divided)
{
    struct parts p = {0};
    int64_t part_ns[PARTS], next;
    unsigned marks;
    const struct parts_whole whole = {.made = 30, .total = 100};
    p.kinds[PART_EVALUATION].every = 10;
    assert_int_equal(parts_unseen(&p, &whole, &next), 1U << PART_EVALUATION);
    for (int i = 0; i < 3; i++) {
        parts_mark(&p, &evaluation, 0, S);
        assert_int_equal(parts_split(&p, 5 * S, 10, 10 * i, part_ns, &marks), 5 * S);
        assert_int_equal(part_ns[PART_EVALUATION], 0);
    }
    assert_int_equal(parts_unseen(&p, &whole, &next), 0);
}

TEST(their_number)
{
    double doubt;
    const struct parts_kind at_100 = {.seen = 1, .first = 100, .last = 100};
    const struct {
        struct parts_kind kind;
        struct parts_whole whole;
        int64_t expected;
        double doubt;
    } cases[] = {
        // Every 100 of 1,050 steps, by the log or by the first.
        {{.every = 100, .seen = 1, .first = 100, .last = 100}, {.made = 150, .total = 1050}, 10, 0},
        {at_100, {.made = 150, .total = 1050}, 10, 0},
        // At 100 and 300: every 200, up to 900.
        {{.seen = 2, .first = 100, .last = 300}, {.made = 350, .total = 1050}, 5, 0},
        // Once, and not for four times as long: at most (1,050 - 500) / 400 further ones, or none.
        {at_100, {.made = 500, .total = 1050}, 2, 1},
        // With each of 7 epochs.
        {{.seen = 2, .with_epoch = 2, .first = 100, .last = 200},
         {.made = 250, .total = 700, .epochs = 7, .each = 100},
         7,
         0},
        // The tenth would fall on the end.
        {at_100, {.made = 150, .total = 1000}, 10, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct parts p = {.kinds[PART_EVALUATION] = cases[i].kind};
        assert_int_equal(parts_expected(&p, PART_EVALUATION, &cases[i].whole, &doubt),
                         cases[i].expected);
        assert_true(fabs(doubt - cases[i].doubt) < 1e-9);
    }
}

// Three epochs of 100 steps, evaluations every 40, checkpoints after the end.
TEST(what_is_still_to_come)
{
    struct parts p = {0};
    int64_t next;
    double save;
    const struct parts_whole whole = {.made = 30, .total = 300, .epochs = 3, .each = 100};
    p.kinds[PART_EVALUATION].every = 40;
    p.kinds[PART_CHECKPOINT].every = 500;
    unsigned unseen = parts_unseen(&p, &whole, &next);
    assert_int_equal(unseen, 1U << PART_EPOCH_END | 1U << PART_EVALUATION);
    assert_int_equal(next, 10);
    assert_true(fabs(parts_may_add(&p, unseen, &save) - 0.35) < 1e-9);
    assert_true(save == 0);
    assert_true(parts_may_add(&p, 0, &save) == 0);
}

// A bar of training and validation: its steps are the validation's if that moves between them. One
// that was erased before its end was not.
TEST(validation_inside)
{
    struct parts p = {0};
    int64_t inside, all = 0;
    parts_bar(&p, 0, 40);
    assert_int_equal(parts_outside(&p, 2, &inside), 0);
    for (int i = 2; i <= 40; i += 2) {
        parts_bar(&p, i, 40);
        assert_int_equal(parts_outside(&p, 2, &inside), 0);
        all += inside;
    }
    assert_int_equal(all, 42);
    assert_int_equal(parts_evaluations(&p, all), 40);
    assert_int_equal(parts_outside(&p, 3, &inside), 3);

    p = (struct parts){0};
    for (int i = 0; i <= 38; i += 2)
        parts_bar(&p, i, 40);
    assert_int_equal(parts_outside(&p, 1, &inside), 0); // not known yet
    assert_int_equal(parts_outside(&p, 1, &inside), 2);
    assert_int_equal(inside, 0);
}
