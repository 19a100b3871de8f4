// SPDX-License-Identifier: Apache-2.0
// A book's file that is damaged or made to harm: an error, never a crash, whatever byte it is.
#include "book/scratch.h"

#define ROWS                                                                                       \
    "provider,name,region,zone,kind,gpu,gpus,vcpus,price,date,source\n"                            \
    "aws,p3.2xlarge,us-east-1,,,V100,1,8,3.06,2018-02-01,one\n"                                    \
    "aws,p3.2xlarge,us-east-1,,,V100,1,8,3.00,2019-02-01,two\n"                                    \
    "aws,p3.2xlarge,us-east-1,us-east-1a,spot,V100,1,8,1.00,2019-02-01,two\n"                      \
    "gcp,n1-standard-1,,,spot,,,1,0.01,2018-02-01,one\n"

static void make(struct buf *bytes)
{
    struct stock stock = {0};
    struct import_report report;
    struct stock_counts counts;
    const struct image nothing = {0};
    struct err err = {0};
    assert_ok(import_text(&stock, NULL, "fare", "x", ROWS, strlen(ROWS), DAY, &report, &err), &err);
    const struct offer_risk risk = {5, 10, 70, DAY, "advisor"};
    assert_ok(stock_add_risk(&stock, "aws", "p3.2xlarge", "us-east-1", &risk, &err), &err);
    const struct image_change changes[] = {{1548979200, 1000000000}, {1548982800, 1100000000}};
    const struct offer spot = {.provider = "aws",
                               .name = "p3.2xlarge",
                               .region = "us-east-1",
                               .zone = "us-east-1a",
                               .source = "two"};
    assert_ok(stock_add_series(&stock, &spot, changes, 2, changes[0].at_s, 1549065600, &err), &err);
    assert_ok(stock_build(&stock, &nothing, bytes, &counts, &err), &err);
    stock_release(&stock);
}

static int try(const char *bytes, size_t len, struct err *err)
{
    char *copy = malloc(len + 1); // of just that size, so that a read past it is found
    assert_non_null(copy);
    memcpy(copy, bytes, len);
    struct image image;
    int rc = image_of(&image, copy, len, copy, err);
    image_release(&image);
    return rc;
}

TEST(sound)
{
    struct buf b = {0};
    struct err err = {0};
    make(&b);
    assert_ok(try(b.data, b.len, &err), &err);
    buf_release(&b);
}

TEST(every_byte_counts)
{
    struct buf b = {0};
    make(&b);
    for (size_t i = 0; i < b.len; i++) {
        struct err err = {0};
        b.data[i] ^= 0x40;
        assert_int_equal(try(b.data, b.len, &err), ERR_FORMAT);
        b.data[i] ^= 0x40;
    }
    buf_release(&b);
}

TEST(every_length)
{
    struct buf b = {0};
    make(&b);
    for (size_t len = 0; len < b.len; len++) {
        struct err err = {0};
        assert_int_equal(try(b.data, len, &err), ERR_FORMAT);
    }
    buf_addc(&b, 'x');
    struct err err = {0};
    assert_int_equal(try(b.data, b.len, &err), ERR_FORMAT);
    buf_release(&b);
}

