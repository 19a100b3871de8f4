// SPDX-License-Identifier: Apache-2.0
#include "machine/libcuda.h"

#include <stddef.h>

#define SYMBOL(need, name, args) {#name, offsetof(struct libcuda, name), need},
static const struct dl_symbol symbols[] = {LIBCUDA_FUNCTIONS(SYMBOL)};

static const char *const names[] = {"libcuda.so.1", NULL};

const struct dl_spec libcuda_spec = {
    .what = "the NVIDIA driver",
    .variable = "FARE_CUDA",
    .names = names,
    .dirs = dl_vendor_dirs,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .hint = "it comes with the GPU's driver; 'fare check' shows what is installed, --engine cpu "
            "trains without it",
};
