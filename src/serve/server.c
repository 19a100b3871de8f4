// SPDX-License-Identifier: Apache-2.0
// The socket, libmicrohttpd's callbacks, and the limits for clients.
#include <arpa/inet.h>
#include <errno.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "serve/board.h"
#include "serve/renderer.h"
#include "serve/mhd.h"

#define TOO_LONG "The request is too large for this server."
#define CROWDED  "The server is reading too many requests that write."

enum {
    THREADS = 4, // for HTTP; pages are rendered by others, see renderer.h
    CONNECTIONS = 2048,
    BODIES_MAX = 4 * SERVE_BODY_MAX, // bytes of all bodies being read
    HEADER_BYTES = 32 << 10,         // memory per connection, without the body
    LARGE = 64 << 10,                // bytes, see bound_memory()
    SPARE = 1 << 20,                 // bytes
    IDLE_S = 10,
    REQUEST_S = 30,
};

// A connection and the start of its current request. Limiting the request's time, not the time
// since the last byte, stops clients that send a byte every few seconds forever.
struct connection {
    int fd;
    int64_t since_ns;
    bool served; // its request is read or answered; otherwise it is silent, or sends one
    bool shed;
    struct connection *next, **link;
};

struct serve {
    struct site site;
    struct renderer *renderer;
    struct MHD_Daemon *daemon;
    struct sockaddr_storage address;
    pthread_mutex_t lock; // guards the rest
    struct connection *connections;
    size_t open[2];    // connections that were not shed: silent, and served
    size_t most;       // of both
    size_t body_bytes; // promised to bodies
};

// ---- connections

static struct connection *connection_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

// With the lock.
static void set_served(struct serve *serve, struct connection *c, bool served)
{
    if (!c->shed) {
        serve->open[c->served]--;
        serve->open[served]++;
    }
    c->served = served;
}

static void note_served(struct serve *serve, struct MHD_Connection *connection)
{
    struct connection *c = connection_of(connection);
    pthread_mutex_lock(&serve->lock);
    if (c)
        set_served(serve, c, true);
    pthread_mutex_unlock(&serve->lock);
}

// Makes room, with the lock. Behind a proxy all clients have one address, so a share for each
// address would shut out the others; instead the connection that has waited longest is closed, of
// the kind that takes up more: silent ones, or clients that do not read their answers.
static void shed(struct serve *serve)
{
    bool kind = serve->open[true] > serve->open[false];
    struct connection *oldest = NULL;
    for (struct connection *c = serve->connections; c; c = c->next)
        if (!c->shed && c->served == kind && (!oldest || c->since_ns < oldest->since_ns))
            oldest = c;
    if (!oldest)
        return;
    oldest->shed = true;
    serve->open[kind]--;
    shutdown(oldest->fd, SHUT_RDWR);
}

static void connected(void *arg, struct MHD_Connection *connection, void **context,
                      enum MHD_ConnectionNotificationCode code)
{
    struct serve *serve = arg;
    struct connection *c = *context;
    pthread_mutex_lock(&serve->lock);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        c = info ? calloc(1, sizeof *c) : NULL; // out of memory: only IDLE_S limits it
        if (c) {
            *c = (struct connection){.fd = info->connect_fd,
                                     .since_ns = clock_now_ns(),
                                     .next = serve->connections,
                                     .link = &serve->connections};
            if (c->next)
                c->next->link = &c->next;
            serve->connections = c;
            serve->open[false]++;
        }
        *context = c;
        if (serve->open[false] + serve->open[true] > serve->most)
            shed(serve);
    } else if (c) { // before its descriptor is closed
        *c->link = c->next;
        if (c->next)
            c->next->link = c->link;
        serve->open[c->served] -= !c->shed;
        free(c);
        *context = NULL;
    }
    pthread_mutex_unlock(&serve->lock);
}

void serve_tend(struct serve *serve)
{
    int64_t before = clock_now_ns() - REQUEST_S * NS_PER_S;
    pthread_mutex_lock(&serve->lock);
    for (struct connection *c = serve->connections; c; c = c->next)
        if (c->since_ns < before)
            shutdown(c->fd, SHUT_RDWR);
    pthread_mutex_unlock(&serve->lock);
    malloc_trim(SPARE); // free pages between others, too
}

