// SPDX-License-Identifier: Apache-2.0
#include "record/compare.h"

#define RECORD_TABLES
#include "record/compare.def"
