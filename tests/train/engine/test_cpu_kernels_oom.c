// SPDX-License-Identifier: Apache-2.0
// Every allocation of the CPU engine's own layers fails once.
#include "oom.h"

#include "train/engine/cpu/embedding.h"
#include "train/engine/cpu/kernels.h"
#include "train/engine/cpu/lstm.h"
#include "train/engine/cpu/team.h"

static struct recipe recipe = {.optimizer = OPTIMIZER_ADAM, .rho = 0.9F, .beta2 = 0.999F};

TEST(test_embedding)
{
    for (int optimizer = OPTIMIZER_RMSPROP; optimizer <= OPTIMIZER_ADAM; optimizer++) {
        recipe.optimizer = (enum optimizer)optimizer;
        OOM_EACH
        {
            struct err err = {0};
            struct embedding *embedding;
            struct embedding_spec spec = {
                .vocabulary = 10, .units = 3, .positions = 4, .recipe = &recipe};
            int rc = embedding_new(&spec, &embedding, &err);
            assert_true((rc == 0) == (embedding != NULL));
            embedding_free(embedding);
            OOM_EXPECT(rc, &err);
        }
    }
}

TEST(test_lstm)
{
    for (int input = LSTM_FEATURES; input <= LSTM_ONE_HOT; input++)
        OOM_EACH
        {
            struct err err = {0};
            struct lstm *lstm;
            struct lstm_spec spec = {.batch = 2,
                                     .time = 3,
                                     .in = 5,
                                     .units = 7,
                                     .both_ways = true,
                                     .training = true,
                                     .input = (enum lstm_input)input};
            int rc = lstm_new(&spec, &lstm, &err);
            assert_true((rc == 0) == (lstm != NULL));
            lstm_free(lstm);
            OOM_EXPECT(rc, &err);
        }
}

TEST(test_l1)
{
    team_set(3);
    static float a[2 * 600], b[3 * 600], out[6];
    OOM_EACH
    {
        struct err err = {0};
        int rc = l1_distances(a, b, 2, 3, 600, out, &err);
        OOM_EXPECT(rc, &err);
    }
}
