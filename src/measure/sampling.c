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

double sampling_until_s(const struct sampling *now)
{
    if (now->limit_s > 0)
        return now->limit_s;
    if (now->steps == 0)
        return SAMPLING_LIMIT_S;
    bool known = now->total ? now->projected : now->steps >= SAMPLING_STEPS;
    double settled_s = now->total || now->unsettled ? SAMPLING_S : SAMPLING_RATE_S;
    return now->before_s + (known ? settled_s : SAMPLING_LIMIT_S);
}

enum sampling_end sampling_judge(const struct sampling *now)
{
    double since_s = now->elapsed_s - now->before_s;
    if (now->enough && (now->asked || since_s >= SAMPLING_LEAST_S))
        return SAMPLING_WITHIN;
    if (now->elapsed_s < sampling_until_s(now))
        return SAMPLING_GOES_ON;
    if (now->limit_s > 0 || (now->steps > 0 && now->total))
        return SAMPLING_TIME;
    return now->steps > 0 ? SAMPLING_NO_TOTAL : SAMPLING_NO_PROGRESS;
}
