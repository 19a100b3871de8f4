// SPDX-License-Identifier: Apache-2.0
// The record of a workload: its net, recipe and operation counts; and that of a language model's
// shape. All of it follows from the definition; nothing is measured.
#ifndef FARE_RECORD_WORKLOAD_H
#define FARE_RECORD_WORKLOAD_H

#include "record/field.h"

#define WORKLOADS_SCHEMA "fare.workloads/1"
#define MODELS_SCHEMA    "fare.models/1"

#include "record/workload.def"

#endif
