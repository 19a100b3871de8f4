// SPDX-License-Identifier: Apache-2.0
// A share folder with fewer offers, for tests that read it a thousand times.
//
// Everything in it is a link to the real one but for the large table of offers, of which every 17th
// row stays, and for each word of `keep` each provider's first row with that word. A row is read,
// filtered and billed by the same code as any other, and enough stay that every array grows: with
// each allocation failing in turn, the same lines fail.
#ifndef FARE_TESTS_PRICE_SMALL_SHARE_H
#define FARE_TESTS_PRICE_SMALL_SHARE_H

#include "book/folder.h"

#include <dirent.h>
#include <stdbool.h>

static inline void small_link(const char *from, const char *to, const char *name)
{
    char target[1200], link[1200];
    snprintf(target, sizeof target, "%s/%s", from, name);
    snprintf(link, sizeof link, "%s/%s", to, name);
    assert_int_equal(symlink(target, link), 0);
}

static inline void small_links(const char *from, const char *to, const char *but)
{
    DIR *dir = opendir(from);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, but) != 0)
            small_link(from, to, entry->d_name);
    closedir(dir);
}

enum { SMALL_WORDS = 8 };

// Whether `line` is the first of its provider with that word; `last` is the provider of the last
// one. The table is sorted by provider.
static inline bool small_first(const char *line, const char *word, char last[64])
{
    size_t len = strcspn(line, ",");
    if (!strstr(line, word) || (strncmp(line, last, len) == 0 && last[len] == '\0'))
        return false;
    snprintf(last, 64, "%.*s", (int)len, line);
    return true;
}

// Makes it of `from` (SHARE) and points FARE_SHARE there. `keep` ends with a null.
static inline void small_share(const char *from, const char *const *keep)
{
    char share[512], all_offers[600], offers[600], last[SMALL_WORDS][64] = {{0}}, *line = NULL;
    size_t room = 0, number = 0, kept = 0;
    snprintf(share, sizeof share, "%s", folder_new());
    snprintf(offers, sizeof offers, "%s/offers", share);
    snprintf(all_offers, sizeof all_offers, "%s/offers", from);
    small_links(from, share, "offers");
    assert_int_equal(mkdir(offers, 0700), 0);
    small_links(all_offers, offers, "current.csv");
    char path[700];
    snprintf(path, sizeof path, "%s/current.csv", all_offers);
    FILE *all = fopen(path, "r");
    snprintf(path, sizeof path, "%s/current.csv", offers);
    FILE *some = fopen(path, "w");
    assert_non_null(all);
    assert_non_null(some);
    while (getline(&line, &room, all) > 0) {
        bool stays = number++ % 17 == 0; // the first is the heading
        for (size_t i = 0; keep[i]; i++) {
            assert_true(i < SMALL_WORDS);
            stays |= small_first(line, keep[i], last[i]);
        }
        if (stays)
            assert_true(fputs(line, some) >= 0);
        kept += stays;
    }
    assert_true(kept > 130); // arrays begin with 64 items
    free(line);
    fclose(all);
    assert_int_equal(fclose(some), 0);
    assert_int_equal(setenv("FARE_SHARE", share, 1), 0);
}

#endif
