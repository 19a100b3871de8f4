// SPDX-License-Identifier: Apache-2.0
// The layers of sequences: one-hot vectors, embeddings, LSTMs. The work is in embedding.c and
// lstm.c; here they become ops. An LSTM that is the only reader of an embedding, or reads one-hot
// vectors, works on the tokens themselves; the layer between is never in memory.
#include <string.h>

#include "train/engine/cpu/embedding.h"
#include "train/engine/cpu/lstm.h"
#include "train/engine/cpu/plan.h"

// In training, rows of missing samples are zero: their gradient is zero, and zero times NaN would
// be NaN.
static void clear_rest(const struct op *op, const struct pass *pass)
{
    const struct value *value = plan_output(op);
    int64_t count = pass->batch->count, rest = op->plan->batch - count;
    if (pass->training && rest > 0)
        memset((float *)value->out + count * value->columns, 0,
               (size_t)(rest * value->columns) * sizeof(float));
}

// ---- one-hot ----

static int one_hot_forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    float *out = plan_output(op)->out;
    int64_t count = plan_rows(op, pass), width = op->layer->vocabulary;
    memset(out, 0, (size_t)(count * width) * sizeof *out);
    for (int64_t i = 0; i < count; i++)
        out[i * width + pass->batch->tokens[i]] = 1;
    clear_rest(op, pass);
    return 0;
}

const struct op_class one_hot_class = {.size = sizeof(struct op), .forward = one_hot_forward};

// ---- embedding ----

static int embedding_op_forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    struct embedding *embedding = plan_slot(op, 0)->embedding;
    embedding_look(embedding, pass->batch->tokens, plan_rows(op, pass));
    if (!plan_output(op)->absent) {
        embedding_forward(embedding, plan_output(op)->out);
        clear_rest(op, pass);
    }
    return 0;
}

static int embedding_op_backward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)pass;
    (void)err;
    if (!plan_output(op)->absent) // otherwise the LSTM has done it
        embedding_backward(plan_slot(op, 0)->embedding, plan_output(op)->grad);
    return 0;
}

static int make_embedding(struct op *op, struct err *err)
{
    struct slot *slot = plan_slot(op, 0);
    const struct embedding_spec spec = {.vocabulary = op->layer->vocabulary,
                                        .units = op->layer->units,
                                        .positions = op->plan->batch * op->layer->out.dim[0],
                                        .recipe = &op->plan->params->recipe,
                                        .way = EMBEDDING_AUTO,
                                        .ranks = op->plan->ranks};
    return slot->embedding ? 0 : embedding_new(&spec, &slot->embedding, err);
}

const struct op_class embedding_class = {.size = sizeof(struct op),
                                         .make = make_embedding,
                                         .forward = embedding_op_forward,
                                         .backward = embedding_op_backward};

// ---- LSTM ----

struct lstm_op {
    struct op op;
    struct lstm *lstm;
    int64_t packed; // version of the parameters that it holds
    float *sum;     // the gradient before it is added to others'; or null
};

static void pack_lstm(struct lstm_op *op)
{
    const struct params *params = op->op.plan->params;
    struct lstm_weights weights[2] = {0};
    if (op->packed == params->version)
        return;
    for (int way = 0; way <= op->op.layer->both_ways; way++) {
        const struct slot *slot = plan_slot(&op->op, 3 * way);
        weights[way] = (struct lstm_weights){slot[0].value, slot[1].value, slot[2].value};
    }
    lstm_pack(op->lstm, weights);
    op->packed = params->version;
}

static int lstm_op_forward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    struct lstm_op *lstm = (struct lstm_op *)op;
    pack_lstm(lstm);
    lstm_forward(lstm->lstm, plan_input(op, 0)->out, pass->batch->tokens, pass->batch->count,
                 plan_output(op)->out);
    clear_rest(op, pass);
    return 0;
}

static int lstm_op_backward(struct op *op, const struct pass *pass, struct err *err)
{
    (void)err;
    struct lstm_op *lstm = (struct lstm_op *)op;
    const struct value *input = plan_input(op, 0);
    struct lstm_grads grads[2] = {0};
    for (int way = 0; way <= op->layer->both_ways; way++) {
        const struct slot *slot = plan_slot(op, 3 * way);
        grads[way] = (struct lstm_grads){slot[0].grad, slot[1].grad, slot[2].grad};
    }
    float *to = NULL;
    if (!input->absent && plan_wants_input(op, pass, 0))
        to = lstm->sum ? lstm->sum : input->grad;
    lstm_backward(lstm->lstm, plan_output(op)->grad, grads, to);
    if (to && lstm->sum)
        plan_add(op->plan, input->grad, to, pass->batch->count * input->columns, false);
    return 0;
}

static void lstm_op_release(struct op *op)
{
    lstm_free(((struct lstm_op *)op)->lstm);
}

static int make_lstm(struct op *op, struct err *err)
{
    struct lstm_op *lstm = (struct lstm_op *)op;
    struct plan *plan = op->plan;
    int from = op->layer->inputs[0];
    const struct net_layer *input = &plan->layers[from];
    const struct value *value = &plan->values[from];
    struct lstm_spec spec = {.batch = plan->batch,
                             .time = input->out.dim[0],
                             .in = input->out.dim[1],
                             .units = op->layer->units,
                             .both_ways = op->layer->both_ways,
                             .hard_gates = op->layer->hard_gates,
                             .training = true,
                             .input = LSTM_FEATURES};
    if (value->absent)
        spec.input = input->op == NET_ONE_HOT ? LSTM_ONE_HOT : LSTM_EMBEDDING;
    if (spec.input == LSTM_EMBEDDING)
        spec.embedding = plan->params->slots[input->first_param].embedding;
    lstm->packed = -1;
    if (!value->absent) {
        plan_needs_out(plan, from, op->number, PLAN_BACKWARD);
        if (input->learns && plan_adds(op, 0)) {
            size_t bytes = (size_t)plan_numbers(plan, value) * sizeof(float);
            TRY(plan_buffer(op, bytes, PLAN_BACKWARD, PLAN_BACKWARD, &lstm->sum, err));
        }
    }
    return lstm_new(&spec, &lstm->lstm, err);
}

const struct op_class lstm_class = {.size = sizeof(struct lstm_op),
                                    .make = make_lstm,
                                    .forward = lstm_op_forward,
                                    .backward = lstm_op_backward,
                                    .release = lstm_op_release};
