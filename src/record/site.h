// SPDX-License-Identifier: Apache-2.0
// The record of a published site, SITE_INDEX in its folder: its files with their sums. `fare report
// --site` writes it and removes by it what it wrote before; `fare runs import` reads it to find the
// records of runs. It may come from anyone: a path that site_index_read() accepts stays within the
// folder.
#ifndef FARE_RECORD_SITE_H
#define FARE_RECORD_SITE_H

#include "record/field.h"

#define SITE_SCHEMA "fare.site/1"
#define SITE_INDEX  "site.json"

enum { SITE_BYTES_MOST = 64 << 20, SITE_FILES_MOST = 1000000 };

#include "record/site.def"

static inline void site_index_release(struct site_index *record)
{
    record_release(site_index_fields, record);
}

// Reads an index of `len` bytes into a zeroed record, which the caller releases even after a
// failure. ERR_FORMAT: it is none, a path could leave the folder, or a sum or size is missing.
int site_index_read(const char *text, size_t len, struct site_index *index,
                    struct err *err) MUST_USE;

// A file's name for a run's id or a training's name: as it is if any web server and file system can
// hold it, fare's own ids in lower case, else a hash. Different texts have different names.
#define SITE_NAME_BYTES 128
void site_name(const char *text, char out[SITE_NAME_BYTES]);

// Whether it is the record of a run: "runs/NAME.json".
bool site_is_record(const struct site_file *file);

#endif
