// SPDX-License-Identifier: Apache-2.0
// import: exchange rates of the European Central Bank, which are kept beside the book (ecb.h).
#include "tables/currency.h"
#include "book/format.h"

static bool knows(const char *head, size_t len)
{
    (void)len;
    return ecb_knows(head);
}

static int read(struct import *im, struct err *err)
{
    if (!im->rates)
        return err_set(err, ERR_FORMAT, "'%s' has exchange rates, not prices", im->name);
    TRY(ecb_read(im->rates, im->name, im->text, im->len, &im->report->rows, err));
    im->report->offers = im->report->rows;
    im->report->day = im->rates->days[im->rates->count - 1].day;
    return 0;
}

const struct price_format format_ecb = {.name = "ecb", .knows = knows, .read = read};
