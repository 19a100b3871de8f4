// SPDX-License-Identifier: Apache-2.0
#include "bill/market.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/money.h"
#include "book/image.h"
#include "tables/extras.h"

struct market {
    const char *book_path, *share;
    struct book *book;
    struct devices *devices;
    struct tariff_book *tariffs;
    struct currencies *currencies;
    struct rates *rates;
    struct startups *startups;
    struct boot_images *boot_images;
    struct links *links;
    struct schedulings *schedulings;
    struct hosts *hosts;
    struct support *support;
    struct published *published;
};

int market_open(struct market **out, const char *book, const char *share, struct err *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return err_memory(err);
    (*out)->book_path = book;
    (*out)->share = share;
    return 0;
}

void market_close(struct market *m)
{
    if (!m)
        return;
    book_close(m->book);
    devices_close(m->devices);
    tariff_book_close(m->tariffs);
    currencies_close(m->currencies);
    rates_close(m->rates);
    startups_close(m->startups);
    boot_images_close(m->boot_images);
    links_close(m->links);
    schedulings_close(m->schedulings);
    hosts_close(m->hosts);
    support_close(m->support);
    published_close(m->published);
    free(m);
}

int market_book(struct market *m, const struct book **out, struct err *err)
{
    int rc = m->book ? 0 : book_open(&m->book, m->book_path, err);
    *out = m->book;
    return rc;
}

int market_devices(struct market *m, const struct devices **out, struct err *err)
{
    int rc = m->devices ? 0 : devices_open(&m->devices, err);
    *out = m->devices;
    return rc;
}

// A file or folder of m->share.
static int in_share(const struct market *m, const char *name, struct buf *path, struct err *err)
{
    buf_printf(path, "%s/%s", m->share, name);
    return buf_check(path, err);
}

int market_tariffs(struct market *m, const struct tariff_book **out, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    int rc = m->share ? in_share(m, "providers", &path, err) : 0;
    if (rc == 0 && !m->tariffs)
        rc = m->share ? tariff_book_read(&m->tariffs, buf_str(&path), NULL, err)
                      : tariff_book_open(&m->tariffs, err);
    *out = m->tariffs;
    return rc;
}

int market_currencies(struct market *m, const struct currencies **out, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    int rc = m->share ? in_share(m, "currencies.csv", &path, err) : 0;
    if (rc == 0 && !m->currencies)
        rc = m->share ? currencies_read(&m->currencies, buf_str(&path), NULL, err)
                      : currencies_open(&m->currencies, err);
    *out = m->currencies;
    return rc;
}

int market_rates(struct market *m, const struct rates **out, struct err *err)
{
    int rc = m->rates || m->share ? 0 : rates_open(&m->rates, NULL, err);
    *out = m->rates;
    return rc;
}

int market_startups(struct market *m, const struct startups **out, struct err *err)
{
    int rc = m->startups ? 0 : startups_open(&m->startups, err);
    *out = m->startups;
    return rc;
}

int market_links(struct market *m, const struct links **out, struct err *err)
{
    int rc = m->links ? 0 : links_open(&m->links, err);
    *out = m->links;
    return rc;
}

int market_boot_images(struct market *m, const struct boot_images **out, struct err *err)
{
    int rc = m->boot_images ? 0 : boot_images_open(&m->boot_images, err);
    *out = m->boot_images;
    return rc;
}

int market_schedulings(struct market *m, const struct schedulings **out, struct err *err)
{
    int rc = m->schedulings ? 0 : schedulings_open(&m->schedulings, NULL, NULL, err);
    *out = m->schedulings;
    return rc;
}

int market_hosts(struct market *m, const struct hosts **out, struct err *err)
{
    int rc = m->hosts ? 0 : hosts_open(&m->hosts, err);
    *out = m->hosts;
    return rc;
}

int market_support(struct market *m, const struct support **out, struct err *err)
{
    int rc = m->support ? 0 : support_open(&m->support, err);
    *out = m->support;
    return rc;
}

int market_published(struct market *m, const struct published **out, struct err *err)
{
    int rc = m->published ? 0 : published_open(&m->published, NULL, err);
    *out = m->published;
    return rc;
}

int market_run(struct market *m, struct ledger *ledger, const char *word, struct buf *text,
               struct err *err)
{
    const struct published *all = NULL;
    TRY(run_shipped_name(word) ? market_published(m, &all, err) : 0);
    return published_or_ledger(all, ledger, word, text, err);
}

