// SPDX-License-Identifier: Apache-2.0
#include "record/bill.h"

#define RECORD_TABLES
#include "record/bill.def"
