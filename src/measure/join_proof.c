// SPDX-License-Identifier: Apache-2.0
// The secret of a job, and what proves that a process has it. Job numbers, ports and host names are
// known to everybody on a shared machine; this is not.
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folders.h"
#include "base/fs.h"
#include "measure/join_parts.h"

enum { SECRET_LEAST = 16, SECRET_MOST = 4096 }; // bytes

#define MAKE_ONE "(umask 077; head -c 24 /dev/urandom | base64 > FILE), on all machines of the job"

// ---- where it is from

// The file is this user's or root's, and nobody else can read it.
static int read_secret(const char *path, int flags, struct buf *out, struct err *err)
{
    struct stat st;
    int rc = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        rc = err_set(err, ERR_IO, "'%s' is no regular file", path);
    } else if ((st.st_uid != getuid() && st.st_uid != 0) || (st.st_mode & 077) != 0) {
        rc = err_set(err, ERR_IO, "'%s' is not for this user alone (mode %03o, user %u)", path,
                     st.st_mode & 0777u, (unsigned)st.st_uid);
        err_hint(err, "type: chmod 600 %.200s", path);
    } else {
        char *at = buf_reserve(out, SECRET_MOST);
        ssize_t n = at ? read(fd, at, SECRET_MOST) : 0;
        buf_advance(out, n > 0 ? (size_t)n : 0);
        buf_trim(out);
        if (n < 0)
            rc = err_errno(err, errno, "cannot read '%s'", path);
        else if (out->len < SECRET_LEAST && !out->failed)
            rc = err_set(err, ERR_IO, "'%s' is shorter than %d bytes", path, SECRET_LEAST);
    }
    close(fd);
    return rc != 0 ? rc : buf_check(out, err);
}

// Makes the file unless there is one. link() never replaces: of processes that start at once, on
// machines that share the folder, one makes it, and all read that.
static int make_secret(const char *path, struct err *err)
{
    uint8_t bytes[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES];
    struct buf draft = {0};
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return err_errno(err, errno, "cannot get random bytes");
    sha256_hex(bytes, hex);
    buf_printf(&draft, "%s.%.16s", path, hex + 48);
    int rc = buf_check(&draft, err);
    hex[48] = '\n'; // 192 bits
    if (rc == 0)
        rc = fs_write_private(buf_str(&draft), hex, 49, err);
    if (rc == 0) {
        if (link(buf_str(&draft), path) != 0 && errno != EEXIST)
            rc = err_errno(err, errno, "cannot create '%s'", path);
        unlink(buf_str(&draft));
    }
    explicit_bzero(hex, sizeof hex);
    buf_release(&draft);
    return rc;
}

// This user's own, made when it is first needed.
static int own_secret(struct join *j, struct buf *out, struct err *err)
{
    struct buf path = {0};
    struct stat st;
    int rc = folder_data(&path, err);
    if (rc == 0)
        rc = fs_mkdirs_private(buf_str(&path), err);
    buf_adds(&path, "/join.secret");
    if (rc == 0 && lstat(buf_str(&path), &st) != 0)
        rc = make_secret(buf_str(&path), err);
    if (rc == 0)
        rc = read_secret(buf_str(&path), O_NOFOLLOW, out, err);
    snprintf(j->from, sizeof j->from, "%s", buf_str(&path));
    buf_release(&path);
    return rc;
}

// What mpirun draws for each job and puts into the environment of its processes alone. Where Slurm
// set it, it is the job's number, with zeros.
static const char *mpirun_secret(const struct join *j)
{
    const char *key = join_variable("OMPI_MCA_orte_precondition_transports");
    if (!key || strcmp(j->place.by, "mpirun") != 0 || strlen(key) != 33 || strstr(key, "00000000"))
        return NULL;
    return key;
}

