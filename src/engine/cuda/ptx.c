// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/ptx.h"

#include <stddef.h>

// Each file, with a zero at its end. FARE_PTX is the build's folder.
#define PTX(name)                                                                                  \
    __asm__(".pushsection .rodata\n.balign 16\nptx_" #name ":\n"                                   \
            ".incbin \"" FARE_PTX "/" #name ".ptx\"\n.byte 0\n.popsection\n");                     \
    extern const char ptx_##name[] __attribute__((visibility("hidden")))

PTX(sm_60_f32);
PTX(sm_80_f32);
PTX(sm_80_tf32);
PTX(sm_80_bf16);
PTX(sm_80_images);

const char *ptx_for(int capability, enum engine_precision precision)
{
    if (precision == ENGINE_F32)
        return capability >= 80 ? ptx_sm_80_f32 : ptx_sm_60_f32;
    if (capability < 80)
        return NULL;
    return precision == ENGINE_TF32 ? ptx_sm_80_tf32 : ptx_sm_80_bf16;
}

const char *ptx_for_images(int capability)
{
    return capability >= 80 ? ptx_sm_80_images : NULL;
}
