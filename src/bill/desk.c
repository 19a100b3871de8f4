// SPDX-License-Identifier: Apache-2.0
#include "bill/desk.h"

int desk_open(struct desk *desk, const char *where, const char *book, struct err *err)
{
    *desk = (struct desk){.where = where};
    return market_open(&desk->market, book, NULL, err);
}

void desk_close(struct desk *desk)
{
    ledger_free(desk->ledger);
    market_close(desk->market);
    machine_release(&desk->machine);
    *desk = (struct desk){0};
}

int desk_ledger(struct desk *desk, struct ledger **out, struct err *err)
{
    int rc = desk->ledger ? 0 : ledger_new(&desk->ledger, desk->where, err);
    *out = desk->ledger;
    return rc;
}

int desk_machine(struct desk *desk, const struct inspect_options *options,
                 const struct machine **out, struct err *err)
{
    int rc = desk->inspected ? 0 : machine_inspect(options, &desk->machine, err);
    desk->inspected |= rc == 0;
    *out = &desk->machine;
    return rc;
}
