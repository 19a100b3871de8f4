// SPDX-License-Identifier: Apache-2.0
// images: a folder of JPEGs per class, decoded when needed; or images drawn when needed.
//
// Classes are the folders in the order of their names, images the files in them that end in .jpg or
// .jpeg. Hidden files and texts are ignored, other kinds of images are an error. The seed shuffles
// the images; the last tenth, but at most 350 as in the original, is the test part. Each becomes
// 3 x 299 x 299 bytes, as images.h describes.
#ifndef FARE_TRAIN_DATA_IMAGES_H
#define FARE_TRAIN_DATA_IMAGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "train/data/dataset.h"

enum { IMAGES_SIZE = 299, IMAGES_BYTES = 3 * IMAGES_SIZE * IMAGES_SIZE };

struct image_files {
    int64_t count;
    char *pool;      // the paths, one after the other
    size_t *offsets; // (count): where in the pool each begins
    size_t largest;  // bytes of the largest file
    // Draws image i; then there are no files.
    void (*draw)(uint64_t seed, bool test, int64_t i, uint8_t *out);
    uint64_t seed;
    bool test;
};

void image_files_free(struct image_files *files);

// One per thread: the buffers that reading needs.
struct image_reader;
int image_reader_new(struct image_reader **reader, const struct image_files *files,
                     struct err *err) MUST_USE;
void image_reader_free(struct image_reader *reader);

// Image i: (3, 299, 299).
int image_read(struct image_reader *reader, int64_t i, uint8_t *out, struct err *err) MUST_USE;

// Images first ... first + count - 1, on several threads (0: as many as are allowed).
int images_read(const struct image_files *files, int64_t first, int64_t count, int threads,
                uint8_t *out, struct err *err) MUST_USE;

// See sets.h.
int images_open(const char *dir, const struct data_options *options, struct data_pair *pair,
                struct err *err) MUST_USE;

// ==== jpeg ====
// Decodes the centre of a JPEG file at the size a net takes. libjpeg-turbo is opened on first
// use.
//
// The central 87.5 % of each side (the border on either side is (side - side * 0.875) / 2, rounded
// down) is scaled to `size` x `size` by bilinear interpolation between pixel centres. Grey and CMYK
// images become RGB. Files are untrusted: a damaged one, one of more than 2^27 pixels or of
// absurdly many scans is an error, and libjpeg never ends the program.

struct jpeg; // a decoder with its buffers: one per thread

int jpeg_new(struct jpeg **jpeg, int size, struct err *err) MUST_USE;
void jpeg_free(struct jpeg *jpeg);

// `name` is for errors; `out` is (3, size, size). libjpeg allocates inside; nothing else does.
int jpeg_decode(struct jpeg *jpeg, const char *name, const uint8_t *bytes, size_t len, uint8_t *out,
                struct err *err) MUST_USE;

#endif
