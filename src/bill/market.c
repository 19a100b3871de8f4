// SPDX-License-Identifier: Apache-2.0
#include "bill/market.h"
#include "tables/support.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fs.h"

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
    TRY(published_has_name(word) ? market_published(m, &all, err) : 0);
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
