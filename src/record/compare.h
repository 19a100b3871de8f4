// SPDX-License-Identifier: Apache-2.0
// The record of a comparison, which `fare compare --json` prints: runs side by side, relative to a
// base. Everything is derived from runs and prices; src/advise/compare.h makes it.
#ifndef FARE_RECORD_COMPARE_H
#define FARE_RECORD_COMPARE_H

#include "record/field.h"

#define COMPARE_SCHEMA "fare.compare/1"
// Notes on a row.
#define COMPARE_UNPRICED "its cost is unknown"
#define COMPARE_BOUND    "≥: a lower bound; how often this spot machine is taken away is unknown"

#include "record/compare.def"

#endif
