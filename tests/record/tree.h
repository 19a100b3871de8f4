// SPDX-License-Identifier: Apache-2.0
// A record of a tree of JSON, for tests that change one member of a tree at a time.
#ifndef FARE_TESTS_TREE_H
#define FARE_TESTS_TREE_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "record/read.h"

static inline int record_from_tree(const struct field *fields, const json_t *tree, void *record,
                                   struct err *err)
{
    char *text = json_dumps(tree, JSON_COMPACT | JSON_REAL_PRECISION(17));
    int rc = text ? record_from_text(fields, text, strlen(text), record, err) : err_memory(err);
    free(text);
    return rc;
}

#endif
