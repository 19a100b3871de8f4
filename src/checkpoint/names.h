// SPDX-License-Identifier: Apache-2.0
// names: which tensor of a safetensors file belongs to which parameter of a net.
//
// A file has fare's own names (for GPT-2 those of the transformers library, with or without
// "transformer." in front) or, for Inception v4, those of one of its public versions: timm and
// Cadene's pretrained-models (the same names), TF-Slim, or the Keras ports, whose layers have
// numbers only. A table in names.c has a row for each convolution. "module." and "model." in front,
// ":0" at the end and a repeated layer ("conv2d_1/conv2d_1/kernel:0") do not matter, nor does '/'
// or '.' between the parts.
#ifndef FARE_CHECKPOINT_NAMES_H
#define FARE_CHECKPOINT_NAMES_H

#include <stdbool.h>

#include "base/err.h"
#include "checkpoint/safetensors.h"
#include "net/net.h"

enum names_style { NAMES_OWN, NAMES_PYTORCH, NAMES_SLIM, NAMES_KERAS, NAMES_STYLES };

extern const char *const names_styles[NAMES_STYLES]; // for messages: "timm", "TF-Slim"

// TF-Slim and Keras: convolutions height × width × in × out, dense weights in × out.
bool names_channels_last(enum names_style style);

struct names {
    enum names_style style;
    const struct safetensors_tensor **found; // of each parameter of the net; null: none
};

// `st` must outlive it. ERR_FORMAT where the file mixes two styles, or has two tensors for one
// parameter. A zeroed struct can be released.
int names_init(struct names *names, const struct safetensors *st, const struct net *net,
               struct err *err) MUST_USE;
void names_release(struct names *names);

#endif
