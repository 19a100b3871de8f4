// SPDX-License-Identifier: Apache-2.0
// Any bytes as a config.json: what is accepted is a shape within its limits, or is refused for a
// reason, and its time and memory are numbers.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "advise/estimate/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct model_tables tables;
    struct model_shape shape;
    struct err err = {0};
    double context;
    char type[64];
#define ONE(name)      tables.time.name = 1;
#define ONE_BYTE(name) tables.memory.name = 1;
    MODEL_TIME_FACTORS(ONE)
    MODEL_MEMORY_FACTORS(ONE_BYTE)
    if (model_config((const char *)data, size, &shape, &context, type, &err) != 0) {
        if (err.code != ERR_FORMAT || !err.text[0])
            abort();
        return 0;
    }
    struct model_ask ask = model_ask(&shape, MODEL_FULL, 4096);
    struct model_plan plan;
    struct model_bytes bytes;
    ask.question.gpu = (struct model_gpu){312, 2039, 80, 400, 300, 25, 0, 1};
    ask.question.layout = (struct model_layout){1, 1, 1, 1, 0, 1, 1, 1};
    ask.question.run.offload = 0;
    model_plan(&tables, &ask, &plan); // without rows of errors it has none
    const double s = model_step(&tables, &ask.question, NULL);
    model_memory(&tables, &ask.question, &bytes);
    if (!plan.why || !(s >= 0) || !isfinite(s) || !(bytes.total >= 0) || !isfinite(bytes.total) ||
        !(context >= 0) || (s > 0) == (model_ask_check(&ask) != NULL))
        abort();
    return 0;
}
