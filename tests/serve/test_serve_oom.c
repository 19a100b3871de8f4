// SPDX-License-Identifier: Apache-2.0
// Every page, and POST /runs, with each allocation failing once: an answer that says so, no leak,
// and a ledger that is whole.
#include "oom.h"

#include "serve/site_cases.h"

#define OLD "20260101T000001Z-aaaa"
#define NEW "20260101T000002Z-bbbb"

static struct site_case site;

static int set_up(void **state)
{
    static const char *const records[] = {
        SITE_RUN(OLD, "<b>old", ",\"batch\":32,\"taints\":[\"heat\"],\"test_accuracy\":0.5")};
    (void)state;
    site_case_init(&site, records, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    site_case_release(&site);
    return 0;
}

// Connections to the ledger are kept between requests: one that failed is made anew, so that is
// tried too.
static void forget_ledgers(void)
{
    while (site.site.ledger_count > 0)
        ledger_free(site.site.ledgers[--site.site.ledger_count]);
}

static void ask(const struct http_head *asked, const struct parameter *query, const char *body,
                struct answer *answer)
{
    struct request request = {.site = &site.site, .body = body, .body_len = strlen(body)};
    for (; query && query->key; query++)
        request.query[request.query_count++] = *query;
    site_case_ask(&request, asked, answer);
}

// What fails is an error of the server's; without a failure the page is there, and says `expected`.
static void page(const char *path, const struct parameter *query, const char *expected)
{
    const struct http_head asked = {.method = "GET", .path = path, .host = "localhost"};
    long failures = 0;
    OOM_EACH
    {
        struct answer answer = {0};
        ask(&asked, query, "", &answer);
        oom_countdown = -1;
        failures += oom_hit;
        // A cache or a hint may go without: then the page is whole all the same.
        if (answer.status != 200 && !(oom_hit && answer.status == 500))
            fail_msg("%s, %ld: %d: %s", asked.path, oom_n, answer.status,
                     buf_str(&answer.text) + (answer.text.len > 600 ? answer.text.len - 600 : 0));
        if (answer.status == 200)
            assert_non_null(strstr(buf_str(&answer.text), expected));
        else
            assert_null(strstr(buf_str(&answer.text), expected));
        buf_release(&answer.text);
        forget_ledgers();
    }
    assert_true(failures > 5);
}

static void pages(void **state)
{
    static const struct parameter filters[] = {{"workload", "cnn"},
                                               {"label", "price_per_hour_usd=3.6"},
                                               {"machine", "BOX"},
                                               {"page", "1"},
                                               {NULL, NULL}},
                                  run[] = {{"run", OLD}, {NULL, NULL}},
                                  priced[] = {{"run", OLD}, {"deadline", "2h"}, {NULL, NULL}},
                                  offer[] = {{"name", "acme/<b>box@moon"}, {NULL, NULL}},
                                  strip[] = {{"gpu", "V100"}, {NULL, NULL}},
                                  gpu[] = {{"name", "V100"}, {NULL, NULL}},
                                  alone[] = {{"name", "K520"}, {NULL, NULL}};
    (void)state;
    page("/", filters, "/runs/" OLD);
    page("/runs.json", filters, OLD);
    page("/runs/" OLD ".json", NULL, OLD);
    page("/runs/" OLD, NULL, "&lt;b&gt;old");
    page("/compare", run, "&lt;b&gt;old");
    page("/metrics", NULL, "fare_training_time_seconds{");
    page("/prices", NULL, "&lt;b&gt;box");
    page("/prices", strip, "plot-offers");
    page("/gpu", gpu, "Who has it");
    page("/gpu.json", gpu, "fare.gpu/1");
    page("/gpu.json", alone, "transformers");
    page("/offer", offer, "3.06");
    page("/quote", priced, "<button>Price it");
}

// ---- POST /runs

static int count_run(void *arg, const char *id, const char *text, struct err *err)
{
    (void)id;
    (void)err;
    assert_non_null(strstr(text, "\"ended\":\"finished\"")); // whole
    (*(size_t *)arg)++;
    return 0;
}

static size_t runs_kept(void)
{
    struct ledger_filter all = {0};
    struct ledger *ledger = NULL;
    struct err err = {0};
    size_t count = 0;
    assert_ok(ledger_new(&ledger, site.ledger, &err), &err);
    assert_ok(ledger_each(ledger, &all, count_run, &count, &err), &err);
    ledger_free(ledger);
    return count;
}

static void remove_run(const char *id)
{
    struct ledger *ledger = NULL;
    struct err err = {0};
    assert_ok(ledger_new(&ledger, site.ledger, &err), &err);
    assert_ok(ledger_delete(ledger, id, NULL, &err), &err);
    ledger_free(ledger);
}

static void pushing(void **state)
{
    static const struct http_head asked = {
        .method = "POST", .path = "/runs", .host = "localhost", .bearer = true};
    static const char body[] =
        SITE_RUN(NEW, "new", "") "\n" SITE_RUN(OLD, "other", "") "\n" SITE_RUN("c", "new", "") "\n";
    long failures = 0;
    (void)state;
    OOM_EACH
    {
        struct answer answer = {0};
        site.site.push_at_ns = 0; // not too often
        ask(&asked, NULL, body, &answer);
        oom_countdown = -1;
        failures += oom_hit;
        if (answer.status != 200 && !(oom_hit && answer.status == 500))
            fail_msg("%s, %ld: %d: %s", asked.path, oom_n, answer.status,
                     buf_str(&answer.text) + (answer.text.len > 600 ? answer.text.len - 600 : 0));
        // All or nothing, and what was there is.
        assert_int_equal(runs_kept(), answer.status == 200 ? 3 : 1);
        if (answer.status == 200) {
            assert_string_equal(buf_str(&answer.text), "{\"added\":2,\"there\":1}\n");
            remove_run(NEW);
            remove_run("c");
        }
        buf_release(&answer.text);
        forget_ledgers();
    }
    assert_true(failures > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pages), cmocka_unit_test(pushing)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
