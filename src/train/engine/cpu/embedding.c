// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cpu/embedding.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "train/engine/cpu/kernels.h"
#include "train/engine/cpu/params.h"
#include "train/engine/cpu/passes.h"
#include "train/engine/cpu/team.h"

// ---- groups ----

static int32_t *groups_allocate(int64_t count)
{
    return count < 0 || (uint64_t)count > SIZE_MAX / sizeof(int32_t)
               ? NULL
               : calloc((size_t)count + 1, sizeof(int32_t));
}

int groups_init(struct groups *groups, int64_t vocabulary, int64_t positions_max, struct err *err)
{
    assert(vocabulary > 0 && vocabulary <= INT32_MAX && positions_max > 0 &&
           positions_max < INT32_MAX);
    *groups = (struct groups){.vocabulary = vocabulary, .positions_max = positions_max};
    groups->token = groups_allocate(positions_max);
    groups->of = groups_allocate(positions_max);
    groups->first = groups_allocate(positions_max + 1);
    groups->where = groups_allocate(positions_max);
    groups->slot = groups_allocate(vocabulary);
    if (!groups->token || !groups->of || !groups->first || !groups->where || !groups->slot) {
        groups_release(groups);
        return err_memory(err);
    }
    memset(groups->slot, -1, (size_t)vocabulary * sizeof *groups->slot);
    return 0;
}

void groups_release(struct groups *groups)
{
    free(groups->token);
    free(groups->of);
    free(groups->first);
    free(groups->where);
    free(groups->slot);
    *groups = (struct groups){0};
}

// A counting sort by group. first[g] runs ahead of the positions while they are placed, from the
// start of group g to that of the next, so it is filled one place further on.
void groups_look(struct groups *groups, const int32_t *tokens, int64_t positions)
{
    assert(positions >= 0 && positions <= groups->positions_max);
    for (int32_t g = 0; g < groups->distinct; g++) // of the batch before
        groups->slot[groups->token[g]] = -1;
    int32_t distinct = 0, *first = groups->first;
    first[0] = 0;
    for (int64_t i = 0; i < positions; i++) {
        int32_t token = tokens[i];
        assert(token >= 0 && token < groups->vocabulary);
        int32_t g = groups->slot[token];
        if (g < 0) {
            g = groups->slot[token] = distinct++;
            groups->token[g] = token;
            first[g + 1] = 0;
        }
        groups->of[i] = g;
        first[g + 1]++;
    }
    int32_t start = 0;
    for (int32_t g = 0; g < distinct; g++) {
        int32_t count = first[g + 1];
        first[g + 1] = start;
        start += count;
    }
    for (int64_t i = 0; i < positions; i++)
        groups->where[first[groups->of[i] + 1]++] = (int32_t)i;
    groups->distinct = distinct;
    groups->positions = positions;
}

// ---- the table ----

#define CHUNK_ROWS   64        // dense updates at a time: a multiple of PASSES_PAD numbers
#define RATES_MAX    (1 << 20) // Adam's rates that may be listed one by one
#define RATES_STEADY 256       // steps at a time once the rate is constant

struct embedding {
    int64_t vocabulary, positions;
    int units;
    struct recipe recipe;
    bool lazy;
    float rate;
    float *table;    // (vocabulary, units), padded to a whole last chunk
    float *state[2]; // the same
    float *grad;     // (positions, units)
    float *chunk;    // (threads_max, CHUNK_ROWS, units): gradients of the dense way
    int threads_max;
    struct groups groups;
    // Of all ranks of a group; see embedding_unite().
    int ranks;
    struct groups united;
    int32_t *mine, *all; // (1 + positions), (ranks, 1 + positions): number of tokens, tokens
    int32_t *tokens;     // (ranks × positions)
    float *united_grad;  // (ranks × positions, or vocabulary, units)
    // What the next step uses.
    const struct groups *step_groups;
    const float *step_grad;

    // Lazy rows. Iteration `now` is next; row r has had all before base + done[r].
    int64_t base, now;
    int32_t *done; // (vocabulary)
    float *rates;  // (rate_count) k of train/net/net.h for iteration 0, 1, ...; the last
                   // RATES_STEADY are the same, and those after them
    int64_t rate_count;
    int64_t settled; // from this iteration on a step moves a row less than the one before
    struct adam adam;
};

// How many iterations until Adam's correction is 1 to the last bit of a double: beta^t < 2^-54.
static double steps_until_steady(float beta)
{
    return beta <= 0 ? 1 : ceil(54 * log(2.0) / -log((double)beta)) + 1;
}

