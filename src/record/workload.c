// SPDX-License-Identifier: Apache-2.0
#include "record/workload.h"

#define RECORD_TABLES
#include "record/workload.def"
