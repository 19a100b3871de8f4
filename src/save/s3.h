// SPDX-License-Identifier: Apache-2.0
// s3: signed requests to one bucket, tried again where that helps, refusals in plain words.
//
// Requests are signed by libcurl (base/http.h). A bucket is addressed as a part of the path at a
// given endpoint, and of the host's name at Amazon. Connections stay open between requests. Any
// number of threads may ask at once.
#ifndef FARE_SAVE_S3_H
#define FARE_SAVE_S3_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/http.h"
#include "save/store.h"

struct s3;

// `place` is "s3://bucket[/prefix]".
int s3_open(struct s3 **out, const char *place, const struct store_options *options,
            struct err *err) MUST_USE;
void s3_free(struct s3 *s3);

void s3_rest(struct s3 *s3); // closes all connections that are not in use, but one

const char *s3_prefix(const struct s3 *s3); // "" or "prefix/", as keys begin
int s3_parallel(const struct s3 *s3);

struct s3_request {
    const char *method; // null: GET
    const char *name;   // of the object, below the prefix; null: the bucket itself
    const char *query;  // (optional) sorted, encoded, each name with "="
    const char *header; // (optional) "Range: bytes=0-99", "If-None-Match: *"
    const void *body;   // (optional)
    size_t body_len;
    const char *body_sha256; // (optional) hexadecimal, where it is known already
    size_t max_bytes;        // of the answer; 0: 4 MiB
    const atomic_bool *stop; // (optional)
    int64_t deadline_ns;
    int tries; // (optional) 0: STORE_TRIES
};

// Makes the request. 0: an answer of any status that trying again does not better is in `call`,
// which the caller releases (zero it first). Codes of store.h otherwise.
int s3_ask(struct s3 *s3, const struct s3_request *request, struct http_call *call,
           struct err *err) MUST_USE;

// The same where the status must be `status` (200, or another below 300); else s3_refused().
int s3_must(struct s3 *s3, const struct s3_request *request, const char *doing,
            struct http_call *call, struct err *err) MUST_USE;

// Turns an answer into an error: credentials, clock, bucket, region, room. Missing objects are
// ERR_MISSING. `doing`: "cannot write 'x'".
int s3_refused(struct s3 *s3, const struct http_call *call, const char *doing, struct err *err);

// Appends `text` as it stands in a query's value; `keep_slash` as in a path.
void s3_encode(const char *text, bool keep_slash, struct buf *out);

// ---- xml: the elements of an answer of S3, from front to back.
//
// Only what S3 sends: elements, texts, the five named entities and numbered ones. Attributes,
// comments and declarations are skipped; there are no document types to expand. Answers are
// untrusted: they may be cut, nested without end, or not XML at all.

// Called at the end of each element. A leaf has its text as `value`; an element with others in it
// has null. `parent` is "" for the outermost. Not 0 ends the walk, which returns it.
typedef int xml_element(void *context, const char *parent, const char *name, const char *value,
                        struct err *err);

// ERR_FORMAT where the text is not well-formed.
int xml_walk(const char *text, size_t len, xml_element *element, void *context,
             struct err *err) MUST_USE;

// The text of the first leaf of that name, cut to `size` - 1 bytes; "" and false: none, or no XML.
bool xml_find(const char *text, size_t len, const char *name, char *out, size_t size);

// ---- s3_keys: the keys that sign requests, from where Amazon's own tools look for them.
//
// In this order: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; the profile
// (AWS_PROFILE, else "default") in AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and
// AWS_CONFIG_FILE (~/.aws/config); the instance's role, by its metadata service (IMDSv2), unless
// AWS_EC2_METADATA_DISABLED is "true". A role's keys expire and are asked for again in time.
// The keys are overwritten when they are released, and are never part of a text for people.

#define S3_KEY_BYTES 256

struct s3_keys {
    char id[S3_KEY_BYTES];
    char secret[S3_KEY_BYTES];
    char token[4096]; // "": none
    char from[300];   // for people: "the environment", "profile 'x' in ~/.aws/credentials"
    bool role;        // from the instance's role: `until_s` counts
    int64_t until_s;  // date at which they expire
};

// What a profile says; "" where it does not.
struct s3_profile {
    char id[S3_KEY_BYTES], secret[S3_KEY_BYTES], token[4096];
    char region[64], endpoint[512], ca_bundle[512];
};

// Environment and files. 0 and id "": none there, ask the role. ERR_USAGE: half a pair of keys, or
// AWS_PROFILE names a profile that no file has. `profile` gets region, endpoint and CA file in any
// case.
int s3_keys_find(struct s3_keys *keys, struct s3_profile *profile, struct err *err) MUST_USE;

// Asks the role at `metadata` ("http://169.254.169.254"). ERR_USAGE: there is none.
int s3_keys_of_role(struct s3_keys *keys, const char *metadata, int64_t deadline_ns,
                    struct err *err) MUST_USE;

// The profile's section of a file in the format of ~/.aws/credentials, or of ~/.aws/config, where
// it is called "profile NAME". Adds to `out` what it says. False: no such section. Lines that are
// not understood are skipped.
bool s3_profile_parse(const char *text, const char *name, bool config, struct s3_profile *out);

// {"AccessKeyId", "SecretAccessKey", "Token", "Expiration"}
int s3_role_parse(const char *text, struct s3_keys *keys, struct err *err) MUST_USE;

void s3_keys_wipe(struct s3_keys *keys);

#endif