// Without gradient the move of a step is k m / (√v + epsilon). From a step to the next, m shrinks
// to rho of it, √v to √beta2 at most, and k grows to √((t + 2) / (t + 1)) at most. Once that is
// less than before, a row that a step leaves unchanged stays so.
static int64_t first_settled(const struct recipe *recipe)
{
    for (int64_t t = 0; t < 1000; t++) {
        double grows = sqrt((double)(t + 2) / (double)(t + 1));
        if ((double)recipe->rho * grows < 0.999 * sqrt((double)recipe->beta2))
            return t;
    }
    return INT64_MAX / 2;
}

static double adam_rate(const struct embedding *e, int64_t t)
{
    double steps = (double)t + 1;
    return (double)e->rate * sqrt(1 - pow((double)e->recipe.beta2, steps)) /
           (1 - pow((double)e->recipe.rho, steps));
}

static void list_rates(struct embedding *e)
{
    for (int64_t t = 0; t < e->rate_count; t++)
        e->rates[t] = t < e->rate_count - RATES_STEADY ? (float)adam_rate(e, t) : e->rate;
}

static float *embedding_floats(int64_t rows, int64_t units)
{
    return (uint64_t)rows > SIZE_MAX / sizeof(float) / (uint64_t)units
               ? NULL
               : calloc((size_t)(rows * units), sizeof(float));
}

static int new_lazy(struct embedding *e, double steady, struct err *err)
{
    const struct recipe *r = &e->recipe;
    e->rate_count = (int64_t)steady + RATES_STEADY;
    e->settled = first_settled(r);
    e->adam = (struct adam){.rho = r->rho,
                            .rho_rest = (float)(1 - (double)r->rho),
                            .beta2 = r->beta2,
                            .beta2_rest = (float)(1 - (double)r->beta2),
                            .epsilon = r->epsilon};
    e->done = calloc((size_t)e->vocabulary, sizeof *e->done);
    e->rates = embedding_floats(e->rate_count, 1);
    if (!e->done || !e->rates)
        return err_memory(err);
    list_rates(e);
    return 0;
}

static int new_united(struct embedding *e, struct err *err)
{
    int64_t most = e->ranks * e->positions;
    if (most >= INT32_MAX)
        return err_set(err, ERR_USAGE, "%lld tokens in a batch are too many", (long long)most);
    TRY(groups_init(&e->united, e->vocabulary, most, err));
    e->mine = calloc((size_t)e->positions + 1, sizeof *e->mine);
    e->all = calloc((size_t)e->ranks * ((size_t)e->positions + 1), sizeof *e->all);
    e->tokens = calloc((size_t)most, sizeof *e->tokens);
    e->united_grad = embedding_floats(most < e->vocabulary ? most : e->vocabulary, e->units);
    return e->mine && e->all && e->tokens && e->united_grad ? 0 : err_memory(err);
}

int embedding_new(const struct embedding_spec *spec, struct embedding **out, struct err *err)
{
    assert(spec->vocabulary > 0 && spec->units > 0 && spec->positions > 0);
    *out = NULL;
    struct embedding *e = calloc(1, sizeof *e);
    if (!e)
        return err_memory(err);
    e->vocabulary = spec->vocabulary;
    e->positions = spec->positions;
    e->units = spec->units;
    e->recipe = *spec->recipe;
    e->rate = spec->recipe->stages[0].rate;
    double steady = fmax(steps_until_steady(e->recipe.rho), steps_until_steady(e->recipe.beta2));
    e->lazy =
        e->recipe.optimizer == OPTIMIZER_ADAM && spec->way != EMBEDDING_DENSE && steady < RATES_MAX;
    int rc = groups_init(&e->groups, spec->vocabulary, spec->positions, err);
    if (rc != 0)
        goto out;
    const int64_t rows = (e->vocabulary + CHUNK_ROWS - 1) / CHUNK_ROWS * CHUNK_ROWS;
    bool all = (e->table = embedding_floats(rows, e->units)) &&
               (e->grad = embedding_floats(e->positions, e->units));
    for (int i = 0; i < recipe_states(&e->recipe); i++)
        all = all && (e->state[i] = embedding_floats(rows, e->units));
    if (!e->lazy) {
        e->threads_max = team_size();
        all = all && (e->chunk = embedding_floats((int64_t)e->threads_max * CHUNK_ROWS, e->units));
    }
    rc = !all ? err_memory(err) : e->lazy ? new_lazy(e, steady, err) : 0;
    e->ranks = spec->ranks;
    e->step_groups = &e->groups;
    e->step_grad = e->grad;
    if (rc == 0 && e->ranks > 1)
        rc = new_united(e, err);
    if (rc == 0)
        embedding_reset_state(e);
out:
    if (rc == 0)
        *out = e;
    else
        embedding_free(e);
    return rc;
}

