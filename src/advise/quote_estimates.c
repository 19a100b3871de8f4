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
        buf_adds(out,
                 "no estimate: the offer has no whole GPU, and no processor that is known and was "
                 "used by a run\n");
    estimates_close(estimates);
    free(proofs.items);
    return rc;
}
