// SPDX-License-Identifier: Apache-2.0
// A machine's record from anywhere: read, judged, named, written again.
#include <stdint.h>
#include <stdlib.h>

#include "machine/probe.h"
#include "record/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct machine machine = {0};
    struct err err = {0};
    struct buf out = {0};
    if (record_from_text(machine_fields, (const char *)data, size, &machine, &err) == 0 &&
        machine_diagnose(&machine, &err) == 0 && machine_fingerprint(&machine, &err) == 0 &&
        record_to_text(machine_fields, &machine, &out, &err) == 0) {
        // What we write, we can read.
        json_t *again = json_loads(buf_str(&out), 0, NULL);
        if (!again)
            abort();
        json_decref(again);
    }
    buf_release(&out);
    machine_release(&machine);
    return 0;
}
