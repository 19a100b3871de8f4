// SPDX-License-Identifier: Apache-2.0
#include "fleet/frame.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/sha256.h"

#define MARK "fare-frame "
enum { LINE = 800, PIECE = LINE / 4 * 3, KEY_MOST = 64 };

void frame_write(struct buf *out, const char *key, const void *bytes, size_t len)
{
    char sum[SHA256_HEX_BYTES];
    size_t lines = 0;
    sha256_hex_of(bytes, len, sum);
    for (size_t at = 0; at < len; at += PIECE) {
        buf_printf(out, MARK "%s %zu ", key, ++lines);
        base64_write(out, (const char *)bytes + at, len - at < PIECE ? len - at : PIECE);
        buf_addc(out, '\n');
    }
    buf_printf(out, MARK "%s end %zu %s\n", key, lines, sum);
}

void frame_script(struct buf *out)
{
    buf_printf(out,
               "fare_frame() {\n"
               "    n=0\n"
               "    base64 <\"$2\" | tr -d '\\n' | fold -w %d >\"$2.base64\"\n"
               "    echo >>\"$2.base64\"\n"
               "    while read -r line; do\n"
               "        n=$((n + 1))\n"
               "        echo \"" MARK "$1 $n $line\"\n"
               "    done <\"$2.base64\"\n"
               "    echo \"" MARK "$1 end $n $(sha256sum <\"$2\" | cut -c 1-64)\"\n"
               "}\n",
               LINE);
}

// ---- reading

static size_t word_length(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && (base64_value(text[n]) >= 0 || text[n] == '='))
        n++;
    return n;
}

// A number below a million, and the space behind it; 0: none.
static size_t take_number(const char **text, size_t *len)
{
    size_t n = 0, digits = 0;
    while (digits < *len && digits < 7 && (*text)[digits] >= '0' && (*text)[digits] <= '9')
        n = n * 10 + (size_t)((*text)[digits++] - '0');
    if (digits == 0 || digits == 7 || digits == *len || (*text)[digits] != ' ')
        return 0;
    *text += digits + 1;
    *len -= digits + 1;
    return n;
}

// One line behind the mark and the key. `*next` is the number of the line that must follow. True:
// the frame is whole.
static bool read_line(const char *text, size_t len, struct buf *bytes, size_t *next)
{
    if (len > 4 && memcmp(text, "end ", 4) == 0) {
        char sum[SHA256_HEX_BYTES];
        text += 4;
        len -= 4;
        size_t lines = take_number(&text, &len);
        sha256_hex_of(buf_str(bytes), bytes->len, sum);
        bool whole = lines > 0 && lines == *next - 1 && len >= SHA256_HEX_BYTES - 1 &&
                     memcmp(text, sum, SHA256_HEX_BYTES - 1) == 0 && !bytes->failed;
        *next = 1;
        return whole;
    }
    size_t number = take_number(&text, &len);
    if (number == 1) { // it begins, perhaps again
        buf_reset(bytes);
        *next = 1;
    }
    if (number == 0 || number != *next)
        return false;
    *next = base64_read(text, word_length(text, len), bytes) ? number + 1 : 0;
    return false;
}

bool frame_read(const char *text, size_t len, const char *key, struct buf *out)
{
    char mark[sizeof MARK + KEY_MOST];
    int mark_len = snprintf(mark, sizeof mark, MARK "%s ", key);
    const char *end = text + len;
    struct buf bytes = {0};
    size_t next = 1;
    bool whole = false;
    while (text < end && !whole) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        if (!newline)
            break; // cut
        const char *found = memmem(text, (size_t)(newline - text), mark, (size_t)mark_len);
        if (found) {
            found += mark_len;
            whole = read_line(found, (size_t)(newline - found), &bytes, &next);
        }
        text = newline + 1;
    }
    if (whole)
        buf_add(out, buf_str(&bytes), bytes.len);
    buf_release(&bytes);
    return whole;
}
