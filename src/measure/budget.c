// SPDX-License-Identifier: Apache-2.0
#include "measure/budget.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/money.h"
#include "base/proc.h"
#include "record/read.h"
#include "advise/spend/budget.h"

enum { ASK_MS = 2000 };

struct asking {
    struct ledger *ledger;
    struct market *market;
    struct budget_whose whose;
};

static int ask(void *context)
{
    const struct asking *a = context;
    struct budgets budgets = {0};
    SCOPED(buf_release) struct buf text = {0}, says = {0};
    ledger_only_look(a->ledger);
    int rc = ledger_connect(a->ledger, &says, NULL);
    if (rc == 0)
        rc = budget_states(a->ledger, a->market, &a->whose, &budgets, NULL);
    if (rc == 0)
        rc = record_to_line(budgets_fields, &budgets, &text, NULL);
    if (rc == 0)
        rc = fs_write_fd(STDOUT_FILENO, buf_str(&text), text.len, "the pipe", NULL);
    (void)!fs_write_fd(STDERR_FILENO, buf_str(&says), says.len, "the pipe", NULL);
    record_release(budgets_fields, &budgets);
    ledger_disconnect(a->ledger);
    return rc != 0;
}

int measure_budget_read(struct ledger *ledger, struct market *market, const struct run *run,
                        struct budgets *out, struct buf *says, struct err *err)
{
    struct asking a = {ledger, market, {run->project, run->user, run->host}};
    const struct proc_options options = {.timeout_ms = ASK_MS, .keep_max = 4 << 20};
    struct proc proc = {0};
    SCOPED(proc_result_release) struct proc_result result = {0};
    int rc = 0;
    // Somebody whose names are all unknown still counts towards the budget of all.
    if (!a.whose.project && !a.whose.user && !a.whose.host)
        a.whose.project = "";
    ledger_disconnect(ledger); // the child connects
    if (proc_start_call(&proc, ask, &a, &options, NULL) == 0 &&
        proc_finish(&proc, &result, NULL) == 0) {
        buf_adds(says, buf_str(&result.err_text));
        if (result.exited && result.exit_code == 0 && result.out.len > 0)
            rc = record_from_text(budgets_fields, buf_str(&result.out), result.out.len, out, err);
    }
    return rc == ERR_MEMORY ? rc : 0;
}

bool measure_budget_left(const struct budgets *budgets, struct market *market, int64_t *nano_usd)
{
    bool any = false;
    for (size_t i = 0; i < budgets->budgets.count; i++) {
        int64_t left;
        if (budget_left_usd(&budgets->budgets.items[i], market, &left, NULL) != 0)
            continue;
        *nano_usd = !any || left < *nano_usd ? left : *nano_usd;
        any = true;
    }
    return any;
}

void measure_budget_say(const struct budgets *budgets, struct market *market, int64_t hour,
                        struct buf *says)
{
    for (size_t i = 0; i < budgets->budgets.count; i++) {
        const struct budget_state *state = &budgets->budgets.items[i];
        int64_t left = 0, ns = 0;
        char price[MONEY_BYTES], words[24];
        budget_words(state, says);
        if (hour > 0 && budget_left_usd(state, market, &left, NULL) == 0 && left > 0 &&
            money_scale(left, 3600 * NS_PER_S, hour, MONEY_DOWN, &ns, NULL) == 0) {
            money_short(hour, price);
            clock_words(ns, words, sizeof words);
            buf_printf(says, ": %s at %s USD an hour", words, price);
        }
        buf_addc(says, '\n');
    }
}

void measure_budget_warn(const struct budgets *budgets, struct buf *says)
{
    for (size_t i = 0; i < budgets->budgets.count; i++) {
        const struct budget_state *state = &budgets->budgets.items[i];
        bool over = state->projected.known && state->amount.known &&
                    state->projected.nano > state->amount.nano;
        if (state->share.v < BUDGET_LOW && !over)
            continue;
        budget_words(state, says);
        if (over)
            buf_printf(says, "; at this rate %s %s at the end of the %s",
                       money_brief(state->projected).s, state->currency, state->period);
        buf_addc(says, '\n');
    }
}
