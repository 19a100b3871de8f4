// SPDX-License-Identifier: Apache-2.0
// Graphs: lists of launches as one CUDA graph, in which each waits only for those it needs.
#include <stdlib.h>
#include <string.h>

#include "train/engine/cuda/driver.h"

struct graph {
    void *graph, *exec;
};

// A graph under construction. A leaf is a node that no other waits for yet.
struct graph_builder {
    void **nodes;
    void **waits;  // the nodes that one node waits for
    void **before; // the leaves that a stage found
    bool *leaf, *forked;
    int count;
};

static int leaves(const struct graph_builder *b, bool with_forked, void **out)
{
    int count = 0;
    for (int i = 0; i < b->count; i++)
        if (b->leaf[i] && (with_forked || !b->forked[i]))
            out[count++] = b->nodes[i];
    return count;
}

// A node waits for them now: leaves of the main path, forked ones.
static void clear_leaves(struct graph_builder *b, bool main_path, bool forked)
{
    for (int i = 0; i < b->count; i++)
        if (b->forked[i] ? forked : main_path)
            b->leaf[i] = false;
}

// Adds one node to the `count` that the next one waits for; gives the new count.
static int add_wait(const struct graph_builder *b, int count, int node)
{
    b->leaf[node] = false;
    for (int i = 0; i < count; i++)
        if (b->waits[i] == b->nodes[node])
            return count;
    b->waits[count] = b->nodes[node];
    return count + 1;
}

static int graph_add_sum(struct cuda *cuda, struct graph *graph, void **node,
                         const struct launch *launch, void *const *waits, int count,
                         struct err *err)
{
    void *sum;
    if (!cuda->nccl)
        return CALL(cuda, cuGraphAddEmptyNode, err, node, graph->graph, waits, (size_t)count);
    int rc = cuda_sum_capture(cuda, launch, &sum, err);
    if (rc == 0) // a copy of it
        rc = CALL(cuda, cuGraphAddChildGraphNode, err, node, graph->graph, waits, (size_t)count,
                  sum);
    if (sum)
        (void)cuda->api.cuGraphDestroy(sum);
    if (rc != 0)
        err_context(err, "a sum of %lld numbers in a graph", (long long)launch->sum_count);
    return rc;
}

static int add_kernel(struct cuda *cuda, struct graph *graph, const struct graph_builder *b,
                      const struct launch *launch, void *const *waits, int count, struct err *err)
{
    void *args[] = {(void *)(uintptr_t)launch->args}; // libcuda only reads them
    struct libcuda_node params = {.function = launch->function,
                                  .grid = {launch->x, launch->y, 1},
                                  .block = {launch->threads, 1, 1},
                                  .shared = launch->shared,
                                  .args = args};
    int rc = CALL(cuda, cuGraphAddKernelNode, err, &b->nodes[b->count], graph->graph, waits,
                  (size_t)count, &params);
    if (rc != 0)
        err_context(err, "kernel '%s' of %u blocks, %u bytes shared, with %d dependencies",
                    launch->name, launch->x, launch->shared, count);
    return rc;
}

static int add_node(struct cuda *cuda, struct graph *graph, struct graph_builder *b,
                    const struct launch *launch, void *const *waits, int count, bool forked,
                    struct err *err)
{
    int rc = launch->sum_count > 0
                 ? graph_add_sum(cuda, graph, &b->nodes[b->count], launch, waits, count, err)
                 : add_kernel(cuda, graph, b, launch, waits, count, err);
    b->leaf[b->count] = true;
    b->forked[b->count] = forked;
    b->count++;
    return rc;
}

