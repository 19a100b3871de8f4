// SPDX-License-Identifier: Apache-2.0
// Lines of any bytes: records of runs, side by side and one by one, as plots, page and tables.
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/compare.h"
#include "record/read.h"
#include "view/draft.h"
#include "view/html.h"
#include "view/tables.h"

enum { RUNS_MOST = 16 };

static char share[] = "/tmp/fare-fuzz-report-XXXXXX";

static void remove_share(void)
{
    char path[64];
    snprintf(path, sizeof path, "%s/currencies.csv", share);
    remove(path);
    remove(share);
}

// Tables without a row: only the default rule, and dollars.
static void make_share(void)
{
    static bool made;
    if (made)
        return;
    char path[64];
    assert(mkdtemp(share));
    snprintf(path, sizeof path, "%s/currencies.csv", share);
    FILE *file = fopen(path, "w");
    assert(file && fputs("date,currency,usd,source\n", file) >= 0 && fclose(file) == 0);
    atexit(remove_share);
    made = true;
}

static void write_all(const struct page *page)
{
    struct buf out = {0};
    html_page(&out, page);
    // What a record says never becomes an element.
    assert(!strstr(buf_str(&out), "<script") && !strstr(buf_str(&out), "<img"));
    page_markdown(&out, page);
    page_openmetrics(&out, page);
    for (size_t i = 0; i < page->plots.count; i++) {
        plot_svg(&out, &page->plots.items[i]);
        plot_markdown(&out, &page->plots.items[i], page);
        plot_csv(&out, &page->plots.items[i]);
    }
    assert(buf_check(&out, NULL) == 0 || out.len > 0);
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    make_share();
    char *text = strndup((const char *)data, size), *rest = text, *line;
    struct compare_options options = {0};
    struct run runs[RUNS_MOST] = {0};
    size_t count = 0;
    struct comparing *comparing = NULL;
    struct page page = {0};
    struct err err = {0};
    int rc = market_open(&options.pricing.market, "-", share, &err);
    if (rc == 0)
        rc = comparing_new(&comparing, &options, &err);
    while (rc == 0 && rest && (line = strsep(&rest, "\n"))) {
        struct run run = {0};
        bool good = comparing_add(comparing, line, strlen(line), NULL) == 0 && count < RUNS_MOST &&
                    record_from_text(run_fields, line, strlen(line), &run, NULL) == 0;
        if (good)
            runs[count++] = run;
        else
            record_release(run_fields, &run);
    }
    if (rc == 0)
        rc = comparing_finish(comparing, &page.compare, &err);
    struct draft draft = {.page = &page, .err = &err};
    const struct page_ask ask = {.wishes = {.deadline_ns = some_int(1)}};
    if (rc == 0) {
        plots_compare(&draft, &ask, NULL);
        plots_runs(&draft, runs, count);
        assert(draft.rc == 0);
        write_all(&page);
    }
    record_release(page_fields, &page);
    comparing_free(comparing);
    market_close(options.pricing.market);
    for (size_t i = 0; i < count; i++)
        record_release(run_fields, &runs[i]);
    free(text);
    return 0;
}
