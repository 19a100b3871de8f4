// SPDX-License-Identifier: Apache-2.0
#include "bill/again.h"

#include <pthread.h>
#include <string.h>

#include "base/money.h"
#include "bill/run_price.h"

static struct {
    pthread_mutex_t lock;
    struct market *market;
    struct run_prices *prices;
} again = {.lock = PTHREAD_MUTEX_INITIALIZER};

// The price that the record has was found on its day; the book may have another by now.
static int find(const struct run *run, struct run_price *price, struct err *err)
{
    static const enum offer_kind spot = OFFER_SPOT;
    const struct run_spent *spent = &run->spent;
    const struct maybe_money hour =
        spent->usd_per_hour.known ? spent->usd_per_hour : run->live.usd_per_hour;
    const char *offer = spent->offer ? spent->offer : run_label(run, "offer");
    const char *kind = offer ? strrchr(offer, ':') : NULL;
    struct run_price_said said = {.hour = hour.nano,
                                  .price = spent->from ? spent->from : "the record",
                                  .kind = kind && strcmp(kind, ":spot") == 0 ? &spot : NULL};
    if (!hour.known)
        said = (struct run_price_said){.offer = spent->offer};
    if (!again.market)
        TRY(market_open(&again.market, NULL, NULL, err));
    if (!again.prices)
        TRY(run_prices_new(&again.prices, again.market, false, false, 0, err));
    return run_price(again.prices, run, &said, price, err);
}

int run_cost_again(const struct run *run, int64_t *nano, struct err *err)
{
    struct run_price price;
    double s = run->live.elapsed_s.known ? run->live.elapsed_s.v : -1;
    int64_t wall_ns = s >= 0 && s < 9e9 ? (int64_t)(s * 1e9) : -1;
    int64_t nodes = run->nodes.known && run->nodes.v > 0 ? run->nodes.v : 1;
    *nano = -1;
    if (run->phases.wall_ns.known)
        wall_ns = run->phases.wall_ns.v;
    if (wall_ns < 0)
        return 0;
    pthread_mutex_lock(&again.lock);
    int rc = find(run, &price, NULL);
    bool known = rc == 0 && price.known;
    if (known)
        rc = run_price_cost(&price, run_ordered_ns(run), wall_ns, nano, NULL);
    if (rc == ERR_MEMORY) { // it may have remembered half a rule
        run_prices_free(again.prices);
        again.prices = NULL;
    }
    pthread_mutex_unlock(&again.lock);
    if (rc == 0 && known)
        rc = money_scale(*nano, nodes, 1, MONEY_HALF_EVEN, nano, NULL);
    if (rc != 0)
        *nano = -1; // without a book, or of an amount that is none
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}