int market_find(struct market *m, const char *name, int day, struct offer *out, struct err *err)
{
    const struct book *book;
    TRY(market_book(m, &book, err));
    return book_find(book, name, day, out, err);
}

int market_on_demand(struct market *m, const struct offer *spot, int day, struct offer *out,
                     bool *found, struct err *err)
{
    SCOPED(buf_release) struct buf name = {0};
    struct offer same = *spot;
    struct err why = {0};
    same.kind = OFFER_ON_DEMAND;
    same.zone = "";
    book_name(&same, &name);
    buf_adds(&name, ":on-demand");
    int rc = buf_check(&name, err);
    if (rc == 0)
        rc = market_find(m, buf_str(&name), day, out, &why);
    *found = rc == 0 && out->kind == OFFER_ON_DEMAND && !offer_retired(out, day) &&
             out->basis != BASIS_FLOOR;
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}

// ---- desk

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

// ---- whether a market that stays open is still what the files say

// FNV-1a, 64 bits
static void mix(uint64_t *hash, const void *bytes, size_t len)
{
    for (const unsigned char *p = bytes; len > 0; p++, len--)
        *hash = (*hash ^ *p) * UINT64_C(1099511628211);
}

static void mix_file(uint64_t *hash, int dir, const char *name)
{
    struct stat st;
    if (fstatat(dir, name, &st, 0) != 0 || !S_ISREG(st.st_mode))
        return;
    const int64_t facts[] = {(int64_t)st.st_ino, (int64_t)st.st_size, (int64_t)st.st_mtim.tv_sec,
                             (int64_t)st.st_mtim.tv_nsec};
    mix(hash, name, strlen(name) + 1);
    mix(hash, facts, sizeof facts);
}

// The order of a folder's files does not matter: their hashes are added.
static void mix_folder(uint64_t *hash, const char *path)
{
    DIR *dir = opendir(path);
    uint64_t sum = 0;
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        uint64_t one = UINT64_C(14695981039346656037);
        if (entry->d_name[0] == '.' || entry->d_type == DT_DIR)
            continue;
        mix_file(&one, dirfd(dir), entry->d_name);
        sum += one;
    }
    mix(hash, &sum, sizeof sum);
    if (dir)
        closedir(dir);
}

uint64_t market_stamp(const char *book)
{
    static const char *const folders[] = {"", "/offers", "/providers", "/devices", "/published"};
    uint64_t hash = UINT64_C(14695981039346656037);
    SCOPED(buf_release) struct buf path = {0};
    struct err ignored = {0};
    bool whole = true;
    if (book_path(book, &path, &ignored) == 0)
        mix_file(&hash, AT_FDCWD, buf_str(&path));
    for (int own = 0; own < 2; own++) {
        buf_reset(&path);
        if ((own ? folder_config : folder_share)(&path, &ignored) != 0)
            continue;
        size_t len = path.len;
        for (size_t i = 0; i < sizeof folders / sizeof *folders && !path.failed; i++) {
            path.len = len;
            buf_adds(&path, folders[i]);
            mix_folder(&hash, buf_str(&path));
        }
        whole &= !path.failed;
    }
    whole &= ignored.code != ERR_MEMORY;
    return whole ? hash | 1 : 0;
}

// ==== prices ====

#define HOUR_S           INT64_C(3600)
#define DAY_S            INT64_C(86400)
#define SHORTEST_MONTH_S (28 * DAY_S)

static int day_of(int64_t date_s)
{
    return (int)(date_s >= 0 ? date_s / DAY_S : -((DAY_S - 1 - date_s) / DAY_S));
}

int wishes_day(const struct wishes *w)
{
    return w->start_s ? day_of(w->start_s) : 0;
}

int64_t wishes_stopped_ns(const struct wishes *w, int64_t length_ns)
{
    return w->keep_ns.known && w->keep_ns.v > length_ns ? w->keep_ns.v - length_ns : 0;
}

// ---- the priced rule

