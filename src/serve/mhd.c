// SPDX-License-Identifier: Apache-2.0
#include "serve/mhd.h"

#include <stddef.h>

#include "base/dl.h"

struct mhd_api mhd;

#define SYMBOL(name) {"MHD_" #name, offsetof(struct mhd_api, name), DL_REQUIRED},
static const struct dl_symbol symbols[] = {MHD_FUNCTIONS(SYMBOL)};
static const char *const names[] = {"libmicrohttpd.so.12", NULL};
static const struct dl_spec spec = {
    .what = "libmicrohttpd",
    .variable = "FARE_MICROHTTPD",
    .names = names,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .hint = "install the package libmicrohttpd12 (Fedora: libmicrohttpd), or use the bundle, which "
            "carries it",
};

int mhd_load(struct err *err)
{
    static struct dl library;
    return dl_open_once(&library, &spec, &mhd, err);
}