// With a sum that is right again: what is accepted must be sound in everything that readers rely
// on.
TEST(hostile)
{
    static const unsigned char values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    struct buf b = {0};
    make(&b);
    size_t refused = 0, accepted = 0;
    for (size_t i = sizeof(struct image_head); i < b.len; i++) {
        for (size_t v = 0; v < sizeof values; v++) {
            char kept = b.data[i];
            b.data[i] = (char)values[v];
            struct image_head head;
            memcpy(&head, b.data, sizeof head);
            head.sum = image_sum(b.data + sizeof head, b.len - sizeof head);
            memcpy(b.data, &head, sizeof head);
            char *copy = malloc(b.len);
            assert_non_null(copy);
            memcpy(copy, b.data, b.len);
            struct image m;
            struct err err = {0};
            if (image_of(&m, copy, b.len, copy, &err) == 0) {
                accepted++;
                size_t total = 0;
                for (size_t k = 0; k < m.offer_count; k++) {
                    const struct image_offer *o = &m.offers[k];
                    total += strlen(image_word(&m, o->provider)) + strlen(image_word(&m, o->cpu)) +
                             strlen(image_word(&m, o->name)) + strlen(image_word(&m, o->gpu)) +
                             strlen(image_word(&m, o->region)) + strlen(image_word(&m, o->zone));
                    for (size_t n = 0; n < o->price_count; n++)
                        total += strlen(image_word(&m, m.prices[o->first_price + n].source));
                }
                for (size_t k = 0; k < m.risk_count; k++)
                    total += strlen(image_word(&m, m.risks[k].name));
                for (size_t k = 0; k < m.series_count; k++) {
                    const struct image_series *s = &m.series[k];
                    total += strlen(image_word(&m, s->source)) + m.offers[s->offer].kind;
                    for (size_t n = 0; n < s->change_count; n++)
                        assert_true(m.changes[s->first_change + n].at_s <= s->until_s);
                }
                assert_true(total < 100000);
            } else {
                refused++;
            }
            image_release(&m);
            b.data[i] = kept;
        }
    }
    assert_true(refused > 500);
    assert_true(accepted > 100);
    buf_release(&b);
}

TEST(counts_that_lie)
{
    struct buf b = {0};
    make(&b);
    for (size_t at = 32; at < sizeof(struct image_head); at += 4) {
        struct err err = {0};
        char kept[4];
        memcpy(kept, b.data + at, 4);
        memset(b.data + at, 0xff, 4);
        assert_int_equal(try(b.data, b.len, &err), ERR_FORMAT);
        memcpy(b.data + at, kept, 4);
    }
    buf_release(&b);
}

// Books of before there were series had a header without their numbers.
TEST(version_1)
{
    struct buf b = {0}, old = {0};
    make(&b);
    struct image_head head;
    memcpy(&head, b.data, sizeof head);
    size_t short_head = offsetof(struct image_head, changes);
    size_t series =
        head.changes * sizeof(struct image_change) + head.series * sizeof(struct image_series);
    assert_int_equal(head.series, 1);
    size_t before = head.offers * sizeof(struct image_offer) +
                    head.prices * sizeof(struct image_price) +
                    head.risks * sizeof(struct image_risk);
    head.version = 1;
    head.size -= sizeof head - short_head + series;
    buf_add(&old, &head, short_head);
    buf_add(&old, b.data + sizeof head, before);
    buf_add(&old, b.data + sizeof head + before + series, b.len - sizeof head - before - series);
    head.sum = image_sum(old.data + short_head, old.len - short_head);
    memcpy(old.data, &head, short_head);
    struct image m;
    struct err err = {0};
    assert_ok(image_of(&m, old.data, old.len, NULL, &err), &err);
    assert_int_equal(m.offer_count, 3);
    assert_int_equal(m.series_count, 0);
    assert_string_equal(image_word(&m, m.offers[0].provider), "aws");
    image_release(&m);
    head.version = 3;
    memcpy(old.data, &head, short_head);
    assert_int_equal(try(old.data, old.len, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "version 3"));
    buf_release(&old);
    buf_release(&b);
}

TEST(files)
{
    struct image m;
    struct err err = {0};
    assert_ok(image_open(&m, "/nonexistent/book", &err), &err);
    assert_int_equal(m.offer_count, 0);
    assert_int_equal(image_open(&m, "/", &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "not a regular file"));
    err = (struct err){0};
    assert_int_equal(image_open(&m, "/dev/null", &err), ERR_FORMAT);
    char path[] = "/tmp/fare-book-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "hello", 5), 5);
    close(fd);
    err = (struct err){0};
    assert_int_equal(image_open(&m, path, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "cannot be used: it is too short"));
    unlink(path);
}

int main(void)
{
    return run_all_tests(use_share, NULL);
}
