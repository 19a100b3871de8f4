// SPDX-License-Identifier: Apache-2.0
// Files for a test, in the folder that the runner gives it.
#ifndef FARE_TESTS_PRICE_FOLDER_H
#define FARE_TESTS_PRICE_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

#define SHARE TESTS_DIR "/../share"

// A new folder below TMPDIR; the text is static.
static inline const char *folder_new(void)
{
    static char path[512];
    const char *parent = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/fare-price-XXXXXX", parent ? parent : "/tmp");
    assert_non_null(mkdtemp(path));
    return path;
}

// Writes a file there and gives its path, which is static.
static inline const char *folder_put(const char *folder, const char *name, const char *text)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
    return path;
}

#endif
