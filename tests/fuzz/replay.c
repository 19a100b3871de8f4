// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over the files and folders named on the command line, where libFuzzer is not
// linked in: every input that once found something stays found.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    struct buf bytes = {0};
    struct err err = {0};
    if (fs_read(path, BUF_DEFAULT_MAX, &bytes, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    // An exact copy, so that a sanitizer sees a read past the end.
    uint8_t *exact = malloc(bytes.len ? bytes.len : 1);
    if (!exact)
        return -1;
    memcpy(exact, buf_str(&bytes), bytes.len);
    LLVMFuzzerTestOneInput(exact, bytes.len);
    free(exact);
    buf_release(&bytes);
    return 0;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        if (!dir) {
            if (replay_file(argv[i]) != 0)
                return 1;
            count++;
            continue;
        }
        for (struct dirent *entry; (entry = readdir(dir));) {
            char path[4096];
            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            if (replay_file(path) != 0)
                return 1;
            count++;
        }
        closedir(dir);
    }
    printf("%d inputs replayed\n", count);
    return count > 0 ? 0 : 1; // an empty corpus proves nothing
}
