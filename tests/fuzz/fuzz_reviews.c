// SPDX-License-Identifier: Apache-2.0
// Tables of reviews. The reader wants a folder: its two files are links to the input.
#include "train/data/sentiment.h"

#include <string.h>

#include "data_input.h"

static char folder[64];

static void remove_folder(void)
{
    char path[96];
    snprintf(path, sizeof path, "%s/train.tsv", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/test.tsv", folder);
    unlink(path);
    rmdir(folder);
}

static bool make_folder(void)
{
    if (folder[0])
        return true;
    snprintf(folder, sizeof folder, "/tmp/fare-fuzz-XXXXXX");
    if (!mkdtemp(folder))
        return false;
    atexit(remove_folder);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input;
    struct data_pair pair = {0};
    char train[96], test[96];
    if (!make_folder() || !input_open(&input, data, size))
        return 0;
    snprintf(train, sizeof train, "%s/train.tsv", folder);
    snprintf(test, sizeof test, "%s/test.tsv", folder);
    unlink(train);
    unlink(test);
    if (symlink(input.path, train) == 0 && symlink(input.path, test) == 0 &&
        reviews_open(folder, NULL, &pair, NULL) == 0) {
        check_texts(&pair.train);
        check_texts(&pair.test);
        assert(pair.train.count == pair.test.count);
        for (int i = 0; i < pair.word_count; i++)
            assert(strlen(pair.words[i]) < size + 20);
    }
    data_release(&pair);
    close(input.fd);
    return 0;
}
