// SPDX-License-Identifier: Apache-2.0
// gpu: what one GPU model costs, who has it since when, and how fast it is estimated to be beside
// an H100. A record, so its table gives the JSON; html_gpu() writes it for people.
#ifndef FARE_VIEW_GPU_H
#define FARE_VIEW_GPU_H

#include "bill/market.h"
#include "render/plot.h"

#define GPU_SCHEMA "fare.gpu/1"
#define GPU_BASE   "H100" // that speeds are relative to

#include "view/gpu.def"

// Fills a zeroed record, which the caller releases in any case. `name` as in the device table or in
// the book; ERR_MISSING if neither has it. Prices are today's.
int gpu_make(struct market *market, const char *name, struct gpu_model *out,
             struct err *err) MUST_USE;

// The page below its title. `link` (optional) is put before an offer's name, escaped for addresses:
// "/offer?name=".
void html_gpu(struct buf *out, const struct gpu_model *gpu, const char *link);

// The complete, self-contained page.
void html_gpu_page(struct buf *out, const struct gpu_model *gpu);

#endif
