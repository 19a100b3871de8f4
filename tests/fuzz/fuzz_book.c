// SPDX-License-Identifier: Apache-2.0
// Any bytes as a book's file, with a head and a sum that are right, so that the rest is looked at.
// What is accepted can be walked, looked up and built upon.
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "book/book.h"
#include "book/image.h"
#include "book/stock.h"

static int see(void *arg, const struct offer *o, struct err *err)
{
    (void)err;
    size_t *total = arg;
    struct buf name = {0};
    book_name(o, &name);
    *total += name.len + strlen(o->gpu) + strlen(o->cpu) + strlen(o->currency) + strlen(o->source);
    buf_release(&name);
    return 0;
}

static void use(const char *path)
{
    struct book *book;
    struct err err = {0};
    setenv("FARE_SHARE", "/nonexistent", 1);
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    if (book_open(&book, path, &err) != 0)
        return;
    size_t total = 0;
    struct offer offer;
    struct offer_risk risk;
    struct book_changes changes;
    assert(book_each(book, NULL, see, &total, &err) == 0);
    if (book_find(book, "aws/p3.2xlarge", 0, &offer, &err) == 0) {
        assert(book_history(book, &offer, see, &total, &err) == 0);
        book_risk(book, &offer, 0, &risk);
        book_changes(book, &offer, &changes);
    }
    book_close(book);
}

enum { HEAD = 6 }; // bytes of the input with the numbers of things

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD || size > 1 << 20)
        return 0;
    struct image_head head = {.version = IMAGE_VERSION, .order = IMAGE_ORDER};
    memcpy(head.magic, IMAGE_MAGIC, sizeof head.magic);
    head.offers = data[0];
    head.prices = data[1];
    head.risks = data[2];
    head.words = data[3];
    head.changes = data[4];
    head.series = data[5];
    size_t rest = size - HEAD;
    size_t fixed =
        head.offers * sizeof(struct image_offer) + head.prices * sizeof(struct image_price) +
        head.risks * sizeof(struct image_risk) + head.changes * sizeof(struct image_change) +
        head.series * sizeof(struct image_series) + head.words * sizeof(uint32_t);
    if (rest < fixed)
        return 0;
    head.word_bytes = rest - fixed;
    head.size = sizeof head + rest;
    head.sum = image_sum(data + HEAD, rest);
    int fd = memfd_create("book", MFD_CLOEXEC);
    if (fd < 0 || write(fd, &head, sizeof head) != sizeof head ||
        write(fd, data + HEAD, rest) != (ssize_t)rest)
        abort();
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    use(path);
    // What is accepted can be built upon.
    struct image image;
    struct err err = {0};
    if (image_open(&image, path, &err) == 0) {
        struct stock stock = {0};
        struct stock_counts counts;
        struct buf out = {0};
        struct image second;
        assert(stock_build(&stock, &image, &out, &counts, &err) == 0);
        assert(image_of(&second, out.data, out.len, out.data, &err) == 0);
        assert(second.offer_count == image.offer_count);
        assert(second.series_count == image.series_count);
        image_release(&second);
        stock_release(&stock);
        image_release(&image);
    }
    close(fd);
    return 0;
}
