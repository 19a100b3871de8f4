// SPDX-License-Identifier: Apache-2.0
// The three layers as one book: what holds, names, filters, histories, ages. Each test goes on with
// what those before it left.
#include "book/scratch.h"

#include "amounts.h"

static char folder[64];

static void put(const char *path, const char *text)
{
    struct err err = {0};
    char full[256];
    snprintf(full, sizeof full, "%s/%s", folder, path);
    assert_ok(fs_write(full, text, strlen(text), &err), &err);
}

#define HEAD                                                                                       \
    "provider,name,region,zone,kind,gpu,gpus,vcpus,memory_gib,bare_metal,price,currency,date,"     \
    "source\n"

static void import(const char *text)
{
    struct importing *m;
    struct import_report report;
    struct stock_counts counts;
    struct err err = {0};
    const struct price_import_options options = {0};
    char path[256];
    put("in.csv", text);
    snprintf(path, sizeof path, "%s/in.csv", folder);
    assert_ok(importing_begin(&m, &options, &err), &err);
    assert_ok(importing_file(m, path, NULL, &report, &err), &err);
    assert_ok(importing_commit(m, &counts, &err), &err);
    importing_free(m);
}

// A share/ with the real devices, one table; a home without anything.
static int set_up(void **state)
{
    (void)state;
    struct err err = {0};
    char path[256];
    snprintf(folder, sizeof folder, "/tmp/fare-test-book-XXXXXX");
    assert_non_null(mkdtemp(folder));
    static const char *const dirs[] = {"share/offers", "config/fare/offers", "data"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, dirs[i]);
        assert_ok(fs_mkdirs(path, &err), &err);
    }
    snprintf(path, sizeof path, "%s/share/devices", folder);
    assert_int_equal(symlink(TESTS_DIR "/../share/devices", path), 0);
    snprintf(path, sizeof path, "%s/share/catalogues.csv", folder);
    assert_int_equal(symlink(TESTS_DIR "/../share/catalogues.csv", path), 0);
    snprintf(path, sizeof path, "%s/share", folder);
    setenv("FARE_SHARE", path, 1);
    snprintf(path, sizeof path, "%s/config", folder);
    setenv("XDG_CONFIG_HOME", path, 1);
    snprintf(path, sizeof path, "%s/data", folder);
    setenv("XDG_DATA_HOME", path, 1);
    unsetenv("FARE_BOOK");
    put("share/offers/a.csv",
        HEAD "aws,p3.2xlarge,us-east-1,,,V100,1,8,61,,3.06,,2018-02-01,shipped\n"
             "aws,p3.2xlarge,eu-west-1,,,V100,1,8,61,,3.305,,2018-02-01,shipped\n"
             "aws,old,us-east-1,,,K80,1,4,61,,0.90,,2017-02-01,shipped\n"
             "zeta,metal,,,monthly,,,4,16,yes,39,EUR,2018-02-01,shipped\n");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

struct seen {
    size_t count;
    char names[1024];
};

static int see(void *arg, const struct offer *o, struct err *err)
{
    (void)err;
    struct seen *seen = arg;
    struct buf name = {0};
    book_name(o, &name);
    seen->count++;
    size_t len = strlen(seen->names);
    snprintf(seen->names + len, sizeof seen->names - len, "%s ", buf_str(&name));
    buf_release(&name);
    return 0;
}

static struct seen walk(const struct book *book, const struct book_filter *filter)
{
    struct seen seen = {0};
    struct err err = {0};
    assert_ok(book_each(book, filter, see, &seen, &err), &err);
    return seen;
}

static struct offer find(const struct book *book, const char *name, int on)
{
    struct offer o = {0};
    struct err err = {0};
    assert_ok(book_find(book, name, on, &o, &err), &err);
    return o;
}

TEST(shipped_alone)
{
    struct book *book;
    struct err err = {0};
    assert_ok(book_open(&book, NULL, &err), &err);
    struct seen all = walk(book, NULL);
    assert_string_equal(all.names, "aws/old@us-east-1 aws/p3.2xlarge@eu-west-1 "
                                   "aws/p3.2xlarge@us-east-1 zeta/metal:monthly ");
    assert_int_equal(find(book, "aws/p3.2xlarge", 0).rate, 3060000000); // the cheapest region's
    assert_int_equal(find(book, "aws/p3.2xlarge@eu-west-1", 0).rate, 3305000000);
    assert_int_equal(find(book, "p3.2xlarge", 0).rate, 3060000000);
    assert_int_equal(find(book, "zeta/metal", 0).kind, OFFER_MONTHLY);
    book_close(book);
}

