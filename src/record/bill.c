// SPDX-License-Identifier: Apache-2.0
#include "record/bill.h"

#include "record/table.h"

#define T struct bill_item
static const struct field item_fields[] = {
    TEXT(what, "purpose"),
    TEXT(amount, "USD, exact"),
    TEXT(how, "calculation"),
    FIELD_END,
};
#undef T

#define T struct bill
const struct field bill_fields[] = {
    TEXT(offer, "offer, as --offer takes it"),
    TEXT(provider, "provider"),
    TEXT(name, "the provider's name for the machine type"),
    TEXT(region, "region"),
    TEXT(zone, "zone of the region; absent: any"),
    TEXT(kind, "on-demand, spot or monthly"),
    TEXT(gpu, "GPU model"),
    REAL(gpus, "number of GPUs"),
    INT(gpus_used, "GPUs the run used"),
    REAL(vcpus, "virtual CPUs"),
    TEXT(rate, "price, with the factor of its region"),
    TEXT(currency, "currency of the rate"),
    INT(per_s, "seconds the rate is for"),
    TEXT(price_date, "date the price was last seen; of your own rate, its start"),
    INT(price_age_days, "age of the price at the date of the quote"),
    BOOL(price_old, "the price may have changed since"),
    TEXT(price_source, "source of the price"),
    BOOL(price_own, "your own rate, not the list price; it has no age"),
    BOOL(price_estimated, "not published; the source says how it was derived"),
    TEXT(exchange, "exchange rate used, and its source"),
    TEXT(rule, "paid: by the provider's billing rule; prorated: rate × exact time"),
    TEXT(tariff, "tariff"),
    TEXT(words, "the tariff as a sentence"),
    BOOL(tariff_assumed,
         "the provider's rules are unknown: seconds, or the offer's months, were assumed"),
    TEXT(variant, "the training: framework, year, data and number of samples"),
    TEXT(framework, "framework of the run below"),
    INT(year, "year it ran or was published"),
    TEXT(run, "the run that supplies the time"),
    TEXT(machine, "the machine it was measured on"),
    INT(batch, "batch size of that run"),
    TEXT(data, "data of that run"),
    TEXT(basis, "measured, projected, published or assumed (by --offer)"),
    REAL(time_s, "time the machine is needed"),
    REAL(startup_s, "start-up before the training, part of time_s"),
    REAL(
        low_s,
        "lower end of the interval, if any: 95 % of a projection, the range of a start-up default"),
    REAL(high_s, "upper end"),
    REAL(charged_s, "derived: time charged"),
    FIELD_SUB(FIELD_LIST, T, items, item_fields, "lines that add up to the total"),
    TEXT(before_credit, "derived: total before your credits, if any"),
    TEXT(total, "derived: total in USD, without tax, after credits"),
    TEXT(by_hours,
         "derived, for assumed rules: total if started hours were charged, after credits; used for "
         "the order"),
    TEXT(low, "derived: total at low_s"),
    TEXT(high, "derived: total at high_s"),
    BOOL(incomplete, "the tariff lacks a price for something requested; see notes"),
    TEXT(waiting, "cost of a person's waiting time in USD, if requested; not in the total"),
    FIELD(FIELD_TEXTS, T, notes, "notes"),
    FIELD_END,
};
#undef T

#define T struct quote_misfit
static const struct field misfit_fields[] = {
    TEXT(offer, "an offer with a suitable device"),
    TEXT(why, "why the run does not fit"),
    FIELD_END,
};
#undef T

#define T struct quote
const struct field quote_fields[] = {
    TEXT(schema, "`" QUOTE_SCHEMA "`"),
    TEXT(workload, "workload"),
    TEXT(run, "the run requested"),
    TEXT(date, "prices as of this date; absent: the newest"),
    TEXT(rule, "paid or prorated"),
    FIELD_SUB(FIELD_LIST, T, bills, bill_fields, "the training requested, cheapest first"),
    FIELD_SUB(FIELD_LIST, T, others, bill_fields,
              "other data, sizes, recipes, frameworks or years, cheapest first: see variant"),
    FIELD_SUB(FIELD_LIST, T, misfits, misfit_fields, "offers the run does not fit"),
    TEXT(outdated, "if no other offer fits: one that does but whose price is too old"),
    INT(outdated_days, "age of that price"),
    INT(not_measured, "offers without a measurement of this workload"),
    FIELD(FIELD_TEXTS, T, advice, "advice, as sentences"),
    FIELD_END,
};
#undef T
