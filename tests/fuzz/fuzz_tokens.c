// SPDX-License-Identifier: Apache-2.0
// Files of tokens and texts of any bytes: windows whose labels are the next tokens, or an error.
// The first byte says which kind of file, and how long a window is.
#include "train/data/text.h"

#include "data_input.h"

static void check_stream(const struct dataset *set, int context)
{
    int32_t tokens[64], labels[64];
    assert(set->time == context && set->vocabulary == TOKENS_VOCABULARY);
    for (int64_t i = 0; i < set->count; i++) {
        dataset_tokens(set, i, tokens);
        dataset_labels_of(set, i, labels);
        for (int t = 0; t + 1 < context; t++)
            assert(labels[t] == tokens[t + 1]);
    }
}

static void try_file(const char *path, int context)
{
    const struct data_options options = {.context = context};
    struct data_pair pair = {0};
    if (tokens_open(path, &options, &pair, NULL) == 0) {
        check_stream(&pair.train, context);
        if (pair.test.count > 0)
            check_stream(&pair.test, context);
    }
    data_release(&pair);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input;
    char link[64];
    if (size < 1 || !input_open(&input, data + 1, size - 1))
        return 0;
    int context = 1 + data[0] % 64;
    snprintf(link, sizeof link, "/tmp/fuzz-tokens-%d.bin", getpid());
    if (data[0] < 128)
        try_file(input.path, context);
    else if (symlink(input.path, link) == 0)
        try_file(link, context);
    unlink(link);
    close(input.fd);
    return 0;
}
