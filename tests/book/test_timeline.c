// SPDX-License-Identifier: Apache-2.0
// Changes of a spot price from several files: what is one series, by hand.
#include "book/scratch.h"
#include "book/image.h"

#define DAY_S INT64_C(86400)
#define HOLE  INT64_C(0)

static void expect(struct timeline *t, const struct image_change *want, size_t count, int64_t until)
{
    struct err err = {0};
    assert_ok(timeline_join(t, &err), &err);
    assert_int_equal(t->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(t->items[i].at_s, want[i].at_s);
        assert_int_equal(t->items[i].nano_usd, want[i].nano_usd);
    }
    assert_int_equal(t->until_s, until);
}
#define EXPECT(t, until, ...)                                                                      \
    expect(t, (const struct image_change[]){__VA_ARGS__},                                          \
           sizeof((const struct image_change[]){__VA_ARGS__}) / sizeof(struct image_change),       \
           until)
#define ADD(t, from, until, ...)                                                                   \
    assert_ok(timeline_add(t, (const struct image_change[]){__VA_ARGS__},                          \
                           sizeof((const struct image_change[]){__VA_ARGS__}) /                    \
                               sizeof(struct image_change),                                        \
                           from, until, &err),                                                     \
              &err)

TEST(repeated)
{
    struct timeline t = {0};
    struct err err = {0};
    // A price that is reported again is no change; at one second the higher one counts.
    ADD(&t, 0, 500, {10, 5}, {20, 5}, {30, 7}, {30, 6}, {40, 7}, {50, 5});
    EXPECT(&t, 500, {10, 5}, {30, 7}, {50, 5});
    timeline_release(&t);
}

TEST(overlap)
{
    struct err err = {0};
    for (int order = 0; order < 2; order++) { // the order of the files does not matter
        struct timeline t = {0};
        for (int k = 0; k < 2; k++)
            if (k == order)
                ADD(&t, 0, 100, {10, 5}, {60, 6}, {90, 7});
            else
                ADD(&t, 50, 200, {60, 6}, {90, 7}, {150, 8});
        EXPECT(&t, 200, {10, 5}, {60, 6}, {90, 7}, {150, 8});
        timeline_release(&t);
    }
}

TEST(holes)
{
    struct timeline t = {0};
    struct err err = {0};
    // A day apart is together; a second more is a hole, and after it the old price is news.
    ADD(&t, 0, 100, {10, 5});
    ADD(&t, 100 + DAY_S, 200 + DAY_S, {150 + DAY_S, 5}, {160 + DAY_S, 6});
    EXPECT(&t, 200 + DAY_S, {10, 5}, {160 + DAY_S, 6});
    timeline_clear(&t);
    ADD(&t, 0, 100, {10, 5});
    ADD(&t, 101 + DAY_S, 200 + DAY_S, {150 + DAY_S, 5}, {160 + DAY_S, 6});
    EXPECT(&t, 200 + DAY_S, {10, 5}, {100, HOLE}, {150 + DAY_S, 5}, {160 + DAY_S, 6});
    // The result, read again with nothing new, is itself.
    struct image_change kept[4];
    memcpy(kept, t.items, sizeof kept);
    timeline_clear(&t);
    assert_ok(timeline_add_old(&t, kept, 4, 200 + DAY_S, &err), &err);
    EXPECT(&t, 200 + DAY_S, {10, 5}, {100, HOLE}, {150 + DAY_S, 5}, {160 + DAY_S, 6});
    // A file that saw the time between fills the hole.
    timeline_clear(&t);
    assert_ok(timeline_add_old(&t, kept, 4, 200 + DAY_S, &err), &err);
    ADD(&t, 50, 150 + DAY_S, {60, 5}, {5000, 4}, {6000, 5});
    EXPECT(&t, 200 + DAY_S, {10, 5}, {5000, 4}, {6000, 5}, {160 + DAY_S, 6});
    timeline_release(&t);
}

TEST(nothing)
{
    struct timeline t = {0};
    struct err err = {0};
    assert_ok(timeline_add(&t, NULL, 0, 0, 100, &err), &err);
    assert_ok(timeline_join(&t, &err), &err);
    assert_int_equal(t.count, 0);
    timeline_release(&t);
}

