// SPDX-License-Identifier: Apache-2.0
// Steps from the order of kernels. A sequence is written as a text, a letter per kernel, and takes
// 10 us each, 1 us apart. 'O' is an optimizer's; the number of steps is counted by hand.
#include "follow/trace/account.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { MOST = 200000 };

struct sequence {
    struct trace_item items[MOST];
    size_t count;
};

static void add(struct sequence *s, const char *letters)
{
    for (; *letters; letters++) {
        assert_true(s->count < MOST);
        int64_t start = (int64_t)s->count * 11000;
        s->items[s->count++] =
            (struct trace_item){.start_ns = start,
                                .end_ns = start + 10000,
                                .key = (uint32_t)*letters,
                                .class = *letters == 'O' ? CLASS_OPTIMIZER : CLASS_MATMUL};
    }
}

static void repeat(struct sequence *s, const char *letters, int times)
{
    while (times-- > 0)
        add(s, letters);
}

static struct sequence *begin(void)
{
    struct sequence *s = calloc(1, sizeof *s);
    assert_non_null(s);
    return s;
}

static size_t steps_of(struct sequence *s, int64_t *first, int64_t *last)
{
    struct pattern p;
    struct err err = {0};
    assert_ok(pattern_find(s->items, s->count, &p, &err), &err);
    size_t count = p.count;
    for (size_t i = 1; i < count; i++)
        assert_true(p.ends[i] > p.ends[i - 1]);
    if (first)
        *first = count ? p.ends[0] : -1;
    if (last)
        *last = count ? p.ends[count - 1] : -1;
    pattern_release(&p);
    free(s);
    return count;
}
#define STEPS(s) steps_of(s, NULL, NULL)

TEST(an_optimizer_ends_each_step)
{
    struct sequence *s = begin();
    int64_t first, last;
    repeat(s, "abcdefghOOO", 50);
    add(s, "abcd"); // begun
    assert_int_equal(steps_of(s, &first, &last), 50);
    assert_int_equal(first, 11 * 11000 - 1000);
    assert_int_equal(last, 550 * 11000 - 1000);
}

// The last burst may not be over yet.
TEST(the_last_step_needs_a_successor)
{
    struct sequence *s = begin();
    repeat(s, "abcdefghOOO", 50);
    assert_int_equal(STEPS(s), 49);
}

// Clipping: norms of the gradients, a few small kernels, then the update.
TEST(clipping_is_part_of_the_step)
{
    struct sequence *s = begin();
    repeat(s, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzOOxyzOOO", 40);
    add(s, "abcdefghijklmnopqrstuvwxyz");
    assert_int_equal(STEPS(s), 40);
}

TEST(accumulated_batches_are_one_step)
{
    struct sequence *s = begin();
    for (int i = 0; i < 20; i++) {
        repeat(s, "abcdefgh", 8);
        add(s, "OO");
    }
    repeat(s, "abcdefgh", 5);
    assert_int_equal(STEPS(s), 20);
}

TEST(evaluations_are_no_steps)
{
    struct sequence *s = begin();
    for (int i = 0; i < 5; i++) {
        repeat(s, "abcdefghOOO", 60);
        repeat(s, "abcd", 300);
    }
    assert_int_equal(STEPS(s), 300);
}

// Without a known optimizer: 12 layers forward, 12 backward, a loss between, an update at the end.
TEST(layers_are_no_steps)
{
    struct sequence *s = begin();
    for (int i = 0; i < 40; i++) {
        add(s, "e");
        repeat(s, "qkvfg", 12);
        add(s, "ln");
        repeat(s, "QKVFGH", 12);
        add(s, "Eu");
    }
    // The last backward pass is not followed by anything of its own: it may not be over.
    size_t steps = STEPS(s);
    assert_in_range(steps, 39, 40);
}

TEST(steps_without_an_optimizer_beside_evaluations)
{
    struct sequence *s = begin();
    for (int i = 0; i < 4; i++) {
        repeat(s, "eabcdlDCBAEuvw", 50);
        repeat(s, "eabcdl", 100);
    }
    assert_in_range(STEPS(s), 199, 200);
}

// Other kernels for other lengths; only some are always there.
TEST(random_lengths)
{
    static const char *const kinds[] = {"1r23l4s56", "7r89l(s)*", "+r,-l.s/:", "1r23l4s56#$%"};
    struct sequence *s = begin();
    unsigned seed = 7;
    for (int i = 0; i < 300; i++) {
        add(s, "abcde");
        seed = seed * 1103515245 + 12345;
        add(s, kinds[seed >> 16 & 3]);
        add(s, "fghij");
    }
    assert_in_range(STEPS(s), 299, 300);
}

// Every tenth step prints its loss.
TEST(logging_is_no_step)
{
    struct sequence *s = begin();
    for (int i = 0; i < 30; i++) {
        repeat(s, "eabcdlDCBAEuvw", 10);
        add(s, "XYZ");
    }
    assert_in_range(STEPS(s), 299, 300);
}

TEST(an_autotuner_is_no_training)
{
    struct sequence *s = begin();
    for (const char *c = "abcdefghijklmnop"; *c; c++)
        repeat(s, (const char[]){'0', *c, '\0'}, 100); // a memory set, then the kernel on trial
    assert_int_equal(STEPS(s), 0);
}

TEST(start_up_before_the_training)
{
    struct sequence *s = begin();
    repeat(s, "0", 500); // parameters are filled
    for (const char *c = "tuvwxyz"; *c; c++)
        repeat(s, (const char[]){'0', *c, '\0'}, 100);
    repeat(s, "abcdefgh0OOO", 60);
    add(s, "abcdefgh");
    assert_int_equal(STEPS(s), 60);
}

// Lists that are copied for every layer, as sharded trainings do, are no optimizer.
TEST(lists_in_every_layer)
{
    struct sequence *s = begin();
    for (int i = 0; i < 50; i++)
        add(s, "eabcdefghijOklmnopqrstuOvwxyzABCDEFOGHIJKLMNPQRSTO");
    assert_in_range(STEPS(s), 49, 50);
}

TEST(no_order_at_all)
{
    struct sequence *s = begin();
    unsigned seed = 1;
    for (int i = 0; i < 150000; i++) {
        seed = seed * 1103515245 + 12345;
        add(s, "k");
        s->items[i].key = 1 + (seed >> 8) % 4000;
    }
    assert_int_equal(STEPS(s), 0);
}

TEST(too_little)
{
    assert_int_equal(STEPS(begin()), 0);
    struct sequence *s = begin();
    repeat(s, "abcdefghOOO", 3);
    add(s, "abc");
    assert_int_equal(STEPS(s), 0);
    s = begin();
    repeat(s, "a", 100000);
    assert_int_equal(STEPS(s), 0);
    s = begin();
    repeat(s, "O", 1000);
    assert_int_equal(STEPS(s), 0);
}