// If the tariff says so, the offer's monthly price caps its hours.
static int cap_by_month(struct priced *p, const struct currencies *currencies, struct err *err)
{
    const struct tariff *t = p->tariff;
    if (!t->capped_by_month.known || !t->capped_by_month.v || p->offer.kind == OFFER_SPOT)
        return 0;
    if (p->offer.kind == OFFER_MONTHLY) {
        if (!p->own_rate && !p->rate_given && p->per_s >= SHORTEST_MONTH_S)
            p->rule.monthly_cap = p->rule.rate; // charged by the hour, listed by the month
        return 0;
    }
    struct offer month, wanted = p->offer;
    SCOPED(buf_release) struct buf name = {0};
    struct err why = {0};
    int64_t cap;
    wanted.kind = OFFER_MONTHLY;
    book_name(&wanted, &name);
    int rc = buf_check(&name, err);
    int found = rc == 0 ? market_find(p->market, buf_str(&name), p->day, &month, &why) : rc;
    if (rc != 0 || found == ERR_MISSING)
        return rc; // no monthly price is known
    if (found != 0)
        return err_pass(err, found, &why);
    if (strcmp(month.currency, p->currency) == 0) {
        p->rule.monthly_cap = month.rate;
        return 0;
    }
    rc = currency_to_usd(currencies, month.currency, p->day, month.rate, &cap, NULL, err);
    if (rc == 0) // into the currency of the rule
        rc = money_scale(cap, MONEY_UNIT, p->unit_nano_usd, MONEY_HALF_EVEN, &p->rule.monthly_cap,
                         err);
    return rc;
}

// Fees, caps, storage and traffic are in the tariff's currency. If the rate is in another, all are
// converted to USD.
static int one_currency(struct priced *p, const struct currencies *currencies, struct err *err)
{
    struct rule *r = &p->rule;
    const char *theirs = p->tariff->currency ? p->tariff->currency : "USD";
    int64_t *fees[RULE_FEES_MAX];
    size_t count = rule_fees(r, fees);
    bool any = false;
    struct currency_rate unit;
    int64_t ignored;
    for (size_t i = 0; i < count; i++)
        any |= *fees[i] > 0;
    p->currency = p->paid_in;
    if (any && strcmp(theirs, p->paid_in) != 0) {
        p->fees_in = theirs;
        p->currency = "USD";
        TRY(currency_to_usd(currencies, p->paid_in, p->day, r->rate, &r->rate, NULL, err));
        for (size_t i = 0; i < count; i++)
            if (*fees[i] > 0)
                TRY(currency_to_usd(currencies, theirs, p->day, *fees[i], fees[i], NULL, err));
    }
    TRY(currency_to_usd(currencies, p->currency, p->day, 0, &ignored, &unit, err));
    p->unit_nano_usd = unit.usd;
    return 0;
}

void rates_name(const struct offer *offer, char *out, size_t size)
{
    bool plain = offer->kind == OFFER_ON_DEMAND;
    snprintf(out, size, "%s%s%s", offer->name, plain ? "" : ":",
             plain ? "" : offer_kind_word(offer->kind));
}

static void find_own(const struct rates *rates, bool rate_given, struct priced *p)
{
    char name[256];
    rates_name(&p->offer, name, sizeof name);
    p->own = rates ? rates_find(rates, p->offer.provider, name, p->day) : NULL;
    p->rate = p->offer.rate;
    p->per_s = p->offer.per_s;
    p->paid_in = p->offer.currency;
    p->rate_given = rate_given;
    p->own_rate = p->own && p->own->rate >= 0 && !rate_given;
    if (p->own_rate) {
        p->rate = p->own->rate;
        p->per_s = HOUR_S;
        p->paid_in = p->own->currency;
    }
}

// Applies committed use, if it was asked for and is offered. Spot machines have none.
static int commit(const struct wishes *w, struct priced *p, struct tariff *priced, struct err *err)
{
    for (size_t i = 0; i < priced->commitments.count; i++) {
        const struct tariff_commitment *offered = &priced->commitments.items[i];
        if (w->commit_months == 0 || offered->months.v != w->commit_months ||
            p->offer.kind == OFFER_SPOT || !tariff_holds(NULL, offered->valid_to, p->day) ||
            !tariff_names(offered->offers.items, offered->offers.count, p->offer.name))
            continue;
        p->committed = offered->months.v;
        p->commitment = offered;
        priced->tiers.count = 0;
        return money_scale(p->rate, tariff_commitment_permille(offered), 1000, MONEY_HALF_EVEN,
                           &p->rate, err);
    }
    return 0;
}

// Rented by the month or the day, paid by it, where the rule is assumed.
static bool by_its_price(const struct priced *p)
{
    const struct tariff *t = p->tariff;
    int64_t unit_ms = t->unit_ms.known ? t->unit_ms.v : 1000;
    if (p->offer.kind == OFFER_MONTHLY && !t->kind)
        return true;
    return p->per_s > HOUR_S && p->per_s < SHORTEST_MONTH_S && unit_ms < p->per_s * 1000;
}

