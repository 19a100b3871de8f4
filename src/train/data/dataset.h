// SPDX-License-Identifier: Apache-2.0
// dataset: samples in memory (or a list of image files), with labels and where they came from.
//
// A set is read from a folder, or made from a seed where there is none. Each says which it is, so
// the two are never mixed up. Errors name the file and the offset or line.
#ifndef FARE_TRAIN_DATA_DATASET_H
#define FARE_TRAIN_DATA_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct image_files; // images.h: JPEGs that are decoded when they are needed

struct dataset {
    int64_t count;
    int classes;
    // Images: pixels as bytes, or files.
    int channels, height, width; // 0 for texts
    uint8_t *pixels;             // (count, channels, height, width)
    struct image_files *files;   // in place of pixels
    // Texts: sample i is tokens[i * token_stride .. + time); or, where there are `starts`, it is
    // tokens[starts[i] .. starts[i + 1]), at most `time` of them, with zeros behind. The second
    // form holds a million short texts without a million paddings. dataset_tokens() reads both.
    int time; // 0 for images
    int vocabulary;
    int32_t *tokens;
    int64_t token_stride;
    int64_t *starts; // (count + 1), or null
    int32_t *labels; // (count)
    // Instead of tokens and labels: a long text with one label per token (text.h), whose memory
    // the pair owns. Sample i is the `time` tokens from i × token_stride on, its labels are those
    // one further on.
    const uint16_t *stream;
};

struct token_memory { // of a long text
    void *bytes;
    size_t size; // if it is mapped
    bool mapped;
};

struct data_pair {
    struct dataset train, test; // textgen: test is empty
    char *name;                 // see data_open()
    char *source;               // the folder or file, or "made from seed 1"
    char *identity;             // SHA-256 over the files (folder.h), or "made:digits:1"
    bool made;                  // from a seed
    char **words; // (optional) what token i stands for, for printing; one piece of memory
    int word_count;
    struct token_memory memory[2]; // of the sets' streams
};

struct data_options {
    const char *dir;    // null: make one; for tweets, text and tokens it may be the file itself
    uint64_t seed;      // of what is made, and of a held-out part
    int64_t made_train; // samples to make; 0: as many as the real set has
    int64_t made_test;
    int threads; // for decoding and drawing; 0: as many as this process may use
    int context; // tokens: time steps of a sample; 0: 1024
};

// Opens the public set of this name (sets.h), or makes the one that stands in for it.
//
// The folder holds the files under the names that the public sets give them, packed with gzip or
// not:
//   mnist      train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-..., t10k-labels-...
//   cifar10    data_batch_1.bin to data_batch_5.bin, as many as are there, and test_batch.bin
//   imdb       train.tsv and test.tsv (label, rating, number, text), or the original folders
//              train/pos, train/neg, test/pos, test/neg with files such as 0_9.txt
//   tweets     a .csv, the largest where there are several: "label,text" or
//              "ItemID,Sentiment,SentimentSource,SentimentText"
//   nietzsche  nietzsche.txt, or the only .txt
//   tokens     a .bin of tokens or a text, or one for each part (text.h)
//   flowers    a folder of JPEGs per class, named after it
// A set one folder deeper, under the name its public archive gives it, is found too.
//
// The name that is recorded follows from the contents, never from file names or packing: "mnist"
// for the public set, "imdb, 30000 of 50000" for a known part of it, "own 28x28 images, 700
// samples" for other data in its format, "drawn digits" for a made set.
int data_open(const char *name, const struct data_options *options, struct data_pair *pair,
              struct err *err) MUST_USE;
void data_release(struct data_pair *pair); // a zeroed struct is fine

// Sample i's tokens, `set->time` of them.
void dataset_tokens(const struct dataset *set, int64_t i, int32_t *out);

// Labels of a sample: 1, or `time` of a stream; and those of sample i.
static inline int dataset_labels(const struct dataset *set)
{
    return set->stream ? set->time : 1;
}
void dataset_labels_of(const struct dataset *set, int64_t i, int32_t *out);

// For readers: the numbers 0 ... count - 1 in an order drawn for this use, of which the last become
// the held-out part; the caller frees them. Null and `err` when there is no memory.
int32_t *dataset_shuffled(const char *use, uint64_t seed, int64_t count, struct err *err) MUST_USE;

#endif
