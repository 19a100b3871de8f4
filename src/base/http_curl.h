// SPDX-License-Identifier: Apache-2.0
// http_curl: libcurl's functions, opened on first use; for http.c and those that extend it.
//
// <curl/curl.h> gives the types; nothing is linked. Its type-checking macros do not reach calls
// through this table: pass long, curl_off_t or a pointer to easy_setopt(), exactly.
#ifndef FARE_BASE_HTTP_CURL_H
#define FARE_BASE_HTTP_CURL_H

#include <curl/curl.h>

#include "base/err.h"

// clang-format off
#define CURL_FUNCTIONS(X) \
    X(global_init) X(easy_init) X(easy_setopt) X(easy_getinfo) X(easy_strerror) X(easy_cleanup) \
    X(slist_append) X(slist_free_all) X(multi_init) X(multi_add_handle) X(multi_remove_handle) \
    X(multi_perform) X(multi_poll) X(multi_info_read) X(multi_cleanup) X(multi_strerror)
// clang-format on
#define CURL_MEMBER(name) __typeof__(curl_##name) *name;

struct curl_api {
    CURL_FUNCTIONS(CURL_MEMBER)
};
extern struct curl_api curl; // filled in by curl_load()

int curl_load(struct err *err) MUST_USE;

#endif
