// SPDX-License-Identifier: Apache-2.0
// Answers of a metadata service. The first byte chooses the cloud, the rest are its answers in
// their order, separated by the byte 0x1e. What is taken for a cloud's must look like one's.
#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "machine/cloud.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text)
{
    if (!text)
        return;
    assert(*text && strlen(text) < 2 * CLOUD_TEXT);
    for (; *text; text++)
        assert(isgraph((unsigned char)*text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum cloud_item first[] = {CLOUD_AWS_DOCUMENT, CLOUD_GCP_TYPE,
                                            CLOUD_AZURE_COMPUTE};
    if (size == 0)
        return 0;
    enum cloud cloud = data[0] % CLOUD_COUNT;
    struct buf bufs[CLOUD_ITEMS] = {0};
    const struct buf *answers[CLOUD_ITEMS] = {NULL};
    size_t at = 1;
    for (int item = (int)first[cloud]; item < CLOUD_ITEMS && at < size; item++) {
        const uint8_t *end = memchr(data + at, 0x1e, size - at);
        size_t len = end ? (size_t)(end - data) - at : size - at;
        buf_add(&bufs[item], data + at, len);
        answers[item] = &bufs[item];
        at += len + 1;
    }
    struct machine machine = {0};
    struct machine_where *where = &machine.where;
    bool found = false;
    int rc = cloud_parse(cloud, answers, where, &found, NULL);
    assert(rc == 0);
    assert(found == (where->provider != NULL));
    assert(found || (!where->instance_type && !where->region && !where->spot.known));
    check_text(where->instance_type);
    check_text(where->instance_id);
    check_text(where->region);
    check_text(where->zone);
    check_text(where->launched_at);
    machine_release(&machine);
    for (int item = 0; item < CLOUD_ITEMS; item++)
        buf_release(&bufs[item]);
    return 0;
}
