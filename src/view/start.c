// SPDX-License-Identifier: Apache-2.0
#include "view/start.h"

#include <string.h>

#include "base/clock.h"
#include "record/run.h"

struct word {
    const char *name, *words;
};

static const char *words_of(const struct word *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (name && strcmp(name, list[i].name) == 0)
            return list[i].words;
    return NULL;
}

void start_boot_words(const struct run *run, struct buf *out)
{
    static const struct word from[] = {{RUN_BOOT_ORDERED, "from fare's order"},
                                       {"metadata", "from its launch"},
                                       {"kernel", "from the start of its kernel"}};
    static const struct word to[] = {{"fare", "until its first task began"},
                                     {"cloud-init", "until cloud-init finished"},
                                     {"boot target", "until its boot target was reached"},
                                     {"sshd", "until sshd was started"}};
    const char *began = words_of(from, sizeof from / sizeof *from, run->boot_from);
    const char *ended = words_of(to, sizeof to / sizeof *to, run->boot_to);
    char time[32];
    if (!run->phases.boot_ns.known)
        return;
    clock_words(run->phases.boot_ns.v, time, sizeof time);
    buf_printf(out, "%s%s%s%s%s; %scharged to this run", time, began || ended ? ", " : "",
               began ? began : "", began && ended ? " " : "", ended ? ended : "",
               run_ordered_ns(run) > 0 ? "" : "not ");
}

void start_idle_words(const struct run *run, struct buf *out)
{
    char time[32];
    if (!run->idle_before_ns.known)
        return;
    clock_words(run->idle_before_ns.v, time, sizeof time);
    buf_printf(out, "idle for %s since the machine %s; not billed", time,
               run->phases.boot_ns.known ? "was ready" : "was started");
}

// Faults of earlier builds are single words (record/run.h); others are members that were left
// out, with the reason (ledger/row.h).
void start_corrected_words(const struct run *run, struct buf *out)
{
    size_t faults = 0, said = 0;
    for (size_t i = 0; i < run->corrected.count; i++)
        faults += !strchr(run->corrected.items[i], ' ');
    for (size_t i = 0; i < run->corrected.count; i++)
        if (!strchr(run->corrected.items[i], ' ')) {
            buf_printf(out, "%s%s",
                       said == 0           ? ""
                       : said + 1 < faults ? ", "
                                           : " and ",
                       run->corrected.items[i]);
            said++;
        }
    if (faults > 0)
        buf_adds(out, ", recorded wrongly before");
    if (run_corrected(run, "cost"))
        buf_adds(out, run->spent.usd.known || run->live.bill_usd.known
                          ? "; the cost is computed again"
                          : "; the cost is unknown");
    for (size_t i = 0; i < run->corrected.count; i++)
        if (strchr(run->corrected.items[i], ' '))
            buf_printf(out, "%sleft out: %s", out->len ? "; " : "", run->corrected.items[i]);
}
