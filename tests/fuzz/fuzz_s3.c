// SPDX-License-Identifier: Apache-2.0
// Any bytes as an answer of S3, as a file of keys and as a role's keys: nothing is read beyond
// them, and what is found fits.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "save/s3.h"

static int element(void *context, const char *parent, const char *name, const char *value,
                   struct err *err)
{
    (void)err;
    if (!name[0] || strlen(name) >= 64 || strlen(parent) >= 64)
        abort();
    *(size_t *)context += value ? strlen(value) : 0;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    size_t total = 0;
    char found[32], *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    int rc = xml_walk(text, size, element, &total, &err);
    if ((rc != 0 && !err.text[0]) || (rc == 0 && total > size))
        abort();
    xml_find(text, size, "Code", found, sizeof found);
    struct s3_profile profile = {0};
    s3_profile_parse(text, "work", true, &profile);
    s3_profile_parse(text, "work", false, &profile);
    if (strlen(profile.id) >= sizeof profile.id || strlen(profile.secret) >= sizeof profile.secret)
        abort();
    struct s3_keys keys = {0};
    struct err why = {0};
    if (s3_role_parse(text, &keys, &why) == 0 && (!keys.id[0] || !keys.secret[0]))
        abort();
    if (keys.secret[0] && strstr(why.text, keys.secret))
        abort();
    free(text);
    return 0;
}
