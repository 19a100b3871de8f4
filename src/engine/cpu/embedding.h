// SPDX-License-Identifier: Apache-2.0
// embedding: a table with one row per token, with its optimizer.
//
// A batch touches few of the table's rows, but Adam moves every row in every step: a row that
// got no gradient still slides on along its old mean. Doing that for all rows costs more than
// the rest of the net. So a row that is not used waits, and the steps it missed are replayed, one
// by one and to the last bit as the plain optimizer would have done them, when the row is used
// next, or when the table is read. Nothing that can be seen from outside depends on it. The other
// optimizers walk through the whole table.
//
// The table, its state and the gradient belong to the embedding; other parts of the engine do not
// keep copies. One batch:
//
//     embedding_look(e, tokens, count × time);     // also before evaluating
//     embedding_forward(e, out);                   // or an LSTM of kind LSTM_EMBEDDING reads it
//     embedding_backward(e, dout);                 // or lstm_backward() fills embedding_grad()
//     embedding_step(e, iteration);
#ifndef FARE_ENGINE_CPU_EMBEDDING_H
#define FARE_ENGINE_CPU_EMBEDDING_H

#include <stdint.h>

#include "base/err.h"
#include "engine/cpu/groups.h"
#include "net/recipe.h"

struct embedding;

enum embedding_way {
    EMBEDDING_AUTO,  // what was measured to be faster
    EMBEDDING_DENSE, // every row in every step
    EMBEDDING_LAZY   // Adam only; the others go the dense way
};

struct embedding_spec {
    int64_t vocabulary;
    int units;
    int64_t positions;           // most tokens of a batch: batch × time
    const struct recipe *recipe; // copied; the first phase's rate holds until another is set
    enum embedding_way way;
};

// The table is zero, the state as the optimizer starts.
int embedding_new(const struct embedding_spec *spec, struct embedding **out,
                  struct err *err) MUST_USE;
void embedding_free(struct embedding *embedding); // null is fine

// The whole table (vocabulary × units), and state `which` of it (0 up to recipe_states() - 1, same
// shape). All missed steps are replayed first, so that the values are right and may be
// overwritten; the pointers stay the same, but the contents are right only until the next step.
float *embedding_table(struct embedding *embedding);
float *embedding_state(struct embedding *embedding, int which);

// A new phase: another rate, and the state starts anew.
void embedding_set_rate(struct embedding *embedding, float rate);
void embedding_reset_state(struct embedding *embedding);

// Takes a batch's tokens (count of them, in the order batch, time) and brings their rows up to
// date. The tokens are not needed afterwards.
void embedding_look(struct embedding *embedding, const int32_t *tokens, int64_t count);
const struct groups *embedding_groups(const struct embedding *embedding);

// The table as it is: only the rows of the tokens that were looked at last are right.
const float *embedding_rows(const struct embedding *embedding);

// The rows of the positions that were looked at: out is (positions, units).
void embedding_forward(struct embedding *embedding, float *out);

// Sums dout (positions, units) into embedding_grad(), in the order of the positions.
void embedding_backward(struct embedding *embedding, const float *dout);

// The gradient of the rows in the batch: (groups->distinct, units), row g that of token[g]. It is
// overwritten, never added to.
float *embedding_grad(struct embedding *embedding);

// One step of the optimizer. `iteration` is the t of net/recipe.h; it need not follow the last one.
void embedding_step(struct embedding *embedding, int64_t iteration);

#endif
