// SPDX-License-Identifier: Apache-2.0
// nccl: NVIDIA's library for sums over GPUs, opened at run time: from the loader's folders, CUDA's,
// or a Python environment, where PyTorch brings it. FARE_NCCL names another file.
//
// Every rank of a group makes the same calls in the same order.
#ifndef FARE_ENGINE_CUDA_NCCL_H
#define FARE_ENGINE_CUDA_NCCL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/group.h"

struct cuda;
struct nccl;

// Opens the library, for this process.
int nccl_available(struct err *err) MUST_USE;

// Connects the GPUs of all ranks of a group (null: this one alone). ERR_MISSING: a rank has no NCCL,
// ERR_FAIL: it is too old or fails, ERR_TIMEOUT: not all ranks came. The error is the same at all
// ranks or names the one that failed.
int nccl_open(struct nccl **out, struct cuda *cuda, struct group *group, struct err *err) MUST_USE;
// Graphs with its sums must be gone, unless it was aborted. Null is fine.
void nccl_close(struct nccl *nccl);

// Queues a sum over the ranks, in place, of f32 or f64.
int nccl_sum(struct nccl *nccl, void *stream, uint64_t at, int64_t count, bool reals,
             struct err *err) MUST_USE;

// Whether NCCL and all ranks are well; to be called while waiting for the GPU. After an error sums
// under way end, whatever they have done so far.
int nccl_look(struct nccl *nccl, struct err *err) MUST_USE;
void nccl_abort(struct nccl *nccl); // null is fine, and twice

// How long to wait for other ranks: so many seconds, or those of FARE_NCCL_PATIENCE_S, for tests.
int64_t nccl_patience_ns(int64_t seconds);

const char *nccl_version(void); // "2.27.5", of the library opened last; "" if none was

#endif
