// SPDX-License-Identifier: Apache-2.0
// The record of a price import: what each file yielded, and what was skipped.
#ifndef FARE_RECORD_PRICE_IMPORT_H
#define FARE_RECORD_PRICE_IMPORT_H

#include "record/field.h"

#define PRICE_IMPORT_SCHEMA "fare.price-import/2"

#include "record/price_import.def"

#endif
