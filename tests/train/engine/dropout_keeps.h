// SPDX-License-Identifier: Apache-2.0
// dropout_keeps: whether a single element of a dropout mask is kept.
#ifndef FARE_TESTS_ENGINE_DROPOUT_KEEPS_H
#define FARE_TESTS_ENGINE_DROPOUT_KEEPS_H

#include <stdbool.h>

#include "train/engine/shared.h"

static inline bool dropout_keeps(const struct dropout *dropout, uint64_t index)
{
    uint8_t kept;
    dropout_mask(dropout, index, 1, &kept);
    return kept;
}

#endif
