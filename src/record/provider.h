// SPDX-License-Identifier: Apache-2.0
// The record of a provider: what it is like, from prices, billing rules, tables and one's own runs.
// Plain data; view/provider.h fills and shows it.
#ifndef FARE_RECORD_PROVIDER_H
#define FARE_RECORD_PROVIDER_H

#include "record/field.h"

#define PROVIDER_SCHEMA "fare.provider/1"

#include "record/provider.def"

#endif
