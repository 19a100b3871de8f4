// SPDX-License-Identifier: Apache-2.0
// Losses against differences and closed forms, optimizers against their rules.
#include "train/engine/ref_ops.h"

#include <math.h>

#include "test.h"

// ---- losses ----

static double loss_of(enum net_loss loss, int64_t units, const double *z, int32_t label, double *dz)
{
    struct engine_score score = {0};
    ref_loss(loss, 1, units, z, &label, dz, &score);
    assert_int_equal(score.count, 1);
    return score.loss;
}

TEST(test_loss_gradients)
{
    static const int sizes[] = {1, 2, 7, 31};
    for (int s = -1; s < 4; s++) { // -1: the sigmoid, with both labels
        enum net_loss loss = s < 0 ? NET_SIGMOID : NET_SOFTMAX;
        int units = s < 0 ? 1 : sizes[s];
        for (int32_t label = 0; label < (s < 0 ? 2 : units); label += s < 0 ? 1 : 3) {
            double z[31], dz[31], ignored[31];
            for (int u = 0; u < units; u++)
                z[u] = sin(u + 1) * 3;
            loss_of(loss, units, z, label, dz);
            for (int u = 0; u < units; u++) {
                double kept = z[u];
                z[u] = kept + 1e-5;
                double above = loss_of(loss, units, z, label, ignored);
                z[u] = kept - 1e-5;
                double below = loss_of(loss, units, z, label, ignored);
                z[u] = kept;
                assert_true(fabs(dz[u] - (above - below) / 2e-5) < 1e-9);
            }
        }
    }
}

// Of 0.4 × the mean loss of three samples, added to what is there.
TEST(test_aux_gradients)
{
    enum { N = 3, UNITS = 5 };
    static const int32_t wanted[N] = {4, 0, 2};
    double z[N * UNITS], dz[N * UNITS];
    for (int k = 0; k < N * UNITS; k++) {
        z[k] = sin(k + 1) * 3;
        dz[k] = k;
    }
    ref_aux_back(0.4f, N, UNITS, z, wanted, dz);
    for (int k = 0; k < N * UNITS; k++) {
        double kept = z[k], mean[2];
        for (int up = 0; up < 2; up++) {
            struct engine_score score = {0};
            z[k] = kept + (up ? 1e-5 : -1e-5);
            ref_loss(NET_SOFTMAX, N, UNITS, z, wanted, NULL, &score);
            mean[up] = score.loss / N;
        }
        z[k] = kept;
        assert_true(fabs(dz[k] - k - (double)0.4f * (mean[1] - mean[0]) / 2e-5) < 1e-9);
    }
}

TEST(test_loss_values)
{
    // -log softmax of equals is log of their number; -log sigmoid(0) is log 2.
    double dz[3];
    assert_true(fabs(loss_of(NET_SOFTMAX, 3, (double[]){4, 4, 4}, 1, dz) - log(3)) < 1e-15);
    assert_true(fabs(loss_of(NET_SIGMOID, 1, (double[]){0}, 1, dz) - log(2)) < 1e-15);
    // log(1 + e^2), log(1 + e^-2)
    assert_true(fabs(loss_of(NET_SIGMOID, 1, (double[]){2}, 0, dz) - 2.1269280110429727) < 1e-14);
    assert_true(fabs(loss_of(NET_SIGMOID, 1, (double[]){2}, 1, dz) - 0.1269280110429726) < 1e-14);
}

// Where a direct computation gives infinity or 0/0.
TEST(test_loss_is_stable)
{
    double dz[2];
    assert_true(loss_of(NET_SOFTMAX, 2, (double[]){1e6, -1e6}, 0, dz) == 0);
    assert_true(dz[0] == 0 && dz[1] == 0);
    assert_true(loss_of(NET_SOFTMAX, 2, (double[]){1e6, -1e6}, 1, dz) == 2e6);
    assert_true(dz[0] == 1 && dz[1] == -1);
    assert_true(fabs(loss_of(NET_SOFTMAX, 2, (double[]){-1e6, -1e6}, 1, dz) - log(2)) < 1e-9);
    assert_true(loss_of(NET_SIGMOID, 1, (double[]){1e6}, 1, dz) == 0 && dz[0] == 0);
    assert_true(loss_of(NET_SIGMOID, 1, (double[]){1e6}, 0, dz) == 1e6 && dz[0] == 1);
    assert_true(loss_of(NET_SIGMOID, 1, (double[]){-1e6}, 1, dz) == 1e6 && dz[0] == -1);
    float out[2];
    ref_predict(NET_SOFTMAX, 1, 2, (double[]){1e6, -1e6}, out);
    assert_true(out[0] == 1 && out[1] == 0);
    ref_predict(NET_SIGMOID, 2, 1, (double[]){1e6, -1e6}, out);
    assert_true(out[0] == 1 && out[1] == 0);
}

