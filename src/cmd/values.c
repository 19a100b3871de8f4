// SPDX-License-Identifier: Apache-2.0
#include "cmd/values.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"

#define DAY_S INT64_C(86400)

const char *const value_rules[] = {"paid", "prorated", NULL};

int value_day(const char *text, int *day, struct err *err)
{
    int64_t date_s = 0;
    if (!text)
        return 0;
    if (!clock_parse(text, &date_s) || date_s < DAY_S)
        return word_bad("--date", text, "a date such as 2026-11-01", err);
    *day = (int)(date_s / DAY_S);
    return 0;
}

int value_format(bool json, const char *format, const char *otherwise, const char **out,
                 struct err *err)
{
    *out = json ? "json" : format ? format : otherwise;
    if (json && format && strcmp(format, "json") != 0)
        return err_set(err, ERR_USAGE, "--json and '--format %s' exclude each other", format);
    return 0;
}

const char *value_period(int64_t per_s)
{
    static const struct {
        int64_t s;
        const char *words;
    } known[] = {{1, "a second"},
                 {60, "a minute"},
                 {3600, "an hour"},
                 {86400, "a day"},
                 {2592000, "a month of 30 days"},
                 {2628000, "a month of 730 hours"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].s == per_s)
            return known[i].words;
    return "its period";
}

// "4.5%" in hundredths of a per cent.
static int read_interest(const char *text, int64_t *interest, struct err *err)
{
    char number[24];
    int64_t nano = 0;
    if (!text)
        return 0;
    snprintf(number, sizeof number, "%.*s", (int)strcspn(text, "%"), text);
    if (strcspn(text, "%") + 1 < strlen(text) || money_parse(number, &nano, NULL) != 0 ||
        nano < 0 || nano > 1000 * MONEY_UNIT)
        return word_bad("--interest", text, "a percentage such as 5%", err);
    *interest = nano / (MONEY_UNIT / 100);
    return 0;
}

int value_power(const struct power_options *o, struct power_given *given, struct err *err)
{
    *given = POWER_NOT_GIVEN;
    if (o->watts >= 1000000)
        return err_set(err, ERR_USAGE, "'--watts' takes less than a million");
    if (o->watts >= 0)
        given->busy_mw = o->watts * 1000;
    return word_amount("--kwh", o->kwh, &given->kwh, err);
}

int value_own(const struct own_options *o, bool power_alone, struct own_machine *own,
              struct err *err)
{
    int64_t hours = o->hours_per_month;
    if (hours > 720)
        return err_set(err, ERR_USAGE, "'--hours-per-month' takes 1 to 720: a month of 30 days");
    if (o->life > 1200)
        return err_set(err, ERR_USAGE, "'--life' takes 1 to 1200 months");
    if (o->watts >= 1000000 || o->idle_watts >= 1000000)
        return err_set(err, ERR_USAGE, "'--watts' and '--idle-watts' take less than a million");
    *own = (struct own_machine){.life_months = o->life,
                                .use_s_a_month = hours > 0 ? hours * 3600 : 30 * DAY_S,
                                .busy_mw = o->watts >= 0 ? o->watts * 1000 : -1,
                                .idle_mw = o->idle_watts >= 0 ? o->idle_watts * 1000 : -1,
                                .kwh = -1};
    int rc = word_amount("--buy", o->buy, &own->purchase, err);
    if (rc == 0)
        rc = word_amount("--resale", o->resale, &own->resale, err);
    if (rc == 0)
        rc = word_amount("--kwh", o->kwh, &own->kwh, err);
    if (rc == 0)
        rc = read_interest(o->interest, &own->interest, err);
    const char *alone = o->resale            ? "resale"
                        : o->interest        ? "interest"
                        : power_alone        ? NULL
                        : o->kwh             ? "kwh"
                        : o->watts >= 0      ? "watts"
                        : o->idle_watts >= 0 ? "idle-watts"
                                             : NULL;
    if (rc == 0 && alone && !o->buy)
        rc = err_set(err, ERR_USAGE, "--%s describes a machine to buy: it needs --buy USD", alone);
    return rc;
}
