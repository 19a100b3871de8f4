// SPDX-License-Identifier: Apache-2.0
// How an estimate comes about.
#include <stdlib.h>

#include "advise/estimates.h"

int quote_explain(const struct quote_ask *ask, const char *offer, struct buf *out, struct err *err)
{
    struct proofs proofs = {0};
    struct estimates *estimates = NULL;
    const struct estimated *e = NULL;
    struct offer found;
    int rc = market_find(ask->market, offer, wishes_day(&ask->wishes), &found, err);
    if (rc == 0)
        rc = proofs_gather(&proofs, ask, err);
    if (rc == 0)
        rc = estimates_open(&estimates, &proofs, err);
    if (rc == 0)
        rc = estimates_find(estimates, &found, &e, err);
    if (rc == 0 && e)
        estimated_explain(e, out);
    else if (rc == 0)
        buf_printf(out, "no estimate: %s\n",
                   *found.gpu ? "the number of its GPUs is neither whole nor a part of one"
                   : found.vcpus_milli > 0 ? ESTIMATE_NEEDS_CPU
                                           : "the number of its virtual CPUs is not known");
    estimates_close(estimates);
    proofs_release(&proofs);
    return rc;
}
