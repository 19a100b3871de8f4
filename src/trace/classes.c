// SPDX-License-Identifier: Apache-2.0
#include "trace/classes.h"

#include <ctype.h>
#include <string.h>

const char *const class_names[CLASSES] = {
#define X(name, text) text,
    TRACE_CLASSES(X)
#undef X
};
const char *const precision_names[PRECISIONS] = {
#define X(name, text) text,
    TRACE_PRECISIONS(X)
#undef X
};

// The first part found in the name decides, whatever its case.
struct rule {
    const char *part;
    unsigned char is;
};

static const struct rule classes[] = {
    {"nccl", CLASS_COLLECTIVE},
    {"nvshmem", CLASS_COLLECTIVE},
    {"cross_device_reduce", CLASS_COLLECTIVE},
    {"multimem", CLASS_COLLECTIVE},
    // Fused loops are named after all that they hold, a convolution's bias for example.
    {"triton_tem_fused_flex_attention", CLASS_ATTENTION},
    {"triton_tem_fused_convolution", CLASS_CONVOLUTION},
    {"triton_tem_", CLASS_MATMUL},
    {"triton_mm", CLASS_MATMUL},
    {"triton_gemm", CLASS_MATMUL},
    {"triton_for_fused", CLASS_OPTIMIZER},
    {"triton_poi_", CLASS_ELEMENTWISE},
    {"triton_red_", CLASS_ELEMENTWISE},
    {"triton_per_", CLASS_ELEMENTWISE},
    {"rmsnorm", CLASS_ELEMENTWISE},
    {"rotary", CLASS_ELEMENTWISE},
    {"convertTensor", CLASS_ELEMENTWISE},
    {"nhwcToNchw", CLASS_ELEMENTWISE},
    {"nchwToNhwc", CLASS_ELEMENTWISE},
    {"AddPadding", CLASS_ELEMENTWISE},
    {"multi_tensor", CLASS_OPTIMIZER},
    {"FusedAdam", CLASS_OPTIMIZER},
    {"fused_adam", CLASS_OPTIMIZER},
    {"fused_sgd", CLASS_OPTIMIZER},
    {"ApplyAdam", CLASS_OPTIMIZER},
    {"ApplyMomentum", CLASS_OPTIMIZER},
    {"ApplyGradientDescent", CLASS_OPTIMIZER},
    {"kOptimizer", CLASS_OPTIMIZER},
    {"flash", CLASS_ATTENTION},
    {"fmha", CLASS_ATTENTION},
    {"sdpa", CLASS_ATTENTION},
    {"attention", CLASS_ATTENTION},
    {"attn", CLASS_ATTENTION},
    {"compute_dot_do_o", CLASS_ATTENTION},
    {"convert_dq_to_16bits", CLASS_ATTENTION},
    {"splitKreduce", CLASS_MATMUL},
    {"elementwise", CLASS_ELEMENTWISE},
    {"elemwise", CLASS_ELEMENTWISE},
    {"reduce_kernel", CLASS_ELEMENTWISE},
    {"softmax", CLASS_ELEMENTWISE},
    {"fprop", CLASS_CONVOLUTION},
    {"dgrad", CLASS_CONVOLUTION},
    {"wgrad", CLASS_CONVOLUTION},
    {"convol", CLASS_CONVOLUTION},
    {"scudnn", CLASS_CONVOLUTION},
    {"s884cudnn", CLASS_CONVOLUTION},
    {"s1688cudnn", CLASS_CONVOLUTION},
    {"s16816cudnn", CLASS_CONVOLUTION},
    {"winograd", CLASS_CONVOLUTION},
    {"conv_depthwise", CLASS_CONVOLUTION},
    {"conv2d", CLASS_CONVOLUTION},
    {"conv3d", CLASS_CONVOLUTION},
    {"im2col", CLASS_CONVOLUTION},
    {"col2im", CLASS_CONVOLUTION},
    {"nvjet", CLASS_MATMUL},
    {"gemm", CLASS_MATMUL},
    {"gemv", CLASS_MATMUL},
    {"gemk1", CLASS_MATMUL},
    {"cutlass", CLASS_MATMUL},
    {"matmul", CLASS_MATMUL},
    {"xmma", CLASS_MATMUL},
    {"cublas", CLASS_MATMUL},
    {"dot_kernel", CLASS_MATMUL},
    {"bmm_", CLASS_MATMUL},
    {"persistRNN", CLASS_MATMUL},
    {"RNN_blockPersist", CLASS_MATMUL},
    {"at6native", CLASS_ELEMENTWISE}, // at::native, mangled
    {"at::native", CLASS_ELEMENTWISE},
    {"at_cuda_detail", CLASS_ELEMENTWISE},
    {"thrust", CLASS_ELEMENTWISE},
    {"cub", CLASS_ELEMENTWISE},
    {"cudnn", CLASS_ELEMENTWISE},  // normalisation, pooling
    {"fusion", CLASS_ELEMENTWISE}, // XLA's, from here on
    {"fused_", CLASS_ELEMENTWISE},
    {"wrapped_", CLASS_ELEMENTWISE},
    {"reduce", CLASS_ELEMENTWISE},
    {"transpose", CLASS_ELEMENTWISE},
    {"Eigen", CLASS_ELEMENTWISE}, // TensorFlow's
    {"tensorflow", CLASS_ELEMENTWISE},
    {"norm", CLASS_ELEMENTWISE},
};

