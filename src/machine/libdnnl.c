// SPDX-License-Identifier: Apache-2.0
#include "machine/libdnnl.h"

#include <stddef.h>

#define SYMBOL(need, result, name, args) {"dnnl_" #name, offsetof(struct libdnnl, name), need},
static const struct dl_symbol symbols[] = {LIBDNNL_FUNCTIONS(SYMBOL)};

static const char *const names[] = {"libdnnl.so.2", NULL};

const struct dl_spec libdnnl_spec = {
    .what = "oneDNN",
    .variable = "FARE_ONEDNN",
    .names = names,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .hint = "install libdnnl2, or use the engine 'ref'",
};
