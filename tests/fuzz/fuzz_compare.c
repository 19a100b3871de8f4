// SPDX-License-Identifier: Apache-2.0
// Lines of any bytes: the base, a price, then records to compare; and the result in every form.
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/compare.h"
#include "cmd/out.h"
#include "view/compare.h"

static char share[] = "/tmp/fare-fuzz-compare-XXXXXX";

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

static void print(const struct compare *compare)
{
    struct out out = {.width = 80};
    struct doc doc = {0};
    view_compare(&doc, compare);
    compare_csv(&out.text, compare);
    doc_markdown(&out.text, &doc, 2);
    doc_html(&out.text, &doc, 2);
    out_doc(&out, &doc);
    assert(buf_check(&out.text, NULL) == 0);
    doc_release(&doc);
    out_release(&out);
    struct buf json = {0};
    assert(record_to_text(compare_fields, compare, &json, NULL) == 0);
    buf_release(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    make_share();
    char *text = strndup((const char *)data, size), *rest = text, *line;
    const char *base = strsep(&rest, "\n"), *price = rest ? strsep(&rest, "\n") : "";
    struct compare_options options = {.base = *base ? base : NULL,
                                      .pricing = {.prices = &price, .price_count = *price ? 1 : 0}};
    struct comparing *comparing = NULL;
    struct compare compare = {0};
    struct err err = {0};
    int rc = market_open(&options.pricing.market, "-", share, &err);
    if (rc == 0)
        rc = comparing_new(&comparing, &options, &err);
    while (rc == 0 && rest && (line = strsep(&rest, "\n"))) {
        struct err ignored = {0}; // one record's fault is not the others'
        int added = comparing_add(comparing, line, strlen(line), &ignored);
        assert(added == ignored.code);
    }
    if (rc == 0)
        rc = comparing_finish(comparing, &compare, &err);
    assert(rc == err.code && (rc == 0 || err.text[0]));
    if (rc == 0)
        print(&compare);
    record_release(compare_fields, &compare);
    comparing_free(comparing);
    market_close(options.pricing.market);
    free(text);
    return 0;
}
