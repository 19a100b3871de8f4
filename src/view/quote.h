// SPDX-License-Identifier: Apache-2.0
// quote: the cost by offer as a document: the lowest bills, how to read them, offers left out,
// other trainings.
#ifndef FARE_VIEW_QUOTE_H
#define FARE_VIEW_QUOTE_H

#include "advise/quote.h"
#include "render/doc.h"

void view_bills(struct doc *doc, const struct quote *quote);

#endif
