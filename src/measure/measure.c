// SPDX-License-Identifier: Apache-2.0
#include "measure/measure.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/folders.h"
#include "base/fs.h"
#include "base/money.h"
#include "base/units.h"
#include "bill/bill.h"
#include "ledger/ledger.h"
#include "price/book.h"
#include "version.h"

// Only the first run on a machine that was started for it has a boot: the time from the order to
// our start, which is paid for. A machine that has been up for longer than this was not started for
// it.
#define BOOT_MAX_S 3600

#define SPEND_MOST_NS (INT64_C(30) * 86400 * NS_PER_S)

int measure_check(const struct measure_options *o, bool full, struct err *err)
{
    if (!full || !(o->within || o->max_time_ns > 0 || o->max_spend))
        return 0;
    return err_set(err, ERR_USAGE,
                   "--within, --max-time and --max-spend are for samples, not for --full");
}

int measure_within(const struct measure_options *o, double *within, struct err *err)
{
    *within = MEASURE_WITHIN;
    if (!o->within)
        return 0;
    char *end;
    double percent = strtod(o->within, &end);
    if (end == o->within || (strcmp(end, "%") != 0 && *end != '\0') || !(percent >= 0.1) ||
        !(percent <= 100))
        return err_set(err, ERR_USAGE, "--within '%s': expected a percentage from 0.1%% to 100%%",
                       o->within);
    *within = percent / 100;
    return 0;
}

// What the user should know of the price before money is spent by it: a line each, to stderr.
static int say_doubts(const struct bill_context *context, const struct offer *offer,
                      struct err *err)
{
    struct bill bill = {0};
    struct buf says = {0};
    const struct bill_time moment = {
        .parts = {{"run", 1}}, .count = 1, .total_ns = 1, .low_ns = -1, .high_ns = -1};
    int rc = bill_make(context, offer, offer->name, &moment, 0, &bill, err);
    if (rc == 0 && bill.price_old.v)
        buf_printf(
            &says,
            "--max-spend counts with a price that is OLD, last seen %s, %s ago: 'fare prices "
            "update' gets new ones\n",
            bill.price_date, units_count(bill.price_age_days.v, "day").s);
    if (rc == 0 && bill.exchange && strstr(bill.exchange, "OLD"))
        buf_printf(&says, "--max-spend counts with a rate of exchange that is OLD: %s\n",
                   bill.exchange);
    if (rc == 0 && bill.price_estimated.v)
        buf_printf(&says, "--max-spend counts with a price that is %s\n", bill.price_source);
    if (rc == 0 && bill.tariff_assumed.v)
        buf_adds(&says,
                 "--max-spend: this provider's rules are not known; per second is assumed\n");
    if (rc == 0)
        rc = buf_check(&says, err);
    if (rc == 0)
        out_complain(buf_str(&says));
    buf_release(&says);
    record_release(bill_fields, &bill);
    return rc;
}

static int longest_for(const char *name, int64_t budget, int64_t *ns, struct err *err)
{
    struct book *book = NULL;
    struct tariff_book *tariffs = NULL;
    struct currencies *currencies = NULL;
    struct rates *rates = NULL;
    struct offer offer;
    int rc = book_open(&book, NULL, err);
    if (rc == 0)
        rc = book_find(book, name, 0, &offer, err);
    if (rc == 0)
        rc = tariff_book_open(&tariffs, err);
    if (rc == 0)
        rc = currencies_open(&currencies, err);
    if (rc == 0)
        rc = rates_open(&rates, NULL, err);
    if (rc == 0) {
        const struct bill_context context = {
            .tariffs = tariffs, .currencies = currencies, .rates = rates};
        rc = say_doubts(&context, &offer, err);
        if (rc == 0)
            rc = bill_longest(&context, &offer, budget, SPEND_MOST_NS, ns, err);
    }
    rates_close(rates);
    currencies_close(currencies);
    tariff_book_close(tariffs);
    book_close(book);
    return rc;
}

