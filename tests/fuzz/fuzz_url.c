// SPDX-License-Identifier: Apache-2.0
// Addresses: what is shown of one never holds a password or a control character.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *url = malloc(size + 1);
    if (!url)
        return 0;
    memcpy(url, data, size);
    url[size] = '\0';
    char shown[HTTP_SHOWN_BYTES];
    http_shown(url, shown);
    for (const char *p = shown; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7F)
            abort();
    if (strncmp(url, "http://u:S3cr3t@h", 17) == 0 && strncmp(shown, "http://u:S3cr3t", 15) == 0)
        abort();
    struct err err = {0};
    if (http_scheme(url, false, &err) == HTTP_SCHEME_BAD && err.text[0] == '\0')
        abort();
    free(url);
    return 0;
}
