// SPDX-License-Identifier: Apache-2.0
#include <stddef.h>

#include "sample/source.h"

const struct source *const sources[] = {
    &source_cpu,      &source_memory, &source_net,    &source_rapl, &source_cgroup,
    &source_pressure, &source_nvml,   &source_amdgpu, NULL,
};
