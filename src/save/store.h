// SPDX-License-Identifier: Apache-2.0
// store: objects under names, in a folder (a disk, NFS) or in an S3 bucket.
//
// A store knows bytes and names, nothing of checkpoints (keep.h) or leases (lease.h). A name is one
// or more words of letters, digits, '.', '-' and '_', joined by '/':
// "saves/0000000001-000002/complete". All names lie below the folder or the bucket's prefix that
// the store was opened with.
//
// An object appears whole or not at all, under S3 as in a folder (temporary file, fsync, rename,
// fsync of the folder). A reader that starts after a writer has returned sees what was written:
// S3 promises that for reads and lists; so does a folder, on NFS for what was opened afterwards.
//
// Any number of threads may use one store at the same time.
//
// Failures of the network, time-outs and answers 429 and 5xx are tried again with growing,
// random pauses until the deadline of the call, or STORE_TRIES times. Others are final. Codes:
//   ERR_MISSING   the object is not there
//   ERR_TIMEOUT   the deadline passed; what was sent of a file is continued by the next call
//   ERR_USAGE     a place that cannot work: no such bucket, wrong credentials, a folder that cannot
//                 be written, a clock that is off; trying again is of no use until someone acts
//   ERR_FORMAT    bytes that are not what they should be: a checksum, an answer that is not S3's
//   ERR_IO        the rest: cut connections, full disks
// Texts and hints of errors never contain keys, tokens or signatures.
#ifndef FARE_SAVE_STORE_H
#define FARE_SAVE_STORE_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/sha256.h"

#define STORE_TRIES      6   // of one request, unless the deadline comes first
#define STORE_NAME_BYTES 256 // longest name, with the NUL

struct store;

struct store_options {
    const char *endpoint; // (optional) "https://host[:port]"; else AWS_ENDPOINT_URL_S3,
                          // AWS_ENDPOINT_URL, the profile's endpoint_url, Amazon
    const char *region; // (optional) else AWS_REGION, AWS_DEFAULT_REGION, the profile's, us-east-1
    const char *metadata; // (optional) address of the instance role; null: FARE_METADATA, else
                          // http://169.254.169.254; "off": never asked
    int64_t connect_ms;   // (optional) longest time to connect; 0: 10 s
    int64_t stall_ms;     // (optional) longest time without a byte either way; 0: 20 s
    int64_t pause_ms;     // (optional) first pause between tries; 0: 200 ms; doubles up to 10 s
    int parallel;         // (optional) parts sent or fetched at once; 0: 4
};

// `place` is "s3://bucket/prefix", "s3://bucket", or a folder, which is created. Asks nothing of
// the network; store_check() does. ERR_USAGE: no such form, no credentials to be found.
int store_open(struct store **out, const char *place, const struct store_options *options,
               struct err *err) MUST_USE;
void store_free(struct store *store); // null is fine

// The place for messages: "s3://bucket/prefix" or the folder. Lives as long as the store.
const char *store_shown(const struct store *store);

// Drops what many requests at once needed: all connections but one. For when a large file is done.
void store_rest(struct store *store);

// Writes, reads and removes a small object, so that wrong credentials, a missing bucket or an
// unwritable folder are found before a job starts.
int store_check(struct store *store, int64_t deadline_ns, struct err *err) MUST_USE;

// ---- Small objects. `deadline_ns` is of clock_now_ns(), 0: that of bounds.h, which holds for all.

// Appends the object to `out`. ERR_MISSING: none of that name. ERR_FORMAT: longer than `max`.
int store_get(struct store *store, const char *name, size_t max, struct buf *out,
              int64_t deadline_ns, struct err *err) MUST_USE;

// Creates or replaces the object.
int store_put(struct store *store, const char *name, const void *bytes, size_t len,
              int64_t deadline_ns, struct err *err) MUST_USE;

// Creates the object unless one of that name exists: of several at once exactly one is told
// `*created` = true. Only where store_exclusive() says so. An answer that got lost is cleared up by
// reading the object: `bytes` must differ between callers.
int store_create(struct store *store, const char *name, const void *bytes, size_t len,
                 bool *created, int64_t deadline_ns, struct err *err) MUST_USE;

// Whether store_create() is exclusive here. Folders: yes (link()). S3: tried once per store with
// two conditional puts of an object under "lease/", because servers ignore conditions they do not
// know.
int store_exclusive(struct store *store, bool *exclusive, int64_t deadline_ns,
                    struct err *err) MUST_USE;

// Deletes exactly this object; an absent one is fine.
int store_delete(struct store *store, const char *name, int64_t deadline_ns,
                 struct err *err) MUST_USE;

struct store_entry {
    char *name;    // below the store's place
    int64_t bytes; // of the object
};
struct store_list {
    struct store_entry *items; // sorted by name, bytewise
    size_t count, cap;
};
// All objects whose names start with `under` ("saves/"). An empty list is fine. ERR_FORMAT: a list
// that does not end, or has more than BOUND_LIST_NAMES.
int store_list(struct store *store, const char *under, struct store_list *list, int64_t deadline_ns,
               struct err *err) MUST_USE;
void store_list_release(struct store_list *list); // a zeroed struct is fine

// Appends the text of `json`, which it takes (null: there was no memory for it).
int store_json(json_t *json, struct buf *out, struct err *err) MUST_USE;

// ---- Files, in parts.
//
// A file is described by its size and the SHA-256 of each part of store_part_bytes(size) bytes; the
// last one is shorter. Parts are sent with their SHA-256, which the server verifies, and verified
// here when they are fetched. A file that changes while it is sent is ERR_FORMAT.

int64_t store_part_bytes(int64_t file_bytes);
int64_t store_part_count(int64_t file_bytes); // 0 for an empty file

struct store_file {
    const char *name;                     // of the object
    const char *path;                     // of the local file
    int64_t bytes;                        // its size
    const uint8_t (*parts)[SHA256_BYTES]; // store_part_count() of them

    // (optional) Called as parts are done, in the thread of the call, and ten times a second; false
    // gives up with ERR_FAIL "stopped".
    bool (*progress)(void *context, int64_t done_bytes);
    void *context;

    int64_t sent_bytes; // out: what went over the network; parts that were there are not sent again
};

// Sends a file. After a failure the next call with the same name and contents, also of another
// process, continues with the parts that are there.
int store_send(struct store *store, struct store_file *file, int64_t deadline_ns,
               struct err *err) MUST_USE;

// Fetches an object into a local file, which appears whole or not at all, on the disk, every part
// verified. ERR_FORMAT names the part that is wrong.
int store_fetch(struct store *store, struct store_file *file, int64_t deadline_ns,
                struct err *err) MUST_USE;

// Drops what store_send() left of a file that will not be continued. Only this name's.
int store_forget(struct store *store, const char *name, int64_t deadline_ns,
                 struct err *err) MUST_USE;

// ---- pause: the waits between tries: they double, and vary at random, so that machines that
// failed together do not come back together.

struct pause {
    int64_t next_ms;
    int64_t deadline_ns; // 0: none
    const atomic_bool *stop;
};

// `first_ms` 0: PAUSE_FIRST_MS. `stop` may be null.
struct pause pause_begin(int64_t first_ms, int64_t deadline_ns, const atomic_bool *stop);

// Waits half to all of the next pause. False: the deadline would pass, or `stop` was set.
bool pause_wait(struct pause *pause);

#endif