int market_price(struct market *market, const struct offer *offer, const struct wishes *w,
                 struct priced *p, struct err *err)
{
    const struct tariff_book *tariffs;
    const struct currencies *currencies;
    const struct rates *rates;
    *p = (struct priced){.market = market, .offer = *offer};
    p->start_s = w->start_s ? w->start_s : clock_date_s();
    p->day = day_of(p->start_s);
    int rc = market_tariffs(market, &tariffs, err);
    if (rc == 0)
        rc = market_currencies(market, &currencies, err);
    if (rc == 0)
        rc = market_rates(market, &rates, err);
    if (rc != 0)
        return rc;
    p->tariff = tariff_for(tariffs, offer, p->day, &p->assumed);
    find_own(w->list_price ? NULL : rates, w->rate_given, p);
    struct tariff priced = *p->tariff; // its texts stay the tariff's
    priced.per_s = some_int(p->per_s);
    if (p->assumed && by_its_price(p))
        priced.unit_ms = some_int(p->per_s * 1000);
    rc = commit(w, p, &priced, err);
    if (rc == 0)
        rc = rule_read(&p->rule, &priced, some_money(p->rate), err);
    if (rc == 0 && !p->own_rate && !p->rate_given)
        rc = rule_in_region(&p->rule, &priced, offer->region, err);
    p->rate = p->rule.rate;
    if (rc == 0)
        rc = one_currency(p, currencies, err);
    return rc == 0 ? cap_by_month(p, currencies, err) : rc;
}

// ---- charging

static int use_of(const struct priced *p, const struct wishes *w, int64_t length_ns,
                  struct charge_use *use, struct err *err)
{
    int64_t runs = w->runs > 1 ? w->runs : 1, egress = 0, ingress = 0;
    if (__builtin_mul_overflow(w->egress_bytes, runs, &egress) ||
        __builtin_mul_overflow(w->ingress_bytes, runs, &ingress))
        return err_set(err, ERR_OVERFLOW, "more traffic than can be counted");
    *use = (struct charge_use){
        .machines = w->machines,
        .start_s = p->start_s,
        .clock = w->clock,
        .length_ns = length_ns,
        .used_ns = w->used_ns,
        .prorated = w->prorated,
        .interrupted = w->interrupted,
        .storage_gb = w->storage_gb,
        .storage_ns = length_ns,
        .stopped_ns = wishes_stopped_ns(w, length_ns),
        .egress_bytes = egress,
        .ingress_bytes = ingress,
        .discount_permille = p->own ? p->own->discount_permille : 0,
    };
    return 0;
}

struct history { // of a spot price, while it is added up; times are nanoseconds after the start
    const struct priced *priced;
    int64_t unit_ns; // a price that changes within a unit counts from the next on; 1: at once
    int64_t from_ns; // when `rate` began to apply
    int64_t end_ns;
    int64_t rate; // nano-units for offer.per_s
    __int128 sum; // of rate × nanoseconds
    bool changed;
    int64_t after_s, until_s; // daily prices count from within these times; 0: until any time
};

static void count_until(struct history *h, int64_t at_ns)
{
    h->sum += (__int128)h->rate * (at_ns - h->from_ns);
    h->from_ns = at_ns;
}

static void change_price(struct history *h, int64_t at_s, int64_t rate)
{
    int64_t after_s = at_s - h->priced->start_s;
    if (after_s > h->end_ns / NS_PER_S)
        return;
    int64_t at_ns = after_s > 0 ? after_s * NS_PER_S : 0;
    at_ns += (h->unit_ns - at_ns % h->unit_ns) % h->unit_ns;
    if (at_ns >= h->end_ns)
        return;
    count_until(h, at_ns);
    h->changed |= rate != h->rate;
    h->rate = rate;
}

static int see_day(void *arg, const struct offer *offer, struct err *err)
{
    struct history *h = arg;
    const struct priced *p = h->priced;
    int64_t since_s = (int64_t)offer->since * DAY_S;
    (void)err;
    // A price in another unit or currency is no change of this one.
    if (since_s > h->after_s && (h->until_s == 0 || since_s < h->until_s) &&
        offer->per_s == p->offer.per_s && strcmp(offer->currency, p->offer.currency) == 0)
        change_price(h, since_s, offer->rate);
    return 0;
}

