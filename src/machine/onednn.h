// SPDX-License-Identifier: Apache-2.0
// onednn: does oneDNN work on this processor?
//
// The library picks kernels by what the processor advertises. Some virtual machines advertise AMX
// in a way that makes these kernels fault although the instructions work. So matrix products and a
// convolution run in child processes; the main process never opens the library. A failed trial is
// repeated without AMX kernels, to find a workaround.
#ifndef FARE_MACHINE_ONEDNN_H
#define FARE_MACHINE_ONEDNN_H

#include <dnnl.h>
#include <stdbool.h>

#include "base/dl.h"
#include "base/proc.h"
#include "record/machine.h"

#define ONEDNN_CAP "AVX512_CORE_BF16" // ONEDNN_MAX_CPU_ISA for the second try

enum { ONEDNN_TRIALS = 3 };

struct onednn {
    struct proc children[ONEDNN_TRIALS]; // zeroed if not started
};

// Starts the trials; `bf16` adds those in bfloat16. The variable FARE_ONEDNN names another library
// file.
int onednn_start(struct onednn *onednn, bool bf16, struct err *err) MUST_USE;

// Waits, and appends the library to cpu->libraries if it is installed.
int onednn_finish(struct onednn *onednn, struct machine_cpu *cpu, struct err *err) MUST_USE;

void onednn_kill(struct onednn *onednn); // ends running children; a zeroed struct is fine

// ==== libdnnl ====
// OneDNN 2, opened at run time: one table of its functions for all users. Version 3 has
// another interface and another file name.

// Users, for dl_spec.user: trying kernels in a child (onednn.c), training (engine/cpu).
enum { LIBDNNL_TRIAL = 1, LIBDNNL_TRAIN = 2 };

