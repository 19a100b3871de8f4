// SPDX-License-Identifier: Apache-2.0
// Any bytes as a manifest, a marker, a claim and a beat: what is accepted stays within its tree and
// within data/, and reads back the same.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "save/lease.h"
#include "save/manifest.h"

static void check(const struct manifest *m)
{
    struct buf text = {0};
    struct manifest again;
    struct err err = {0};
    for (size_t i = 0; i < m->count; i++) {
        const struct manifest_entry *e = &m->items[i];
        if (!m->file && (e->path[0] == '/' || strncmp(e->path, "../", 3) == 0 ||
                         strstr(e->path, "/../") || strcmp(e->path, "..") == 0))
            abort();
        if (e->data && strncmp(e->data, "data/", 5) != 0)
            abort();
        if (e->bytes < 0 || (e->kind == MANIFEST_LINK && e->target[0] == '/'))
            abort();
    }
    if (manifest_write(m, &text, &err) != 0 || manifest_read(buf_str(&text), &again, &err) != 0)
        abort();
    if (!manifest_same(m, &again))
        abort();
    manifest_release(&again);
    buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct manifest m;
    struct marker marker;
    struct lease_holder holder = {0};
    struct lease_beat beat;
    struct err err = {0};
    const char *what;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (manifest_read(text, &m, &err) == 0) {
        check(&m);
        manifest_release(&m);
    } else if (!err.text[0]) {
        abort();
    }
    if (marker_read(text, &marker) && (!marker.job[0] || marker.epoch < 0 || marker.number < 0))
        abort();
    if (lease_beat_read(text, &beat) && beat.count < 0)
        abort();
    lease_claim_read(text, &holder);
    for (const char *p = holder.host; *p; p++)
        if ((unsigned char)*p < 32)
            abort();
    if (lease_name_read(text, &what) < 0)
        abort();
    free(text);
    return 0;
}