// Where the book has every change, those count instead of the prices of days.
static int see_changes(struct history *h, const struct book *book, struct err *err)
{
    const struct priced *p = h->priced;
    struct book_changes c;
    h->after_s = p->day * DAY_S;
    if (!book_changes(book, &p->offer, &c) || c.until_s < p->start_s || p->offer.per_s != HOUR_S ||
        strcmp(p->offer.currency, "USD") != 0)
        return 0;
    size_t next = image_changes_by(c.items, c.count, p->start_s);
    if (next == 0) { // the use begins before them
        h->until_s = c.items[0].at_s / DAY_S * DAY_S;
        TRY(book_history(book, &p->offer, see_day, h, err));
    } else {
        const struct image_change *now = &c.items[next - 1];
        h->rate = now->nano_usd > 0 ? now->nano_usd : now[-1].nano_usd; // unseen: as before
        h->changed = h->rate != p->offer.rate;
    }
    for (; next < c.count; next++)
        if (c.items[next].nano_usd > 0)
            change_price(h, c.items[next].at_s, c.items[next].nano_usd);
    h->after_s = c.until_s;
    h->until_s = 0;
    return 0;
}

// The mean of the prices in `currency`, for all of the time, as the rule's.
static int set_mean(const struct history *h, struct rule *rule, struct err *err)
{
    const struct priced *p = h->priced;
    const struct currencies *currencies;
    __int128 per = (__int128)p->offer.per_s * NS_PER_S, price = (h->sum + per / 2) / per;
    if (price > INT64_MAX)
        return err_set(err, ERR_OVERFLOW, "the price of the time is too large");
    rule->rate = (int64_t)price;
    rule->per_ns = h->end_ns;
    if (p->rate != p->offer.rate) // a factor of its region, a commitment
        TRY(money_scale(rule->rate, p->rate, p->offer.rate, MONEY_HALF_EVEN, &rule->rate, err));
    if (p->fees_in)
        TRY(market_currencies(p->market, &currencies, err));
    if (p->fees_in)
        TRY(currency_to_usd(currencies, p->paid_in, p->day, rule->rate, &rule->rate, NULL, err));
    return 0;
}

// If a spot price changed within `charged_ns`, the rule with the mean price.
static int follow_spot(const struct priced *p, const struct wishes *w, int64_t charged_ns,
                       struct rule *rule, bool *changed, struct err *err)
{
    const struct book *book;
    bool by_hour = rule->unit_ns == HOUR_S * NS_PER_S && !w->prorated;
    struct history h = {.priced = p,
                        .unit_ns = by_hour ? rule->unit_ns : 1,
                        .end_ns = charged_ns,
                        .rate = p->offer.rate};
    bool simple = rule->tier_count == 0 && rule->monthly_cap < 0;
    *changed = false;
    if (p->offer.kind != OFFER_SPOT || !simple || charged_ns <= 0 || p->offer.day <= 0 ||
        p->day >= book_today() || p->own_rate || p->rate_given || w->without_history)
        return 0;
    TRY(market_book(p->market, &book, err));
    TRY(see_changes(&h, book, err));
    TRY(book_history(book, &p->offer, see_day, &h, err));
    if (!h.changed)
        return 0;
    count_until(&h, charged_ns);
    *changed = true;
    return set_mean(&h, rule, err);
}

int priced_charge(const struct priced *p, const struct wishes *w, int64_t length_ns,
                  struct charge *charge, struct err *err)
{
    struct charge_use use;
    bool changed = false;
    struct rule rule = p->rule;
    TRY(use_of(p, w, length_ns, &use, err));
    TRY(charge_use(&rule, &use, charge, err));
    TRY(follow_spot(p, w, charge->charged_ns, &rule, &changed, err));
    return changed ? charge_use(&rule, &use, charge, err) : 0;
}

int priced_usd(const struct priced *p, int64_t amount, int64_t *nano_usd, struct err *err)
{
    return money_scale(amount, p->unit_nano_usd, MONEY_UNIT, MONEY_HALF_EVEN, nano_usd, err);
}

int priced_total(const struct priced *p, const struct wishes *w, int64_t length_ns,
                 int64_t *nano_usd, struct err *err)
{
    struct charge charge;
    TRY(priced_charge(p, w, length_ns, &charge, err));
    return priced_usd(p, charge.total, nano_usd, err);
}

int priced_hour(const struct priced *p, int64_t *nano_usd, struct err *err)
{
    int64_t hour;
    TRY(money_scale(p->rule.rate, HOUR_S * NS_PER_S, p->rule.per_ns, MONEY_HALF_EVEN, &hour, err));
    return priced_usd(p, hour, nano_usd, err);
}

