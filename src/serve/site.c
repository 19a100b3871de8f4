// SPDX-License-Identifier: Apache-2.0
// State shared by all requests: the token, and ledgers that stay open between requests.
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "serve/request.h"

enum { TOKEN_LEAST = 16, TOKEN_MOST = 512 };

// ---- the token

static void hash_text(const char *text, uint8_t out[SHA256_BYTES])
{
    struct sha256 sha;
    sha256_init(&sha);
    sha256_add(&sha, text, strlen(text));
    sha256_done(&sha, out);
}

bool site_knows(const struct site *site, const char *token)
{
    uint8_t hash[SHA256_BYTES];
    if (!site->has_token || !token)
        return false;
    hash_text(token, hash);
    return sha256_same(hash, site->token);
}

int serve_token(const char *path, struct buf *token, struct err *err)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 066) != 0) {
        err_set(err, ERR_USAGE, "other users can read the token in '%s'", path);
        return err_hint(err, "type: chmod 600 %s", path);
    }
    TRY(fs_read(path, TOKEN_MOST + 2, token, err));
    buf_trim(token);
    bool good = token->len >= TOKEN_LEAST && token->len <= TOKEN_MOST;
    for (size_t i = 0; i < token->len; i++)
        good &= token->data[i] > ' ' && token->data[i] < 0x7f;
    if (good)
        return 0;
    err_set(err, ERR_USAGE,
            "'%s' has no token: expected one line of %d to %d letters, digits or signs", path,
            TOKEN_LEAST, TOKEN_MOST);
    return err_hint(err, "create one with: (umask 077; head -c 24 /dev/urandom | base64 > %.80s)",
                    path);
}

// ---- the site

int site_init(struct site *site, const struct serve_options *options, bool local, struct err *err)
{
    SCOPED(buf_release) struct buf token = {0};
    *site = (struct site){.options = *options,
                          .reading_guarded = !local && !options->everyone,
                          .only_local = local && !options->everyone};
    pthread_mutex_init(&site->lock, NULL);
    int rc = options->token_file ? serve_token(options->token_file, &token, err) : 0;
    if (rc == 0 && options->token_file) {
        site->has_token = true;
        hash_text(buf_str(&token), site->token);
    }
    if (token.data)
        explicit_bzero(token.data, token.cap);
    if (rc == 0 && site->reading_guarded && !site->has_token) {
        rc = err_set(err, ERR_USAGE, "other machines can reach '%s' and would read every run",
                     options->listen);
        err_hint(err, "--token-file FILE requires a token; --public lets everyone read");
    }
    return rc;
}

void site_release(struct site *site)
{
    for (size_t i = 0; i < site->ledger_count; i++)
        ledger_free(site->ledgers[i]);
    for (size_t i = 0; i < site->market_count; i++)
        market_close(site->markets[i]);
    run_rows_free(site->rows);
    buf_release(&site->metrics);
    buf_release(&site->metrics_stamp);
    pthread_mutex_destroy(&site->lock);
}

// ---- what requests borrow

int site_ledger(struct site *site, struct desk *desk, struct ledger **out, struct err *err)
{
    desk->where = site->options.ledger;
    pthread_mutex_lock(&site->lock);
    if (!desk->ledger && site->ledger_count > 0)
        desk->ledger = site->ledgers[--site->ledger_count];
    pthread_mutex_unlock(&site->lock);
    return desk_ledger(desk, out, err);
}

// What the files are now; closes the markets of other files.
static uint64_t stamp_now(struct site *site)
{
    struct market *gone[OPEN_MARKETS_MOST];
    size_t count = 0;
    uint64_t stamp = market_stamp(site->options.book);
    pthread_mutex_lock(&site->lock);
    while (stamp != site->market_stamp && site->market_count > 0)
        gone[count++] = site->markets[--site->market_count];
    site->market_stamp = stamp;
    pthread_mutex_unlock(&site->lock);
    while (count > 0)
        market_close(gone[--count]);
    return stamp;
}

int site_market(struct site *site, struct desk *desk, struct market **out, struct err *err)
{
    int rc = 0;
    if (!desk->market) {
        desk->stamp = stamp_now(site);
        pthread_mutex_lock(&site->lock);
        if (desk->stamp == site->market_stamp && site->market_count > 0)
            desk->market = site->markets[--site->market_count];
        pthread_mutex_unlock(&site->lock);
    }
    if (!desk->market)
        rc = market_open(&desk->market, site->options.book, NULL, err);
    *out = desk->market;
    return rc;
}

void site_give_back(struct site *site, struct desk *desk, int rc)
{
    bool good = rc == 0 || rc == ERR_USAGE || rc == ERR_MISSING; // those are the client's fault
    pthread_mutex_lock(&site->lock);
    if (good && desk->ledger && site->ledger_count < OPEN_LEDGERS_MOST) {
        site->ledgers[site->ledger_count++] = desk->ledger;
        desk->ledger = NULL;
    }
    if (good && desk->market && desk->stamp != 0 && desk->stamp == site->market_stamp &&
        site->market_count < OPEN_MARKETS_MOST) {
        site->markets[site->market_count++] = desk->market;
        desk->market = NULL;
    }
    pthread_mutex_unlock(&site->lock);
    desk_close(desk);
}

int request_ledger(const struct request *request, struct ledger **out, struct err *err)
{
    return site_ledger(request->site, request->desk, out, err);
}

int request_market(const struct request *request, struct market **out, struct err *err)
{
    return site_market(request->site, request->desk, out, err);
}

// ---- the ledger

int site_reach(struct site *site, struct desk *desk, struct err *err)
{
    struct ledger *ledger;
    int rc = site_ledger(site, desk, &ledger, err);
    if (rc == 0)
        rc = ledger_connect(ledger, NULL, err);
    return rc == 0 || rc == ERR_TIMEOUT || rc == ERR_MEMORY ? rc : ERR_IO;
}

void site_say_damaged(void *site_, const char *id, const char *why)
{
    struct site *site = site_;
    uint8_t hash[SHA256_BYTES];
    uint64_t short_hash;
    char line[512];
    hash_text(id, hash);
    memcpy(&short_hash, hash, sizeof short_hash);
    bool known = false;
    pthread_mutex_lock(&site->lock);
    for (size_t i = 0; i < DAMAGED_MOST && i < site->damaged_count; i++)
        known |= site->damaged[i] == short_hash;
    if (!known)
        site->damaged[site->damaged_count++ % DAMAGED_MOST] = short_hash;
    pthread_mutex_unlock(&site->lock);
    snprintf(line, sizeof line, "run %.120s is damaged and left out: %s", id, why);
    if (!known && site->options.complain)
        site->options.complain(line);
}

int site_check(struct site *site, struct err *err)
{
    struct ledger *ledger;
    struct desk desk = {0};
    SCOPED(buf_release) struct buf stamp = {0};
    int rc = site_ledger(site, &desk, &ledger, err);
    if (rc == 0 && site->has_token)
        rc = ledger_make(ledger, NULL, err);
    if (rc == 0)
        rc = ledger_stamp(ledger, &stamp, err);
    site_give_back(site, &desk, rc);
    return rc;
}
