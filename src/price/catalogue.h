// SPDX-License-Identifier: Apache-2.0
// catalogue: what catalogues do not say about their prices, from share/catalogues.csv and the
// user's own file of that name, which goes first: their currency, what kind of price it is, and the
// day from which on a machine cannot be ordered. docs/adding-a-provider.md describes the columns.
#ifndef FARE_PRICE_CATALOGUE_H
#define FARE_PRICE_CATALOGUE_H

#include "base/err.h"
#include "price/offer.h"

struct catalogues;

int catalogues_open(struct catalogues **out, struct err *err) MUST_USE;
void catalogues_close(struct catalogues *catalogues); // null is fine

// Sets what the table says about this offer: for each of the three the first row that fits and has
// it. The currency belongs to `catalogues`. An offer without a region or a known currency is marked
// (offer.lacks).
void catalogue_declare(const struct catalogues *catalogues, struct offer *offer);

#endif
