// SPDX-License-Identifier: Apache-2.0
// Losses and optimizers.
#include "train/engine/ref_ops.h"

#include <assert.h>
#include <math.h>

// ---- losses ----

static int64_t largest(const double *z, int64_t units)
{
    int64_t best = 0;
    for (int64_t u = 1; u < units; u++)
        if (z[u] > z[best])
            best = u;
    return best;
}

// Sum of exp(z - largest), which is at least 1 and cannot overflow.
static double exponentials(const double *z, int64_t units, double top)
{
    double sum = 0;
    for (int64_t u = 0; u < units; u++)
        sum += exp(z[u] - top);
    return sum;
}

static void softmax_loss(int64_t n, int64_t units, const double *z, const int32_t *labels,
                         double *dz, struct engine_score *score)
{
    for (int64_t i = 0; i < n; i++, z += units) {
        int64_t best = largest(z, units);
        double sum = exponentials(z, units, z[best]);
        score->loss += log(sum) + z[best] - z[labels[i]];
        score->correct += best == labels[i];
        for (int64_t u = 0; dz && u < units; u++) {
            double share = exp(z[u] - z[best]) / sum;
            dz[i * units + u] = (share - (u == labels[i])) / (double)n;
        }
    }
}

void ref_aux_back(float weight, int64_t n, int64_t units, const double *z, const int32_t *labels,
                  double *dz)
{
    for (int64_t i = 0; i < n; i++, z += units, dz += units) {
        double top = z[largest(z, units)];
        double sum = exponentials(z, units, top);
        for (int64_t u = 0; u < units; u++)
            dz[u] += (double)weight * (exp(z[u] - top) / sum - (u == labels[i])) / (double)n;
    }
}

static double sigmoid(double z)
{
    return 1 / (1 + exp(-z));
}

static void sigmoid_loss(int64_t n, const double *z, const int32_t *labels, double *dz,
                         struct engine_score *score)
{
    for (int64_t i = 0; i < n; i++) {
        // -log of the label's probability, arranged so that no exponential can overflow.
        score->loss += (z[i] > 0 ? z[i] : 0) - z[i] * labels[i] + log1p(exp(-fabs(z[i])));
        score->correct += (z[i] > 0) == labels[i];
        if (dz)
            dz[i] = (sigmoid(z[i]) - labels[i]) / (double)n;
    }
}

void ref_loss(enum net_loss loss, int64_t n, int64_t units, const double *z, const int32_t *labels,
              double *dz, struct engine_score *score)
{
    score->count += n;
    if (loss == NET_SOFTMAX) {
        softmax_loss(n, units, z, labels, dz, score);
    } else {
        assert(units == 1);
        sigmoid_loss(n, z, labels, dz, score);
    }
}

void ref_predict(enum net_loss loss, int64_t n, int64_t units, const double *z, float *out)
{
    for (int64_t i = 0; i < n; i++, z += units, out += units) {
        double top = z[largest(z, units)];
        double sum = exponentials(z, units, top);
        for (int64_t u = 0; u < units; u++)
            out[u] = (float)(loss == NET_SOFTMAX ? exp(z[u] - top) / sum : sigmoid(z[u]));
    }
}

// ---- optimizers ----

// An optimizer's numbers in one step, in double precision.
struct ref_rule {
    double rate, rho, beta2, epsilon, momentum;
    double correction; // AdamW: of √v
};

// Each takes a number's gradient, updates its states, and returns what to subtract from the number.

static double rmsprop(const struct ref_rule *r, double g, double *a)
{
    *a = r->rho * *a + (1 - r->rho) * g * g;
    return r->rate * g / (sqrt(*a) + r->epsilon);
}

static double rmsprop_momentum(const struct ref_rule *r, double g, double *a, double *m)
{
    *a = r->rho * *a + (1 - r->rho) * g * g;
    *m = r->momentum * *m + r->rate * g / sqrt(*a + r->epsilon);
    return *m;
}

static double adadelta(const struct ref_rule *r, double g, double *a, double *d)
{
    *a = r->rho * *a + (1 - r->rho) * g * g;
    double u = g * sqrt(*d + r->epsilon) / sqrt(*a + r->epsilon);
    *d = r->rho * *d + (1 - r->rho) * u * u;
    return r->rate * u;
}

static double adam(const struct ref_rule *r, double g, double *m, double *v)
{
    *m = r->rho * *m + (1 - r->rho) * g;
    *v = r->beta2 * *v + (1 - r->beta2) * g * g;
    return r->rate * *m / (sqrt(*v) + r->epsilon);
}

static double adamw(const struct ref_rule *r, double g, double *m, double *v)
{
    *m = r->rho * *m + (1 - r->rho) * g;
    *v = r->beta2 * *v + (1 - r->beta2) * g * g;
    return r->rate * *m / (sqrt(*v) * r->correction + r->epsilon);
}

static struct ref_rule ref_rule_at(const struct recipe *recipe, double rate, int64_t t)
{
    struct ref_rule rule = {.rate = rate,
                            .rho = (double)recipe->rho,
                            .beta2 = (double)recipe->beta2,
                            .epsilon = (double)recipe->epsilon,
                            .momentum = (double)recipe->momentum};
    if (recipe->optimizer == OPTIMIZER_RMSPROP)
        rule.rate /= 1 + (double)recipe->decay * (double)t;
    if (recipe->optimizer == OPTIMIZER_ADAM) {
        double steps = (double)t + 1;
        rule.rate *= sqrt(1 - pow(rule.beta2, steps)) / (1 - pow(rule.rho, steps));
    }
    if (recipe->optimizer == OPTIMIZER_ADAMW) {
        double steps = (double)t + 1;
        rule.rate /= 1 - pow(rule.rho, steps);
        rule.correction = 1 / sqrt(1 - pow(rule.beta2, steps));
    }
    return rule;
}

static double ref_update(enum optimizer optimizer, const struct ref_rule *rule, double g,
                         double state[2])
{
    switch (optimizer) {
    case OPTIMIZER_RMSPROP:
        return rmsprop(rule, g, &state[0]);
    case OPTIMIZER_RMSPROP_MOMENTUM:
        return rmsprop_momentum(rule, g, &state[0], &state[1]);
    case OPTIMIZER_ADADELTA:
        return adadelta(rule, g, &state[0], &state[1]);
    case OPTIMIZER_ADAM:
        return adam(rule, g, &state[0], &state[1]);
    case OPTIMIZER_ADAMW:
        return adamw(rule, g, &state[0], &state[1]);
    }
    return 0;
}

void ref_optimize(const struct recipe *recipe, double rate, int64_t t, bool decayed, int64_t count,
                  const double *g, float *p, float *state0, float *state1)
{
    struct ref_rule rule = ref_rule_at(recipe, rate, t);
    double weight_decay = decayed ? (double)recipe->weight_decay : 0, shrink = 1;
    if (recipe->optimizer == OPTIMIZER_ADAMW) {
        shrink = 1 - rate * weight_decay;
        weight_decay = 0;
    }
    for (int64_t i = 0; i < count; i++) {
        double state[2] = {(double)state0[i], state1 ? (double)state1[i] : 0};
        double gradient = g[i] + weight_decay * (double)p[i];
        p[i] =
            (float)((double)p[i] * shrink - ref_update(recipe->optimizer, &rule, gradient, state));
        state0[i] = (float)state[0];
        if (state1)
            state1[i] = (float)state[1];
    }
}
