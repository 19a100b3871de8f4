// SPDX-License-Identifier: Apache-2.0
#include "record/schedule.h"

#define RECORD_TABLES
#include "record/schedule.def"
