// SPDX-License-Identifier: Apache-2.0
// dl: libraries opened at run time, one symbol table each.
//
// There are two kinds. Heavy libraries that fare brings (libcurl, hwloc, oneDNN) are opened on
// first use, so that starting stays instant; the bundle contains them. Vendors' libraries (NVML,
// the CUDA driver) come from the host; dl_vendor_dirs lists where distributions and containers put
// them. An absent library is ERR_MISSING, with the places searched.
//
//     struct curl_api { CURL *(*easy_init)(void); ... };
//     static const struct dl_symbol symbols[] = {
//         {"curl_easy_init", offsetof(struct curl_api, easy_init), DL_REQUIRED}, ...
//     };
//
// A library with several users has one table for all of them: `need` then has the bits of those
// who cannot do without the symbol, and each user opens it with its own bit in dl_spec.user.
#ifndef FARE_BASE_DL_H
#define FARE_BASE_DL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define DL_REQUIRED (~0u) // by every user
#define DL_OPTIONAL 0u    // null in the table if absent

struct dl_symbol {
    const char *name;
    size_t at;     // offset of the function pointer in the table
    unsigned need; // DL_REQUIRED, DL_OPTIONAL, or bits of users
};

struct dl_spec {
    const char *what;         // for people: "libcurl", "the NVIDIA management library"
    const char *variable;     // (optional) environment variable that names the file to open
    const char *const *names; // null-terminated: "libcurl.so.4", tried in order
    const char *const *dirs;  // (optional) null-terminated: tried after the loader's own paths
    const struct dl_symbol *symbols;
    size_t symbol_count;
    unsigned user;    // (optional) whose symbols are required; 0: everyone's
    const char *hint; // (optional) what to do when it is missing
};

// Folders of vendors' libraries beyond the loader's paths: distributions, containers, WSL, NixOS,
// CUDA.
extern const char *const dl_vendor_dirs[];

struct dl {
    void *handle;
    char path[512]; // of the opened file, as far as the loader tells
    bool broken;    // after an error: a file exists but cannot be used
};

// Opens the library and fills `table`. A library that lacks a required symbol is an error that
// names it. `dl` may be closed with dl_close(); most are kept until the program ends.
int dl_open(struct dl *dl, const struct dl_spec *spec, void *table, struct err *err) MUST_USE;
// The same on first use, by any thread; the library stays open. `dl` is static and zero.
int dl_open_once(struct dl *dl, const struct dl_spec *spec, void *table, struct err *err) MUST_USE;
void dl_close(struct dl *dl);

#endif