// ---- through the importer and the book

#define HEAD "timestamp,availability_zone,instance_type,spot_price\n"

TEST(imported)
{
    struct read r = read_text("aws-spot", "x.csv",
                              HEAD "2026-03-02T00:00:00Z,us-east-1a,g5.xlarge,0.5\n" // not in order
                                   "2026-03-01T00:00:10Z,us-east-1a,g5.xlarge,0.4\n"
                                   "2026-03-01T00:00:10Z,us-east-1a,g5.xlarge,0.4\n" // twice
                                   "2026-03-01T00:00:10Z,us-east-1a,g5.xlarge,0.3\n"
                                   "2026-03-03T00:00:00Z,us-east-1a,g5.xlarge,0\n"
                                   "9999-12-31T00:00:00Z,us-east-1a,g5.xlarge,9\n"
                                   "2026-03-04T00:00:00Z,us-east-1b,g5.xlarge,0.6\n");
    assert_ok(r.rc, &r.err);
    assert_int_equal(r.image.series_count, 2);
    const struct image_series *s = &r.image.series[0];
    const struct image_change *c = r.image.changes;
    assert_string_equal(image_word(&r.image, r.image.offers[s->offer].zone), "us-east-1a");
    assert_int_equal(s->change_count, 2);
    assert_int_equal(c[0].at_s, 1772323210); // date -d 2026-03-01T00:00:10Z +%s
    assert_int_equal(c[0].nano_usd, 400000000);
    assert_int_equal(c[1].at_s, 1772409600);
    assert_int_equal(s->until_s, 1772582401); // the file's last change, of any zone
    assert_int_equal(noted(&r, "a price of 0"), 1);
    assert_int_equal(noted(&r, "in the future"), 1);
    assert_int_equal(noted(&r, "same second"), 1);
    image_release(&r.image);
}

// The CLI's document may go on after the list; one that is cut off is refused.
TEST(documents)
{
#define PRICE                                                                                      \
    "{\"AvailabilityZone\":\"us-east-1a\",\"InstanceType\":\"g5.xlarge\",\"SpotPrice\":\"0.4\","   \
    "\"Timestamp\":\"2026-03-01T00:00:10Z\"}"
    static const char *const good[] = {
        "{\"SpotPriceHistory\":[" PRICE "],\"NextToken\":\"a\"}",
        "{ \"SpotPriceHistory\" : [ " PRICE " ] , \"NextToken\" : {\"x\":[1]} , \"y\":null }",
        "{\"NextToken\":\"a\",\"SpotPriceHistory\":[" PRICE "]}", // parsed as a whole
        "{\"SpotPriceHistory\":[" PRICE "]}{\"SpotPriceHistory\":[" PRICE "]}",
        "{\"SpotPriceHistory\":[]}\n" PRICE "\n",
    };
    static const char *const bad[] = {
        "{\"SpotPriceHistory\":[" PRICE,           "{\"SpotPriceHistory\":[" PRICE ",",
        "{\"SpotPriceHistory\":[" PRICE "]",       "{\"SpotPriceHistory\":[" PRICE "],",
        "{\"SpotPriceHistory\":[" PRICE "],\"a\"", "{\"SpotPriceHistory\":[" PRICE " " PRICE "]}",
        "{\"SpotPriceHistory\":[" PRICE "]]",      "{\"SpotPriceHistory\":[",
        "{\"SpotPriceHistory\":[" PRICE "}",       "{\"SpotPriceHistory\":" PRICE "}",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct read r = read_text("aws-spot", "x.json", good[i]);
        assert_ok(r.rc, &r.err);
        assert_int_equal(r.image.change_count, 1);
        image_release(&r.image);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct read r = read_text("aws-spot", "x.json", bad[i]);
        assert_int_equal(r.rc, ERR_FORMAT);
        assert_non_null(strstr(r.err.text, "x.json, line 1"));
    }
}

int main(void)
{
    return run_all_tests(use_share, NULL);
}
