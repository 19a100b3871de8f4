// SPDX-License-Identifier: Apache-2.0
// classes: what a GPU does in a kernel, and in which precision, by the kernel's name.
//
// Names come from cuBLAS, cuDNN, CUTLASS, PyTorch, Triton, XLA, NCCL and others, mangled or not.
// They are no interface: an unknown one is "other", and a precision that the name does not tell is
// unknown.
#ifndef FARE_TRACE_CLASSES_H
#define FARE_TRACE_CLASSES_H

#define TRACE_CLASSES(X)                                                                           \
    X(MATMUL, "matrix products")                                                                   \
    X(CONVOLUTION, "convolutions")                                                                 \
    X(ATTENTION, "attention")                                                                      \
    X(ELEMENTWISE, "element-wise and reductions")                                                  \
    X(OPTIMIZER, "optimizer")                                                                      \
    X(COLLECTIVE, "collectives")                                                                   \
    X(IN, "copies to the GPU")                                                                     \
    X(OUT, "copies from the GPU")                                                                  \
    X(WITHIN, "copies on the GPU")                                                                 \
    X(UNKNOWN, "other")

#define TRACE_PRECISIONS(X)                                                                        \
    X(NONE, 0)                                                                                     \
    X(F64, "f64")                                                                                  \
    X(F32, "f32")                                                                                  \
    X(TF32, "tf32")                                                                                \
    X(BF16, "bf16")                                                                                \
    X(F16, "f16")                                                                                  \
    X(FP8, "fp8")                                                                                  \
    X(FP4, "fp4")                                                                                  \
    X(INT8, "int8")

enum trace_class {
#define X(name, text) CLASS_##name,
    TRACE_CLASSES(X)
#undef X
        CLASSES
};
enum trace_precision {
#define X(name, text) PRECISION_##name,
    TRACE_PRECISIONS(X)
#undef X
        PRECISIONS
};

extern const char *const class_names[CLASSES];
extern const char *const precision_names[PRECISIONS]; // null: unknown

struct kernel_class {
    unsigned char class;     // enum trace_class
    unsigned char precision; // enum trace_precision; of products, convolutions and attention
};

struct kernel_class classify_kernel(const char *name);

#endif
