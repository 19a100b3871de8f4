// SPDX-License-Identifier: Apache-2.0
// cloud: parses the clouds' metadata answers and the firmware tables. Internal to cloud.c and its
// tests; other code calls probe_where().
//
// No answer is trusted: it may come from a captive portal, a proxy or another cloud. A provider
// counts as found only if its answer has that provider's form.
#ifndef FARE_MACHINE_CLOUD_H
#define FARE_MACHINE_CLOUD_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/tree.h"
#include "record/machine.h"

enum cloud { CLOUD_AWS, CLOUD_GCP, CLOUD_AZURE, CLOUD_COUNT };

#define CLOUD_TEXT 64 // longest instance type, region or id

// A cloud named in the firmware is certain. Tables that name none rule out all of them. Without
// tables (containers, small hypervisors) every cloud is a candidate.
struct cloud_firmware {
    const char *provider;           // null if not named
    char instance_type[CLOUD_TEXT]; // "" if unknown
    char instance_id[CLOUD_TEXT];
    bool candidate[CLOUD_COUNT]; // query its metadata service
};
void cloud_firmware_read(struct tree *tree, struct cloud_firmware *firmware);

// The queries, grouped by cloud.
enum cloud_item {
    CLOUD_AWS_TOKEN, // IMDSv2; AWS's other queries wait for it
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

// `answers` by item; null without an answer of status 200. If they have this cloud's form, fills
// `where` and sets `found`; otherwise leaves `where` alone. Fails only when memory runs out.
int cloud_parse(enum cloud cloud, const struct buf *const answers[CLOUD_ITEMS],
                struct machine_where *where, bool *found, struct err *err) MUST_USE;

#endif
