// SPDX-License-Identifier: Apache-2.0
// http_curl: libcurl's functions, opened on first use; for http.c and those that extend it.
//
// <curl/curl.h> gives the types; nothing is linked. Its type-checking macros do not reach calls
// through this table: pass long, curl_off_t or a pointer to easy_setopt(), exactly.
#ifndef FARE_BASE_HTTP_CURL_H
#define FARE_BASE_HTTP_CURL_H

#include <curl/curl.h>

#include "base/err.h"

struct curl_api {
    CURLcode (*global_init)(long flags);
    CURL *(*easy_init)(void);
    CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
    CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
    const char *(*easy_strerror)(CURLcode code);
    void (*easy_cleanup)(CURL *easy);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
    void (*slist_free_all)(struct curl_slist *list);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_add_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_perform)(CURLM *multi, int *running);
    CURLMcode (*multi_poll)(CURLM *multi, struct curl_waitfd *extra, unsigned extra_count,
                            int timeout_ms, int *count);
    CURLMsg *(*multi_info_read)(CURLM *multi, int *left);
    CURLMcode (*multi_cleanup)(CURLM *multi);
    const char *(*multi_strerror)(CURLMcode code);
};
extern struct curl_api curl; // filled in by curl_load()

int curl_load(struct err *err) MUST_USE;

#endif
