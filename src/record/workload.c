// SPDX-License-Identifier: Apache-2.0
#include "record/workload.h"

#define TEXT(m, doc) FIELD(FIELD_TEXT, T, m, doc)
#define INT(m, doc)  FIELD(FIELD_INT, T, m, doc)
#define REAL(m, doc) FIELD(FIELD_REAL, T, m, doc)

#define T struct workload_layer
static const struct field layer_fields[] = {
    TEXT(name, "name of the layer"),
    TEXT(op, "what it does"),
    TEXT(output, "shape of its output for one sample"),
    INT(parameters, "trained numbers in it"),
    FIELD_END,
};
#undef T

#define T struct workload_info
static const struct field info_fields[] = {
    TEXT(name, "its name"),
    TEXT(summary, "what it trains"),
    TEXT(origin, "where the definition comes from"),
    TEXT(optimizer, "optimizer"),
    INT(batch, "samples per step"),
    INT(epochs, "epochs of a full training"),
    INT(steps, "steps of a full training, where the definition counts those"),
    INT(parameters, "trained numbers"),
    REAL(forward_flops, "operations of a step's forward part; a multiply-add is two"),
    REAL(backward_flops, "operations of its backward part"),
    REAL(bytes, "least memory traffic of a step"),
    REAL(reach_accuracy, "accuracy that a correct full run reaches on the real data"),
    REAL(reach_loss, "loss that a correct full run reaches on the real data"),
    FIELD_SUB(FIELD_LIST, T, layers, layer_fields, "its layers; with a name on the command line"),
    FIELD_END,
};
#undef T

#define T struct workload_list
const struct field workload_list_fields[] = {
    TEXT(schema, "`" WORKLOADS_SCHEMA "`"),
    FIELD_SUB(FIELD_LIST, T, workloads, info_fields, "one per workload"),
    FIELD_END,
};
#undef T
