// SPDX-License-Identifier: Apache-2.0
// A report's plots and everything it is written as, with each allocation failing in turn.
#include "oom.h"

#include <string.h>

#include "advise/compare_cases.h"
#include "record/read.h"
#include "view/draft.h"
#include "view/html.h"
#include "view/tables.h"

#define EPOCHS                                                                                     \
    "\"epoch_list\":[{\"epoch\":1,\"test_accuracy\":0.5,\"train_loss\":2},"                        \
    "{\"epoch\":2,\"test_accuracy\":0.6,\"train_loss\":1}],\"step_plot_ms\":[9,8,8,8,8,8]"
#define SAMPLES                                                                                    \
    "\"samples\":[{\"at_s\":0,\"cpu_percent\":90,\"power_w\":300},{\"at_s\":1,\"cpu_percent\":95," \
    "\"power_w\":310}],\"step_plot_ms\":[5,4,4,4,4,4,4,4,4],\"steps\":9,\"steady\":{\"first_"      \
    "step\":3,"                                                                                    \
    "\"steps\":6,\"step_ms\":4,\"low_ms\":3.9,\"high_ms\":4.1}"

#define OF_BATCH(id, batch, rest)                                                                  \
    "{\"id\":\"" id "\",\"workload\":\"<mlp>\",\"framework\":\"x\",\"machine\":{\"name\":"         \
    "\"p100\"},\"samples_per_s\":8000,\"batch\":" batch "," rest "}"

static const char *const texts[] = {
    RUN("1111-a", "k80", "x", FULL("70000000000") "," PRICE "," EPOCHS),
    RUN("2222-b", "p100", "x", FULL("35000000000") "," PRICE "," SAMPLES),
    OF_BATCH("3333-c", "32", FULL("30000000000") "," PRICE ",\"taints\":[\"heat\"]"),
    OF_BATCH("4444-d", "64", FULL("30000000000")), NULL};
enum { RUNS = 4 };

static struct run runs[RUNS];

static int make_compare(struct page *page, struct err *err)
{
    const struct compare_options options = {.pricing = {.prorated = true}};
    return compare_texts(&options, texts, &page->compare, err);
}

static int make_plots(struct page *page, struct err *err)
{
    const struct page_ask ask = {.wishes = {.deadline_ns = some_int(40000000000)}};
    struct draft draft = {.page = page, .err = err};
    plots_compare(&draft, &ask, NULL);
    plots_runs(&draft, runs, RUNS);
    return draft.rc;
}

static void plots(void **state)
{
    (void)state;
    struct page made = {0};
    struct err why = {0};
    assert_ok(make_compare(&made, &why), &why);
    OOM_EACH
    {
        struct page page = {.compare = made.compare};
        struct err err = {0};
        int rc = make_plots(&page, &err);
        memset(&page.compare, 0, sizeof page.compare); // the other's
        record_release(page_fields, &page);
        OOM_EXPECT(rc, &err);
    }
    record_release(page_fields, &made);
}

static void all_svg(struct buf *out, const struct page *page)
{
    for (size_t i = 0; i < page->plots.count; i++)
        plot_svg(out, &page->plots.items[i]);
}

static void all_markdown(struct buf *out, const struct page *page)
{
    for (size_t i = 0; i < page->plots.count; i++)
        plot_markdown(out, &page->plots.items[i], page);
}

static void all_csv(struct buf *out, const struct page *page)
{
    for (size_t i = 0; i < page->plots.count; i++)
        plot_csv(out, &page->plots.items[i]);
}

static void writers(void **state)
{
    (void)state;
    void (*const each[])(struct buf *, const struct page *) = {
        html_page, page_markdown, page_openmetrics, all_svg, all_markdown, all_csv};
    struct page page = {0};
    struct err why = {0};
    assert_ok(make_compare(&page, &why), &why);
    assert_ok(make_plots(&page, &why), &why);
    assert_int_equal(page.plots.count, 9); // all but gpus, offers, prices and buy
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        OOM_EACH
        {
            struct buf out = {0};
            struct err err = {0};
            each[i](&out, &page);
            int rc = buf_check(&out, &err);
            buf_release(&out);
            OOM_EXPECT(rc, &err);
        }
    record_release(page_fields, &page);
}

int main(void)
{
    struct err err = {0};
    for (size_t i = 0; i < RUNS; i++)
        if (record_from_text(run_fields, texts[i], strlen(texts[i]), &runs[i], &err) != 0) {
            print_error("%s\n", err.text);
            return 1;
        }
    const struct CMUnitTest tests[] = {cmocka_unit_test(plots), cmocka_unit_test(writers)};
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < RUNS; i++)
        record_release(run_fields, &runs[i]);
    return rc;
}
