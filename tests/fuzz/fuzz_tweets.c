// SPDX-License-Identifier: Apache-2.0
// Both forms of tables of tweets.
#include "train/data/sentiment.h"

#include "data_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input;
    struct data_pair pair = {0};
    if (!input_open(&input, data, size))
        return 0;
    if (tweets_open(input.path, &(struct data_options){.seed = 1}, &pair, NULL) == 0) {
        check_texts(&pair.train);
        check_texts(&pair.test);
        assert(pair.word_count == pair.train.vocabulary);
        for (int i = 1; i < pair.word_count; i++)
            assert(pair.words[i][0] != '\0');
    }
    data_release(&pair);
    close(input.fd);
    return 0;
}
