// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/transfer.h"

#include <stdlib.h>

static int transfer(const struct gpu_params *p, struct cuda *cuda, int index, float *values,
                    bool to_net, struct err *err)
{
    struct gpu_tensor tensor = gpu_params_find(p, index);
    int64_t bytes = tensor.count * (int64_t)sizeof(float);
    float *arena = malloc((size_t)bytes);
    if (!arena)
        return err_memory(err);
    // Read before writing too: padding between the numbers keeps its values.
    int rc = cuda_download(cuda, arena, tensor.at, bytes, err);
    if (rc == 0)
        gpu_params_convert(tensor.slot, arena, values, to_net);
    if (rc == 0 && !to_net)
        rc = cuda_upload(cuda, tensor.at, arena, bytes, err);
    if (rc == 0 && !to_net && tensor.rounded) {
        struct launch launch;
        gpu_params_round(p, &tensor, &launch);
        rc = cuda_launch_now(cuda, &launch, err);
    }
    if (rc == 0 && !to_net)
        rc = cuda_sync(cuda, err);
    free(arena);
    return rc;
}

int cuda_read_tensor(const struct gpu_params *p, struct cuda *cuda, int index, float *values,
                     struct err *err)
{
    return transfer(p, cuda, index, values, true, err);
}

int cuda_write_tensor(const struct gpu_params *p, struct cuda *cuda, int index, const float *values,
                      struct err *err)
{
    return transfer(p, cuda, index, (float *)(uintptr_t)values, false, err);
}

int cuda_init_params(const struct gpu_params *p, struct cuda *cuda, uint64_t seed, struct err *err)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < p->count; i++) {
        float *values = malloc((size_t)p->slots[i].param.count * sizeof *values);
        rc = values ? net_init_param(&p->slots[i].param, seed, values, err) : err_memory(err);
        if (rc == 0)
            rc = cuda_write_tensor(p, cuda, i, values, err);
        free(values);
    }
    return rc;
}

int cuda_init_states(const struct gpu_params *p, struct cuda *cuda, struct err *err)
{
    float first = p->recipe.optimizer == OPTIMIZER_RMSPROP_MOMENTUM ? 1 : 0;
    int64_t bytes = p->size * (int64_t)sizeof(float);
    float *values = malloc((size_t)bytes);
    if (!values)
        return err_memory(err);
    int rc = 0;
    for (int k = 0; rc == 0 && k < p->states; k++) {
        for (int64_t i = 0; i < p->size; i++)
            values[i] = k == 0 ? first : 0;
        rc = cuda_upload(cuda, p->state[k], values, bytes, err);
        if (rc == 0)
            rc = cuda_sync(cuda, err);
    }
    free(values);
    return rc;
}
