// SPDX-License-Identifier: Apache-2.0
#include "bill/local.h"

#include "base/clock.h"

int local_check(struct market *market, const char *currency, struct err *err)
{
    const struct currencies *currencies;
    if (!currency)
        return 0;
    TRY(market_currencies(market, &currencies, err));
    return currency_check(currencies, currency, err);
}

int local_amount(struct market *market, const char *currency, int day, int64_t usd, int64_t *amount,
                 struct err *err)
{
    const struct currencies *currencies;
    *amount = -1;
    if (!currency)
        return 0;
    TRY(market_currencies(market, &currencies, err));
    if (currency_begins(currencies, currency) > (day != 0 ? day : clock_date_s() / 86400))
        return 0;
    struct err why = {0};
    int rc = currency_from_usd(currencies, currency, day, usd, amount, &why);
    if (rc == ERR_OVERFLOW) {
        *amount = -1;
        return 0;
    }
    if (rc != 0 && err)
        *err = why;
    return rc;
}

int local_money(struct market *market, const char *currency, int day, struct maybe_money usd,
                struct maybe_money *out, struct err *err)
{
    int64_t nano = 0;
    if (!usd.known)
        return 0;
    TRY(local_amount(market, currency, day, usd.nano, &nano, err));
    if (nano >= 0)
        *out = some_money(nano);
    return 0;
}

int local_words(struct market *market, const char *currency, int day, struct buf *out,
                struct err *err)
{
    const struct currencies *currencies;
    struct currency_rate rate;
    int64_t ignored, known;
    TRY(local_amount(market, currency, day, 0, &known, err));
    if (!currency)
        return 0;
    TRY(market_currencies(market, &currencies, err));
    if (known < 0) {
        char first[CLOCK_ISO_BYTES];
        clock_iso(currency_begins(currencies, currency) * 86400, first);
        buf_printf(out, "amounts in %s are unknown: the first known rate is of %.10s", currency,
                   first);
        return buf_check(out, err);
    }
    TRY(currency_to_usd(currencies, currency, day, 0, &ignored, &rate, err));
    buf_printf(out, "1 %s = %s", currency, *rate.source ? "" : "1 USD");
    if (*rate.source)
        currency_words(&rate, true, out);
    return buf_check(out, err);
}