TEST(test_score)
{
    struct engine_score score = {.loss = 1, .correct = 10, .count = 20};
    double dz[6];
    // The best class, the first of equals; gradients are of the mean over the samples.
    ref_loss(NET_SOFTMAX, 3, 2, (double[]){1, 2, 2, 1, 3, 3}, (int32_t[]){1, 1, 0}, dz, &score);
    assert_int_equal(score.count, 23);
    assert_int_equal(score.correct, 12);
    assert_true(fabs(dz[4] + 0.5 / 3) < 1e-15 && fabs(dz[5] - 0.5 / 3) < 1e-15);
    // A sigmoid of exactly one half is not over it.
    ref_loss(NET_SIGMOID, 4, 1, (double[]){1, -1, 0, 0}, (int32_t[]){1, 1, 0, 0}, NULL, &score);
    assert_int_equal(score.correct, 12 + 3);
    assert_int_equal(score.count, 27);
}

// ---- optimizers ----

// Gradients 0.5, -0.25, 0.125, 1 from p = 0.75, by the rules of recipe.h in Python (in double, the
// constants rounded to single as a recipe holds them). p, state 0, state 1 after the last.
TEST(test_optimizers)
{
    static const struct {
        struct recipe recipe;
        float rate;
        bool decayed;
        double p, state0, state1;
    } rows[] = {
        {{OPTIMIZER_RMSPROP, .rho = 0.9f, .epsilon = 1e-7f},
         0.001f,
         true, // nothing to decay by
         0.7447256099,
         0.124693778,
         0},
        {{OPTIMIZER_RMSPROP, .rho = 0.9f, .epsilon = 1e-7f, .decay = 0.25f, .weight_decay = 0.25f},
         0.01f,
         false,
         0.7089594208,
         0.124693778,
         0},
        {{OPTIMIZER_RMSPROP_MOMENTUM, .rho = 0.9f, .epsilon = 1, .momentum = 0.9f},
         0.01f,
         false,
         0.7333173141,
         0.7807937085,
         0.009476282696},
        {{OPTIMIZER_RMSPROP_MOMENTUM, .rho = 0.9f, .epsilon = 1, .momentum = 0.9f,
          .weight_decay = 0.25f},
         0.01f,
         true,
         0.7211758114,
         0.8396889429,
         0.01403487109},
        {{OPTIMIZER_ADADELTA, .rho = 0.95f, .epsilon = 1e-7f},
         1,
         false,
         0.7470618228,
         0.06427970234,
         3.233690471e-07},
        {{OPTIMIZER_ADAM, .rho = 0.9f, .beta2 = 0.999f, .epsilon = 1e-7f},
         0.001f,
         false,
         0.7477503533,
         0.1274500283,
         0.001327218111},
    };
    static const double gradients[4] = {0.5, -0.25, 0.125, 1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct recipe *recipe = &rows[i].recipe;
        bool two = recipe_states(recipe) == 2;
        assert_int_equal(two, recipe->optimizer != OPTIMIZER_RMSPROP);
        // Three numbers that go the same way.
        float first = recipe->optimizer == OPTIMIZER_RMSPROP_MOMENTUM ? 1 : 0;
        float p[3] = {0.75f, 0.75f, 0.75f}, state0[3] = {first, first, first}, state1[3] = {0};
        for (int t = 0; t < 4; t++) {
            double g[3] = {gradients[t], gradients[t], gradients[t]};
            ref_optimize(recipe, (double)rows[i].rate, t, rows[i].decayed, 3, g, p, state0,
                         two ? state1 : NULL);
        }
        for (int k = 0; k < 3; k++) { // kept in single precision between the steps
            assert_true(fabs((double)p[k] - rows[i].p) < 3e-7);
            assert_true(fabs((double)state0[k] - rows[i].state0) < 3e-7 * rows[i].state0);
            assert_true(fabs((double)state1[k] - rows[i].state1) <= 3e-7 * rows[i].state1);
        }
    }
}
