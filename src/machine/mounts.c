// SPDX-License-Identifier: Apache-2.0
#include "machine/mounts.h"

#include <stdio.h>
#include <string.h>

bool mounts_read(struct tree *tree, struct buf *text)
{
    return tree_text(tree, text, "/proc/self/mountinfo") && text->len > 0;
}

// The kernel writes space, tab, newline, backslash (and # in sources) as three octal digits.
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        bool octal = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
                     from[2] <= '7' && from[3] >= '0' && from[3] <= '7';
        int code = octal ? (from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0') : 0;
        if (code > 0) { // \000 would end the text early
            *to = (char)code;
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

static char *next_word(char **cursor)
{
    char *word = *cursor;
    if (!word)
        return NULL;
    char *end = strchr(word, ' ');
    if (end)
        *end++ = '\0';
    *cursor = end;
    return word;
}

// 36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,errors=continue
static bool parse_line(char *line, struct mount *mount)
{
    memset(mount, 0, sizeof *mount);
    char *words[6];
    for (int i = 0; i < 6; i++) {
        words[i] = next_word(&line);
        if (!words[i])
            return false;
    }
    char more;
    if (sscanf(words[2], "%7u:%7u%c", &mount->major, &mount->minor, &more) != 2)
        return false;
    // Any number of optional fields, up to a lone hyphen.
    char *word;
    do
        word = next_word(&line);
    while (word && strcmp(word, "-") != 0);
    char *type = next_word(&line);
    char *source = next_word(&line);
    char *super_options = next_word(&line);
    if (!type || !source || words[3][0] != '/' || words[4][0] != '/')
        return false;
    unescape(words[3]);
    unescape(words[4]);
    unescape(source);
    mount->root = words[3];
    mount->point = words[4];
    mount->type = type;
    mount->source = source;
    mount->super_options = super_options ? super_options : "";
    return true;
}

bool mounts_next(char **cursor, struct mount *mount)
{
    for (char *line; (line = text_line(cursor));)
        if (parse_line(line, mount))
            return true;
    return false;
}

bool path_is_below(const char *path, const char *above)
{
    size_t len = strlen(above);
    while (len > 0 && above[len - 1] == '/')
        len--;
    return strncmp(path, above, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

bool mounts_over(char *text, const char *path, struct mount *mount)
{
    bool found = false;
    struct mount next;
    for (char *cursor = text; mounts_next(&cursor, &next);) {
        if (!path_is_below(path, next.point))
            continue;
        if (!found || strlen(next.point) >= strlen(mount->point))
            *mount = next;
        found = true;
    }
    return found;
}

bool mount_option(const struct mount *mount, const char *option, const char **value, size_t *len)
{
    size_t name_len = strlen(option);
    for (const char *at = mount->super_options; *at;) {
        size_t word = strcspn(at, ",");
        if (word >= name_len && memcmp(at, option, name_len) == 0 &&
            (word == name_len || at[name_len] == '=')) {
            *value = at + name_len + (word > name_len);
            *len = word - name_len - (word > name_len);
            return true;
        }
        at += word + (at[word] == ',');
    }
    return false;
}
