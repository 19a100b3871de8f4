// SPDX-License-Identifier: Apache-2.0
#include "data/identity.h"

#include <string.h>

#include "base/buf.h"

void identity_init(struct identity *identity)
{
    sha256_init(&identity->sha);
}

void identity_add(struct identity *identity, const uint8_t sum[SHA256_BYTES], const char *name)
{
    char hex[SHA256_HEX_BYTES];
    sha256_hex(sum, hex);
    sha256_add(&identity->sha, hex, SHA256_HEX_BYTES - 1);
    sha256_add(&identity->sha, "  ", 2);
    sha256_add(&identity->sha, name, strlen(name));
    sha256_add(&identity->sha, "\n", 1);
}

char *identity_text(struct identity *identity, struct err *err)
{
    uint8_t sum[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES];
    sha256_done(&identity->sha, sum);
    sha256_hex(sum, hex);
    return text_copy(hex, err);
}
