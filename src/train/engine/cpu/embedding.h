// SPDX-License-Identifier: Apache-2.0
// embedding: a table with one row per token, with its optimizer.
//
// A batch uses few of the table's rows, but Adam moves every row in every step: without a gradient
// a row still follows its old mean. Doing that for all rows costs more than the rest of the net. So
// unused rows are lazy: when a row is next used, or the table is read, the steps it missed are
// replayed one by one, with the same bits as the plain optimizer. Callers see no difference. The
// other optimizers update the whole table.
//
// The table, its state and the gradient belong to the embedding; other parts of the engine do not
// keep copies. One batch:
//
//     embedding_look(e, tokens, count × time);     // also before evaluating
//     embedding_forward(e, out);                   // or an LSTM of kind LSTM_EMBEDDING reads it
//     embedding_backward(e, dout);                 // or lstm_backward() fills embedding_grad()
//     embedding_step(e, iteration);
#ifndef FARE_TRAIN_ENGINE_CPU_EMBEDDING_H
#define FARE_TRAIN_ENGINE_CPU_EMBEDDING_H

#include <stdint.h>

#include "base/err.h"
#include "train/engine/group.h"
#include "train/net/net.h"

// ---- groups: the distinct tokens of a batch, and the positions of each ----
//
// A batch repeats its tokens: padding, frequent words, the letters of a text. Values that depend
// only on the token are computed once per distinct token and gathered, and gradients are summed per
// token, always in the order of the positions, so that sums do not depend on threads.

struct groups {
    int64_t vocabulary, positions_max;
    int64_t positions; // of the batch that was looked at last
    int32_t distinct;  // how many different tokens it holds
    int32_t *token;    // (distinct) in the order of their first appearance
    int32_t *of;       // (positions) → number of its token in `token`
    int32_t *first;    // (distinct + 1) the positions of group g are where[first[g]..first[g+1]),
    int32_t *where;    // (positions)    ascending
    int32_t *slot;     // (vocabulary) work space: the token's number in the present batch, or -1
};

int groups_init(struct groups *groups, int64_t vocabulary, int64_t positions_max,
                struct err *err) MUST_USE;
void groups_release(struct groups *groups);

// Tokens must be at least 0 and below the vocabulary.
void groups_look(struct groups *groups, const int32_t *tokens, int64_t positions);

// ---- the table ----

struct embedding;

enum embedding_way {
    EMBEDDING_AUTO,  // the faster one, by measurement
    EMBEDDING_DENSE, // every row in every step
    EMBEDDING_LAZY   // Adam only; others are dense
};

struct embedding_spec {
    int64_t vocabulary;
    int units;
    int64_t positions;           // most tokens of a batch: batch × time
    const struct recipe *recipe; // copied; the first stage's rate holds until another is set
    enum embedding_way way;
    int ranks; // of the group that trains together; 0: one
};

// The table is zero, the state as the optimizer starts.
int embedding_new(const struct embedding_spec *spec, struct embedding **out,
                  struct err *err) MUST_USE;
void embedding_free(struct embedding *embedding); // null is fine

// The whole table (vocabulary × units), and state `which` of it (0 to recipe_states() - 1, same
// shape). All missed steps are replayed first, so the values are current and may be overwritten.
// The pointers stay valid; the contents are current only until the next step.
float *embedding_table(struct embedding *embedding);
float *embedding_state(struct embedding *embedding, int which);

// A new stage: another rate, and initial state.
void embedding_set_rate(struct embedding *embedding, float rate);
void embedding_reset_state(struct embedding *embedding);

// Takes a batch's tokens (count of them, in the order batch, time) and brings their rows up to
// date. The tokens are not needed afterwards.
void embedding_look(struct embedding *embedding, const int32_t *tokens, int64_t count);
const struct groups *embedding_groups(const struct embedding *embedding);

// The table as it is: only rows of the tokens looked at last are current.
const float *embedding_rows(const struct embedding *embedding);

// The rows of the positions looked at last: out is (positions, units).
void embedding_forward(struct embedding *embedding, float *out);

// Sums dout (positions, units) into embedding_grad(), in the order of the positions.
void embedding_backward(struct embedding *embedding, const float *dout);

// The gradient of the rows in the batch: (groups->distinct, units), row g that of token[g]. It is
// overwritten, never added to.
float *embedding_grad(struct embedding *embedding);

// Ranks of a group: the gradient of all their batches, and all their tokens, for the next step.
int embedding_unite(struct embedding *embedding, struct group *group, struct err *err) MUST_USE;

// One step of the optimizer. `iteration` is the t of train/net/net.h; it need not follow the last
// one.
void embedding_step(struct embedding *embedding, int64_t iteration);

#endif
