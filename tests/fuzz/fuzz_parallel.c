// SPDX-License-Identifier: Apache-2.0
// What other processes hand to fare: environments, files of exchanges, and messages between fare
// processes. The first byte chooses; what passes goes on to the figures of the record.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "measure/join_parts.h"
#include "measure/parallel.h"
#include "follow/trace/exchanges.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void environment(const uint8_t *data, size_t size)
{
    char *block = calloc(size + 2, 1);
    struct worker w;
    assert(block);
    memcpy(block, data, size);
    if (worker_find(worker_block, block, &w))
        assert(w.rank >= 0 && w.rank < w.size && w.nodes >= 0 && w.nodes <= w.size);
    free(block);
}

static void file(const uint8_t *data, size_t size)
{
    struct exchanges_file f = {0};
    struct exchanges_one last = {0};
    for (int64_t now = 1; size > 0; now += INT64_C(1) << 40) {
        size_t part = size < sizeof f ? size : sizeof f;
        memcpy(&f, data, part);
        if (exchanges_judge(&f, now, &last))
            assert(last.open_ns >= 0 && last.open_ns <= last.all_ns && last.all_ns <= now);
        data += part;
        size -= part;
    }
}

static void message(const uint8_t *data, size_t size)
{
    static struct join_message m;
    struct run run = {.step_ms = some_real(10)};
    memset(&m, 0, sizeof m);
    memcpy(&m, data, size < sizeof m ? size : sizeof m);
    m.bytes = sizeof m;
    if (join_valid(&m)) {
        int half = m.count / 2;
        assert(parallel_derive(m.ranks, m.ranks + half, half, 4, &run, NULL) == 0);
        assert(!run.step_waiting_ms.known || run.step_waiting_ms.v >= -1e-9);
        assert(!run.step_calculation_ms.known || run.step_calculation_ms.v <= 10 + 1e-9);
    }
    record_release(run_fields, &run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] % 3 == 0)
        environment(data + 1, size - 1);
    else if (data[0] % 3 == 1)
        file(data + 1, size - 1);
    else
        message(data + 1, size - 1);
    return 0;
}
