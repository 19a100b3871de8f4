// SPDX-License-Identifier: Apache-2.0
#include "spot/theory.h"

#include <math.h>

double theory_young(double cost, double mean)
{
    return sqrt(2 * cost * mean);
}

double theory_daly(double cost, double mean)
{
    double ratio = cost / (2 * mean);
    if (cost >= 2 * mean)
        return mean;
    return theory_young(cost, mean) * (1 + sqrt(ratio) / 3 + ratio / 9) - cost;
}

double theory_expected(double work, double interval, double cost, double restart, double mean)
{
    return mean * exp(restart / mean) * expm1((interval + cost) / mean) * work / interval;
}

double theory_unsaved(double work, double restart, double mean)
{
    return mean * exp(restart / mean) * expm1(work / mean);
}