// Who needs it, result, name without "dnnl_", arguments.
#define LIBDNNL_FUNCTIONS(F)                                                                       \
    F(LIBDNNL_TRAIN, dnnl_status_t, set_max_cpu_isa, (dnnl_cpu_isa_t))                             \
    F(LIBDNNL_TRAIN, dnnl_cpu_isa_t, get_effective_cpu_isa, (void))                                \
    F(DL_REQUIRED, const dnnl_version_t *, version, (void))                                        \
    F(DL_REQUIRED, dnnl_status_t, engine_create, (dnnl_engine_t *, dnnl_engine_kind_t, size_t))    \
    F(DL_REQUIRED, dnnl_status_t, stream_create, (dnnl_stream_t *, dnnl_engine_t, unsigned))       \
    F(DL_REQUIRED, dnnl_status_t, memory_desc_init_by_tag,                                         \
      (dnnl_memory_desc_t *, int, const dnnl_dims_t, dnnl_data_type_t, dnnl_format_tag_t))         \
    F(LIBDNNL_TRAIN, int, memory_desc_equal,                                                       \
      (const dnnl_memory_desc_t *, const dnnl_memory_desc_t *))                                    \
    F(LIBDNNL_TRAIN, size_t, memory_desc_get_size, (const dnnl_memory_desc_t *))                   \
    F(DL_REQUIRED, dnnl_status_t, memory_create,                                                   \
      (dnnl_memory_t *, const dnnl_memory_desc_t *, dnnl_engine_t, void *))                        \
    F(LIBDNNL_TRAIN, dnnl_status_t, memory_destroy, (dnnl_memory_t))                               \
    F(LIBDNNL_TRAIN, dnnl_status_t, memory_set_data_handle, (dnnl_memory_t, void *))               \
    F(DL_REQUIRED, dnnl_status_t, convolution_forward_desc_init,                                   \
      (dnnl_convolution_desc_t *, dnnl_prop_kind_t, dnnl_alg_kind_t, const dnnl_memory_desc_t *,   \
       const dnnl_memory_desc_t *, const dnnl_memory_desc_t *, const dnnl_memory_desc_t *,         \
       const dnnl_dims_t, const dnnl_dims_t, const dnnl_dims_t))                                   \
    F(LIBDNNL_TRAIN, dnnl_status_t, convolution_backward_data_desc_init,                           \
      (dnnl_convolution_desc_t *, dnnl_alg_kind_t, const dnnl_memory_desc_t *,                     \
       const dnnl_memory_desc_t *, const dnnl_memory_desc_t *, const dnnl_dims_t,                  \
       const dnnl_dims_t, const dnnl_dims_t))                                                      \
    F(LIBDNNL_TRAIN, dnnl_status_t, convolution_backward_weights_desc_init,                        \
      (dnnl_convolution_desc_t *, dnnl_alg_kind_t, const dnnl_memory_desc_t *,                     \
       const dnnl_memory_desc_t *, const dnnl_memory_desc_t *, const dnnl_memory_desc_t *,         \
       const dnnl_dims_t, const dnnl_dims_t, const dnnl_dims_t))                                   \
    F(LIBDNNL_TRAIN, dnnl_status_t, inner_product_forward_desc_init,                               \
      (dnnl_inner_product_desc_t *, dnnl_prop_kind_t, const dnnl_memory_desc_t *,                  \
       const dnnl_memory_desc_t *, const dnnl_memory_desc_t *, const dnnl_memory_desc_t *))        \
    F(LIBDNNL_TRAIN, dnnl_status_t, inner_product_backward_data_desc_init,                         \
      (dnnl_inner_product_desc_t *, const dnnl_memory_desc_t *, const dnnl_memory_desc_t *,        \
       const dnnl_memory_desc_t *))                                                                \
    F(LIBDNNL_TRAIN, dnnl_status_t, inner_product_backward_weights_desc_init,                      \
      (dnnl_inner_product_desc_t *, const dnnl_memory_desc_t *, const dnnl_memory_desc_t *,        \
       const dnnl_memory_desc_t *, const dnnl_memory_desc_t *))                                    \
    F(DL_REQUIRED, dnnl_status_t, reorder_primitive_desc_create,                                   \
      (dnnl_primitive_desc_t *, const dnnl_memory_desc_t *, dnnl_engine_t,                         \
       const dnnl_memory_desc_t *, dnnl_engine_t, const_dnnl_primitive_attr_t))                    \
    F(LIBDNNL_TRAIN, dnnl_status_t, primitive_attr_create, (dnnl_primitive_attr_t *))              \
    F(LIBDNNL_TRAIN, dnnl_status_t, primitive_attr_destroy, (dnnl_primitive_attr_t))               \
    F(LIBDNNL_TRAIN, dnnl_status_t, primitive_attr_set_scratchpad_mode,                            \
      (dnnl_primitive_attr_t, dnnl_scratchpad_mode_t))                                             \
    F(LIBDNNL_TRAIN, dnnl_status_t, primitive_attr_set_post_ops,                                   \
      (dnnl_primitive_attr_t, const_dnnl_post_ops_t))                                              \
    F(LIBDNNL_TRAIN, dnnl_status_t, post_ops_create, (dnnl_post_ops_t *))                          \
    F(LIBDNNL_TRAIN, dnnl_status_t, post_ops_destroy, (dnnl_post_ops_t))                           \
    F(LIBDNNL_TRAIN, dnnl_status_t, post_ops_append_eltwise,                                       \
      (dnnl_post_ops_t, float, dnnl_alg_kind_t, float, float))                                     \
    F(DL_REQUIRED, dnnl_status_t, primitive_desc_create,                                           \
      (dnnl_primitive_desc_t *, const_dnnl_op_desc_t, const_dnnl_primitive_attr_t, dnnl_engine_t,  \
       const_dnnl_primitive_desc_t))                                                               \
    F(LIBDNNL_TRAIN, dnnl_status_t, primitive_desc_destroy, (dnnl_primitive_desc_t))               \
    F(DL_REQUIRED, const dnnl_memory_desc_t *, primitive_desc_query_md,                            \
      (const_dnnl_primitive_desc_t, dnnl_query_t, int))                                            \
    F(DL_REQUIRED, dnnl_status_t, primitive_create,                                                \
      (dnnl_primitive_t *, const_dnnl_primitive_desc_t))                                           \
    F(LIBDNNL_TRAIN, dnnl_status_t, primitive_destroy, (dnnl_primitive_t))                         \
    F(DL_REQUIRED, dnnl_status_t, primitive_execute,                                               \
      (const_dnnl_primitive_t, dnnl_stream_t, int, const dnnl_exec_arg_t *))                       \
    F(LIBDNNL_TRAIN, dnnl_status_t, sgemm,                                                         \
      (char, char, dnnl_dim_t, dnnl_dim_t, dnnl_dim_t, float, const float *, dnnl_dim_t,           \
       const float *, dnnl_dim_t, float, float *, dnnl_dim_t))                                     \
    F(LIBDNNL_TRAIN, dnnl_status_t, post_ops_append_sum, (dnnl_post_ops_t, float))                 \
    F(DL_REQUIRED, dnnl_status_t, matmul_desc_init,                                                \
      (dnnl_matmul_desc_t *, const dnnl_memory_desc_t *, const dnnl_memory_desc_t *,               \
       const dnnl_memory_desc_t *, const dnnl_memory_desc_t *))                                    \
    F(LIBDNNL_TRIAL, dnnl_status_t, primitive_desc_query,                                          \
      (const_dnnl_primitive_desc_t, dnnl_query_t, int, void *))                                    \
    F(LIBDNNL_TRIAL, dnnl_status_t, stream_wait, (dnnl_stream_t))

struct libdnnl {
#define MEMBER(need, result, name, args) result(*name) args;
    LIBDNNL_FUNCTIONS(MEMBER)
#undef MEMBER
};

extern const struct dl_spec libdnnl_spec;

#endif
