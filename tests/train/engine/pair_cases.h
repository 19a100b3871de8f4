// SPDX-License-Identifier: Apache-2.0
// For the tests of an engine (SUBJECT, else the cpu's): two programs of one net side by side, one
// of them the reference engine's, and how far apart they are.
#ifndef FARE_TESTS_ENGINE_PAIR_CASES_H
#define FARE_TESTS_ENGINE_PAIR_CASES_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "train/engine/engine.h"
#include "test.h"

#ifndef SUBJECT
#define SUBJECT engine_cpu
#endif

// Adam with beta 1 = 0: the first state is the gradient itself. Nothing moves at a rate of 0 but
// the running averages of a batch norm.
static const struct recipe see_gradients = {.optimizer = OPTIMIZER_ADAM,
                                            .rho = 0,
                                            .beta2 = 0.5f,
                                            .epsilon = 1e-7f,
                                            .stages = {{.rate = 0}},
                                            .stage_count = 1};

enum { SUBJECTS = 3 };

struct pair {
    union { // the first; and (optional) others that must do the same, with other options
        struct engine_program *subject, *subjects[SUBJECTS];
    };
    struct engine_program *ref;
    int64_t batch, room;      // room: numbers of one sample of the input
    int time, classes, units; // units: of the last layer
    int each;                 // labels of a sample
    bool coarse;              // inputs are numbers that bf16 has
    float *image;
    int32_t *tokens, *labels;
    int vocabulary;
};

static inline struct recipe with_batch(const struct recipe *recipe, int64_t batch)
{
    struct recipe mine = *recipe;
    mine.batch = batch;
    return mine;
}

static inline struct engine_program *subject_program(const struct net *net,
                                                     const struct recipe *recipe,
                                                     const struct engine_options *options)
{
    struct err err = {0};
    struct engine_program *program = NULL;
    assert_ok(SUBJECT.compile(net, recipe, options, &program, &err), &err);
    return program;
}

static inline void *some(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count, size);
    assert_non_null(memory);
    return memory;
}

// Room for what an engine is to write: not a number where it does not.
static inline float *unwritten(int64_t count)
{
    float *values = some(count, sizeof *values);
    for (int64_t i = 0; i < count; i++)
        values[i] = NAN;
    return values;
}

static inline void pair_init(struct pair *pair, const struct net *net, const struct recipe *recipe_,
                             int64_t batch, const struct engine_options *options)
{
    struct err err = {0};
    struct recipe recipe = with_batch(recipe_, batch);
    struct engine_options plain = {.seed = options->seed};
    *pair = (struct pair){.batch = batch};
    assert_ok(net_check(net, &err), &err);
    assert_ok(engine_ref.compile(net, &recipe, &plain, &pair->ref, &err), &err);
    pair->subject = subject_program(net, &recipe, options);
    const struct net_layer *input = &net->layers[0], *last = &net->layers[net->layer_count - 1];
    if (input->op == NET_TOKENS) {
        pair->time = input->out.dim[0];
        pair->vocabulary = input->vocabulary;
        pair->tokens = some(batch * pair->time, sizeof *pair->tokens);
    } else {
        pair->room = net_shape_count(&input->out);
        pair->image = some(batch * pair->room, sizeof *pair->image);
    }
    pair->units = net_classes(last);
    pair->each = net_labels(last);
    pair->classes = net->loss == NET_SIGMOID ? 2 : pair->units;
    pair->labels = some(batch * pair->each, sizeof *pair->labels);
}

// One more program beside the same of the reference: subjects[which], 1 first.
static inline void pair_add(struct pair *pair, int which, const struct net *net,
                            const struct recipe *recipe_, const struct engine_options *options)
{
    struct recipe recipe = with_batch(recipe_, pair->batch);
    pair->subjects[which] = subject_program(net, &recipe, options);
}

