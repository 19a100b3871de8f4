// SPDX-License-Identifier: Apache-2.0
// Any bytes as an invoice: each line has an id, dates in order and a currency, and the same bytes
// are the same lines.
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/sha256.h"
#include "ledger/import.h"

static int put(void *arg, struct ledger_charge *c, struct err *err)
{
    (void)err;
    int64_t began, ended;
    assert(c->id[0] && strlen(c->id) < 80 && strlen(c->currency) == 3);
    assert(clock_parse(c->began, &began) && clock_parse(c->ended, &ended) && began <= ended);
    assert(c->resource && c->name && c->region && c->product && c->what && c->run && c->project);
    sha256_add(arg, c->id, strlen(c->id));
    sha256_add(arg, &c->billed, sizeof c->billed);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    uint8_t sums[2][SHA256_BYTES];
    int codes[2];
    importer_focus.knows(text, size);
    for (int i = 0; i < 2; i++) {
        struct sha256 sha;
        struct err err = {0};
        sha256_init(&sha);
        codes[i] = importer_focus.read_charges("dir/a.csv", text, size, put, &sha, &err);
        assert(codes[i] == err.code && (codes[i] == 0 || err.text[0]));
        sha256_done(&sha, sums[i]);
    }
    assert(codes[0] == codes[1] && memcmp(sums[0], sums[1], SHA256_BYTES) == 0);
    return 0;
}