double measure_max_s(const struct measure_options *o, double default_s)
{
    return o->max_time_ns > 0 ? (double)o->max_time_ns / 1e9 : default_s;
}

#define SPEND_MARGIN_NS (200 * NS_PER_MS)

int measure_until(const struct measure_options *o, int64_t *until_ns, struct err *err)
{
    int64_t budget = 0, ns = 0;
    *until_ns = 0;
    if (!o->max_spend)
        return 0;
    if (!o->offer) {
        err_set(err, ERR_USAGE, "--max-spend needs --offer: what does this machine cost?");
        return err_hint(err, "'fare prices TEXT' looks for offers");
    }
    if (money_parse(o->max_spend, &budget, NULL) != 0 || budget <= 0)
        return err_set(err, ERR_USAGE, "--max-spend '%.40s': expected an amount such as 0.50",
                       o->max_spend);
    int rc = longest_for(o->offer, budget, &ns, err);
    if (rc == 0 && ns == 0)
        return err_set(err, ERR_USAGE, "%s USD do not pay for the start of %s", o->max_spend,
                       o->offer);
    // Ending takes a moment, which must not begin another unit.
    int64_t margin_ns = ns / 50 < SPEND_MARGIN_NS ? ns / 50 : SPEND_MARGIN_NS;
    if (rc == 0)
        *until_ns = clock_now_ns() + ns - margin_ns;
    return rc;
}

void measure_say_spent(const struct measure_options *o, struct buf *says)
{
    buf_printf(says, "stopped: the %s USD of --max-spend are spent on %s\n", o->max_spend,
               o->offer);
}

// A bundle's program is started by its loader, with the loader's own arguments behind the name
// (launch/launch.c).
#define LAUNCHED 6

// How this program was called; the password of an address is left out.
static int note_command_line(struct run_program *program, struct err *err)
{
    struct buf line = {0}, shown = {0};
    if (fs_read("/proc/self/cmdline", 1 << 20, &line, NULL) != 0) {
        buf_release(&line);
        return 0;
    }
    size_t len = line.len;
    char *text = buf_take(&line, err);
    if (!text)
        return ERR_MEMORY;
    int number = 0, first = LAUNCHED; // of what follows the name
    for (const char *arg = text; arg < text + len; arg += strlen(arg) + 1, number++) {
        if (number == 1 && strcmp(arg, "--library-path") != 0)
            first = 1;
        if (number > 0 && number < first)
            continue;
        const char *scheme = strstr(arg, "://");
        const char *equals = scheme ? strchr(arg, '=') : NULL;
        const char *url = equals && equals < scheme ? equals + 1 : arg; // --ledger=URL
        buf_adds(&shown, shown.len > 0 ? " " : "");
        buf_add(&shown, arg, scheme ? (size_t)(url - arg) : strlen(arg));
        if (scheme)
            ledger_public(url, &shown);
    }
    int rc = buf_check(&shown, err);
    if (rc == 0)
        rc = text_set(&program->command_line, buf_str(&shown), err);
    buf_release(&shown);
    free(text);
    return rc;
}

static int add_labels(const struct opt_texts *labels, struct run *run, struct err *err)
{
    for (size_t i = 0; i < labels->count; i++) {
        const char *equals = strchr(labels->items[i], '=');
        if (!equals || equals == labels->items[i])
            return err_set(err, ERR_USAGE, "--label '%s': expected KEY=VALUE", labels->items[i]);
        struct run_label *label = LIST_ADD(&run->labels, err);
        char *key = label ? strndup(labels->items[i], (size_t)(equals - labels->items[i])) : NULL;
        if (!key)
            return err_memory(err);
        int rc = text_set(&label->key, key, err);
        if (rc == 0)
            rc = text_set(&label->value, equals + 1, err);
        free(key);
        if (rc != 0)
            return rc;
    }
    return 0;
}