static inline void pair_release(struct pair *pair)
{
    for (int s = 0; s < SUBJECTS && pair->subjects[s]; s++)
        SUBJECT.release(pair->subjects[s]);
    engine_ref.release(pair->ref);
    free(pair->image);
    free(pair->tokens);
    free(pair->labels);
}

// The bf16 below, which tf32 has as well.
static inline float coarse(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= 0xffff0000u;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// Fills the buffers with batch `number`; what lies behind `count` samples is not a number.
static inline struct engine_batch pair_batch(struct pair *pair, uint64_t number, int64_t count)
{
    struct rng rng;
    rng_init(&rng, number + 77);
    for (int64_t i = 0; pair->image && i < pair->batch * pair->room; i++)
        pair->image[i] = i >= count * pair->room ? NAN
                         : pair->coarse          ? coarse((float)rng_normal(&rng))
                                                 : (float)rng_normal(&rng);
    for (int64_t i = 0; pair->tokens && i < pair->batch * pair->time; i++)
        pair->tokens[i] = (int32_t)rng_below(&rng, (uint64_t)pair->vocabulary);
    for (int64_t i = 0; i < pair->batch * pair->each; i++)
        pair->labels[i] = (int32_t)rng_below(&rng, (uint64_t)pair->classes);
    return (struct engine_batch){
        .count = count, .image = pair->image, .tokens = pair->tokens, .labels = pair->labels};
}

static inline float *values_of(const struct engine *engine, struct engine_program *program,
                               int index, int64_t *count)
{
    struct err err = {0};
    struct engine_tensor tensor;
    engine->tensor(program, index, &tensor);
    float *values = unwritten(tensor.count);
    assert_ok(engine->read(program, index, values, &err), &err);
    *count = tensor.count;
    return values;
}

// From now on parameters and inputs of both are numbers that bf16 has: a first product has operands
// that every precision takes as they are, and what a relu or a pool behind it chooses is the same.
static inline void pair_coarsen(struct pair *pair)
{
    struct err err = {0};
    pair->coarse = true;
    for (int i = 0; i < engine_ref.tensor_count(pair->ref); i++) {
        struct engine_tensor tensor;
        int64_t count;
        engine_ref.tensor(pair->ref, i, &tensor);
        if (tensor.role != ENGINE_PARAMETER)
            continue;
        float *values = values_of(&engine_ref, pair->ref, i, &count);
        for (int64_t k = 0; k < count; k++)
            values[k] = coarse(values[k]);
        assert_ok(engine_ref.write(pair->ref, i, values, &err), &err);
        assert_ok(SUBJECT.write(pair->subject, i, values, &err), &err);
        free(values);
    }
}

// The largest difference, as a share of the largest number of the reference.
static inline double apart(const float *a, const float *b, int64_t count)
{
    double most = 0, scale = 1e-30;
    for (int64_t i = 0; i < count; i++) {
        double difference = fabs((double)a[i] - (double)b[i]);
        if (!(difference <= most)) // also what is not a number
            most = isnan(difference) ? HUGE_VAL : difference;
        if (fabs((double)b[i]) > scale)
            scale = fabs((double)b[i]);
    }
    return most / scale;
}

// The length of the difference as a share of the reference's: one number that is far off counts
// little. For precisions in which a number near zero may fall on the other side of it.
static inline double apart_together(const float *a, const float *b, int64_t count)
{
    double off = 0, all = 1e-60;
    for (int64_t i = 0; i < count; i++) {
        off += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        all += (double)b[i] * (double)b[i];
    }
    return isnan(off) ? HUGE_VAL : sqrt(off / all);
}

struct gap { // the largest distance so far, and where it was
    double most;
    char where[128];
    bool together; // distances of whole tensors, not of their numbers
};

static inline void widen(struct gap *gap, double distance, const char *where, int subject)
{
    static const char *const whose[SUBJECTS] = {"", " of the second", " of the third"};
    if (!(distance <= gap->most)) { // also what is not a number
        gap->most = isnan(distance) ? HUGE_VAL : distance;
        snprintf(gap->where, sizeof gap->where, "%s%s", where, whose[subject]);
    }
}

static inline void pair_tensor(struct pair *pair, int i, int s, const float *right, struct gap *gap)
{
    struct engine_tensor a, b;
    int64_t count;
    SUBJECT.tensor(pair->subjects[s], i, &a);
    engine_ref.tensor(pair->ref, i, &b);
    assert_string_equal(a.name, b.name);
    assert_int_equal(a.role, b.role);
    assert_int_equal(a.count, b.count);
    if (!right)
        return;
    float *x = values_of(&SUBJECT, pair->subjects[s], i, &count);
    widen(gap, gap->together ? apart_together(x, right, count) : apart(x, right, count), a.name, s);
    free(x);
}

// All parameters; with `states` their first states as well.
static inline void pair_tensors(struct pair *pair, bool states, struct gap *gap)
{
    for (int i = 0; i < engine_ref.tensor_count(pair->ref); i++) {
        struct engine_tensor b;
        int64_t count;
        engine_ref.tensor(pair->ref, i, &b);
        bool seen = b.role != ENGINE_STATE || (states && !strstr(b.name, ".state1"));
        float *right = seen ? values_of(&engine_ref, pair->ref, i, &count) : NULL;
        for (int s = 0; s < SUBJECTS && pair->subjects[s]; s++) {
            assert_int_equal(SUBJECT.tensor_count(pair->subjects[s]),
                             engine_ref.tensor_count(pair->ref));
            pair_tensor(pair, i, s, right, gap);
        }
        free(right);
    }
}

// One step of all; the distance of what they said.
static inline void pair_step(struct pair *pair, const struct engine_batch *batch, struct gap *gap)
{
    struct err err = {0};
    struct engine_score b = {0};
    assert_ok(engine_ref.step(pair->ref, batch, &b, &err), &err);
    for (int s = 0; s < SUBJECTS && pair->subjects[s]; s++) {
        struct engine_score a = {0};
        assert_ok(SUBJECT.step(pair->subjects[s], batch, &a, &err), &err);
        assert_int_equal(a.count, b.count);
        widen(gap, fabs(a.loss - b.loss) / fmax(fabs(b.loss), 1e-30), "loss", s);
    }
}

// Evaluation and prediction of all.
static inline void pair_evaluate(struct pair *pair, const struct engine_batch *batch,
                                 struct gap *gap)
{
    struct err err = {0};
    struct engine_score b = {0};
    float *y = unwritten(pair->batch * pair->units);
    assert_ok(engine_ref.evaluate(pair->ref, batch, &b, &err), &err);
    assert_ok(engine_ref.predict(pair->ref, batch, y, &err), &err);
    for (int s = 0; s < SUBJECTS && pair->subjects[s]; s++) {
        struct engine_score a = {0};
        float *x = unwritten(pair->batch * pair->units);
        assert_ok(SUBJECT.evaluate(pair->subjects[s], batch, &a, &err), &err);
        assert_int_equal(a.count, b.count);
        widen(gap, fabs(a.loss - b.loss) / fmax(fabs(b.loss), 1e-30), "evaluated loss", s);
        assert_ok(SUBJECT.predict(pair->subjects[s], batch, x, &err), &err);
        widen(gap, apart(x, y, batch->count * pair->units), "prediction", s);
        free(x);
    }
    free(y);
}

static inline void assert_within(const struct gap *gap, double bound, const char *what)
{
    if (getenv("FARE_TEST_GAPS")) // to see them all
        print_message("%-60s %.2e of %.0e (%s)\n", what, gap->most, bound, gap->where);
    else if (!(gap->most <= bound))
        fail_msg("%s: %s is %g away, more than %g", what, gap->where, gap->most, bound);
}

#endif
