// SPDX-License-Identifier: Apache-2.0
// s3_keys: the keys that sign requests, from where Amazon's own tools look for them.
//
// In this order: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; the profile
// (AWS_PROFILE, else "default") in AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and
// AWS_CONFIG_FILE (~/.aws/config); the instance's role, by its metadata service (IMDSv2), unless
// AWS_EC2_METADATA_DISABLED is "true". A role's keys expire and are asked for again in time.
// The keys are overwritten when they are released, and are never part of a text for people.
#ifndef FARE_GUARD_S3_KEYS_H
#define FARE_GUARD_S3_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

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
