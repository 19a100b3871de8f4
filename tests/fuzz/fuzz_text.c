// SPDX-License-Identifier: Apache-2.0
// Texts of any bytes: those that are UTF-8 become windows, the rest an error.
#include "train/data/text.h"

#include "base/utf8.h"
#include "data_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input;
    struct data_pair pair = {0};
    if (!input_open(&input, data, size))
        return 0;
    if (text_open(input.path, NULL, &pair, NULL) == 0) {
        check_texts(&pair.train);
        assert(pair.word_count == pair.train.vocabulary);
    }
    data_release(&pair);
    close(input.fd);
    return 0;
}