// ---- requests

static void identify(struct MHD_Connection *connection, const struct site *site,
                     struct http_head *head)
{
    const char *given = mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
    head->host = mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    if (!given)
        return;
    if (strncasecmp(given, "Bearer ", 7) == 0) {
        given += 7 + strspn(given + 7, " ");
        head->bearer = site_knows(site, given);
        return;
    }
    char *password = NULL;
    char *name = mhd.basic_auth_get_username_password(connection, &password);
    head->basic = site_knows(site, password);
    if (name)
        mhd.free(name);
    if (password)
        mhd.free(password);
}

static enum MHD_Result add_parameter(void *arg, enum MHD_ValueKind kind, const char *key,
                                     const char *value)
{
    struct request *request = arg;
    (void)kind;
    if (request->query_count == QUERY_MOST)
        return MHD_NO;
    request->query[request->query_count++] = (struct parameter){key ? key : "", value ? value : ""};
    return MHD_YES;
}

// The length of the body that is to come; 0 if the client does not say.
static unsigned long long announced(struct MHD_Connection *connection)
{
    const char *length = mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
    return length ? strtoull(length, NULL, 10) : 0;
}

// Makes sure that memory for `len` bytes of the call's body is promised. False if too much is.
static bool reserve(struct serve *serve, struct render_call *call, size_t len)
{
    enum { STEP = 1 << 20 };
    if (len <= call->body_reserved)
        return true;
    size_t more = (len + STEP - 1) / STEP * STEP - call->body_reserved;
    pthread_mutex_lock(&serve->lock);
    bool free_ = serve->body_bytes + more <= BODIES_MAX;
    serve->body_bytes += free_ ? more : 0;
    call->body_reserved += free_ ? more : 0;
    pthread_mutex_unlock(&serve->lock);
    return free_;
}

// The client's address: a network of IPv6 may belong to one client.
static void note_address(struct MHD_Connection *connection, struct render_call *call)
{
    const union MHD_ConnectionInfo *info =
        mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *from = info ? info->client_addr : NULL;
    if (from && from->sa_family == AF_INET) {
        memcpy(call->from, &((const struct sockaddr_in *)from)->sin_addr, 4);
        call->from[4] = AF_INET;
    } else if (from && from->sa_family == AF_INET6) {
        const struct in6_addr *six = &((const struct sockaddr_in6 *)from)->sin6_addr;
        bool mapped = IN6_IS_ADDR_V4MAPPED(six);
        memcpy(call->from, six->s6_addr + (mapped ? 12 : 0), mapped ? 4 : 8);
        call->from[4] = mapped ? AF_INET : call->from[4];
    }
    info = mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    call->fd = info ? info->connect_fd : -1;
}

// Answers at once, without the renderer.
static enum MHD_Result respond(struct MHD_Connection *connection, struct render_call *call)
{
    struct MHD_Response *response = renderer_response(&call->answer);
    if (!response)
        return MHD_NO;
    enum MHD_Result result =
        mhd.queue_response(connection, (unsigned)call->answer.status, response);
    mhd.destroy_response(response);
    return result;
}

// Only requests that write have a use for their body.
static void add_body(struct serve *serve, struct render_call *call, const char *bytes, size_t len)
{
    if (!call->writes || call->refused || call->too_long || call->crowded)
        return;
    call->too_long = call->body.len + len > SERVE_BODY_MAX;
    call->crowded = !call->too_long && !reserve(serve, call, call->body.len + len);
    if (!call->too_long && !call->crowded)
        buf_add(&call->body, bytes, len);
}

// The body is not read; the connection ends with the answer.
static enum MHD_Result refuse_unread(struct MHD_Connection *connection, struct render_call *call,
                                     int status, const char *says)
{
    call->request.json = true;
    call->answer.wait = status == 429;
    route_error(&call->request, &call->answer, status, says);
    return respond(connection, call);
}

