// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_write(struct buf *out, const void *bytes, size_t len)
{
    const uint8_t *from = bytes;
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t n = (uint32_t)from[i] << 16 | (uint32_t)(left > 1 ? from[i + 1] : 0) << 8 |
                     (uint32_t)(left > 2 ? from[i + 2] : 0);
        buf_addc(out, letters[n >> 18]);
        buf_addc(out, letters[n >> 12 & 63]);
        buf_addc(out, left > 1 ? letters[n >> 6 & 63] : '=');
        buf_addc(out, left > 2 ? letters[n & 63] : '=');
    }
}

int base64_value(char c)
{
    const char *found = c ? strchr(letters, c) : NULL;
    return found ? (int)(found - letters) : -1;
}

bool base64_read(const char *text, size_t len, struct buf *out)
{
    if (len == 0 || len % 4 != 0)
        return false;
    for (size_t i = 0; i < len; i += 4) {
        bool last = i + 4 == len;
        int pad = last && text[i + 3] == '=' ? text[i + 2] == '=' ? 2 : 1 : 0;
        uint32_t n = 0;
        for (int k = 0; k < 4; k++) {
            int v = k >= 4 - pad ? 0 : base64_value(text[i + (size_t)k]);
            if (v < 0)
                return false;
            n = n << 6 | (uint32_t)v;
        }
        const char three[3] = {(char)(n >> 16), (char)(n >> 8), (char)n};
        buf_add(out, three, (size_t)(3 - pad));
    }
    return true;
}