static int add_stage(struct cuda *cuda, struct graph *graph, struct graph_builder *b,
                     const struct graph_stage *stage, struct err *err)
{
    int first = b->count, before = leaves(b, stage->barrier, b->before), rc = 0;
    // Once a launch on the main path waits for the stages before, those after it need not.
    bool begun = !stage->barrier;
    if (stage->barrier)
        clear_leaves(b, true, true);
    for (int i = 0; rc == 0 && i < stage->count; i++) {
        const struct launch *launch = &stage->items[i];
        int waits = 0;
        if (!launch->explicit_only) {
            bool all = launch->forked || launch->join;
            waits = leaves(b, all, b->waits);
            clear_leaves(b, !launch->forked, all);
        }
        if (launch->explicit_only ? launch->depends_count == 0 : !begun) {
            memcpy(b->waits + waits, b->before, (size_t)before * sizeof *b->before);
            waits += before;
        }
        begun |= !launch->forked && !launch->explicit_only;
        for (int k = 0; k < launch->depends_count; k++)
            waits = add_wait(b, waits, first + launch->depends_on[k]);
        rc = add_node(cuda, graph, b, launch, b->waits, waits, launch->forked, err);
    }
    if (rc == 0 && stage->concurrent)
        rc = add_node(cuda, graph, b, stage->concurrent, b->before, before, true, err);
    return rc;
}

static int add_stages(struct cuda *cuda, struct graph *graph, struct graph_builder *b,
                      const struct graph_stage *stages, int count, struct err *err)
{
    size_t total = 1;
    for (int i = 0; i < count; i++)
        total += (size_t)stages[i].count + (stages[i].concurrent ? 1 : 0);
    b->nodes = calloc(total, sizeof *b->nodes);
    b->waits = calloc(total, sizeof *b->waits);
    b->before = calloc(total, sizeof *b->before);
    b->leaf = calloc(total, sizeof *b->leaf);
    b->forked = calloc(total, sizeof *b->forked);
    if (!b->nodes || !b->waits || !b->before || !b->leaf || !b->forked)
        return err_memory(err);
    TRY(CALL(cuda, cuGraphCreate, err, &graph->graph, 0));
    for (int i = 0; i < count; i++)
        TRY(add_stage(cuda, graph, b, &stages[i], err));
    return 0;
}

static int instantiate(struct cuda *cuda, struct graph *graph, struct err *err)
{
    if (cuda->api.cuGraphInstantiateWithFlags)
        return CALL(cuda, cuGraphInstantiateWithFlags, err, &graph->exec, graph->graph, 0);
    if (cuda->api.cuGraphInstantiate_v2)
        return CALL(cuda, cuGraphInstantiate_v2, err, &graph->exec, graph->graph, NULL, NULL, 0);
    return CALL(cuda, cuGraphInstantiate, err, &graph->exec, graph->graph, NULL, NULL, 0);
}

void cuda_graph_free(struct gpu_context *gpu, struct graph *graph)
{
    const struct libcuda *api = &cuda_of(gpu)->api;
    if (graph->exec)
        (void)api->cuGraphExecDestroy(graph->exec);
    if (graph->graph)
        (void)api->cuGraphDestroy(graph->graph);
    free(graph);
}

int cuda_graph_new(struct gpu_context *gpu, const struct graph_stage *stages, int count,
                   struct graph **out, struct err *err)
{
    struct cuda *cuda = cuda_of(gpu);
    struct graph *graph = calloc(1, sizeof *graph);
    *out = NULL;
    if (!graph)
        return err_memory(err);
    struct graph_builder b = {0};
    int rc = add_stages(cuda, graph, &b, stages, count, err);
    free(b.nodes);
    free(b.waits);
    free(b.before);
    free(b.leaf);
    free(b.forked);
    if (rc == 0)
        rc = instantiate(cuda, graph, err);
    if (rc != 0) {
        cuda_graph_free(gpu, graph);
        return rc;
    }
    *out = graph;
    return 0;
}

int cuda_graph_launch(struct gpu_context *gpu, struct graph *graph, struct err *err)
{
    struct cuda *cuda = cuda_of(gpu);
    return CALL(cuda, cuGraphLaunch, err, graph->exec, cuda->streams[GPU_KERNELS]);
}