static enum MHD_Result begin(struct serve *serve, struct MHD_Connection *connection,
                             const char *path, const char *method, void **state)
{
    struct render_call *call = calloc(1, sizeof *call);
    if (!call)
        return MHD_NO;
    *state = call;
    call->connection = connection;
    call->request.site = &serve->site;
    call->head = (struct http_head){.method = method, .path = path};
    note_address(connection, call);
    identify(connection, &serve->site, &call->head);
    call->refused = route_refuses(&call->request, &call->head, &call->answer);
    call->writes = !route_reads(&call->head);
    unsigned long long body = announced(connection);
    if (body > SERVE_BODY_MAX)
        return refuse_unread(connection, call, 413, TOO_LONG);
    if (call->writes && !call->refused && !reserve(serve, call, (size_t)body))
        return refuse_unread(connection, call, 429, CROWDED);
    if (call->writes && !call->refused)
        note_served(serve, connection);
    return MHD_YES;
}

// Called once after the header, then with each piece of the body, then at its end, and again when
// the renderer resumes the connection. Refusals are sent after the body too: clients write first
// and then read.
static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *bytes,
                              size_t *len, void **state)
{
    (void)version;
    struct serve *serve = arg;
    struct render_call *call = *state;
    if (!call)
        return begin(serve, connection, path, method, state);
    if (call->render)
        return renderer_answer(serve->renderer, call);
    if (*len > 0) {
        add_body(serve, call, bytes, *len);
        *len = 0;
        return MHD_YES;
    }
    note_served(serve, connection);
    call->answer.wait |= call->crowded;
    if (call->too_long)
        route_error(&call->request, &call->answer, 413, TOO_LONG);
    else if (call->crowded)
        route_error(&call->request, &call->answer, 429, CROWDED);
    else if (call->body.failed)
        route_error(&call->request, &call->answer, 503, "The server is out of memory.");
    if (call->too_long || call->crowded || call->body.failed || call->refused)
        return respond(connection, call);
    mhd.get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_parameter, &call->request);
    call->head.path = path;
    call->head.method = method;
    call->request.body = buf_str(&call->body);
    call->request.body_len = call->body.len;
    return renderer_answer(serve->renderer, call);
}

static void completed(void *arg, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode code)
{
    struct serve *serve = arg;
    struct render_call *call = *state;
    (void)code;
    struct connection *c = connection_of(connection);
    pthread_mutex_lock(&serve->lock);
    if (c) {
        set_served(serve, c, false);
        c->since_ns = clock_now_ns();
    }
    serve->body_bytes -= call ? call->body_reserved : 0;
    pthread_mutex_unlock(&serve->lock);
    if (call) {
        renderer_leave(serve->renderer, call);
        buf_release(&call->body);
        buf_release(&call->answer.text);
    }
    free(call);
    *state = NULL;
}

// ---- life cycle

static int bad_address(const char *listen, struct err *err)
{
    err_set(err, ERR_USAGE, "'%s' is not an address to listen on", listen);
    return err_hint(err, "examples: 127.0.0.1:8732, [::1]:8732, 0.0.0.0:80, or only a port");
}