void embedding_free(struct embedding *e)
{
    if (!e)
        return;
    groups_release(&e->groups);
    groups_release(&e->united);
    free(e->mine);
    free(e->all);
    free(e->tokens);
    free(e->united_grad);
    free(e->table);
    free(e->state[0]);
    free(e->state[1]);
    free(e->grad);
    free(e->chunk);
    free(e->done);
    free(e->rates);
    free(e);
}

// Replays the steps that a row has missed.
static void catch_up(struct embedding *e, const struct kernels *k, int64_t row)
{
    int64_t t = e->base + e->done[row];
    const int64_t at = row * e->units;
    while (t < e->now) {
        int64_t listed = t, steps = e->now - t;
        if (t >= e->rate_count - RATES_STEADY)
            listed = e->rate_count - RATES_STEADY;
        if (steps > e->rate_count - listed)
            steps = e->rate_count - listed;
        k->adam_replay(&e->adam, e->rates + listed, steps, e->settled - t, e->table + at,
                       e->state[0] + at, e->state[1] + at, e->units);
        t += steps;
    }
    e->done[row] = (int32_t)(e->now - e->base);
}

// Threads take rows in turn, since rows have missed very different numbers of steps.
static void catch_up_batch(void *embedding, int thread, int threads)
{
    struct embedding *e = embedding;
    unsigned int before = kernels_flush_begin();
    for (int32_t g = thread; g < e->groups.distinct; g += threads)
        catch_up(e, kernels(), e->groups.token[g]);
    kernels_flush_end(before);
}

static void catch_up_part(void *embedding, int thread, int threads)
{
    struct embedding *e = embedding;
    unsigned int before = kernels_flush_begin();
    int64_t from, to;
    team_part(e->vocabulary, CHUNK_ROWS, thread, threads, &from, &to);
    for (int64_t row = from; row < to; row++)
        catch_up(e, kernels(), row);
    kernels_flush_end(before);
}

// Every row is up to date afterwards.
static void settle(struct embedding *e)
{
    if (!e->lazy || e->now == e->base)
        return;
    team_run(catch_up_part, e);
    memset(e->done, 0, (size_t)e->vocabulary * sizeof *e->done);
    e->base = e->now;
}

float *embedding_table(struct embedding *e)
{
    settle(e);
    return e->table;
}

float *embedding_state(struct embedding *e, int which)
{
    assert(which >= 0 && which < recipe_states(&e->recipe));
    settle(e);
    return e->state[which];
}

void embedding_set_rate(struct embedding *e, float rate)
{
    settle(e);
    e->rate = rate;
    if (e->lazy)
        list_rates(e);
}

void embedding_reset_state(struct embedding *e)
{
    settle(e);
    const int64_t count = e->vocabulary * e->units;
    for (int i = 0; i < recipe_states(&e->recipe); i++)
        memset(e->state[i], 0, (size_t)count * sizeof(float));
    if (e->recipe.optimizer == OPTIMIZER_RMSPROP_MOMENTUM)
        for (int64_t i = 0; i < count; i++)
            e->state[0][i] = 1;
}

void embedding_look(struct embedding *e, const int32_t *tokens, int64_t count)
{
    groups_look(&e->groups, tokens, count);
    if (e->lazy)
        team_run(catch_up_batch, e);
}

const struct groups *embedding_groups(const struct embedding *e)
{
    return &e->groups;
}

const float *embedding_rows(const struct embedding *e)
{
    return e->table;
}

float *embedding_grad(struct embedding *e)
{
    return e->grad;
}

struct embedding_copying {
    struct embedding *e;
    float *out;
    const float *dout;
};

static void forward_part(void *copying, int thread, int threads)
{
    const struct embedding_copying *c = copying;
    const struct embedding *e = c->e;
    const size_t bytes = (size_t)e->units * sizeof(float);
    int64_t from, to;
    team_part(e->groups.positions, 1, thread, threads, &from, &to);
    for (int64_t i = from; i < to; i++) {
        int64_t token = e->groups.token[e->groups.of[i]];
        memcpy(c->out + i * e->units, e->table + token * e->units, bytes);
    }
}

void embedding_forward(struct embedding *e, float *out)
{
    team_run(forward_part, &(struct embedding_copying){.e = e, .out = out});
}

static void backward_part(void *copying, int thread, int threads)
{
    const struct embedding_copying *c = copying;
    const struct groups *groups = &c->e->groups;
    const int64_t units = c->e->units;
    for (int64_t g = thread; g < groups->distinct; g += threads) {
        float *sum = c->e->grad + g * units;
        memset(sum, 0, (size_t)units * sizeof *sum);
        for (int32_t i = groups->first[g]; i < groups->first[g + 1]; i++)
            for (int64_t u = 0; u < units; u++)
                sum[u] += c->dout[groups->where[i] * units + u];
    }
}

