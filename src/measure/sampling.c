// SPDX-License-Identifier: Apache-2.0
#include "measure/sampling.h"

#include <stddef.h>

const char *sampling_word(enum sampling_end end)
{
#define ROW(name, word) [SAMPLING_##name] = word,
    static const char *const words[] = {[SAMPLING_GOES_ON] = NULL, SAMPLING_ENDS(ROW)};
#undef ROW
    return words[end];
}

enum sampling_end sampling_judge(const struct sampling *now)
{
    double since_s = now->elapsed_s - now->before_s;
    if (now->enough && (now->asked || since_s >= SAMPLING_LEAST_S))
        return SAMPLING_WITHIN;
    if (now->limit_s > 0)
        return now->elapsed_s >= now->limit_s ? SAMPLING_TIME : SAMPLING_GOES_ON;
    if (now->steps == 0)
        return now->elapsed_s >= SAMPLING_LIMIT_S ? SAMPLING_NO_PROGRESS : SAMPLING_GOES_ON;
    double limit_s = now->total || now->unsettled ? SAMPLING_S : SAMPLING_RATE_S;
    bool known = now->total ? now->projected : now->steps >= SAMPLING_STEPS;
    if (since_s < (known ? limit_s : SAMPLING_LIMIT_S))
        return SAMPLING_GOES_ON;
    return now->total ? SAMPLING_TIME : SAMPLING_NO_TOTAL;
}
