// SPDX-License-Identifier: Apache-2.0
// bounds: how much is read from outside at most, and for how long.
//
// Stores, databases, web servers and metadata services are others': their lists may never end,
// their answers may drip or be of any size. Each has its cap and its deadline here; beyond them is
// an error that names what was too large or too slow. docs/reliability.md has them as a table.
#ifndef FARE_BASE_BOUNDS_H
#define FARE_BASE_BOUNDS_H

#include "base/clock.h"

#define BOUND_MIB ((size_t)1 << 20)

// ---- a store of checkpoints
#define BOUND_LIST_NAMES      100000             // in one list: 25,000 starts of a job
#define BOUND_LIST_PAGES      1000               // that a bucket's list has
#define BOUND_STORE_NS        (120 * NS_PER_S)   // one small call with all tries, and
#define BOUND_SLOWEST         16384              // bytes a second for what it moves
#define BOUND_REQUEST_MS      60000              // one request, and the same for what it moves
#define BOUND_MANIFEST        (32 * BOUND_MIB)   // 100,000 files, or 4 TB in parts of 8 MiB
#define BOUND_MANIFEST_VALUES 1000000            // JSON values in it
#define BOUND_MARKER          ((size_t)16 << 10) // a marker, base, claim or beat
#define BOUND_ATTEMPT         ((size_t)64 << 10) // a start in the history
#define BOUND_HISTORY_NS      (600 * NS_PER_S)   // all of them; all markers and bases
#define BOUND_CLAIMS          8                  // claims that the store does not list afterwards
#define BOUND_S3_ANSWER       (4 * BOUND_MIB)    // a page of a list, an error
#define BOUND_ROLE            ((size_t)64 << 10) // keys of an instance's role
#define BOUND_ROLE_MS         5000
// ---- a ledger in PostgreSQL, per statement
#define BOUND_ROWS       250000
#define BOUND_ROWS_BYTES INT64_C(4000000000)
#define BOUND_QUERY_S    600
#define BOUND_SILENCE_S  20
// ---- web servers
#define BOUND_SITE_BYTES INT64_C(4000000000) // records of a site
#define BOUND_SITE_NS    (1800 * NS_PER_S)
#define BOUND_PAGE_MS    120000 // one file of it, one push
#define BOUND_PRICES     (256 * BOUND_MIB)
#define BOUND_PRICES_MS  300000
#define BOUND_DATA_BYTES (INT64_C(4) << 30) // a file of a data set
#define BOUND_DATA_MS    (6 * 3600 * INT64_C(1000))
// ---- metadata of this machine
#define BOUND_METADATA    ((size_t)64 << 10)
#define BOUND_METADATA_NS (385 * NS_PER_MS) // all questions about the machine
#define BOUND_NOTICE      ((size_t)256 << 10)

#endif
