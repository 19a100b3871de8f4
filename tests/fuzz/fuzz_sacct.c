// SPDX-License-Identifier: Apache-2.0
// Any bytes as Slurm's accounting.
#include "import_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return import_input(&importer_sacct, data, size);
}
