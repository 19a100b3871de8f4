// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of this format.
#include "price_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return price_input("aws-spot", "spot.json", data, size);
}
