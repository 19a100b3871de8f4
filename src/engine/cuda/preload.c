// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/preload.h"

#include "engine/cuda/driver.h"
#include "engine/cuda/plan/plan.h"
#include "engine/cuda/ranks.h"

// Addresses without memory behind them: a plan never reads from the GPU.
static int no_alloc(void *driver, int64_t bytes, bool zeroed, device_ptr *out, struct err *err)
{
    device_ptr *next = driver;
    (void)zeroed;
    (void)err;
    *out = *next;
    *next += (device_ptr)(bytes + 255) / 256 * 256;
    return 0;
}

static int no_upload(void *driver, device_ptr to, const void *from, int64_t bytes, struct err *err)
{
    (void)driver;
    (void)to;
    (void)from;
    (void)bytes;
    (void)err;
    return 0;
}

static int no_map(void *driver, device_ptr to, const struct tensor *tensor, struct err *err)
{
    (void)driver;
    (void)to;
    (void)tensor;
    (void)err;
    return 0;
}

static int bind_one(struct cuda *cuda, struct launch *launch, struct err *err)
{
    return cuda_bind(cuda, &(struct launches){.items = launch, .count = 1}, err);
}

// The launches that are in no list.
static int bind_others(struct cuda *cuda, const struct gpu_plan *plan, struct err *err)
{
    struct launch launch;
    gpu_gather(plan, 0, &(struct engine_set){0}, &(struct gpu_set){0}, 0, 0, &launch);
    TRY(bind_one(cuda, &launch, err));
    if (plan->catch_up.count > 0) {
        gpu_set_ages(plan, 0, &launch);
        TRY(bind_one(cuda, &launch, err));
    }
    if (!plan->params->rounded)
        return 0;
    struct gpu_tensor tensor = gpu_params_find(plan->params, 0);
    gpu_params_round(plan->params, &tensor, &launch);
    return bind_one(cuda, &launch, err);
}

static int bind_all(struct cuda *cuda, struct gpu_plan *plan, struct err *err)
{
    struct launches *lists[PLAN_LISTS];
    gpu_plan_lists(plan, lists);
    for (int i = 0; i < PLAN_LISTS; i++)
        TRY(cuda_bind(cuda, lists[i], err));
    return bind_others(cuda, plan, err);
}

int cuda_load_kernels(const struct net *net, const struct recipe *recipe,
                      const struct engine_options *options, struct err *err)
{
    struct cuda *cuda;
    struct gpu_params params = {0};
    device_ptr next = 1 << 20;
    TRY(net_check(net, err));
    TRY(recipe_check(recipe, net, err));
    cuda_choose(group_place(options->group).local_rank);
    TRY(cuda_open(options->precision, &cuda, err));
    struct device device = cuda_device(cuda);
    cuda_rank_device(options->group, &device);
    device.driver = &next;
    device.alloc = no_alloc;
    device.upload = no_upload;
    device.map = device.map ? no_map : NULL;
    device.memory_left = NULL;
    struct gpu_plan plan = {.device = device,
                            .layers = net->layers,
                            .layer_count = net->layer_count,
                            .loss = net->loss,
                            .batch = cuda_rank_batch(options->group, recipe->batch),
                            .params = &params};
    int rc = gpu_params_new(&params, net, recipe, &device, err);
    if (rc == 0)
        rc = gpu_plan_new(&plan, 1, err);
    if (rc == 0)
        rc = bind_all(cuda, &plan, err);
    gpu_plan_free(&plan);
    gpu_params_free(&params);
    cuda_close(cuda);
    return rc;
}
