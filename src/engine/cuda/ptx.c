// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/ptx.h"

// Each file, with a zero at its end. FARE_PTX is the build's folder; the build also writes the
// list.
#define PTX(name, capability, alone, precision, version)                                           \
    __asm__(".pushsection .rodata\n.balign 16\nptx_" #name ":\n"                                   \
            ".incbin \"" FARE_PTX "/" #name ".ptx\"\nptx_end_" #name ":\n.byte 0\n.popsection\n"); \
    extern const char ptx_##name[] __attribute__((visibility("hidden")));                          \
    extern const char ptx_end_##name[] __attribute__((visibility("hidden")));
#include "ptx_list.h"
#undef PTX

// PRECISION of the kernels' source.
enum { PRECISION_0 = ENGINE_F32, PRECISION_1 = ENGINE_TF32, PRECISION_2 = ENGINE_BF16 };

const struct ptx_text ptx_texts[] = {
#define PTX(name, capability, alone, precision, version)                                           \
    {#name,                                                                                        \
     ptx_##name,                                                                                   \
     ptx_end_##name,                                                                               \
     capability,                                                                                   \
     sizeof alone > 1,                                                                             \
     version,                                                                                      \
     (enum engine_precision)PRECISION_##precision},
#include "ptx_list.h"
#undef PTX
};
const int ptx_text_count = sizeof ptx_texts / sizeof *ptx_texts;
_Static_assert(sizeof ptx_texts / sizeof *ptx_texts <= PTX_TEXTS_MAX, "PTX_TEXTS_MAX is too small");

// The CUDA that brought a PTX version, by the release notes in the PTX manual.
static int driver_for(int version)
{
    static const int brought[][2] = {{63, 10000}, {70, 11000}, {78, 11080}, {80, 12000}};
    for (size_t i = 0; i < sizeof brought / sizeof *brought; i++)
        if (version <= brought[i][0])
            return brought[i][1];
    return 13000;
}

bool ptx_fits(const struct ptx_text *text, int capability, int driver,
              enum engine_precision precision)
{
    bool takes = text->alone ? capability == text->capability : capability >= text->capability;
    return takes && driver >= driver_for(text->version) && precision == text->precision;
}
