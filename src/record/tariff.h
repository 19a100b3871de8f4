// SPDX-License-Identifier: Apache-2.0
// The record of a tariff: how a provider charges. docs/billing.md defines every member. Amounts are
// texts, so that they stay as published. Plain data, read from share/ and from the user's files.
#ifndef FARE_RECORD_TARIFF_H
#define FARE_RECORD_TARIFF_H

#include "record/field.h"

#define TARIFF_SCHEMA "fare.tariffs/1"

#include "record/tariff.def"

#define TARIFF_TIERS_MAX  8
#define TARIFF_STEPS_MAX  32
#define TARIFF_EGRESS_MAX 8

#define TARIFF_AMOUNT "an amount such as 0.526, not below zero" // what each has to be

#endif
