// SPDX-License-Identifier: Apache-2.0
#include "train/data/sets.h"

#include <string.h>

#include "base/opt.h"
#include "train/data/images.h"
#include "train/data/pixels.h"
#include "train/data/sentiment.h"
#include "train/data/text.h"

// ---- files ----

#define MNIST(file)                                                                                \
    "https://storage.googleapis.com/cvdf-datasets/mnist/" file ".gz "                              \
    "https://ossci-datasets.s3.amazonaws.com/mnist/" file ".gz"
#define TRAIN_IMAGES "train-images-idx3-ubyte"
#define TRAIN_LABELS "train-labels-idx1-ubyte"
#define TEST_IMAGES  "t10k-images-idx3-ubyte"
#define TEST_LABELS  "t10k-labels-idx1-ubyte"

// clang-format off
static const struct public_file mnist_files[] = {
    {.name = TRAIN_IMAGES ".gz", .url = MNIST(TRAIN_IMAGES), .bytes = 9912422,
     .sha256 = "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
    {.name = TRAIN_LABELS ".gz", .url = MNIST(TRAIN_LABELS), .bytes = 28881,
     .sha256 = "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
    {.name = TEST_IMAGES ".gz", .url = MNIST(TEST_IMAGES), .bytes = 1648877,
     .sha256 = "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
    {.name = TEST_LABELS ".gz", .url = MNIST(TEST_LABELS), .bytes = 4542,
     .sha256 = "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
    {.name = TRAIN_IMAGES, .from = TRAIN_IMAGES ".gz", .bytes = 47040016,
     .sha256 = "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
    {.name = TRAIN_LABELS, .from = TRAIN_LABELS ".gz", .bytes = 60008,
     .sha256 = "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
    {.name = TEST_IMAGES, .from = TEST_IMAGES ".gz", .bytes = 7840016,
     .sha256 = "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
    {.name = TEST_LABELS, .from = TEST_LABELS ".gz", .bytes = 10008,
     .sha256 = "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
    {0},
};

#define CIFAR(file) .name = file, .from = "cifar-10-binary.tar.gz:cifar-10-batches-bin/" file, .bytes = 30730000
static const struct public_file cifar_files[] = {
    {.name = "cifar-10-binary.tar.gz", .bytes = 170052171,
     .url = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
     .sha256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"},
    {CIFAR("data_batch_1.bin"),
     .sha256 = "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
    {CIFAR("data_batch_2.bin"),
     .sha256 = "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
    {CIFAR("data_batch_3.bin"),
     .sha256 = "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
    {CIFAR("data_batch_4.bin"),
     .sha256 = "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
    {CIFAR("data_batch_5.bin"),
     .sha256 = "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
    {CIFAR("test_batch.bin")},
    {0},
};

#define IMDB(folder) {.name = folder, .from = "aclImdb_v1.tar.gz:aclImdb/" folder}
static const struct public_file imdb_files[] = {
    {.name = "aclImdb_v1.tar.gz", .bytes = 84125825,
     .url = "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
     .sha256 = "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe"},
    IMDB("train/pos/"), IMDB("train/neg/"), IMDB("test/pos/"), IMDB("test/neg/"),
    {0},
};

static const struct public_file tweets_files[] = {
    {.name = "Sentiment-Analysis-Dataset.zip",
     .url = "https://thinknook.com/wp-content/uploads/2012/09/Sentiment-Analysis-Dataset.zip"},
    {.name = "Sentiment Analysis Dataset.csv",
     .from = "Sentiment-Analysis-Dataset.zip:Sentiment Analysis Dataset.csv"},
    {0},
};

static const struct public_file nietzsche_files[] = {
    {.name = "nietzsche.txt", .bytes = 600901,
     .url = "https://s3.amazonaws.com/text-datasets/nietzsche.txt",
     .sha256 = "23cf69874ab69d3d256099ab530ea4be24d47d9675b673bcc67cbcd6298ec647"},
    {0},
};

#define FLOWERS(folder) {.name = folder, .from = "flower_photos.tgz:flower_photos/" folder}
static const struct public_file flowers_files[] = {
    {.name = "flower_photos.tgz", .bytes = 228813984,
     .url = "https://storage.googleapis.com/download.tensorflow.org/example_images/flower_photos.tgz "
            "http://download.tensorflow.org/example_images/flower_photos.tgz",
     .sha256 = "4c54ace7911aaffe13a365c34f650e71dd5bf1be0a58b464e5a7183e3e595d9c"},
    FLOWERS("daisy/"), FLOWERS("dandelion/"), FLOWERS("roses/"), FLOWERS("sunflowers/"), FLOWERS("tulips/"),
    {0},
};
// clang-format on

static const struct public_file no_files[] = {{0}};

// ---- sets ----

const struct public_set public_sets[] = {
    {
        .name = "mnist",
        .open = idx_open,
        .format = "28x28 images",
        .shape = {.channels = 1, .height = IDX_SIDE, .width = IDX_SIDE, .classes = 10},
        .train = 60000,
        .test = 10000,
        .identity = "d0a3eec1f5a454401d758fdbf15b9b0163a7034963586d671960c180b97e2c1a",
        .made = "drawn digits",
        .synth.draw = synth_digit,
        .files = mnist_files,
        .source = "packed: TensorFlow Datasets url_checksums/mnist.txt; unpacked: the original "
                  "files; 2026-11-15",
    },
    {
        .name = "cifar10",
        .open = cifar_open,
        .format = "32x32 images",
        .folder = "cifar-10-batches-bin",
        .shape = {.channels = 3, .height = CIFAR_SIDE, .width = CIFAR_SIDE, .classes = 10},
        .train = 50000,
        .test = 10000,
        .subsets = {"41ffe30124d10b1e3131ba75c09f59b05cefa9f9944113bc143ba78bcf453a7b"},
        .made = "drawn shapes",
        .synth.draw = synth_shape,
        .files = cifar_files,
        .source = "TensorFlow Datasets url_checksums/cifar10.txt; unpacked: the original files; "
                  "www.cs.toronto.edu/~kriz/cifar.html; 2026-11-15",
    },
    {
        .name = "imdb",
        .open = reviews_open,
        .format = "reviews",
        .folder = "aclImdb",
        .shape = {.time = REVIEWS_TIME, .vocabulary = REVIEWS_VOCABULARY, .classes = 2},
        .train = 25000,
        .test = 25000,
        .subsets = {"df1fd29fc941bac20654c23fbbe3625d1dcfa1a5329213b91997818ec6c15bd7"},
        .made = "made reviews",
        .synth.sentences = &synth_reviews,
        .files = imdb_files,
        .source = "TensorFlow Datasets url_checksums/imdb_reviews.txt; "
                  "ai.stanford.edu/~amaas/data/sentiment; 2026-11-15",
    },
    {
        .name = "tweets",
        .open = tweets_open,
        .format = "tweets",
        .shape = {.time = TWEETS_TIME, .vocabulary = TWEETS_VOCABULARY, .classes = 2},
        .train = 1420765,
        .test = 157862,
        .subsets = {"8e1fc82f7030f6c1747362b6d2bdb1fe8cbcda19d0c8ac53ae2be56083de53a3",
                    "c8cbd6008422d3e9bd16476a36c6ddf9e246c35de394582d54d1d138d836641a"},
        .made = "made tweets",
        .synth.sentences = &synth_tweets,
        .files = tweets_files,
        .source = "thinknook.com/twitter-sentiment-analysis-training-corpus-dataset-2012-09-22; "
                  "2026-11-15",
    },
    {
        .name = "nietzsche",
        .open = text_open,
        .format = "text",
        .shape = {.time = TEXT_TIME, .vocabulary = 57, .classes = 57},
        .train = 200285,
        .identity = "cc104c28005fac76e884886ecf66b4898aa2b675b205b3c76a9c49b212cb964e",
        .made = "made text",
        .synth.whole = synth_make_text,
        .files = nietzsche_files,
        .source = "Keras lstm_text_generation; 2026-11-15",
    },
    {
        .name = "flowers",
        .open = images_open,
        .format = "photos",
        .folder = "flower_photos",
        .shape = {.channels = 3, .height = IMAGES_SIZE, .width = IMAGES_SIZE, .classes = 5},
        .train = 3320,
        .test = 350,
        .made = "drawn flowers",
        .synth.photo = synth_flower,
        .synth.photo_label = synth_flower_label,
        .files = flowers_files,
        .source = "TensorFlow Datasets url_checksums/tf_flowers.txt; 2026-11-15",
    },
    {
        .name = "tokens",
        .open = tokens_open,
        .format = "tokens",
        .shape = {.time = TOKENS_CONTEXT,
                  .vocabulary = TOKENS_VOCABULARY,
                  .classes = TOKENS_VOCABULARY},
        .train = 32000,
        .test = 64,
        .identity = "-",
        .made = "made tokens",
        .synth.whole = synth_make_tokens,
        .files = no_files,
        .source = "the user's own: no set of tokens is public under one name; 2026-11-17",
    },
    {0},
};

const struct public_set *public_set_find(const char *name, struct err *err)
{
    const char *names[sizeof public_sets / sizeof *public_sets] = {NULL};
    for (size_t i = 0; public_sets[i].name; i++) {
        if (strcmp(public_sets[i].name, name) == 0)
            return &public_sets[i];
        names[i] = public_sets[i].name;
    }
    err_set(err, ERR_USAGE, "'%s' is not a data set", name);
    const char *nearest = opt_nearest(name, names);
    if (nearest)
        err_hint(err, "did you mean '%s'?", nearest);
    else
        err_hint(err, "'fare workloads data list' lists them");
    return NULL;
}
