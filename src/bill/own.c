// SPDX-License-Identifier: Apache-2.0
#include "bill/own.h"

#include <inttypes.h>
#include <string.h>

#include "base/money.h"

#define HOUR_S     INT64_C(3600)
#define MONTH_S    (INT64_C(30) * 86400)
#define MW_PER_KW  INT64_C(1000000)
#define MOST_MW    INT64_C(1000000000)     // a megawatt
#define MOST_SPEED INT64_C(10000000000000) // so that all fits into 128 bits

static int check(const struct own_machine *m, struct err *err)
{
    if (m->purchase < 0 || m->resale < 0 || m->resale > m->purchase)
        return err_set(err, ERR_FORMAT,
                       "a machine costs 0 or more, and its resale brings no more than it cost");
    if (m->life_months < 1 || m->life_months > 1200)
        return err_set(err, ERR_FORMAT, "a machine is kept for 1 to 1200 months");
    if (m->use_s_a_month < 1 || m->use_s_a_month > MONTH_S)
        return err_set(err, ERR_FORMAT, "a machine is used for up to 720 hours a month of 30 days");
    if (m->busy_mw < -1 || m->idle_mw < -1 || m->busy_mw > MOST_MW || m->idle_mw > MOST_MW)
        return err_set(err, ERR_FORMAT, "the power of a machine is 0 to a megawatt");
    if (m->kwh < -1)
        return err_set(err, ERR_FORMAT, "a kilowatt-hour costs 0 or more");
    if (m->interest < 0 || m->interest > 100000)
        return err_set(err, ERR_FORMAT, "interest is 0 to 1000 %% a year");
    return 0;
}

// Power for an hour of work, and for its share of the idle time.
static int power(const struct own_machine *m, struct own_hour *hour, struct err *err)
{
    hour->power_known = m->busy_mw >= 0 && m->kwh >= 0;
    if (!hour->power_known)
        return 0;
    TRY(money_scale(m->kwh, m->busy_mw, MW_PER_KW, MONEY_HALF_EVEN, &hour->power, err));
    // Each hour of use carries (month - use) / use idle hours.
    if (m->idle_mw > 0)
        TRY(money_scale(m->kwh, m->idle_mw * (MONTH_S - m->use_s_a_month),
                        MW_PER_KW * m->use_s_a_month, MONEY_HALF_EVEN, &hour->idle, err));
    return 0;
}

// Interest on the mean of purchase and resale: the machine loses its value evenly.
static int interest(const struct own_machine *m, struct own_hour *hour, struct err *err)
{
    int64_t year = 0, mean = m->resale + (m->purchase - m->resale) / 2;
    TRY(money_scale(mean, m->interest, 10000, MONEY_HALF_EVEN, &year, err));
    return money_scale(year, HOUR_S, 12 * m->use_s_a_month, MONEY_HALF_EVEN, &hour->interest, err);
}

int own_hour(const struct own_machine *m, struct own_hour *hour, struct err *err)
{
    memset(hour, 0, sizeof *hour);
    TRY(check(m, err));
    TRY(money_scale(m->purchase - m->resale, HOUR_S, m->life_months * m->use_s_a_month,
                    MONEY_HALF_EVEN, &hour->purchase, err));
    TRY(power(m, hour, err));
    TRY(interest(m, hour, err));
    TRY(money_add(hour->purchase, hour->power, &hour->total, err));
    TRY(money_add(hour->total, hour->idle, &hour->total, err));
    return money_add(hour->total, hour->interest, &hour->total, err);
}

int own_offer(const struct own_machine *machine, const char *name, struct offer *offer,
              struct err *err)
{
    struct own_hour hour;
    int rc = own_hour(machine, &hour, err);
    *offer = (struct offer){
        .provider = "own",
        .name = name,
        .region = "",
        .zone = "",
        .gpu = "",
        .cpu = "",
        .currency = "USD",
        .source = "its purchase, power and interest, per hour of use",
        .kind = OFFER_ON_DEMAND,
        .bare_metal = true,
        .rate = hour.total,
        .per_s = HOUR_S,
    };
    return rc;
}

int own_break_even(const struct own_machine *m, const struct own_rent *rent, int64_t *use_s,
                   struct err *err)
{
    struct own_hour hour;
    TRY(own_hour(m, &hour, err));
    if (rent->rate < 0 || rent->own_speed < 1 || rent->rent_speed < 1 ||
        rent->own_speed > MOST_SPEED || rent->rent_speed > MOST_SPEED)
        return err_set(err, ERR_FORMAT, "a rent is 0 or more, and a speed above 0");
    // An hour of work saves rate × own_speed / rent_speed and costs power and interest. Both sides
    // are multiplied by rent_speed.
    __int128 saved = (__int128)rent->rate * rent->own_speed -
                     (__int128)(hour.power + hour.idle + hour.interest) * rent->rent_speed;
    __int128 paid = (__int128)(m->purchase - m->resale) * HOUR_S * rent->rent_speed;
    *use_s = -1;
    if (saved <= 0)
        return 0;
    __int128 s = (paid + saved - 1) / saved;
    if (s <= INT64_C(1) << 40) // 34,000 years: never
        *use_s = (int64_t)s;
    return 0;
}

int own_break_even_days(const struct own_machine *m, int64_t use_s, int64_t *tenths,
                        struct err *err)
{
    TRY(check(m, err));
    return money_scale(use_s, 300, m->use_s_a_month, MONEY_HALF_UP, tenths, err);
}

static void amount(struct buf *out, int64_t nano)
{
    char text[MONEY_BYTES];
    money_short(nano, text);
    buf_adds(out, text);
}

void own_words(const struct own_machine *m, const struct own_hour *hour, const char *currency,
               struct buf *out)
{
    amount(out, hour->total);
    buf_printf(out, " %s an hour of use: ", currency);
    amount(out, hour->purchase);
    buf_adds(out, " of ");
    amount(out, m->purchase);
    if (m->resale > 0) {
        buf_adds(out, " less a resale of ");
        amount(out, m->resale);
    }
    buf_printf(out, ", over %" PRId64 " months of %" PRId64 " h", m->life_months,
               m->use_s_a_month / HOUR_S);
    if (hour->interest > 0) {
        buf_adds(out, ", and ");
        amount(out, hour->interest);
        buf_printf(out, " of interest at %g %%", (double)m->interest / 100);
    }
    if (!hour->power_known) {
        buf_adds(out, "; power is unknown and left out");
        return;
    }
    buf_adds(out, ", and ");
    amount(out, hour->power);
    buf_printf(out, " for %" PRId64 " W", (m->busy_mw + 500) / 1000);
    if (m->idle_mw > 0) {
        buf_adds(out, ", and ");
        amount(out, hour->idle);
        buf_printf(out, " for %" PRId64 " W while it is idle", (m->idle_mw + 500) / 1000);
    }
}
