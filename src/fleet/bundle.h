// SPDX-License-Identifier: Apache-2.0
// bundle: what is brought to other machines: fare's own bundle, and the user's folder.
#ifndef FARE_FLEET_BUNDLE_H
#define FARE_FLEET_BUNDLE_H

#include "record/dispatch.h"

// The largest folder that is brought without being asked for, packed.
#define BUNDLE_FOLDER_MOST ((int64_t)100 << 20)

// Appends the path of this program: build/fare, or the bundle's launcher.
int bundle_program(struct buf *out, struct err *err) MUST_USE;

// Finds the bundle's archive and describes it: `file`, or FARE_BUNDLE, or the bundle that this
// program belongs to (packed once, into `folder`), or the one that `make dist` wrote beside a build
// that is not newer.
int bundle_find(struct dispatch_bundle *bundle, const char *file, const char *folder,
                struct err *err) MUST_USE;

// Packs a folder (without .git and what its .fareignore excludes, in tar's patterns) or, if there
// is no such folder, a revision of the git repository of the current one, into `file`. `most`: a
// larger archive is an error; 0: no limit.
int bundle_folder(struct dispatch_folder *folder, const char *from, int64_t most, const char *file,
                  struct err *err) MUST_USE;

#endif