static int find_secret(struct join *j, struct buf *out, struct err *err)
{
    const char *file = join_variable("FARE_JOIN_SECRET_FILE");
    const char *given = join_variable("FARE_JOIN_SECRET"), *mpi = mpirun_secret(j);
    struct err why = {0};
    if (file) {
        snprintf(j->from, sizeof j->from, "%s", file);
        if (read_secret(file, 0, out, &why) == 0)
            return 0;
        err_set(err, ERR_USAGE, "FARE_JOIN_SECRET_FILE: %s", why.text);
        return err_hint(err, "%s", why.hint[0] ? why.hint : "create it with: " MAKE_ONE);
    }
    snprintf(j->from, sizeof j->from, "%s", given ? "FARE_JOIN_SECRET" : "mpirun");
    if (given && strlen(given) < SECRET_LEAST) {
        err_set(err, ERR_USAGE, "FARE_JOIN_SECRET is shorter than %d bytes", SECRET_LEAST);
        return err_hint(err, "export FARE_JOIN_SECRET=$(head -c 24 /dev/urandom | base64)");
    }
    if (given || mpi) {
        buf_adds(out, given ? given : mpi);
        return buf_check(out, err);
    }
    int rc = own_secret(j, out, &why);
    if (rc == ERR_MEMORY)
        return err_memory(err);
    if (rc != 0)
        snprintf(j->problem, sizeof j->problem, "%.300s", why.text);
    return 0;
}

int join_find_key(struct join *j, struct err *err)
{
    struct buf secret = {0};
    struct hmac mac;
    int rc = find_secret(j, &secret, err);
    if (j->problem[0])
        buf_reset(&secret); // on one machine the kernel tells who the other is
    hmac_init(&mac, buf_str(&secret), secret.len);
    hmac_add(&mac, j->job, sizeof j->job);
    hmac_done(&mac, j->key);
    if (secret.data)
        explicit_bzero(secret.data, secret.cap);
    buf_release(&secret);
    return rc;
}

void join_say_secret(const struct join *j, struct buf *out)
{
    if (j->problem[0])
        buf_printf(out, "there is no secret of the job: %s", j->problem);
    else
        buf_printf(out, "the secret of the job is from %s", j->from);
    buf_adds(out, "; all its machines need the same: FARE_JOIN_SECRET_FILE names a file, mode 600");
}

// ---- proofs

void join_prove(const uint8_t key[SHA256_BYTES], char what, uint64_t number, const void *bytes,
                size_t len, uint8_t proof[SHA256_BYTES])
{
    struct hmac mac;
    hmac_init(&mac, key, SHA256_BYTES);
    hmac_add(&mac, &what, 1);
    hmac_add(&mac, &number, sizeof number);
    hmac_add(&mac, bytes, len);
    hmac_done(&mac, proof);
}

bool join_proves(const uint8_t key[SHA256_BYTES], char what, uint64_t number, const void *bytes,
                 size_t len, const uint8_t proof[SHA256_BYTES])
{
    uint8_t right[SHA256_BYTES];
    join_prove(key, what, number, bytes, len, right);
    return sha256_same(right, proof);
}

bool join_draw(uint8_t nonce[SHA256_BYTES])
{
    return getrandom(nonce, SHA256_BYTES, 0) == SHA256_BYTES;
}

// Both nonces, and who the other one says it is: nothing that was recorded before fits.
static void mix(const struct join *j, char what, const struct join_hello *hello,
                const struct join_welcome *welcome, uint8_t out[SHA256_BYTES])
{
    uint8_t both[sizeof *hello + sizeof welcome->nonce];
    memcpy(both, hello, sizeof *hello);
    memcpy(both + sizeof *hello, welcome->nonce, sizeof welcome->nonce);
    join_prove(j->key, what, 0, both, sizeof both, out);
}

void join_bind(const struct join *j, const struct join_hello *hello,
               const struct join_welcome *welcome, uint8_t proof[SHA256_BYTES],
               struct join_session *session)
{
    *session = (struct join_session){0};
    mix(j, 'w', hello, welcome, proof);
    mix(j, 's', hello, welcome, session->key);
}
