// SPDX-License-Identifier: Apache-2.0
// Records of measurements on other machines: a dispatch and its tasks. Plain data; src/fleet/ fills
// it and keeps it on disk, `fare run --on ... --json` prints it.
#ifndef FARE_RECORD_DISPATCH_H
#define FARE_RECORD_DISPATCH_H

#include "record/field.h"
#include "record/run.h"

#define DISPATCH_SCHEMA "fare.dispatch/1"

enum { DISPATCH_TASKS_MOST = 1000000, DISPATCH_PLACES_MOST = 100000 };

#include "record/dispatch.def"

#endif
