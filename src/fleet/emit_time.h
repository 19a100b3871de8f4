// SPDX-License-Identifier: Apache-2.0
// emit_time: a crontab in the words of other schedulers, exactly, or not at all.
#ifndef FARE_FLEET_EMIT_TIME_H
#define FARE_FLEET_EMIT_TIME_H

#include "base/buf.h"
#include "bill/crontab.h"

// Which days match. cron's two day fields mean "either" if both are restricted, but "both" if one
// of them begins with '*' and still leaves days out, as '*/2' does.
enum emit_days { EMIT_EVERY_DAY, EMIT_BY_DAY, EMIT_BY_WEEKDAY, EMIT_EITHER, EMIT_BOTH };
enum emit_days emit_days_of(const struct crontab *tab);

// Appends the numbers of the bits set from `low` to `high`, as "1,3-5", or "*" if all are. `range`
// is what joins the ends of a range, `names` (optional) are written instead of numbers, names[0]
// for 0.
void emit_list(struct buf *out, uint64_t bits, int low, int high, const char *range,
               const char *const *names);

// Five fields with numbers only, without steps.
void emit_crontab(struct buf *out, const struct crontab *tab);

// Lines "OnCalendar=Mon,Tue *-*-1..15 06:00:00 UTC": one, or two for EMIT_EITHER.
void emit_on_calendar(struct buf *out, const struct crontab *tab, const char *time_zone);

// "cron(0 6 ? * MON-FRI *)" for EventBridge Scheduler; a second one for EMIT_EITHER, otherwise
// empty. ERR_USAGE for EMIT_BOTH, which has no such expression.
int emit_eventbridge(struct buf *first, struct buf *second, const struct crontab *tab,
                     struct err *err) MUST_USE;

#endif
