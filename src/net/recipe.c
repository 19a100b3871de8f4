// SPDX-License-Identifier: Apache-2.0
#include "net/recipe.h"

#include <math.h>
#include <string.h>

bool recipe_trains(const struct recipe_stage *stage, const struct net_layer *layer)
{
    if (layer->param_count == 0)
        return false;
    if (!stage->only)
        return true;
    size_t whole = strlen(layer->name), end = strlen(stage->only);
    if (end > whole || strcmp(layer->name + whole - end, stage->only) != 0)
        return false;
    return end == whole || layer->name[whole - end - 1] == '.';
}

double recipe_rate(const struct recipe *recipe, int stage, int64_t t)
{
    const struct recipe_stage *now = &recipe->stages[stage];
    double top = (double)now->rate, low = top * (double)recipe->floor;
    if (recipe->warmup == 0)
        return top;
    if (t < recipe->warmup)
        return top * (double)(t + 1) / (double)recipe->warmup;
    if (t >= now->steps)
        return low;
    double done = (double)(t - recipe->warmup) / (double)(now->steps - recipe->warmup);
    return low + (top - low) * 0.5 * (1 + cos(M_PI * done));
}

int recipe_check(const struct recipe *recipe, const struct net *net, struct err *err)
{
    if (recipe->batch < 1 || recipe->batch > INT32_MAX || recipe->stage_count < 1 ||
        recipe->stage_count > RECIPE_STAGES_MAX)
        return err_set(err, ERR_FAIL, "net '%s': a recipe with a batch of %lld and %d stages",
                       net->name, (long long)recipe->batch, recipe->stage_count);
    if (recipe->warmup < 0 ||
        (recipe->warmup > 0 && (recipe->stage_count != 1 || recipe->stages[0].steps < 1)) ||
        !(recipe->floor >= 0 && recipe->floor <= 1) || !(recipe->clip >= 0))
        return err_set(err, ERR_FAIL,
                       "net '%s': a recipe with a warm-up of %lld steps, a floor of %g and a clip "
                       "of %g",
                       net->name, (long long)recipe->warmup, (double)recipe->floor,
                       (double)recipe->clip);
    for (int stage = 0; stage < recipe->stage_count; stage++) {
        bool some = false;
        for (int i = 0; i < net->layer_count; i++)
            some |= recipe_trains(&recipe->stages[stage], &net->layers[i]);
        if (!some && recipe->stages[stage].only)
            return err_set(err, ERR_FAIL, "net '%s': there is no layer '%s' to train", net->name,
                           recipe->stages[stage].only);
    }
    return 0;
}
