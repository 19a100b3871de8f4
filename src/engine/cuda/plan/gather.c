// SPDX-License-Identifier: Apache-2.0
// gather: the launch that copies a batch's samples from a data set on the GPU to the net's input,
// by the next row of the step table.
#include "engine/cuda/plan/builder.h"

static void text_gather(const struct gpu_plan *plan, const struct gpu_set *set, device_ptr table,
                        int64_t row_bytes, struct launch *out)
{
    struct cuda_text_gather g = {.table = on_gpu(table),
                                 .rows = plan->ring_rows,
                                 .row_bytes = (int)row_bytes,
                                 .now = on_gpu(plan->now),
                                 .next_step = on_gpu(plan->next_step),
                                 .from = on_gpu(set->tokens),
                                 .tokens = on_gpu(plan->tokens),
                                 .labels = on_gpu(plan->labels),
                                 .batch = (int)plan->batch,
                                 .time = plan->values[0].rows};
    launch_make(out, "text_gather", (unsigned)tiles((int64_t)g.batch * g.time, 256), 1, 256, 0, &g,
                sizeof g);
}

void gpu_gather(const struct gpu_plan *plan, int buffer, const struct engine_set *from,
                const struct gpu_set *set, device_ptr table, int64_t row_bytes, struct launch *out)
{
    const struct gpu_value *in = &plan->values[0];
    if (plan->is_text) { // it has one buffer
        text_gather(plan, set, table, row_bytes, out);
        return;
    }
    const struct plan_buffer *to = &plan->buffers[buffer];
    bool flat = image_is_flat(plan->layers, plan->layer_count, 0);
    struct cuda_gather g = {.table = on_gpu(table),
                            .rows = plan->ring_rows,
                            .row_bytes = (int)row_bytes,
                            .now = on_gpu(to->now),
                            .next_step = on_gpu(plan->next_step),
                            .pixels = on_gpu(set->pixels),
                            .scale = on_gpu(set->scale),
                            .tokens = on_gpu(set->tokens),
                            .starts = on_gpu(set->starts),
                            .stride = from->token_stride,
                            .set_labels = on_gpu(set->labels),
                            .image = on_gpu(to->image),
                            .out_tokens = on_gpu(to->tokens),
                            .labels = on_gpu(to->labels),
                            .batch = (int)plan->batch,
                            .channels = from->channels,
                            .height = from->height,
                            .width = from->width,
                            .time = from->time,
                            .padded = flat ? from->channels : in->pitch,
                            .pixel_pitch = flat ? 1 : in->pitch,
                            .channel_pitch = flat ? from->height * from->width : 1,
                            .sample_pitch = in->rows * in->pitch,
                            .shift = from->shift_flip,
                            .flip = from->flip};
    launch_make(out, plan->images ? "image_gather" : "gather", (unsigned)plan->batch,
                plan->images ? 32 : 1, 256, 0, &g, sizeof g);
}
