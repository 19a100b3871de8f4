// SPDX-License-Identifier: Apache-2.0
#include "guard/interval.h"

#include <math.h>

int64_t interval_best(int64_t cost_ns, int64_t between_ns)
{
    double cost = (double)(cost_ns > 0 ? cost_ns : 1),
           mean = (double)(between_ns > 0 ? between_ns : 1);
    if (cost >= 2 * mean)
        return between_ns;
    double share = cost / (2 * mean);
    double best = sqrt(2 * cost * mean) * (1 + sqrt(share) / 3 + share / 9) - cost;
    return best > 1 ? (int64_t)best : 1;
}
