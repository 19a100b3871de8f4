// SPDX-License-Identifier: Apache-2.0
// image: where the numbers of a batch of images lie in the engine's blocked layout.
//
// (sample, block of channels, height × width, channel in the block): `block` channels of one pixel
// lie together, as vectors and oneDNN's convolutions need. If the channels do not fill the last
// block, the rest is zero. An image may be a slice of the channels of a larger one; then only
// sample_stride differs.
#ifndef FARE_ENGINE_CPU_IMAGE_H
#define FARE_ENGINE_CPU_IMAGE_H

#include <stdint.h>

struct image {
    int channels, height, width;
    int block, blocks;
    int64_t sample_stride; // numbers
};

static inline struct image image_of(int channels, int height, int width, int block)
{
    int blocks = (channels + block - 1) / block;
    return (struct image){.channels = channels,
                          .height = height,
                          .width = width,
                          .block = block,
                          .blocks = blocks,
                          .sample_stride = (int64_t)blocks * block * height * width};
}

static inline int64_t image_pixels(const struct image *image)
{
    return (int64_t)image->height * image->width;
}

// Numbers of a plane: one block of channels of one sample.
static inline int64_t image_plane(const struct image *image)
{
    return image_pixels(image) * image->block;
}

static inline int64_t image_at(const struct image *image, int64_t sample, int channel,
                               int64_t pixel)
{
    return sample * image->sample_stride + channel / image->block * image_plane(image) +
           pixel * image->block + channel % image->block;
}

#endif
