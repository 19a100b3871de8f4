// SPDX-License-Identifier: Apache-2.0
// gpt2: the net of the workload, for tests and benchmarks of engines too.
#ifndef FARE_WORKLOAD_GPT2_H
#define FARE_WORKLOAD_GPT2_H

#include <stddef.h>

#include "net/net.h"

#define GPT2_VOCABULARY 50257
#define GPT2_CONTEXT    1024 // rows of the table of positions, and the default number of time steps

struct gpt2_size {
    const char *name;
    int layers, heads, width;
};

#define GPT2_SIZE "124m"

// The four published sizes, and "3m" for quick tests; the last has no name.
extern const struct gpt2_size gpt2_sizes[];
const char *gpt2_size_name(size_t i); // for option tables: null behind the last

// Adds the layers to an empty net; mistakes stick in it. `context` may be below GPT2_CONTEXT: then
// the last positions are not used.
void gpt2_build(struct net *net, const struct gpt2_size *size, int context, int vocabulary);

#endif
