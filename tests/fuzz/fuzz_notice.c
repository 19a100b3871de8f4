// SPDX-License-Identifier: Apache-2.0
// Answers of the sources of termination notices. The first byte chooses the source.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "save/notice_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct notice_found f = {0};
    if (size == 0)
        return 0;
    char *text = malloc(size); // so that the byte behind it is nobody's
    assert(text);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    size_t len = size - 1;
    if (data[0] % 5 == 0)
        notice_aws_action(200, text, len, &f);
    else if (data[0] % 5 == 1)
        notice_aws_rebalance(200, text, len, &f);
    else if (data[0] % 5 == 2)
        notice_gcp_read(200, text, len, &f);
    else if (data[0] % 5 == 3)
        notice_azure_read(200, text, len, "vm_1", &f);
    else
        notice_file_read(text, len, &f);
    assert(f.known || f.kind == NOTICE_NONE);
    assert(strlen(f.words) < sizeof f.words);
    assert(f.left_ns >= 0);
    free(text);
    return 0;
}
