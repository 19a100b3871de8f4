// SPDX-License-Identifier: Apache-2.0
// The record of a scheduled task's bill, printed by `fare cron`. Amounts are in USD.
#ifndef FARE_RECORD_SCHEDULE_H
#define FARE_RECORD_SCHEDULE_H

#include "record/field.h"

#define SCHEDULE_SCHEMA "fare.schedule/1"

#include "record/schedule.def"

static inline void schedule_release(struct schedule_record *record)
{
    record_release(schedule_fields, record);
}

#endif