void embedding_backward(struct embedding *e, const float *dout)
{
    team_run(backward_part, &(struct embedding_copying){.e = e, .dout = dout});
}

// Every rank lists the tokens of all of them in the same order, and they sum the rows of those.
int embedding_unite(struct embedding *e, struct group *group, struct err *err)
{
    if (e->ranks <= 1)
        return 0;
    const size_t each = (size_t)e->positions + 1, row = (size_t)e->units * sizeof(float);
    e->mine[0] = e->groups.distinct;
    memcpy(e->mine + 1, e->groups.token, (size_t)e->groups.distinct * sizeof *e->mine);
    TRY(group_gather(group, e->mine, each * sizeof *e->mine, e->all, err));
    int64_t count = 0;
    for (int r = 0; r < e->ranks; r++) {
        const int32_t *list = e->all + (size_t)r * each;
        memcpy(e->tokens + count, list + 1, (size_t)list[0] * sizeof *list);
        count += list[0];
    }
    groups_look(&e->united, e->tokens, count);
    memset(e->united_grad, 0, (size_t)e->united.distinct * row);
    for (int32_t g = 0; g < e->groups.distinct; g++)
        memcpy(e->united_grad + (int64_t)e->united.slot[e->groups.token[g]] * e->units,
               e->grad + (int64_t)g * e->units, row);
    TRY(group_sum(group, e->united_grad, (int64_t)e->united.distinct * e->units, err));
    e->step_groups = &e->united;
    e->step_grad = e->united_grad;
    return 0;
}

static void step_lazy(void *embedding, int thread, int threads)
{
    struct embedding *e = embedding;
    const struct groups *groups = e->step_groups;
    const struct kernels *k = kernels();
    const float rate = e->rates[e->now < e->rate_count ? e->now : e->rate_count - 1];
    unsigned int before = kernels_flush_begin();
    for (int32_t g = thread; g < groups->distinct; g += threads) {
        const int64_t row = groups->token[g], at = row * e->units;
        catch_up(e, k, row);
        k->adam(&e->adam, rate, e->table + at, e->state[0] + at, e->state[1] + at,
                e->step_grad + (int64_t)g * e->units, e->units);
        e->done[row]++;
    }
    kernels_flush_end(before);
}

struct dense_step {
    struct embedding *e;
    struct pass_rule rule;
    pass_optimizer *optimizer;
};

// Passes compiled like the kernels, for the same bits as lazy updates.
static const struct passes *same_set(void)
{
    const struct kernels *k = kernels();
    return k == &kernels_avx512 ? &passes_avx512 : k == &kernels_avx2 ? &passes_avx2 : &passes_base;
}

static struct dense_step dense_step(struct embedding *e, int64_t iteration)
{
    struct pass_rule rule = optimizer_rule(&e->recipe, (double)e->rate, iteration);
    if (e->recipe.optimizer == OPTIMIZER_ADAM) // rounded as the lazy updates' is
        rule.rate = (float)adam_rate(e, iteration);
    return (struct dense_step){
        .e = e, .rule = rule, .optimizer = optimizer_pass(same_set(), e->recipe.optimizer)};
}

// Chunk by chunk, with a gradient of zero for tokens not in the batch.
static void step_dense(void *step, int thread, int threads)
{
    const struct dense_step *s = step;
    struct embedding *e = s->e;
    assert(threads <= e->threads_max);
    const int64_t units = e->units, count = CHUNK_ROWS * units;
    const size_t bytes = (size_t)units * sizeof(float);
    float *g = e->chunk + thread * count;
    unsigned int before = kernels_flush_begin();
    int64_t from, to;
    team_part(e->vocabulary, CHUNK_ROWS, thread, threads, &from, &to);
    for (int64_t row = from; row < to; row += CHUNK_ROWS) {
        for (int64_t i = 0; i < CHUNK_ROWS; i++) {
            int32_t slot = row + i < e->vocabulary ? e->step_groups->slot[row + i] : -1;
            if (slot < 0)
                memset(g + i * units, 0, bytes);
            else
                memcpy(g + i * units, e->step_grad + slot * units, bytes);
        }
        float *state1 = e->state[1] ? e->state[1] + row * units : NULL;
        s->optimizer(&s->rule, 0, e->table + row * units, g, e->state[0] + row * units, state1,
                     count);
    }
    kernels_flush_end(before);
}

void embedding_step(struct embedding *e, int64_t iteration)
{
    if (!e->lazy) {
        struct dense_step step = dense_step(e, iteration);
        team_run(step_dense, &step);
        return;
    }
    if (iteration != e->now || e->now - e->base == INT32_MAX) { // another course of the rates
        settle(e);
        e->base = e->now = iteration;
    }
    team_run(step_lazy, e);
    e->now++;
}