// "tf32" before "f32", "bf16" before "f16"; 16-bit types before shapes that tensor cores have for
// several types.
static const struct rule precisions[] = {
    {"e2m1", PRECISION_FP4},     {"nvfp4", PRECISION_FP4},        {"e4m3", PRECISION_FP8},
    {"e5m2", PRECISION_FP8},     {"fp8", PRECISION_FP8},          {"_f8_", PRECISION_FP8},
    {"i8i8", PRECISION_INT8},    {"imma", PRECISION_INT8},        {"int8", PRECISION_INT8},
    {"sdpa", PRECISION_NONE}, // cuDNN's say f16 for both 16-bit types
    {"bf16", PRECISION_BF16},    {"bfloat16", PRECISION_BF16},    {"tf32", PRECISION_TF32},
    {"f16", PRECISION_F16},      {"fp16", PRECISION_F16},         {"half", PRECISION_F16},
    {"h884", PRECISION_F16},     {"h1688", PRECISION_F16},        {"h16816", PRECISION_F16},
    {"hgemm", PRECISION_F16},    {"s884", PRECISION_F16},         {"s16816", PRECISION_F16},
    {"s1688", PRECISION_TF32},   {"dgemm", PRECISION_F64},        {"d884", PRECISION_F64},
    {"f64", PRECISION_F64},      {"sgemm", PRECISION_F32},        {"simt", PRECISION_F32},
    {"scudnn", PRECISION_F32},   {"f32", PRECISION_F32},          {"engine<float", PRECISION_F32},
    {"engineIf", PRECISION_F32}, {"engine_float", PRECISION_F32}, {"kernel<float", PRECISION_F32},
};

static int look_up(const struct rule *rules, size_t count, const char *name, int otherwise)
{
    for (size_t i = 0; i < count; i++)
        if (strcasestr(name, rules[i].part))
            return rules[i].is;
    return otherwise;
}

// cuBLAS's newest: nvjet_tst_128x64..., nvjet_sm90_hss_...; letters for the types, inputs first.
static int nvjet_precision(const char *name)
{
    static const struct rule letters[] = {
        {"t", PRECISION_BF16}, {"h", PRECISION_F16}, {"s", PRECISION_TF32},
        {"d", PRECISION_F64},  {"q", PRECISION_FP8}, {"r", PRECISION_FP8},
    };
    const char *types = strstr(name, "nvjet_");
    if (!types)
        return PRECISION_NONE;
    types += strlen("nvjet_");
    if (strncmp(types, "sm", 2) == 0 && isdigit((unsigned char)types[2])) {
        types += strcspn(types, "_");
        types += *types == '_';
    }
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (*types == *letters[i].part)
            return letters[i].is;
    return PRECISION_NONE;
}

struct kernel_class classify_kernel(const char *name)
{
    int class = look_up(classes, sizeof classes / sizeof *classes, name, CLASS_UNKNOWN);
    int precision = PRECISION_NONE;
    if (class == CLASS_MATMUL || class == CLASS_CONVOLUTION || class == CLASS_ATTENTION) {
        precision = nvjet_precision(name);
        if (precision == PRECISION_NONE)
            precision =
                look_up(precisions, sizeof precisions / sizeof *precisions, name, PRECISION_NONE);
    }
    return (struct kernel_class){(unsigned char)class, (unsigned char)precision};
}
