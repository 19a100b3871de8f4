// SPDX-License-Identifier: Apache-2.0
#include "record/workload.h"

#include "record/table.h"

#define T struct workload_layer
static const struct field layer_fields[] = {
    TEXT(name, "name of the layer"),
    TEXT(op, "operation"),
    TEXT(output, "shape of its output for one sample"),
    INT(parameters, "parameters"),
    FIELD_END,
};
#undef T

#define T struct workload_info
static const struct field info_fields[] = {
    TEXT(name, "its name"),
    TEXT(summary, "description"),
    TEXT(origin, "source of the definition"),
    TEXT(optimizer, "optimizer"),
    INT(batch, "samples per step"),
    INT(epochs, "epochs of the full training"),
    INT(steps, "steps of the full training, if the definition counts steps"),
    INT(parameters, "parameters"),
    REAL(forward_flops, "operations of a step's forward pass; a multiply-add is two"),
    REAL(backward_flops, "operations of a step's backward pass"),
    REAL(bytes, "least memory traffic per step, in bytes"),
    REAL(reach_accuracy, "accuracy that a correct full run reaches on real data"),
    REAL(reach_loss, "loss that a correct full run reaches on real data"),
    FIELD_SUB(FIELD_LIST, T, layers, layer_fields, "layers; only if a workload is named"),
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
