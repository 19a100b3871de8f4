// SPDX-License-Identifier: Apache-2.0
#include "spot/history.h"

#include <stdlib.h>

int spot_history_read(struct market *market, const struct offer *offer, struct spot_history *out,
                      struct err *err)
{
    (void)market;
    (void)offer;
    (void)err;
    *out = (struct spot_history){0};
    return 0;
}

void spot_history_release(struct spot_history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        free(history->series[i].zone);
        free(history->series[i].changes);
    }
    free(history->series);
    free(history->source);
    *history = (struct spot_history){0};
}
