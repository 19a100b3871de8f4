// SPDX-License-Identifier: Apache-2.0
// A site over a small ledger of its own, and requests to it as libmicrohttpd would hand them over:
// what the tests of requests without sockets share.
#ifndef FARE_TESTS_SERVE_SITE_CASES_H
#define FARE_TESTS_SERVE_SITE_CASES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/request.h"

#define SITE_RUN(id, name, rest)                                                                   \
    "{\"schema\":\"fare.run/1\",\"id\":\"" id "\",\"started\":\"2026-01-01T00:00:00Z\",\"name\":"  \
    "\"" name "\",\"workload\":\"cnn\",\"framework\":\"fare\",\"machine\":{\"name\":\"box\"},"     \
    "\"labels\":[{\"key\":\"price_per_hour_usd\",\"value\":\"3.6\"}],\"ended\":\"finished\","      \
    "\"full\":true,\"phases\":{\"wall_ns\":100000000000}" rest "}"

struct site_case {
    char folder[64];
    char ledger[96], token[96];
    struct site site;
};

static inline void site_case_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    bool good = file && fputs(text, file) >= 0;
    good &= file && fclose(file) == 0;
    if (!good)
        abort();
}

static inline void site_case_ledger(struct site_case *c, const char *const *records, size_t count)
{
    struct ledger *ledger = NULL;
    struct err err = {0};
    bool added;
    int rc = ledger_new(&ledger, c->ledger, &err);
    if (rc == 0)
        rc = ledger_import_begin(ledger, &err);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = ledger_import_add(ledger, records[i], strlen(records[i]), &added, &err);
    if (rc == 0)
        rc = ledger_import_end(ledger, &err);
    ledger_free(ledger);
    if (rc != 0) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

// The first two lines of one of fare's own tables, and the one that begins so (null: none).
static inline void site_case_rows(const struct site_case *c, const char *name, const char *begins)
{
    char path[512], lines[3][1024] = {"", "", ""};
    snprintf(path, sizeof path, "%s/../share/%s", TESTS_DIR, name);
    FILE *from = fopen(path, "r");
    snprintf(path, sizeof path, "%s/share/%s", c->folder, name);
    FILE *to = fopen(path, "w");
    bool good = from && to && fgets(lines[0], sizeof lines[0], from) &&
                fgets(lines[1], sizeof lines[1], from) && fputs(lines[0], to) >= 0 &&
                fputs(lines[1], to) >= 0;
    while (good && begins && fgets(lines[2], sizeof lines[2], from))
        if (strncmp(lines[2], begins, strlen(begins)) == 0)
            good = fputs(lines[2], to) >= 0;
    if (!good || fclose(from) != 0 || fclose(to) != 0)
        abort();
}

static inline void site_case_table(const struct site_case *c, const char *name)
{
    site_case_rows(c, name, NULL);
}

// What comes with fare, but little of it: each row costs time in every request.
static inline void site_case_share(struct site_case *c)
{
    static const char *const folders[] = {"",           "/devices",   "/offers",
                                          "/published", "/providers", "/estimate"};
    static const char *const estimate[] = {"model",   "bounds",    "classes", "errors",
                                           "scaling", "constants", "launches"};
    char path[160];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/share%s", c->folder, folders[i]);
        if (mkdir(path, 0700) != 0 || (i == 0 && setenv("FARE_SHARE", path, 1) != 0))
            abort();
    }
    site_case_table(c, "devices/cpus.csv");
    site_case_rows(c, "devices/gpus.csv", "H100,");
    site_case_table(c, "devices/pci-gpus.csv");
    for (size_t i = 0; i < sizeof estimate / sizeof *estimate; i++) {
        snprintf(path, sizeof path, "estimate/%s.csv", estimate[i]);
        site_case_table(c, path);
    }
    snprintf(path, sizeof path, "%s/share/estimate/kinds.csv", c->folder);
    site_case_file(path, "pattern,kind\ncnn,unknown\n");
    site_case_table(c, "currencies.csv");
    site_case_table(c, "ecb-rates.csv");
    site_case_table(c, "power.csv");
    site_case_table(c, "scheduling.csv");
    site_case_table(c, "startup.csv");
    snprintf(path, sizeof path, "%s/share/offers/two.csv", c->folder);
    site_case_file(path,
                   "provider,name,region,zone,kind,gpu,gpus,gpu_memory_gib,vcpus,memory_gib,cpu,"
                   "bare_metal,price,currency,per,date,source\n"
                   "acme,<b>box,moon,,on-demand,V100,1,16,8,61,,no,3.06,USD,hour,2026-11-01,a&b\n"
                   "acme,<b>box,moon,,spot,V100,1,16,8,61,,no,0.9,USD,hour,2026-11-01,a&b\n");
}

// Nobody outside this machine is let in.
#define SITE_TOKEN "abcdefghijklmnop"
static inline void site_case_init(struct site_case *c, const char *const *records, size_t count)
{
    *c = (struct site_case){.folder = "/tmp/fare-site-XXXXXX"};
    if (!mkdtemp(c->folder))
        abort();
    snprintf(c->ledger, sizeof c->ledger, "%s/ledger.db", c->folder);
    snprintf(c->token, sizeof c->token, "%s/token", c->folder);
    setenv("XDG_DATA_HOME", c->folder, 1); // its spool
    setenv("XDG_CONFIG_HOME", c->folder, 1);
    site_case_share(c);
    site_case_file(c->token, SITE_TOKEN "\n");
    if (chmod(c->token, 0600) != 0)
        abort();
    site_case_ledger(c, records, count);
    struct serve_options options = {
        .listen = "127.0.0.1:0", .ledger = c->ledger, .book = "-", .token_file = c->token};
    struct err err = {0};
    if (site_init(&c->site, &options, true, &err) != 0)
        abort();
}

static inline void site_case_release(struct site_case *c)
{
    char command[128];
    site_release(&c->site);
    snprintf(command, sizeof command, "rm -r '%s'", c->folder);
    if (system(command) != 0)
        abort();
}

// As server.c does it: first the header, then the rest.
static inline void site_case_ask(struct request *request, const struct http_head *asked,
                                 struct answer *answer)
{
    if (!route_refuses(request, asked, answer))
        route_answer(request, asked, answer);
}

#endif
