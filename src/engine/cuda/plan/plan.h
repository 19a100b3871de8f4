// SPDX-License-Identifier: Apache-2.0
// plan: a net as lists of kernel launches, one for each direction.
//
// Every layer's output and gradient has its own memory for the whole time, so lists can be launched
// again and again, alone or as a graph. What can be done on the way is: bias, relu and dropout
// behind a product, the slope of relu behind the product that goes back to it. The products that
// make the weights' gradients do not depend on each other: they come last, many in one launch.
#ifndef FARE_ENGINE_CUDA_PLAN_PLAN_H
#define FARE_ENGINE_CUDA_PLAN_PLAN_H

#include "engine/cuda/driver.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/plan/params.h"

struct launches {
    struct launch *items;
    int count, cap;
};

struct value {
    device_ptr out, grad;
    int rows;           // of a sample: pixels or time steps
    int pitch, columns; // numbers of a row, with and without the zeros behind it
    int readers;
    int drop;     // dropout layer whose output this is as well, or -1
    bool masked;  // what reads it takes care of relu's slope
    bool in_head; // dropout: what reads it, the head, does it
    int after;    // images: whose gradient lay where this one's does, or -1
};

// Where a step finds its samples, and the lists that do. There are two, so that the next step's can
// be gathered while a step is made; or one, where a step has more launches than PLAN_SMALL, whose
// graphs have one step (queue.c), or images in bf16, which are large and gathered in no time.
#define PLAN_SIDES 2
#define PLAN_SMALL 128
struct plan_side {
    device_ptr tokens, labels, now, image;       // image: the first layer's output
    struct launches forward;                     // with dropout
    struct launches backward[RECIPE_PHASES_MAX]; // and the optimizer
};

struct piece { // memory that gradients of images have in turns
    device_ptr at;
    int64_t bytes;
    int tenant, until; // the last one, and the layer that needs it last
};

struct gpu_plan {
    struct cuda *cuda;
    const struct net_layer *layers;
    int layer_count;
    enum net_loss loss;
    bool images; // are kept as bf16 (images.h)
    int64_t batch;
    struct gpu_params *params;
    struct value *values; // (layers)
    struct piece *pieces;
    int piece_count;
    device_ptr *extra;              // (layers, 4): what a layer keeps for the way back
    device_ptr tokens, labels, now; // of the first side, as is the first layer's output
    device_ptr tick, scores, probabilities;
    device_ptr workspace; // parts of forward products
    int64_t workspace_room;
    device_ptr ages, rates;         // of an embedding's rows
    device_ptr order;               // (3, positions): of an embedding's tokens
    int embedding;                  // its layer, or -1
    int head;                       // the last layer, where one kernel does it and the loss; or -1
    int drop_slots[CUDA_DROPS_MAX]; // layers
    int drop_count;
    int score_rows;
    struct plan_side sides[PLAN_SIDES];
    int side_count;
    struct launches evaluate, predict; // without dropout; and without labels
    struct launches catch_up;          // all rows of an embedding
};

// `score_rows`: of the ring of scores. The layers and parameters must outlive the plan.
int gpu_plan_new(struct gpu_plan *plan, int score_rows, struct err *err) MUST_USE;
void gpu_plan_free(struct gpu_plan *plan);

// Of a training step in a phase of the recipe, with that which gathers its samples.
int gpu_plan_launches(const struct gpu_plan *plan, int phase);

int gpu_plan_launch(const struct gpu_plan *plan, const struct launches *list,
                    struct err *err) MUST_USE;

#endif