static int parse_address(const char *listen, struct sockaddr_storage *out, struct err *err)
{
    char host[64] = "127.0.0.1", text[80];
    const char *colon = strrchr(listen, ':'), *port = colon ? colon + 1 : listen;
    if (snprintf(text, sizeof text, "%s", listen) >= (int)sizeof text)
        return bad_address(listen, err);
    size_t len = colon ? (size_t)(colon - listen) : 0;
    bool bracketed = len > 2 && listen[0] == '[' && listen[len - 1] == ']';
    if (colon && (len == 0 || len >= sizeof host))
        return bad_address(listen, err);
    if (bracketed)
        snprintf(host, sizeof host, "%.*s", (int)len - 2, listen + 1);
    else if (colon && (len != 9 || strncmp(listen, "localhost", 9) != 0))
        snprintf(host, sizeof host, "%.*s", (int)len, listen);
    if (!*port || strlen(port) > 5 || port[strspn(port, "0123456789")] ||
        strtol(port, NULL, 10) > 65535 || (!bracketed && strchr(host, ':')))
        return bad_address(listen, err);
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return bad_address(listen, err);
    memcpy(out, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return 0;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
    return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
}

// Raises the limit on descriptors if needed.
static unsigned connections_most(void)
{
    enum { OURS = 128 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return CONNECTIONS / 4;
    if (limit.rlim_cur < CONNECTIONS + OURS) {
        limit.rlim_cur = limit.rlim_max < CONNECTIONS + OURS ? limit.rlim_max : CONNECTIONS + OURS;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= CONNECTIONS + OURS)
        return CONNECTIONS;
    return limit.rlim_cur > 2 * OURS ? (unsigned)limit.rlim_cur - OURS : OURS / 2;
}

static int start_daemon(struct serve *serve, struct err *err)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    if (serve->address.ss_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    unsigned most = connections_most(); // each thread has its share, so some may be full early
    serve->most = most - most / THREADS;
    errno = 0;
    serve->daemon = mhd.start_daemon(
        flags, 0, NULL, NULL, handle, serve, MHD_OPTION_SOCK_ADDR,
        (struct sockaddr *)&serve->address, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)THREADS,
        MHD_OPTION_CONNECTION_LIMIT, most, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES, MHD_OPTION_NOTIFY_COMPLETED,
        completed, serve, MHD_OPTION_NOTIFY_CONNECTION, connected, serve, MHD_OPTION_END);
    if (serve->daemon)
        return 0;
    int rc =
        err_errno(err, errno ? errno : EINVAL, "cannot listen on '%s'", serve->site.options.listen);
    err_hint(err, "choose another address or port with --listen");
    return rc;
}

// Rendering a page takes a few megabytes for some milliseconds, in any of a dozen threads. By
// default each thread has a heap of its own, and each heap keeps the most that it ever needed: of
// two, 20 MB more than of one, and it took 500,000 requests until both had seen their worst. So
// there is one heap, texts of pages are not in it and go back to the system at once, and what is
// free in it goes back every second.
static void bound_memory(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, SPARE);
}

static int start(struct serve *serve, const struct serve_options *options, struct err *err)
{
    struct site *site = &serve->site;
    TRY(parse_address(options->listen, &serve->address, err));
    TRY(site_init(site, options, is_loopback(&serve->address), err));
    TRY(mhd_load(err));
    ledger_on_damage(site_say_damaged, site);
    TRY(site_check(site, err));
    TRY(run_rows_new(&site->rows, err));
    TRY(board_new(&site->board, site, err));
    TRY(renderer_new(&serve->renderer, err));
    return start_daemon(serve, err);
}

int serve_start(struct serve **out, const struct serve_options *options, struct err *err)
{
    struct serve *serve = calloc(1, sizeof *serve);
    if (!serve)
        return err_memory(err);
    bound_memory();
    pthread_mutex_init(&serve->lock, NULL);
    int rc = start(serve, options, err);
    if (rc != 0)
        serve_stop(serve);
    *out = rc == 0 ? serve : NULL;
    return rc;
}

void serve_stop(struct serve *serve)
{
    if (!serve)
        return;
    board_stop(serve->site.board);
    renderer_close(serve->renderer);
    if (serve->daemon)
        mhd.stop_daemon(serve->daemon);
    renderer_free(serve->renderer);
    board_free(serve->site.board);
    ledger_on_damage(NULL, NULL);
    site_release(&serve->site);
    pthread_mutex_destroy(&serve->lock);
    free(serve);
}

void serve_url(const struct serve *serve, struct buf *out)
{
    char host[INET6_ADDRSTRLEN] = "";
    bool six = serve->address.ss_family == AF_INET6;
    const void *address =
        six ? (const void *)&((const struct sockaddr_in6 *)&serve->address)->sin6_addr
            : &((const struct sockaddr_in *)&serve->address)->sin_addr;
    inet_ntop(serve->address.ss_family, address, host, sizeof host);
    const union MHD_DaemonInfo *info =
        mhd.get_daemon_info(serve->daemon, MHD_DAEMON_INFO_BIND_PORT);
    buf_printf(out, six ? "http://[%s]:%u/" : "http://%s:%u/", host, info ? info->port : 0u);
}

const struct field serving_fields[] = {
    FIELD(FIELD_TEXT, struct serving, schema, "`" SERVING_SCHEMA "`"),
    FIELD(FIELD_TEXT, struct serving, url, "its address, with the port chosen if 0 was given"),
    FIELD_END,
};
