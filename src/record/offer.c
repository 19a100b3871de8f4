// SPDX-License-Identifier: Apache-2.0
#include "record/offer.h"

#define RECORD_TABLES
#include "record/offer.def"
