// SPDX-License-Identifier: Apache-2.0
// dl: libraries opened at run time, one symbol table each.
//
// Two kinds. Our own heavy ones (libcurl, hwloc, oneDNN) are opened on first use so that
// starting stays instant; the bundle carries them and its loader finds them. The vendors' (NVML,
// the CUDA driver) come from the host and are looked for where distributions and containers put
// them. A library that is absent is ERR_MISSING, and the text says where it was looked for.
//
//     struct curl_api { CURL *(*easy_init)(void); ... };
//     static const struct dl_symbol symbols[] = {
//         {"curl_easy_init", offsetof(struct curl_api, easy_init), DL_REQUIRED}, ...
//     };
#ifndef FARE_BASE_DL_H
#define FARE_BASE_DL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

enum dl_need { DL_REQUIRED, DL_OPTIONAL }; // an absent optional symbol stays null in the table

struct dl_symbol {
    const char *name;
    size_t at; // offset of the function pointer in the table
    enum dl_need need;
};

struct dl_spec {
    const char *what;         // for people: "libcurl", "the NVIDIA management library"
    const char *variable;     // (optional) environment variable that names the file to open
    const char *const *names; // null-terminated: "libcurl.so.4", tried in order
    const char *const *dirs;  // (optional) null-terminated: tried after the loader's own paths
    const struct dl_symbol *symbols;
    size_t symbol_count;
    const char *hint; // (optional) what to do when it is missing
};

// Where vendors' libraries lie, beyond the loader's own paths: distributions, containers, WSL,
// NixOS, CUDA folders.
extern const char *const dl_vendor_dirs[];

struct dl {
    void *handle;
    char path[512]; // the file that was opened, as far as the loader tells
    bool broken;    // after an error: a file was there and could not be used
};

// Opens the library and fills `table`. A library that lacks a required symbol is an error that
// names it. `dl` may be closed with dl_close(); most are kept until the program ends.
int dl_open(struct dl *dl, const struct dl_spec *spec, void *table, struct err *err) MUST_USE;
// The same for one that is opened on first use, by any thread, and kept: `dl` is static and zero.
int dl_open_once(struct dl *dl, const struct dl_spec *spec, void *table, struct err *err) MUST_USE;
void dl_close(struct dl *dl);

#endif
