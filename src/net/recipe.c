// SPDX-License-Identifier: Apache-2.0
#include "net/recipe.h"

#include <string.h>

bool recipe_trains(const struct recipe_phase *phase, const struct net_layer *layer)
{
    if (layer->param_count == 0)
        return false;
    if (!phase->only)
        return true;
    size_t whole = strlen(layer->name), end = strlen(phase->only);
    if (end > whole || strcmp(layer->name + whole - end, phase->only) != 0)
        return false;
    return end == whole || layer->name[whole - end - 1] == '.';
}

int recipe_check(const struct recipe *recipe, const struct net *net, struct err *err)
{
    if (recipe->batch < 1 || recipe->batch > INT32_MAX || recipe->phase_count < 1 ||
        recipe->phase_count > RECIPE_PHASES_MAX)
        return err_set(err, ERR_FAIL, "net '%s': a recipe with a batch of %lld and %d phases",
                       net->name, (long long)recipe->batch, recipe->phase_count);
    for (int phase = 0; phase < recipe->phase_count; phase++) {
        bool some = false;
        for (int i = 0; i < net->layer_count; i++)
            some |= recipe_trains(&recipe->phases[phase], &net->layers[i]);
        if (!some && recipe->phases[phase].only)
            return err_set(err, ERR_FAIL, "net '%s': there is no layer '%s' to train", net->name,
                           recipe->phases[phase].only);
    }
    return 0;
}
