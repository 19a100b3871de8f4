// SPDX-License-Identifier: Apache-2.0
// Whether a market that stays open is still what the files say.
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fs.h"
#include "bill/market.h"

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
