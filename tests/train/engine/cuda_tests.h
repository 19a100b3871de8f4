// SPDX-License-Identifier: Apache-2.0
// For the files that make test_cuda: what they share, and the tests that main() runs.
#ifndef FARE_TESTS_ENGINE_CUDA_TESTS_H
#define FARE_TESTS_ENGINE_CUDA_TESTS_H

#include <stdbool.h>

#include "train/engine/engine.h"

extern const char *const precision_names[]; // by enum engine_precision

// Whether there is a GPU for it; else it says why not. A test begins with it.
bool cuda_is_here(enum engine_precision precision);

// Whether to try little of each kind, because kernels are slow here: FARE_TEST_LAST is set.
bool cuda_is_slow(void);

// Notes a distance that is too large, and goes on, so that one run tells of all of them; a test
// ends with assert_none_far().
void judge(double distance, double bound, const char *what, const char *where);
void assert_none_far(void);

// Operation `which` of op_cases.h, in a middle size or its last; false behind the last one.
struct net;
bool cuda_case_net(int which, struct net *net);

// cuda_data.c
void graphs_keep_an_order(void **state);
void images_are_gathered_as_the_host_would(void **state);
void tokens_are_gathered_as_the_host_would(void **state);
void l1_distances_of_all_sizes(void **state);
void l1_in_pieces(void **state);
void products_by_themselves(void **state);
// cuda_curves.c
void losses_follow_the_cpu_engine(void **state);
// cuda_gpt.c
void parts_of_a_gpt(void **state);
void a_small_gpt_learns_as_the_reference_does(void **state);
void a_gpt_goes_on_to_the_same_bits(void **state);

#endif
