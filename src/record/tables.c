// SPDX-License-Identifier: Apache-2.0
// The tables of the records that are only data, or nearly so.
#include "record/bill.h"
#include "record/compare.h"
#include "record/device.h"
#include "record/dispatch.h"
#include "record/machine.h"
#include "record/offer.h"
#include "record/price_import.h"
#include "record/provider.h"
#include "record/schedule.h"
#include "record/spending.h"
#include "record/tariff.h"
#include "record/workload.h"

#define RECORD_TABLES
#include "record/bill.def"
#include "record/compare.def"
#include "record/device.def"
#include "record/dispatch.def"
#include "record/machine.def"
#include "record/offer.def"
#include "record/price_import.def"
#include "record/provider.def"
#include "record/schedule.def"
#include "record/spending.def"
#include "record/tariff.def"
#include "record/workload.def"

const char *machine_cpu_limit(const struct machine_cpu *cpu)
{
    bool quota = cpu->limit_cpus.known && !(cpu->allowed_threads.known &&
                                            (double)cpu->allowed_threads.v < cpu->limit_cpus.v);
    return quota ? "cgroup quota" : "affinity";
}