// What the user says this machine is, where its own metadata does not. The label tells that it was
// said, not seen.
static int add_offer(const char *offer, struct run *run, struct err *err)
{
    const char *slash = strchr(offer, '/');
    struct run_label *label = LIST_ADD(&run->labels, err);
    int rc = label ? text_set(&label->key, "offer", err) : ERR_MEMORY;
    if (rc == 0)
        rc = text_set(&label->value, offer, err);
    if (rc != 0 || !slash || run->machine.provider || run->machine.instance_type)
        return rc;
    char *provider = strndup(offer, (size_t)(slash - offer));
    char *name = strndup(slash + 1, strcspn(slash + 1, "@:"));
    rc = provider && name ? text_set(&run->machine.provider, provider, err) : err_memory(err);
    if (rc == 0)
        rc = text_set(&run->machine.instance_type, name, err);
    free(provider);
    free(name);
    return rc;
}

// Whether no run before this one has counted this start of the machine: what comes between the two
// is the other run, and no boot. The last start that was counted is a line in the user's data
// folder; where there is none to write to, every run counts it.
static bool launch_is_new(const struct machine_where *where)
{
    struct buf path = {0}, now = {0}, counted = {0};
    buf_printf(&now, "%s %s\n", where->instance_id ? where->instance_id : "-", where->launched_at);
    bool is_new = true;
    if (folder_data(&path, NULL) == 0 && fs_mkdirs(buf_str(&path), NULL) == 0) {
        buf_adds(&path, "/launched");
        is_new = fs_read(buf_str(&path), 4096, &counted, NULL) != 0 ||
                 strcmp(buf_str(&counted), buf_str(&now)) != 0;
        if (is_new)
            (void)!fs_write(buf_str(&path), buf_str(&now), now.len, NULL);
    }
    buf_release(&path);
    buf_release(&now);
    buf_release(&counted);
    return is_new;
}

static struct maybe_int boot_of(const struct machine_where *where, int64_t now_s)
{
    int64_t launched_s;
    if (!where->launched_at || !clock_parse(where->launched_at, &launched_s) ||
        launched_s > now_s || now_s - launched_s > BOOT_MAX_S || !launch_is_new(where))
        return (struct maybe_int){0};
    return some_int((now_s - launched_s) * NS_PER_S);
}

int measure_begin(const struct measure_options *o, const struct machine *machine, bool first,
                  struct run *run, struct err *err)
{
    int64_t now_s = clock_date_s();
    int rc = run_begin_record(run, now_s, err);
    if (rc == 0)
        rc = run_set_machine(run, machine, err);
    if (rc == 0)
        rc = text_set(&run->program.version, FARE_VERSION, err);
    if (rc == 0)
        rc = text_set(&run->program.build, FARE_BUILD, err);
    if (rc == 0)
        rc = note_command_line(&run->program, err);
    if (rc == 0 && o->name)
        rc = text_set(&run->name, o->name, err);
    if (rc == 0)
        rc = add_labels(&o->labels, run, err);
    if (rc == 0 && o->offer)
        rc = add_offer(o->offer, run, err);
    if (rc == 0 && first)
        run->phases.boot_ns = boot_of(&machine->where, now_s);
    return rc;
}

struct journal *measure_journal(const struct measure_options *o, const struct run *run)
{
    struct ledger *ledger = NULL;
    struct journal *journal = NULL;
    if (o->no_ledger || ledger_new(&ledger, o->ledger, NULL) != 0)
        return NULL;
    if (journal_open(&journal, ledger, run->id, NULL) != 0)
        journal = NULL; // whether the run is kept is told at its end
    ledger_free(ledger);
    return journal;
}

void measure_keep(const struct measure_options *o, const struct run *run, struct journal *journal,
                  struct buf *says)
{
    struct ledger *ledger = NULL;
    struct err err = {0};
    int rc = 0;
    if (!o->no_ledger && run->id) {
        rc = ledger_new(&ledger, o->ledger, &err);
        if (rc == 0)
            rc = ledger_record(ledger, run, says, &err);
        if (rc != 0)
            buf_printf(says, "the run is not kept: %s\n", err.text);
    }
    journal_close(journal, rc != 0, says);
    ledger_free(ledger);
}
