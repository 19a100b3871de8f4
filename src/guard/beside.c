// SPDX-License-Identifier: Apache-2.0
#include "guard/beside.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/utf8.h"

#define MEGATRON_DIGITS 7

// A plain name in one line, or "".
static void name_in(const char *folder, const char *text, char out[BESIDE_TEXT])
{
    (void)folder;
    size_t len = strcspn(text, "\r\n");
    bool good = len > 0 && len < 256 && text[len + strspn(text + len, "\r\n")] == '\0' &&
                text[0] != '.' && !memchr(text, '/', len);
    snprintf(out, BESIDE_TEXT, "%.*s", good ? (int)len : 0, text);
}

// "100" is Megatron's iter_0000100 or verl's global_step_100, whichever is there.
static void iteration_item(const char *folder, const char *text, char out[BESIDE_TEXT])
{
    char name[BESIDE_TEXT];
    name_in(folder, text, name);
    size_t digits = strspn(name, "0123456789");
    bool number = digits > 0 && digits < 18 && !name[digits];
    snprintf(out, BESIDE_TEXT, "%s", strcmp(name, "release") == 0 ? name : "");
    if (!number)
        return;
    struct buf path = {0};
    buf_printf(&path, "%s/global_step_%s", folder, name);
    if (!path.failed && access(buf_str(&path), F_OK) == 0)
        snprintf(out, BESIDE_TEXT, "global_step_%.18s", name);
    else
        snprintf(out, BESIDE_TEXT, "iter_%0*lld", MEGATRON_DIGITS, strtoll(name, NULL, 10));
    buf_release(&path);
}

static void keras_item(const char *folder, const char *text, char out[BESIDE_TEXT])
{
    (void)folder;
    snprintf(out, BESIDE_TEXT, "%s", strchr(text, '}') ? "latest.weights.h5" : "");
}

static const struct {
    const char *name;
    void (*item)(const char *folder, const char *text, char out[BESIDE_TEXT]);
} kinds[] = {{"latest", name_in},
             {"latest_checkpointed_iteration.txt", iteration_item},
             {"training_metadata.json", keras_item}};

static bool read_kind(const char *folder, size_t i, struct beside *out)
{
    char path[PATH_MAX];
    struct buf text = {0};
    struct stat st;
    bool good = snprintf(path, sizeof path, "%s/%s", folder, kinds[i].name) < (int)sizeof path &&
                stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size < BESIDE_TEXT &&
                fs_read(path, BESIDE_TEXT - 1, &text, NULL) == 0 &&
                !memchr(buf_str(&text), '\0', text.len) &&
                utf8_bad(buf_str(&text), text.len) == text.len;
    if (good) {
        snprintf(out->text, sizeof out->text, "%s", buf_str(&text));
        kinds[i].item(folder, out->text, out->item);
        out->name = kinds[i].name;
        out->modified_ns = (int64_t)st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
    }
    buf_release(&text);
    return good && out->item[0];
}

bool beside_read(const char *folder, struct beside *out)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (read_kind(folder, i, out))
            return true;
    *out = (struct beside){0};
    return false;
}

bool beside_is_name(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name, kinds[i].name) == 0)
            return true;
    return false;
}

bool beside_is_shard(const char *name)
{
    size_t len = strlen(name);
    return strncmp(name, "mp_rank_", 8) == 0 || strstr(name, "zero_pp_rank_") != NULL ||
           (len > 7 && strcmp(name + len - 7, ".distcp") == 0);
}

bool beside_is_awaited(const char *name)
{
    return strncmp(name, "iter_", 5) == 0 && strlen(name) == 5 + MEGATRON_DIGITS &&
           strspn(name + 5, "0123456789") == MEGATRON_DIGITS;
}
