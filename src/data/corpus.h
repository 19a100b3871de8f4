// SPDX-License-Identifier: Apache-2.0
// corpus: texts of different lengths, as numbers one after the other, with a label each.
#ifndef FARE_DATA_CORPUS_H
#define FARE_DATA_CORPUS_H

#include <stdint.h>

#include "base/err.h"

struct corpus { // a zeroed struct is an empty one
    int32_t *tokens;
    int64_t token_count, token_capacity;
    int64_t *starts; // (count + 1): text i is tokens[starts[i] .. starts[i + 1])
    int32_t *labels; // (count)
    int64_t count, capacity;
};

void corpus_release(struct corpus *corpus);

// Adds a token to the text that is being written.
int corpus_add(struct corpus *corpus, int32_t token, struct err *err) MUST_USE;

// Ends it: of its tokens the last `keep` stay. A text may be empty.
int corpus_end(struct corpus *corpus, int32_t label, int64_t keep, struct err *err) MUST_USE;

#endif
