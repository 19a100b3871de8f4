// SPDX-License-Identifier: Apache-2.0
// Requests of any bytes to the pages over a small ledger, as they come from libmicrohttpd: a line
// with method and address, lines with parameters or a header, an empty line, the body.
#include <assert.h>
#include <jansson.h>
#include <stdint.h>

#include "serve/site_cases.h"

static struct site_case site;
static int failures; // by our fault: there must be none

static void complain(const char *line)
{
    fprintf(stderr, "%s\n", line);
    failures++;
}

static void clean_up(void)
{
    site_case_release(&site);
}

static void set_up(void)
{
    static const char *const records[] = {
        SITE_RUN("20260101T000001Z-aaaa", "<script>x</script>",
                 ",\"samples\":[{\"at_s\":0,\"power_w\":1},{\"at_s\":1,\"power_w\":2}]"),
        SITE_RUN("20260101T000002Z-bbbb", "b & c", ",\"test_accuracy\":0.5,\"batch\":32")};
    if (site.folder[0])
        return;
    site_case_init(&site, records, 2);
    site.site.options.complain = complain;
    atexit(clean_up);
}

static void read_head(char *line, struct request *request, struct http_head *asked)
{
    char *value = strchr(line, '=');
    if (strncmp(line, "Host: ", 6) == 0) {
        asked->host = line + 6;
    } else if (strcmp(line, "Bearer") == 0) {
        asked->bearer = true;
    } else if (request->query_count < QUERY_MOST) {
        if (value)
            *value++ = '\0';
        request->query[request->query_count++] = (struct parameter){line, value ? value : ""};
    }
}

static void judge(const struct answer *answer)
{
    static const int known[] = {200, 400, 401, 403, 404, 405, 429};
    const char *text = buf_str(&answer->text);
    bool fits = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        fits |= answer->status == known[i];
    assert(fits && failures == 0 && answer->type && answer->text.len > 0);
    if (strcmp(answer->type, "application/json") == 0) {
        json_t *json = json_loads(text, 0, NULL);
        assert(json);
        json_decref(json);
    } else if (strncmp(answer->type, "text/html", 9) == 0) { // what others wrote is no element
        assert(!strstr(text, "<script") && !strstr(text, "<img") && strstr(text, "</html>"));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    set_up();
    char *text = strndup((const char *)data, size), *rest = text;
    struct http_head asked = {.method = "GET", .path = "/", .host = "localhost"};
    struct request request = {.site = &site.site};
    struct answer answer = {0};
    char *first = strsep(&rest, "\n"), *line;
    asked.method = strsep(&first, " ");
    asked.path = first ? first : "/";
    while (rest && (line = strsep(&rest, "\n")) && *line)
        read_head(line, &request, &asked);
    request.body = rest ? rest : "";
    request.body_len = strlen(request.body);
    if (strcmp(asked.method, "POST") == 0) // what it writes is fuzz_push's
        request.body_len = 0;
    site_case_ask(&request, &asked, &answer);
    judge(&answer);
    buf_release(&answer.text);
    free(text);
    return 0;
}
