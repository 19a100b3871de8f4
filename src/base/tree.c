// SPDX-License-Identifier: Apache-2.0
#include "base/tree.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fs.h"

#define PATH_BYTES 4096

static bool path_make(char path[PATH_BYTES], const char *root, const char *format, va_list args)
    PRINTF_LIKE(3, 0);
static bool path_make(char path[PATH_BYTES], const char *root, const char *format, va_list args)
{
    int a = snprintf(path, PATH_BYTES, "%s", root);
    if (a < 0 || a >= PATH_BYTES)
        return false;
    int b = vsnprintf(path + a, (size_t)(PATH_BYTES - a), format, args);
    return b >= 0 && b < PATH_BYTES - a;
}

// The five readers differ only in what they do with the path.
#define WITH_PATH(path, tree, format)                                                              \
    char path[PATH_BYTES];                                                                         \
    va_list args;                                                                                  \
    va_start(args, format);                                                                        \
    bool path_fits = path_make(path, (tree)->root, format, args);                                  \
    va_end(args);                                                                                  \
    if (!path_fits || (tree)->failed)                                                              \
    return false

int tree_check(const struct tree *tree, struct err *err)
{
    return tree->failed ? err_memory(err) : 0;
}

bool tree_exists(struct tree *tree, const char *format, ...)
{
    WITH_PATH(path, tree, format);
    return access(path, F_OK) == 0;
}

static bool read_path(struct tree *tree, const char *path, struct buf *out)
{
    buf_reset(out);
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) // a pipe would keep us waiting
        return false;
    int rc = fs_read(path, TREE_FILE_MAX, out, NULL);
    if (rc != 0) {
        tree->failed |= rc == ERR_MEMORY;
        buf_reset(out);
        return false;
    }
    buf_trim(out);
    return true;
}

bool tree_text(struct tree *tree, struct buf *out, const char *format, ...)
{
    WITH_PATH(path, tree, format);
    return read_path(tree, path, out);
}

bool tree_int(struct tree *tree, int64_t *out, const char *format, ...)
{
    WITH_PATH(path, tree, format);
    SCOPED(buf_release) struct buf text = {0};
    bool ok = read_path(tree, path, &text) && text.len > 0;
    if (ok) {
        text.data[strcspn(text.data, " \t\n")] = '\0';
        ok = text_int(text.data, out);
    }
    return ok;
}

bool tree_link(struct tree *tree, struct buf *out, const char *format, ...)
{
    WITH_PATH(path, tree, format);
    char target[PATH_BYTES];
    ssize_t len = readlink(path, target, sizeof target);
    buf_reset(out);
    if (len < 0 || (size_t)len == sizeof target)
        return false;
    buf_add(out, target, (size_t)len);
    tree->failed |= out->failed;
    return !out->failed;
}

static int by_version(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

bool tree_list(struct tree *tree, struct buf *out, const char *format, ...)
{
    WITH_PATH(path, tree, format);
    buf_reset(out);
    SCOPED(fs_close_folder) DIR *dir = opendir(path);
    if (!dir)
        return false;
    char **names = NULL;
    size_t count = 0, cap = 0;
    bool ok = true;
    for (const char *name; ok && (name = fs_next(dir));) {
        ok = array_grow(&names, count, &cap, sizeof *names, NULL) == 0 &&
             (names[count] = text_copy(name, NULL));
        count += ok;
    }
    if (ok && count > 0)
        qsort(names, count, sizeof *names, by_version);
    for (size_t i = 0; i < count; i++) {
        buf_adds(out, names[i]);
        buf_addc(out, '\n');
        free(names[i]);
    }
    free(names);
    ok = ok && !out->failed;
    tree->failed |= !ok;
    return ok;
}

bool tree_value(struct tree *tree, const char *text, const char *key, char separator,
                struct buf *out)
{
    size_t key_len = strlen(key);
    for (const char *line = text; line && *line;) {
        const char *end = strchr(line, '\n');
        size_t len = end ? (size_t)(end - line) : strlen(line);
        if (len > key_len && memcmp(line, key, key_len) == 0) {
            size_t at = key_len;
            while (at < len && (line[at] == ' ' || line[at] == '\t'))
                at++;
            if (at < len && line[at] == separator) {
                at++;
                while (at < len && isspace((unsigned char)line[at]))
                    at++;
                buf_reset(out);
                buf_add(out, line + at, len - at);
                buf_trim(out);
                tree->failed |= out->failed;
                return !out->failed;
            }
        }
        line = end ? end + 1 : NULL;
    }
    return false;
}

char *text_line(char **cursor)
{
    char *line = *cursor;
    if (!line || *line == '\0')
        return NULL;
    char *end = strchr(line, '\n');
    if (end) {
        *end = '\0';
        *cursor = end + 1;
    } else {
        *cursor = line + strlen(line);
    }
    return line;
}

bool text_has_word(const char *list, const char *word, char separator)
{
    size_t len = strlen(word);
    if (len == 0 || strchr(word, separator))
        return false;
    for (const char *at = list; (at = strstr(at, word)); at += len)
        if ((at == list || at[-1] == separator) && (at[len] == separator || at[len] == '\0'))
            return true;
    return false;
}

bool text_int(const char *text, int64_t *out)
{
    while (isspace((unsigned char)*text))
        text++;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (hex ? !isxdigit((unsigned char)text[2])
            : !isdigit((unsigned char)text[0]) &&
                  !(text[0] == '-' && isdigit((unsigned char)text[1])))
        return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, hex ? 16 : 10);
    if (errno != 0)
        return false;
    while (isspace((unsigned char)*end))
        end++;
    if (*end != '\0')
        return false;
    *out = value;
    return true;
}
