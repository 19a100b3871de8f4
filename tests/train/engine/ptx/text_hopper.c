// SPDX-License-Identifier: Apache-2.0
// Reads instructions of compute capability 9.0.
#include "hopper.h"

#include <stdio.h>
#include <string.h>

#include "train/engine/ptx/reader.h"

static uint32_t one(struct reader *r, int words)
{
    char text[NAME];
    reader_word(r, text);
    struct operand o = reader_operand(r, text);
    if (o.words != -2 && o.words != words)
        reader_fail(r, "%s is a register of another size", text);
    return reader_row(r, o, words);
}

// [%r1]: an address in shared memory.
static void shared_operand(struct reader *r, struct inst *in)
{
    reader_memory(r, in);
    if (in->base_words != 1)
        reader_fail(r, "an address in shared memory of another size");
}

// wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {sums}, a or {a}, b, p, 1, 1, turned...
static void group_product(struct reader *r, const char *name, struct inst *in)
{
    struct operand of[WIDE];
    int columns = 0, end = 0;
    uint64_t flags[4] = {0};
    bool tf32 = strstr(name, ".tf32.tf32") != NULL;
    if (sscanf(name,
               tf32 ? "wgmma.mma_async.sync.aligned.m64n%dk8.f32.tf32.tf32%n"
                    : "wgmma.mma_async.sync.aligned.m64n%dk16.f32.bf16.bf16%n",
               &columns, &end) != 1 ||
        name[end] || columns < 8 || columns > 256 || columns % 8)
        reader_fail(r, "unknown instruction %s", name);
    if (reader_registers(r, of, WIDE) != columns / 2)
        reader_fail(r, "another number of sums than %s", name);
    in->run = hopper_mma;
    in->count = tf32 ? 4 : 2; // bytes of an operand's number
    in->flow = WHOLE_WARP;
    in->list = (uint32_t)r->kernel->list_count;
    in->many = (uint32_t)columns / 2;
    for (int i = 0; i < columns / 2; i++)
        ADD(r->kernel->list, r->kernel->list_count) = of[i].row;
    reader_need(r, ',');
    reader_skip(r);
    in->is_fixed = *r->p == '{';
    if (in->is_fixed) {
        if (reader_registers(r, of, 4) != 4)
            reader_fail(r, "%s with another number of operands", name);
        for (int i = 0; i < 4; i++)
            in->o[2 + i] = of[i].row;
    } else {
        in->o[2] = one(r, 2);
    }
    reader_need(r, ',');
    in->o[1] = one(r, 2);
    reader_need(r, ',');
    in->o[0] = one(r, 0);
    for (int i = 0; i < (tf32 ? 2 : in->is_fixed ? 3 : 4); i++) { // tf32: always lines of k
        reader_need(r, ',');
        flags[i] = reader_count(r);
    }
    if (flags[0] != 1 || flags[1] != 1 || flags[2] > 1 || flags[3] > 1)
        reader_fail(r, "%s with other signs", name);
    in->offset = (int64_t)(in->is_fixed ? flags[2] << 1 : flags[2] | flags[3] << 1);
}

// ... [to], [map, {x, y}], [barrier], {offsets of im2col} or the blocks of a multicast
static void tensor_copy(struct reader *r, const char *name, struct inst *in)
{
    struct operand of[5];
    struct inst barrier = {0};
    int n = name[21] - '0';
    bool to_all = strstr(name, ".multicast::cluster") != NULL;
    in->is_signed = strstr(name, ".im2col.") != NULL;
    if (n < 1 || n > 5 || (in->is_signed && n != 4) ||
        strcmp(name + 23,
               in->is_signed ? ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
               : to_all ? ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                        : ".shared::cluster.global.mbarrier::complete_tx::bytes") != 0)
        reader_fail(r, "unknown instruction %s", name);
    in->run = hopper_copy_tensor;
    shared_operand(r, in);
    reader_need(r, ',');
    reader_need(r, '[');
    in->o[0] = one(r, 2);
    reader_need(r, ',');
    in->count = (uint8_t)reader_registers(r, of, 5);
    reader_need(r, ']');
    if (in->count != n)
        reader_fail(r, "%s with another number of dimensions", name);
    for (int i = 0; i < n; i++)
        in->o[1 + i] = reader_row(r, of[i], 1);
    reader_need(r, ',');
    shared_operand(r, &barrier);
    in->o[6] = barrier.base;
    if (barrier.offset)
        reader_fail(r, "%s with an offset", name);
    if (in->is_signed) {
        reader_need(r, ',');
        if (reader_registers(r, of, 2) != 2)
            reader_fail(r, "%s with another number of offsets", name);
        in->o[7] = reader_row(r, of[0], 1);
        in->o[8] = reader_row(r, of[1], 1);
    }
    in->is_fixed = to_all;
    if (to_all) {
        reader_need(r, ',');
        in->o[9] = one(r, 1);
    }
}

