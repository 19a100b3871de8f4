// SPDX-License-Identifier: Apache-2.0
#include "record/price_import.h"

#define RECORD_TABLES
#include "record/price_import.def"
