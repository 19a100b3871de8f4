// SPDX-License-Identifier: Apache-2.0
// net_parts: what the building functions of net.c and net_sequence.c share.
//
// A layer is made between net_begin() and net_finish(). Each of these functions returns null, false
// or -1 after a mistake, which sticks in the net.
#ifndef FARE_NET_NET_PARTS_H
#define FARE_NET_NET_PARTS_H

#include "net/net.h"

// A new layer after the others, not counted yet. A null name becomes the operation's name and the
// layer's number.
struct net_layer *net_begin(struct net *net, enum net_op op, const char *name, const int *from,
                            int count);
int net_finish(struct net *net, struct net_layer *layer, struct net_shape out);

// A parameter of the layer that is being built; unused dimensions are 0.
bool net_add_param(struct net *net, struct net_layer *layer, const char *name, enum net_init init,
                   const int dim[4]);

int net_mistake(struct net *net, const struct net_layer *layer, const char *format, ...)
    PRINTF_LIKE(3, 4);

// Whether a size is at least 1, and the first input has this rank.
bool net_positive(struct net *net, const struct net_layer *layer, const char *what, int value);
bool net_wants_rank(struct net *net, const struct net_layer *layer, int rank);

const struct net_shape *net_input_shape(const struct net *net, const struct net_layer *layer);

// "an image of 3 × 32 × 32", for messages.
const char *net_describe_shape(const struct net_shape *shape, char *text, size_t size);

#endif
