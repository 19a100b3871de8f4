// SPDX-License-Identifier: Apache-2.0
// The record of an offer, printed by 'fare prices --json'. Prices are texts, exactly as published.
#ifndef FARE_RECORD_OFFER_H
#define FARE_RECORD_OFFER_H

#include "record/field.h"

#define OFFER_SCHEMA  "fare.offer/1"
#define OFFERS_SCHEMA "fare.offers/1"

#include "record/offer.def"

#endif