TEST(layers)
{
    struct book *book;
    struct err err = {0};
    import(HEAD "aws,p3.2xlarge,us-east-1,,,V100,1,8,61,,3.00,,2019-02-01,imported\n"
                "aws,old,us-east-1,,,K80,1,4,61,,0.95,,2016-02-01,imported\n"
                "aws,new,us-east-1,us-east-1a,spot,H100,8,192,2048,,20,,2026-02-01,imported\n");
    put("config/fare/offers/mine.csv",
        HEAD "aws,p3.2xlarge,eu-west-1,,,v100 sxm2,1,8,61,,2.00,,2018-03-01,mine\n");
    assert_ok(book_open(&book, NULL, &err), &err);
    struct seen all = walk(book, NULL);
    assert_int_equal(all.count, 5);
    assert_string_equal(all.names, "aws/new@us-east-1a:spot aws/old@us-east-1 "
                                   "aws/p3.2xlarge@eu-west-1 aws/p3.2xlarge@us-east-1 "
                                   "zeta/metal:monthly ");
    // Of shipped and imported the newer; the user's own always, from its date on.
    assert_string_equal(find(book, "aws/p3.2xlarge@us-east-1", 0).source, "imported");
    assert_string_equal(find(book, "aws/old", 0).source, "shipped");
    assert_string_equal(find(book, "aws/p3.2xlarge@eu-west-1", 0).source, "mine");
    assert_string_equal(find(book, "aws/p3.2xlarge@eu-west-1", 0).gpu, "V100");
    assert_string_equal(find(book, "aws/p3.2xlarge@eu-west-1", day("2018-02-15")).source,
                        "shipped");
    assert_int_equal(find(book, "aws/p3.2xlarge@us-east-1", day("2018-12-31")).rate, 3060000000);
    struct offer offer = find(book, "aws/p3.2xlarge@us-east-1", 0);
    struct seen history = {0};
    assert_ok(book_history(book, &offer, see, &history, &err), &err);
    assert_int_equal(history.count, 2);
    book_close(book);
    assert_ok(book_open(&book, "-", &err), &err); // without what was imported
    assert_int_equal(walk(book, NULL).count, 4);
    book_close(book);
}

TEST(filters)
{
    struct book *book;
    struct err err = {0};
    assert_ok(book_open(&book, NULL, &err), &err);
    enum offer_kind spot = OFFER_SPOT;
#define FILTER(...) walk(book, &(struct book_filter){__VA_ARGS__}).count
    assert_int_equal(FILTER(.text = "P3"), 2);
    assert_int_equal(FILTER(.text = "v100"), 2);
    assert_int_equal(FILTER(.text = "aws/"), 4);
    assert_int_equal(FILTER(.text = "aws/p3"), 2);
    assert_int_equal(FILTER(.text = "aw/p3"), 0);
    assert_int_equal(FILTER(.text = "zeta"), 1);
    assert_int_equal(FILTER(.gpu = "v100"), 2);
    assert_int_equal(FILTER(.gpu = "v10"), 0);
    assert_int_equal(FILTER(.region = "eu-west-1"), 1);
    assert_int_equal(FILTER(.kind = &spot), 1);
    assert_int_equal(FILTER(.bare_metal = true), 1);
    assert_int_equal(FILTER(.with_gpu = true), 4);
    assert_int_equal(FILTER(.without_gpu = true), 1);
    assert_int_equal(FILTER(.gpus_milli = 2000), 1);
    assert_int_equal(FILTER(.vcpus_milli = 8000), 3);
    assert_int_equal(FILTER(.memory_mib = 2048 * 1024), 1);
    assert_int_equal(FILTER(.gpu_memory_mib = 40960), 1);
    assert_int_equal(FILTER(.max_rate = 950000000, .provider = "aws"), 1);
    assert_int_equal(FILTER(.day = day("2016-06-01")), 1);
    assert_int_equal(FILTER(.day = day("2018-02-10"), .aged = true, .max_age = 30), 3);
    assert_int_equal(FILTER(.day = day("2015-01-01")), 0);
    book_close(book);
}

