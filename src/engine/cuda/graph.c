// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/graph.h"

#include <stdlib.h>
#include <string.h>

#include "engine/cuda/driver_parts.h"

struct graph {
    void *graph, *exec;
};

// A graph as it grows: its nodes, and those that nothing waits for yet.
struct growth {
    void **nodes, **before, **found; // before: room for what one node waits for; found: by a part
    bool *loose, *aside;
    int count;
};

// What is loose, or with `beside` what stands aside as well.
static int loose_nodes(const struct growth *g, bool beside, void **out)
{
    int count = 0;
    for (int i = 0; i < g->count; i++)
        if (g->loose[i] && (beside || !g->aside[i]))
            out[count++] = g->nodes[i];
    return count;
}

// What is loose is waited for: of what stands in the path, of what stands aside.
static void tie(struct growth *g, bool path, bool beside)
{
    for (int i = 0; i < g->count; i++)
        if (g->aside[i] ? beside : path)
            g->loose[i] = false;
}

// One more that the next node waits for, beside `count` others.
static int wait_for_one(const struct growth *g, int count, int node)
{
    g->loose[node] = false;
    for (int i = 0; i < count; i++)
        if (g->before[i] == g->nodes[node])
            return count;
    g->before[count] = g->nodes[node];
    return count + 1;
}

static int add_node(struct cuda *cuda, struct graph *graph, struct growth *g,
                    const struct launch *launch, void *const *before, int count, bool aside,
                    struct err *err)
{
    void *args[] = {(void *)(uintptr_t)launch->args}; // which the driver only reads
    struct node_params params = {.function = launch->function,
                                 .grid = {launch->x, launch->y, 1},
                                 .block = {launch->threads, 1, 1},
                                 .shared = launch->shared,
                                 .args = args};
    int rc = CALL(cuda, cuGraphAddKernelNode, err, &g->nodes[g->count], graph->graph, before,
                  (size_t)count, &params);
    if (rc != 0)
        err_context(err, "kernel '%s' of %u blocks, %u bytes shared, after %d others", launch->name,
                    launch->x, launch->shared, count);
    g->loose[g->count] = true;
    g->aside[g->count] = aside;
    g->count++;
    return rc;
}

static int add_part(struct cuda *cuda, struct graph *graph, struct growth *g,
                    const struct graph_part *part, struct err *err)
{
    int first = g->count, found = loose_nodes(g, part->round, g->found), rc = 0;
    bool begun = !part->round; // by a launch in the path, for which others need not wait again
    if (part->round)
        tie(g, true, true);
    for (int i = 0; rc == 0 && i < part->count; i++) {
        const struct launch *launch = &part->items[i];
        int before = 0;
        if (!launch->exact) {
            bool all = launch->aside || launch->joins;
            before = loose_nodes(g, all, g->before);
            tie(g, !launch->aside, all);
        }
        if (launch->exact ? launch->after_count == 0 : !begun) {
            memcpy(g->before + before, g->found, (size_t)found * sizeof *g->found);
            before += found;
        }
        begun |= !launch->aside && !launch->exact;
        for (int k = 0; k < launch->after_count; k++)
            before = wait_for_one(g, before, first + launch->after[k]);
        rc = add_node(cuda, graph, g, launch, g->before, before, launch->aside, err);
    }
    if (rc == 0 && part->beside)
        rc = add_node(cuda, graph, g, part->beside, g->found, found, true, err);
    return rc;
}

static int grow(struct cuda *cuda, struct graph *graph, struct growth *g,
                const struct graph_part *parts, int count, struct err *err)
{
    size_t total = 1;
    for (int p = 0; p < count; p++)
        total += (size_t)parts[p].count + (parts[p].beside ? 1 : 0);
    g->nodes = calloc(total, sizeof *g->nodes);
    g->before = calloc(total, sizeof *g->before);
    g->found = calloc(total, sizeof *g->found);
    g->loose = calloc(total, sizeof *g->loose);
    g->aside = calloc(total, sizeof *g->aside);
    int rc = g->nodes && g->before && g->found && g->loose && g->aside ? 0 : err_memory(err);
    if (rc == 0)
        rc = CALL(cuda, cuGraphCreate, err, &graph->graph, 0);
    for (int p = 0; rc == 0 && p < count; p++)
        rc = add_part(cuda, graph, g, &parts[p], err);
    return rc;
}

static int instantiate(struct cuda *cuda, struct graph *graph, struct err *err)
{
    if (cuda->api.cuGraphInstantiateWithFlags)
        return CALL(cuda, cuGraphInstantiateWithFlags, err, &graph->exec, graph->graph, 0);
    if (cuda->api.cuGraphInstantiate_v2)
        return CALL(cuda, cuGraphInstantiate_v2, err, &graph->exec, graph->graph, NULL, NULL, 0);
    return CALL(cuda, cuGraphInstantiate, err, &graph->exec, graph->graph, NULL, NULL, 0);
}

int cuda_graph_new(struct cuda *cuda, const struct graph_part *parts, int count, struct graph **out,
                   struct err *err)
{
    struct graph *graph = calloc(1, sizeof *graph);
    *out = NULL;
    if (!graph)
        return err_memory(err);
    struct growth growth = {0};
    int rc = grow(cuda, graph, &growth, parts, count, err);
    free(growth.nodes);
    free(growth.before);
    free(growth.found);
    free(growth.loose);
    free(growth.aside);
    if (rc == 0)
        rc = instantiate(cuda, graph, err);
    if (rc != 0) {
        cuda_graph_free(cuda, graph);
        return rc;
    }
    *out = graph;
    return 0;
}

void cuda_graph_free(struct cuda *cuda, struct graph *graph)
{
    if (!graph)
        return;
    if (graph->exec)
        (void)cuda->api.cuGraphExecDestroy(graph->exec);
    if (graph->graph)
        (void)cuda->api.cuGraphDestroy(graph->graph);
    free(graph);
}

int cuda_graph_launch(struct cuda *cuda, struct graph *graph, struct err *err)
{
    return CALL(cuda, cuGraphLaunch, err, graph->exec, cuda->stream);
}
