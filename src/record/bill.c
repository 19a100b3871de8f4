// SPDX-License-Identifier: Apache-2.0
#include "record/bill.h"

#define TEXT(m, doc) FIELD(FIELD_TEXT, T, m, doc)
#define INT(m, doc)  FIELD(FIELD_INT, T, m, doc)
#define REAL(m, doc) FIELD(FIELD_REAL, T, m, doc)
#define BOOL(m, doc) FIELD(FIELD_BOOL, T, m, doc)

#define T struct bill_item
static const struct field item_fields[] = {
    TEXT(what, "what it is for"),
    TEXT(amount, "USD, exactly"),
    TEXT(how, "what it was computed from"),
    FIELD_END,
};
#undef T

#define T struct bill
const struct field bill_fields[] = {
    TEXT(offer, "the offer's name in the book"),
    TEXT(provider, "who rents it out"),
    TEXT(name, "the provider's name for it"),
    TEXT(region, "where it is"),
    TEXT(zone, "where in the region; absent: anywhere"),
    TEXT(kind, "on-demand, spot or monthly"),
    TEXT(gpu, "its GPU"),
    REAL(gpus, "how many it has"),
    INT(gpus_used, "so many of them the run used"),
    REAL(vcpus, "virtual CPUs"),
    TEXT(rate, "price, as in the book"),
    TEXT(currency, "of the rate"),
    INT(per_s, "the rate is for so many seconds"),
    TEXT(price_date, "when the price was last seen; of a rate of your own, since when it holds"),
    INT(price_age_days, "how long before the date of the quote that was"),
    BOOL(price_old, "it may have changed since"),
    TEXT(price_source, "where it was read"),
    BOOL(price_own, "your own rate instead of the list price: it has no age"),
    BOOL(price_estimated, "nobody published it; the source says what it was derived from"),
    TEXT(exchange, "the rate of exchange that was used, and its source"),
    TEXT(rule, "paid: as the provider charges; prorated: rate × exact time"),
    TEXT(tariff, "the tariff's name"),
    TEXT(words, "the tariff in words"),
    BOOL(tariff_assumed, "the provider's rules are not known: per second was assumed"),
    TEXT(variant, "which training: framework, year, data and number of samples in words"),
    TEXT(framework, "the framework of the run below"),
    INT(year, "the year in which it ran or was published"),
    TEXT(run, "the run whose time it is"),
    TEXT(machine, "the machine on which that was measured"),
    INT(batch, "the batch size of that run"),
    TEXT(data, "the data of that run"),
    TEXT(basis, "measured, projected, published or assumed"),
    REAL(time_s, "the machine is needed for so long"),
    REAL(startup_s, "of it: start-up, before the training's own time"),
    REAL(low_s, "lower end of its 95 % interval, where there is one"),
    REAL(high_s, "upper end"),
    REAL(charged_s, "derived: charged for so long"),
    FIELD_SUB(FIELD_LIST, T, items, item_fields, "the lines; they add up to the total"),
    TEXT(before_credit, "derived: the total before the user's credits, where there are some"),
    TEXT(total, "derived: USD, without tax, after credits"),
    TEXT(by_hours, "assumed rules: the total if started hours were charged; its place goes by it"),
    TEXT(low, "derived: the total at low_s"),
    TEXT(high, "derived: the total at high_s"),
    BOOL(incomplete, "the tariff has no price for something that was asked for; see notes"),
    TEXT(waiting, "the person's waiting time in USD, where asked for; not in the total"),
    FIELD(FIELD_TEXTS, T, notes, "what a reader should know"),
    FIELD_END,
};
#undef T

#define T struct quote_misfit
static const struct field misfit_fields[] = {
    TEXT(offer, "an offer with the right device"),
    TEXT(why, "why the run does not fit it"),
    FIELD_END,
};
#undef T

#define T struct quote
const struct field quote_fields[] = {
    TEXT(schema, "`" QUOTE_SCHEMA "`"),
    TEXT(workload, "what is trained"),
    TEXT(run, "the run that was asked for"),
    TEXT(date, "prices as of this date; absent: the newest"),
    TEXT(rule, "paid or prorated"),
    FIELD_SUB(FIELD_LIST, T, bills, bill_fields, "of the training asked for, cheapest first"),
    FIELD_SUB(FIELD_LIST, T, others, bill_fields,
              "of other data, sizes, recipes, frameworks or years, cheapest first: see variant"),
    FIELD_SUB(FIELD_LIST, T, misfits, misfit_fields, "offers that the run does not fit"),
    TEXT(outdated, "where nothing else fits: an offer that does, but its price is too old"),
    INT(outdated_days, "how old that price is"),
    INT(not_measured, "offers on which nothing like it was measured"),
    FIELD(FIELD_TEXTS, T, advice, "sentences"),
    FIELD_END,
};
#undef T
