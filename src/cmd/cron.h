// SPDX-License-Identifier: Apache-2.0
// cron: the page of `fare cron`.
#ifndef FARE_CMD_CRON_H
#define FARE_CMD_CRON_H

#include "cmd/cmd.h"
#include "record/schedule.h"

void cron_text(struct out *out, const struct schedule_record *record);

#endif
