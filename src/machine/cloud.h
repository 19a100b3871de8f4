// SPDX-License-Identifier: Apache-2.0
// cloud: how the answers of the clouds' metadata services, and the firmware, are read.
//
// For cloud.c and its tests; everybody else calls probe_where(). Nothing here trusts an answer:
// a captive portal, a proxy or another cloud may have given it. A provider counts as found only
// when its answer has the form that this provider's answers have.
#ifndef FARE_MACHINE_CLOUD_H
#define FARE_MACHINE_CLOUD_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/tree.h"
#include "record/machine.h"

enum cloud { CLOUD_AWS, CLOUD_GCP, CLOUD_AZURE, CLOUD_COUNT };

#define CLOUD_TEXT 64 // bytes of an instance type, a region, an id

// What the firmware tables say. A cloud's name in them is sure. A table without any is as sure
// that this is no machine of theirs; without a table (containers, small hypervisors) any of them
// may be it.
struct cloud_firmware {
    const char *provider;           // null: not named
    char instance_type[CLOUD_TEXT]; // "" where not told
    char instance_id[CLOUD_TEXT];
    bool candidate[CLOUD_COUNT]; // whose metadata service is worth asking
};
void cloud_firmware_read(struct tree *tree, struct cloud_firmware *firmware);

// What is asked, in the order in which each cloud's are kept together.
enum cloud_item {
    CLOUD_AWS_TOKEN, // IMDSv2; the others of AWS wait for it
    CLOUD_AWS_DOCUMENT,
    CLOUD_AWS_TYPE,
    CLOUD_AWS_LIFE_CYCLE,
    CLOUD_GCP_TYPE,
    CLOUD_GCP_ZONE,
    CLOUD_GCP_ID,
    CLOUD_GCP_PREEMPTIBLE,
    CLOUD_GCP_MODEL,
    CLOUD_AZURE_COMPUTE,
    CLOUD_ITEMS,
};

// Answers by item, null for those that did not come (with status 200). Fills in `where` and says
// true when they are this cloud's; otherwise leaves it as it was. Fails only without memory.
int cloud_parse(enum cloud cloud, const struct buf *const answers[CLOUD_ITEMS],
                struct machine_where *where, bool *found, struct err *err) MUST_USE;

#endif
