// SPDX-License-Identifier: Apache-2.0
#include "base/http.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Where the part after "scheme://" begins; null when there is no such beginning.
static const char *after_scheme(const char *url)
{
    const char *p = url;
    while (isalnum((unsigned char)*p))
        p++;
    return p > url && strncmp(p, "://", 3) == 0 ? p + 3 : NULL;
}

// host, host:port, [address]:port. Anything else might be part of a mistyped password.
static bool is_host(const char *p, size_t len)
{
    size_t i = 0;
    if (len > 0 && p[0] == '[') {
        while (i < len && p[i] != ']')
            i++;
        i++;
    }
    while (i < len && (isalnum((unsigned char)p[i]) || strchr(".-_%~", p[i]) || p[i] & 0x80))
        i++;
    if (i < len && p[i] == ':')
        for (i++; i < len && isdigit((unsigned char)p[i]);)
            i++;
    return i == len;
}

void http_shown(const char *url, char out[HTTP_SHOWN_BYTES])
{
    const char *start = after_scheme(url);
    if (!start) {
        const char *at = strrchr(url, '@');
        snprintf(out, HTTP_SHOWN_BYTES, "%.*s", (int)strcspn(at ? at + 1 : url, "?#"),
                 at ? at + 1 : url);
    } else {
        size_t len = strcspn(start, "/?#");
        const char *host = memrchr(start, '@', len);
        host = host ? host + 1 : start;
        size_t host_len = len - (size_t)(host - start);
        size_t path_len = strcspn(start + len, "?#");
        bool ok = is_host(host, host_len);
        snprintf(out, HTTP_SHOWN_BYTES, "%.*s%.*s%s", (int)(start - url), url,
                 ok ? (int)(host_len + path_len) : 0, host, ok ? "" : "...");
    }
    for (char *p = out; *p; p++)
        if (iscntrl((unsigned char)*p))
            *p = '?';
}

enum http_scheme http_scheme(const char *url, bool allow_file, struct err *err)
{
    if (strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0)
        return HTTP_SCHEME_HTTP;
    if (allow_file && strncasecmp(url, "file://", 7) == 0)
        return HTTP_SCHEME_FILE;
    char shown[HTTP_SHOWN_BYTES];
    http_shown(url, shown);
    err_set(err, ERR_USAGE, "'%s' is not an address that begins with %s", shown,
            allow_file ? "https://, http:// or file://" : "https:// or http://");
    return HTTP_SCHEME_BAD;
}

static int hex_digit(char c)
{
    return isdigit((unsigned char)c)          ? c - '0'
           : strchr("abcdef", c) && c != '\0' ? c - 'a' + 10
           : strchr("ABCDEF", c) && c != '\0' ? c - 'A' + 10
                                              : -1;
}

static int file_path(const char *url, struct buf *path, struct err *err)
{
    const char *p = url + strlen("file://");
    if (strncasecmp(p, "localhost/", 10) == 0)
        p += strlen("localhost");
    if (*p != '/')
        return err_set(err, ERR_USAGE, "'%s' names a file of another machine; write file:///path",
                       url);
    for (; *p; p++) {
        int high = *p == '%' ? hex_digit(p[1]) : -1;
        int low = high >= 0 ? hex_digit(p[2]) : -1;
        if (low >= 0)
            p += 2;
        char c = low >= 0 ? (char)(high * 16 + low) : *p;
        if (c == '\0')
            return err_set(err, ERR_USAGE, "'%s' holds a zero byte", url);
        buf_addc(path, c);
    }
    return buf_check(path, err);
}

// Only a regular file; a pipe must not make us wait.
static int file_open(const char *url, int *fd, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    TRY(file_path(url, &path, err));
    *fd = open(buf_str(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (*fd < 0)
        return err_errno(err, errno, "cannot open '%s'", buf_str(&path));
    if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
        return 0;
    close(*fd);
    return err_set(err, ERR_IO, "cannot read '%s': not a regular file", buf_str(&path));
}

// The file piece by piece, to a buffer or to another file.
static int file_move(const char *url, int64_t max, struct buf *out, struct fs_writer *to,
                     int64_t *moved, struct err *err)
{
    int fd;
    int rc = file_open(url, &fd, err);
    if (rc != 0)
        return rc;
    size_t piece = 65536;
    SCOPED(free_pointer) char *bytes = malloc(piece);
    if (!bytes)
        rc = err_memory(err);
    for (*moved = 0; rc == 0;) {
        ssize_t got = read(fd, bytes, piece);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            rc = err_errno(err, errno, "cannot read '%s'", url);
        if (got <= 0)
            break;
        *moved += got;
        if (*moved > max) {
            rc = err_set(err, ERR_FORMAT, "'%s' is larger than %lld bytes", url, (long long)max);
        } else if (to) {
            rc = fs_add(to, bytes, (size_t)got, err);
        } else {
            buf_add(out, bytes, (size_t)got);
            rc = buf_check(out, err);
        }
    }
    close(fd);
    return rc;
}

int http_file_read(const char *url, int64_t max, struct buf *out, struct err *err)
{
    int64_t moved;
    return file_move(url, max, out, NULL, &moved, err);
}

int http_file_copy(const char *url, int64_t max, struct fs_writer *to, int64_t *copied,
                   struct err *err)
{
    return file_move(url, max, NULL, to, copied, err);
}

int http_ca_file(const char *root, struct buf *out, struct err *err)
{
    static const char *const variables[] = {"SSL_CERT_FILE", "CURL_CA_BUNDLE"};
    static const char *const places[] = {
        "/etc/ssl/certs/ca-certificates.crt", // Debian, Ubuntu, Arch, Alpine
        "/etc/pki/tls/certs/ca-bundle.crt",   // Red Hat, Amazon Linux
        "/etc/ssl/ca-bundle.pem",             // SUSE
        "/etc/ssl/cert.pem",                  // Alpine, BSD
        "/etc/pki/tls/cert.pem",              // older Red Hat
    };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *file = getenv(variables[i]);
        if (!file || !*file)
            continue;
        if (access(file, R_OK) != 0) // the user named it, so no other is tried
            return err_errno(err, errno, "cannot read the CA certificates '%s' (%s)", file,
                             variables[i]);
        buf_adds(out, file);
        return buf_check(out, err);
    }
    SCOPED(buf_release) struct buf looked = {0};
    int rc = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        SCOPED(buf_release) struct buf path = {0};
        buf_printf(&path, "%s%s", root, places[i]);
        bool there = !path.failed && access(buf_str(&path), R_OK) == 0;
        if (there)
            buf_adds(out, buf_str(&path));
        rc = buf_check(&path, err);
        if (there || rc != 0)
            return rc != 0 ? rc : buf_check(out, err);
        buf_printf(&looked, "%s%s", i ? ", " : "", places[i]);
    }
    rc = buf_check(&looked, err);
    if (rc == 0)
        rc = err_set(err, ERR_MISSING, "no CA certificates on this machine (looked at %s)",
                     buf_str(&looked));
    if (err)
        err_hint(err, "install the package ca-certificates, or set SSL_CERT_FILE");
    return rc;
}