int priced_average_hour(const struct priced *p, int64_t use_s, int64_t *nano_usd, struct err *err)
{
    struct priced month = *p;
    const struct wishes machine = {.without_history = true};
    int64_t total = 0;
    month.rule.setup_fee = 0;
    month.start_s = PRICED_MONTH_S;
    if (use_s < 1)
        return err_set(err, ERR_FORMAT, "a machine is used for a second or more a month");
    TRY(priced_total(&month, &machine, use_s * NS_PER_S, &total, err));
    return money_scale(total, HOUR_S, use_s, MONEY_HALF_EVEN, nano_usd, err);
}

int priced_longest(const struct priced *p, const struct wishes *w, int64_t budget, int64_t most_ns,
                   int64_t *longest_ns, struct err *err)
{
    int64_t low = 0, high = most_ns, total = 0; // `low` is affordable
    *longest_ns = 0;
    int rc = priced_total(p, w, 1, &total, err);
    if (rc != 0 || total > budget)
        return rc;
    while (rc == 0 && low < high) { // bills never fall with time
        int64_t middle = low + (high - low + 1) / 2;
        rc = priced_total(p, w, middle, &total, err);
        if (total <= budget)
            low = middle;
        else
            high = middle - 1;
    }
    *longest_ns = low;
    return rc;
}

bool priced_boots_free(const struct priced *p)
{
    return p->tariff->boot_free.known && p->tariff->boot_free.v;
}

int64_t priced_use_ns(const struct priced *p, int64_t ordered_ns, int64_t wall_ns)
{
    int64_t use_ns;
    bool charged = ordered_ns > 0 && !priced_boots_free(p);
    return charged && !__builtin_add_overflow(wall_ns, ordered_ns, &use_ns) ? use_ns : wall_ns;
}

bool priced_by_month(const struct priced *p)
{
    return p->rule.unit_ns >= SHORTEST_MONTH_S * NS_PER_S;
}

void priced_words(const struct priced *p, bool prorated, struct buf *out)
{
    struct tariff charged = *p->tariff;
    if (p->assumed) // an offer by the month or the day without a known rule
        charged.unit_ms = some_int(p->rule.unit_ns / NS_PER_MS);
    if (prorated)
        buf_adds(out, "rate × time");
    else
        tariff_words(&charged, p->offer.name, p->day, out);
}

// ---- in the currency of --currency

int local_check(struct market *market, const char *currency, struct err *err)
{
    const struct currencies *currencies;
    if (!currency)
        return 0;
    TRY(market_currencies(market, &currencies, err));
    return currency_check(currencies, currency, err);
}

int local_amount(struct market *market, const char *currency, int day, int64_t usd, int64_t *amount,
                 struct err *err)
{
    const struct currencies *currencies;
    *amount = -1;
    if (!currency)
        return 0;
    TRY(market_currencies(market, &currencies, err));
    if (currency_begins(currencies, currency) > (day != 0 ? day : clock_date_s() / 86400))
        return 0;
    struct err why = {0};
    int rc = currency_from_usd(currencies, currency, day, usd, amount, &why);
    if (rc == ERR_OVERFLOW) {
        *amount = -1;
        return 0;
    }
    if (rc != 0 && err)
        *err = why;
    return rc;
}

int local_money(struct market *market, const char *currency, int day, struct maybe_money usd,
                struct maybe_money *out, struct err *err)
{
    int64_t nano = 0;
    if (!usd.known)
        return 0;
    TRY(local_amount(market, currency, day, usd.nano, &nano, err));
    if (nano >= 0)
        *out = some_money(nano);
    return 0;
}

int local_words(struct market *market, const char *currency, int day, struct buf *out,
                struct err *err)
{
    const struct currencies *currencies;
    struct currency_rate rate;
    int64_t ignored, known;
    TRY(local_amount(market, currency, day, 0, &known, err));
    if (!currency)
        return 0;
    TRY(market_currencies(market, &currencies, err));
    if (known < 0) {
        char first[CLOCK_ISO_BYTES];
        clock_iso(currency_begins(currencies, currency) * 86400, first);
        buf_printf(out, "amounts in %s are unknown: the first known rate is of %.10s", currency,
                   first);
        return buf_check(out, err);
    }
    TRY(currency_to_usd(currencies, currency, day, 0, &ignored, &rate, err));
    buf_printf(out, "1 %s = %s", currency, *rate.source ? "" : "1 USD");
    if (*rate.source)
        currency_words(&rate, true, out);
    return buf_check(out, err);
}
