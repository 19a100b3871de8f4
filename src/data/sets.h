// SPDX-License-Identifier: Apache-2.0
// sets: where the public data sets are on the net, from a data file (share/data/sets.csv).
//
// A row is a file of a set. One with a `url` is downloaded (several addresses, with spaces between,
// are tried in turn). One with a `from` is unpacked: "FILE.gz" for a packed file,
// "FILE.zip:MEMBER" and "FILE.tar.gz:MEMBER" for a member of an archive, and with a slash at the
// end of both `file` and MEMBER, all plain files below MEMBER. What others were unpacked from is
// not kept. `sha256` and `bytes` are those of the file itself, empty where nobody here knows them.
#ifndef FARE_DATA_SETS_H
#define FARE_DATA_SETS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct data_file { // texts are never null, but may be empty
    char *name;    // of the set
    char *file;
    char *url;
    char *from;
    char *sha256;
    int64_t bytes; // 0: not known
    char *source;  // who says so
    char *date;
};

struct data_sets {
    struct data_file *files; // in the file's order
    size_t count;
};

// `path` null: the file beside this program.
int data_sets_read(struct data_sets *sets, const char *path, struct err *err) MUST_USE;
void data_sets_release(struct data_sets *sets); // a zeroed struct is fine

#endif
