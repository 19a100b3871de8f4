// SPDX-License-Identifier: Apache-2.0
#include "base/http_curl.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/dl.h"

struct curl_api curl;

#define SYMBOL(name) {"curl_" #name, offsetof(struct curl_api, name), DL_REQUIRED},
static const struct dl_symbol symbols[] = {CURL_FUNCTIONS(SYMBOL)};
static const char *const names[] = {"libcurl.so.4", NULL};
static const struct dl_spec spec = {
    .what = "libcurl",
    .names = names,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .hint = "install the package libcurl4, or use the bundle, which carries it",
};

// Never unloaded: libcurl and its TLS library do not support that well.
int curl_load(struct err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool loaded;
    static struct dl library;
    int rc = 0;
    pthread_mutex_lock(&lock);
    if (!loaded) {
        rc = dl_open(&library, &spec, &curl, err);
        if (rc == 0 && curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
            rc = err_set(err, ERR_FAIL, "cannot start libcurl (curl_global_init)");
        loaded = rc == 0;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}