TEST(names)
{
    struct book *book;
    struct err err = {0};
    struct offer o;
    assert_ok(book_open(&book, NULL, &err), &err);
    assert_int_equal(find(book, "aws/new:spot", 0).rate, 20000000000);
    assert_int_equal(find(book, "aws/new", 0).kind, OFFER_SPOT); // it cannot be had otherwise
    assert_int_equal(find(book, "AWS/New@us-east-1a:spot", 0).gpus_milli, 8000);
    static const char *const wrong[][2] = {
        {"aws/p3.2xlarg", "there is aws/p3.2xlarge"},
        {"aws/p3.2xlarge@mars", "there is aws/p3.2xlarge@eu-west-1"},
        {"aws/p3.2xlarge:spot", "there is aws/p3.2xlarge@eu-west-1"},
        {"aws/nwe", "there is aws/new"},
        {"qqqqqqqqqq", "'fare prices TEXT'"},
        {"", "'fare prices TEXT'"},
        {"/@:", "'fare prices TEXT'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        err = (struct err){0};
        assert_int_equal(book_find(book, wrong[i][0], 0, &o, &err), ERR_MISSING);
        if (!strstr(err.hint, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], err.hint);
    }
    book_close(book);
}

TEST(seen_again_is_not_old)
{
    struct book *book;
    struct err err = {0};
    import(HEAD "aws,new,us-east-1,us-east-1a,spot,H100,8,192,2048,,20,,2026-03-01,again\n");
    assert_ok(book_open(&book, NULL, &err), &err);
    struct offer o = find(book, "aws/new", 0);
    assert_int_equal(o.since, day("2026-02-01"));
    assert_int_equal(o.day, day("2026-03-01"));
    assert_string_equal(o.source, "again");
    assert_int_equal(offer_age(&o, day("2026-03-08")), 7);
    assert_false(offer_old(&o, day("2026-03-08")));
    assert_true(offer_old(&o, day("2026-03-09")));
    assert_int_equal(offer_age(&o, day("2026-01-01")), 0);
    o.kind = OFFER_ON_DEMAND;
    assert_false(offer_old(&o, day("2026-03-31")));
    assert_true(offer_old(&o, day("2026-04-01")));
    book_close(book);
}

// A history without sizes, as AWS prints it, learns them from the catalogue, whichever came first.
TEST(sizes_are_shared)
{
    struct book *book;
    struct err err = {0};
    import("timestamp,availability_zone,instance_type,spot_price\n"
           "2026-03-01T00:17:55+00:00,us-east-1d,new,19.5\n");
    assert_ok(book_open(&book, NULL, &err), &err);
    struct offer o = find(book, "aws/new@us-east-1d:spot", 0);
    assert_int_equal(o.gpus_milli, 8000);
    assert_string_equal(o.gpu, "H100");
    assert_int_equal(o.vcpus_milli, 192000);
    book_close(book);
}

TEST(wrong_tables)
{
    struct book *book;
    struct err err = {0};
    put("config/fare/offers/bad.csv", HEAD "aws,x,,,,,,,,,-1,,2018-02-01,mine\n");
    assert_int_equal(book_open(&book, NULL, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "bad.csv, line 2, column 'price'"));
    assert_null(book);
    char path[128];
    snprintf(path, sizeof path, "%s/config/fare/offers/bad.csv", folder);
    unlink(path);
}

TEST(no_home)
{
    struct book *book;
    struct err err = {0};
    char *home = getenv("HOME"), *data = getenv("XDG_DATA_HOME"),
         *config = getenv("XDG_CONFIG_HOME");
    char kept[3][256];
    snprintf(kept[0], 256, "%s", home ? home : "/");
    snprintf(kept[1], 256, "%s", data);
    snprintf(kept[2], 256, "%s", config);
    unsetenv("HOME");
    unsetenv("XDG_DATA_HOME");
    unsetenv("XDG_CONFIG_HOME");
    assert_ok(book_open(&book, NULL, &err), &err);
    assert_int_equal(walk(book, NULL).count, 4);
    book_close(book);
    setenv("HOME", kept[0], 1);
    setenv("XDG_DATA_HOME", kept[1], 1);
    setenv("XDG_CONFIG_HOME", kept[2], 1);
}

TEST(risk)
{
    struct book *book;
    struct err err = {0};
    struct offer_risk r;
    import("{\"ranges\":[{\"index\":1,\"label\":\"5-10%\"}],\"spot_advisor\":{\"us-east-1\":{"
           "\"Linux\":{\"new\":{\"s\":70,\"r\":1}}}}}");
    assert_ok(book_open(&book, NULL, &err), &err);
    struct offer o = find(book, "aws/new@us-east-1a:spot", 0);
    assert_true(book_risk(book, &o, 0, &r));
    assert_int_equal(r.low_percent, 5);
    assert_int_equal(r.high_percent, 10);
    assert_int_equal(r.saving_percent, 70);
    assert_false(book_risk(book, &o, 1, &r)); // long before
    o.name = "other";
    assert_false(book_risk(book, &o, 0, &r));
    book_close(book);
}

int main(void)
{
    return run_all_tests(set_up, tear_down);
}