static void line_copy(struct reader *r, struct inst *in)
{
    struct inst from = {0}, barrier = {0};
    in->run = hopper_copy;
    shared_operand(r, in);
    reader_need(r, ',');
    reader_memory(r, &from);
    reader_need(r, ',');
    in->o[1] = one(r, 1);
    reader_need(r, ',');
    shared_operand(r, &barrier);
    if (from.offset || from.base_words != 2 || barrier.offset)
        reader_fail(r, "a bulk copy with an offset");
    in->o[0] = from.base;
    in->o[2] = barrier.base;
}

static void barrier_use(struct reader *r, const char *name, struct inst *in)
{
    bool inits = strcmp(name, "mbarrier.init.shared.b64") == 0,
         waits = strcmp(name, "mbarrier.try_wait.parity.shared::cta.b64") == 0,
         expects = strcmp(name, "mbarrier.arrive.expect_tx.shared.b64") == 0,
         anywhere = strcmp(name, "mbarrier.arrive.shared::cluster.b64") == 0;
    if (!inits && !waits && !expects && !anywhere &&
        strcmp(name, "mbarrier.arrive.shared.b64") != 0)
        reader_fail(r, "unknown instruction %s", name);
    in->run = inits      ? hopper_init
              : waits    ? hopper_wait
              : expects  ? hopper_expect
              : anywhere ? hopper_arrive_at
                         : hopper_arrive;
    if (waits) {
        in->o[0] = one(r, 0);
        reader_need(r, ',');
    } else if (!inits) {
        char text[NAME];
        reader_word(r, text);
        if (strcmp(text, "_") != 0)
            reader_fail(r, "%s with a result", name);
        reader_need(r, ',');
    }
    shared_operand(r, in);
    if (inits || waits || expects) {
        reader_need(r, ',');
        in->o[waits] = one(r, 1);
    }
}

static void map_address(struct reader *r, struct inst *in)
{
    in->run = hopper_map;
    in->operands = 3;
    in->results = 1;
    for (int i = 0; i < 3; i++) {
        if (i > 0)
            reader_need(r, ',');
        in->o[i] = one(r, 1);
    }
}

static bool is_hoppers(const char *name)
{
    static const char *const begins_with[] = {
        "wgmma.", "mbarrier.", "cp.async.bulk.",     "setmaxnreg.",
        "fence.", "mapa.",     "prefetch.tensormap", "barrier.cluster."};
    for (size_t i = 0; i < sizeof begins_with / sizeof *begins_with; i++)
        if (strncmp(name, begins_with[i], strlen(begins_with[i])) == 0)
            return true;
    return false;
}

bool reader_hopper(struct reader *r, const char *name, struct inst *in)
{
    static const struct {
        const char *name;
        op_run *run;
        enum flow flow;
        bool has_number;
    } simple[] = {
        {"wgmma.fence.sync.aligned", hopper_fence, WHOLE_WARP, false},
        {"wgmma.commit_group.sync.aligned", hopper_commit, WHOLE_WARP, false},
        {"wgmma.wait_group.sync.aligned", hopper_wait_group, WHOLE_WARP, true},
        {"setmaxnreg.inc.sync.aligned.u32", hopper_registers, WHOLE_WARP, true},
        {"setmaxnreg.dec.sync.aligned.u32", hopper_registers, WHOLE_WARP, true},
        {"fence.mbarrier_init.release.cluster", hopper_fence_init, PLAIN, false},
        {"barrier.cluster.arrive.release.aligned", hopper_cluster_arrive, WHOLE_WARP, false},
        {"barrier.cluster.wait.acquire.aligned", hopper_cluster_wait, WHOLE_WARP, false},
        {"fence.proxy.async", hopper_fence_proxy, PLAIN, false},
        {"fence.proxy.async.shared::cta", hopper_fence_proxy, PLAIN, false},
    };
    if (!is_hoppers(name))
        return false;
    r->kernel->is_hopper = true;
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
        if (strcmp(name, simple[i].name) == 0) {
            in->run = simple[i].run;
            in->flow = simple[i].flow;
            if (simple[i].has_number)
                in->o[0] = one(r, 1);
            return true;
        }
    if (strcmp(name, "mapa.shared::cluster.u32") == 0)
        map_address(r, in);
    else if (strncmp(name, "wgmma.mma_async.", 16) == 0)
        group_product(r, name, in);
    else if (strncmp(name, "mbarrier.", 9) == 0)
        barrier_use(r, name, in);
    else if (strncmp(name, "cp.async.bulk.tensor.", 21) == 0)
        tensor_copy(r, name, in);
    else if (strcmp(name, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes") == 0)
        line_copy(r, in);
    else if (strcmp(name, "prefetch.tensormap") == 0) {
        reader_memory(r, in);
        in->run = hopper_prefetch_map;
    } else {
        reader_fail(r, "unknown instruction %s", name);
    }
    return true;
}
