// SPDX-License-Identifier: Apache-2.0
// The stand-in as a library of before 2020 has it: none of the names with a version.
#define FAKE_NVML_OLD
#include "fake_nvml.c"
