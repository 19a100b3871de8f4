// SPDX-License-Identifier: Apache-2.0
// sets: the public data sets, one row each.
//
// A row holds all that is particular to a set: its name, its reader, its sizes and identity, the
// generator that stands in for it, and where its files come from. To add a set, add a row to
// sets.c, and a reader where its format is new. Workloads name their set; lists of sets, and which
// workload uses which, come from this table.
#ifndef FARE_TRAIN_DATA_SETS_H
#define FARE_TRAIN_DATA_SETS_H

#include <stdint.h>

#include "base/err.h"
#include "train/data/dataset.h"
#include "train/data/synth.h"

// A file of a set is downloaded (`url`) or unpacked from one that was (`from`), which is then
// removed. "FILE.gz" is a packed file, "FILE.zip:MEMBER" and "FILE.tar.gz:MEMBER" are members of
// an archive. Where `name` and MEMBER end in a slash, all plain files below MEMBER are taken.
struct public_file {
    const char *name;
    const char *url; // several are separated by spaces and tried in turn
    const char *from;
    const char *sha256; // of the file itself; null: not known
    int64_t bytes;      // 0: not known
};

struct public_set {
    const char *name; // "mnist", in commands, folders and records

    // Reading. `path` is a folder; some readers also take the file itself. After a failure the
    // caller releases `pair`. The reader sets neither its name nor whether it is made.
    const char *folder; // (optional) the folder inside its public archive
    int (*open)(const char *path, const struct data_options *options, struct data_pair *pair,
                struct err *err);
    const char *format; // what other data in this format is called: "28x28 images"

    // The whole set. A null identity is not known here; then the numbers of samples decide.
    struct dataset shape;   // sizes, classes and vocabulary only
    int64_t train, test;    // samples
    const char *identity;   // (folder.h)
    const char *subsets[2]; // (optional) identities of parts of it that published runs used

    // The set that stands in for it.
    const char *made; // "drawn digits"; its last word becomes part of the identity
    struct synth synth;

    // Its files, ended by one without a name, and who publishes their addresses and sums. One
    // without files is the user's own, or made; its identity is "-".
    const struct public_file *files;
    const char *source;
};

extern const struct public_set public_sets[]; // ended by one without a name

// Null and ERR_USAGE, with the nearest name as a hint, where there is none of this name.
const struct public_set *public_set_find(const char *name, struct err *err);

#endif
