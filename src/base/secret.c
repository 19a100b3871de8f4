// SPDX-License-Identifier: Apache-2.0
// Forms and names are public knowledge: the providers' documentation of their keys, and the rules
// of secret scanners. Every rule looks at a bounded part of the text, so that the time grows with
// its length.
#include "base/secret.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOOK = 64,   // bytes of a value that decide whether it is a secret
    FAR = 256,   // bytes between parts of a secret
    RANDOM = 16, // the least length of a random value
    FORM = 15,   // the least length of a known form
    WORD_BYTES = 24,
    PATTERN_MAX = 512,
    REPEAT_MAX = 1000, // the product of a pattern's repetitions: it is memory too
};

struct scan {
    const char *text;
    size_t len;
    unsigned char *hide; // a byte per character; null as long as nothing is hidden
    bool failed;
};
enum { SHOWN, MASKED, DROPPED };

static void hide(struct scan *s, size_t from, size_t to, unsigned char how)
{
    if (from >= to)
        return;
    if (!s->hide)
        s->hide = calloc(s->len, 1);
    s->failed |= !s->hide;
    for (size_t i = from; s->hide && i < to; i++)
        s->hide[i] = s->hide[i] == SHOWN ? how : s->hide[i];
}

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool among(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}
#define AMONG(word, words) among(word, words, sizeof(words) / sizeof *(words))

// ---- forms

enum alphabet { ALNUM, CAPITALS, HEX, WORDS, DOTTED };

static bool is_in(char c, enum alphabet alphabet)
{
    switch (alphabet) {
    case CAPITALS:
        return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    case HEX:
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    case ALNUM:
        return is_alnum(c);
    case WORDS:
        return is_alnum(c) || c == '_' || c == '-';
    case DOTTED:
        return is_alnum(c) || (c != '\0' && strchr("_-.=", c));
    }
    return false;
}

static const struct {
    const char *prefix;
    enum alphabet alphabet;
    size_t least; // characters after the prefix
} forms[] = {
    {"hf_", ALNUM, 30},       {"api_org_", ALNUM, 30},    {"sk-ant-", WORDS, 20},
    {"sk-proj-", WORDS, 20},  {"sk-svcacct-", WORDS, 20}, {"sk-admin-", WORDS, 20},
    {"sk-or-v1-", WORDS, 20}, {"sk-", ALNUM, 32},         {"sk_live_", ALNUM, 16},
    {"sk_test_", ALNUM, 16},  {"rk_live_", ALNUM, 16},    {"whsec_", ALNUM, 24},
    {"ghp_", ALNUM, 30},      {"gho_", ALNUM, 30},        {"ghu_", ALNUM, 30},
    {"ghs_", ALNUM, 30},      {"ghr_", ALNUM, 30},        {"github_pat_", WORDS, 22},
    {"glpat-", WORDS, 20},    {"AKIA", CAPITALS, 16},     {"ASIA", CAPITALS, 16},
    {"xoxa-", WORDS, 10},     {"xoxb-", WORDS, 10},       {"xoxe-", WORDS, 10},
    {"xoxp-", WORDS, 10},     {"xoxr-", WORDS, 10},       {"xoxs-", WORDS, 10},
    {"xapp-", WORDS, 10},     {"AIza", WORDS, 35},        {"ya29.", WORDS, 20},
    {"GOCSPX-", WORDS, 20},   {"eyJ", DOTTED, 20},        {"npm_", ALNUM, 36},
    {"pypi-", WORDS, 50},     {"dckr_pat_", WORDS, 20},   {"SG.", DOTTED, 40},
    {"r8_", ALNUM, 30},       {"nvapi-", WORDS, 40},      {"wandb_v1_", WORDS, 20},
    {"gsk_", ALNUM, 40},      {"xai-", ALNUM, 40},        {"pplx-", ALNUM, 40},
    {"dapi", HEX, 32},        {"dop_v1_", HEX, 40},       {"hvs.", WORDS, 24},
    {"rpa_", ALNUM, 30},      {"tgp_v1_", WORDS, 30},
};

static size_t span(const char *text, enum alphabet alphabet)
{
    size_t len = 0;
    while (is_in(text[len], alphabet))
        len++;
    return len;
}

// A secret of AWS has no form of its own, but follows its id: 40 characters of base64.
static size_t aws_secret(struct scan *s, size_t from)
{
    for (size_t i = from; i < s->len && i < from + FAR; i++) {
        size_t len = strspn(s->text + i, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789+/");
        if (len == 40) {
            hide(s, i, i + len, MASKED);
            return i + len;
        }
        i += len;
    }
    return from;
}

// The end of the secret of a known form that begins at `i`; `i` if there is none.
static size_t known_form(struct scan *s, size_t i)
{
    const char *at = s->text + i;
    for (size_t k = 0; k < FORM; k++) // most words are shorter
        if (!is_in(at[k], DOTTED))
            return i;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        size_t prefix = strlen(forms[f].prefix);
        if (at[0] != forms[f].prefix[0] || strncmp(at, forms[f].prefix, prefix) != 0)
            continue;
        size_t body = span(at + prefix, forms[f].alphabet);
        bool aws = forms[f].alphabet == CAPITALS;
        if (body < forms[f].least ||
            (aws && (body > forms[f].least || is_alnum(at[prefix + body]))))
            continue;
        hide(s, i, i + prefix + body, MASKED);
        return aws ? aws_secret(s, i + prefix + body) : i + prefix + body;
    }
    return i;
}

// A key of W&B is 40 hexadecimal digits, as a git commit is: the text before it decides.
static size_t wandb_key(struct scan *s, size_t i)
{
    static const char name[] = "wandb";
    if (span(s->text + i, HEX) != 40 || is_alnum(s->text[i + 40]))
        return i;
    size_t from = i > FAR ? i - FAR : 0;
    for (size_t k = from; k + sizeof name - 1 <= i; k++)
        if (strncasecmp(s->text + k, name, sizeof name - 1) == 0) {
            hide(s, i, i + 40, MASKED);
            return i + 40;
        }
    return i;
}

static size_t pem_key(struct scan *s, size_t i)
{
    static const char begin[] = "-----BEGIN ", end[] = "-----END ", dashes[] = "-----";
    const char *at = s->text + i;
    if (strncmp(at, begin, sizeof begin - 1) != 0 ||
        !memmem(at, strnlen(at, 64), "PRIVATE KEY", 11))
        return i;
    const char *stop = strstr(at, end);
    stop = stop ? strstr(stop + sizeof end - 1, dashes) : NULL;
    size_t to = stop ? (size_t)(stop - s->text) + sizeof dashes - 1 : s->len;
    hide(s, i, to, MASKED);
    return to;
}

// ---- names

enum kind {
    HARMLESS,
    WEAK,   // a secret if it looks random
    USUAL,  // a secret unless it is a number, a path, a special token or the like
    ALWAYS, // a password
};

struct words {
    char last[WORD_BYTES], before[WORD_BYTES]; // in lower case, without digits at the end
    bool capitals;                             // no small letters
    bool password;                             // one of the words means a password
};

static void end_word(struct words *w, char *word, size_t *len)
{
    static const char *const always[] = {"secret", "secrets", "password", "passwd", "passphrase"};
    while (*len > 0 && isdigit((unsigned char)word[*len - 1]))
        --*len;
    if (*len == 0)
        return;
    word[*len] = '\0';
    w->password |= AMONG(word, always);
    memcpy(w->before, w->last, sizeof w->before);
    memcpy(w->last, word, *len + 1);
    *len = 0;
}

// "HF_TOKEN", "hf-token", "hfToken" and "HFToken" are "hf" and "token".
static void split(const char *name, size_t len, struct words *w)
{
    char word[WORD_BYTES];
    size_t used = 0;
    memset(w, 0, sizeof *w);
    w->capitals = true;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)name[i],
                      next = i + 1 < len ? (unsigned char)name[i + 1] : 0;
        bool hump = i > 0 && isupper(c) &&
                    (islower((unsigned char)name[i - 1]) ||
                     (isupper((unsigned char)name[i - 1]) && islower(next)));
        if (hump || !isalnum(c))
            end_word(w, word, &used);
        if (isalnum(c) && used < sizeof word - 1)
            word[used++] = (char)tolower(c);
        w->capitals &= !islower(c);
    }
    end_word(w, word, &used);
}

// False for most names, at once: none of the words that kind_of() knows is in it.
static bool may_name_secret(const char *name, size_t len)
{
    static const char *const parts[] = {"pass", "pwd", "pat",  "jwt",  "auth",   "secret", "sig",
                                        "sas",  "key", "cred", "cook", "bearer", "token",  "dsn"};
    for (size_t i = 0; i + 2 < len; i++) {
        if (!strchr("pjaskcbtd", name[i] | 0x20))
            continue;
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
            if ((name[i] | 0x20) == parts[p][0] &&
                strncasecmp(name + i, parts[p], strlen(parts[p])) == 0)
                return true;
    }
    return false;
}

static enum kind kind_of(const char *name, size_t len)
{
    // Of `--password-file FILE` and the like.
    static const char *const about[] = {"file", "path", "dir",  "name", "id",  "url",  "length",
                                        "len",  "size", "type", "arn",  "env", "store"};
    // Of texts, not of users: `--pad-token "<pad>"`, `--initializer-token toy`.
    static const char *const texts[] = {
        "pad",  "eos",  "bos",     "unk",     "mask",   "sep",       "cls",         "special",
        "end",  "stop", "start",   "begin",   "prefix", "suffix",    "placeholder", "trigger",
        "max",  "min",  "image",   "video",   "audio",  "class",     "initializer", "modifier",
        "text", "next", "decoder", "forced",  "prompt", "instance",  "per",         "new",
        "num",  "sot",  "eot",     "newline", "think",  "separator", "speech",      "extra",
    };
    static const char *const keys[] = {
        "api",    "access",  "secret",     "private",      "auth",    "account",   "shared",
        "master", "license", "encryption", "subscription", "deploy",  "signing",   "ssh",
        "wandb",  "openai",  "hf",         "comet",        "neptune", "anthropic", "storage",
    };
    static const char *const joined[] = {"apikey",     "accesskey", "secretkey",
                                         "privatekey", "authkey",   "accountkey"};
    static const char *const usual[] = {"pass", "pwd", "jwt", "auth", "authorization"};
    static const char *const weak[] = {"credential", "credentials", "cookie", "sig", "bearer",
                                       "signature",  "sas",         "pat",    "dsn"};
    struct words w;
    if (!may_name_secret(name, len))
        return HARMLESS;
    split(name, len, &w);
    if (text_ends(w.last, "password") || text_ends(w.last, "passwd") ||
        text_ends(w.last, "secret") || (w.password && !AMONG(w.last, about)))
        return ALWAYS;
    if (strcmp(w.last, "token") == 0 && AMONG(w.before, texts))
        return HARMLESS;
    if (strcmp(w.last, "key") == 0)
        return AMONG(w.before, keys) || w.capitals ? USUAL : WEAK;
    if (text_ends(w.last, "token") || AMONG(w.last, joined) || AMONG(w.last, usual))
        return USUAL;
    return AMONG(w.last, weak) ? WEAK : HARMLESS;
}

static bool is_number(const char *value, size_t len)
{
    char text[32], *end;
    if (len >= sizeof text)
        return false;
    memcpy(text, value, len);
    text[len] = '\0';
    strtod(text, &end);
    return *end == '\0';
}

static bool is_plain(const char *value, size_t len)
{
    static const char *const words[] = {"true", "false", "yes",  "no",   "on",
                                        "off",  "none",  "null", "auto", "required"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == len && strncasecmp(words[i], value, len) == 0)
            return true;
    bool brackets =
        (value[0] == '<' && value[len - 1] == '>') || (value[0] == '[' && value[len - 1] == ']');
    bool path = value[0] == '/' || strncmp(value, "./", 2) == 0 || strncmp(value, "../", 3) == 0 ||
                strncmp(value, "~/", 2) == 0;
    return brackets || path || is_number(value, len);
}

static bool is_random(const char *value, size_t len)
{
    bool digits = false, letters = false;
    for (size_t i = 0; i < len; i++) {
        if (!is_alnum(value[i]) && !strchr("+=_-%~", value[i]))
            return false;
        digits |= isdigit((unsigned char)value[i]) != 0;
        letters |= isalpha((unsigned char)value[i]) != 0;
    }
    return len >= RANDOM && digits && letters;
}

// `value` may be cut off after LOOK bytes.
static bool is_secret(enum kind kind, const char *value, size_t len)
{
    if (kind == HARMLESS || strspn(value, "*") >= len)
        return false;
    return kind == ALWAYS || (kind == WEAK ? is_random(value, len) : !is_plain(value, len));
}

// ---- names with their values, in a text

static bool is_name(char c)
{
    return is_alnum(c) || c == '_' || c == '-' || c == '.';
}

static size_t after_spaces(const char *text, size_t i)
{
    return i + strspn(text + i, " \t");
}

// From the value's first byte to its end, at most `most` bytes of it. `*from` moves behind a quote.
static size_t value_end(const char *text, size_t *from, bool to_end, size_t most)
{
    const char *stops = " \t\r\n\"'`;&|,)]}<>";
    const char *at = text + *from;
    if (to_end)
        return *from + strnlen(at, most);
    size_t quote = strspn(at, "\\"); // \"value\" is a quote within a quote
    if (at[quote] == '"' || at[quote] == '\'') {
        stops = at[quote] == '\'' ? "'" : quote > 0 ? "\\\"" : "\"";
        *from += quote + 1;
    }
    size_t len = 0;
    while (len < most && text[*from + len] && !strchr(stops, text[*from + len]))
        len++;
    return *from + len;
}

// "Bearer TOKEN" after a header's name.
static size_t after_scheme(const char *text, size_t from)
{
    static const char *const schemes[] = {"Bearer ", "Basic ", "Token "};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strncasecmp(text + from, schemes[i], strlen(schemes[i])) == 0)
            return after_spaces(text, from + strlen(schemes[i]));
    return from;
}

// The value that follows the name at [i, end): NAME=VALUE, "NAME": "VALUE", --NAME VALUE. False if
// there is none.
static bool find_value(const char *text, size_t end, bool option, size_t *value, char *separator)
{
    size_t p = end;
    p += text[p] == '"' || text[p] == '\'';
    p += text[p] == ']';
    size_t blank = after_spaces(text, p);
    *separator = text[blank];
    if (text[blank] == '=' || (text[blank] == ':' && text[blank + 1] != '/')) {
        *value = after_spaces(text, blank + 1 + (text[blank + 1] == '='));
        return true;
    }
    *separator = ' ';
    *value = blank;
    return option && blank > end && p == end && text[blank] != '-';
}

// Hides the value of the name at `i`. Returns where to go on.
static size_t named_value(struct scan *s, size_t i, bool script)
{
    const char *text = s->text;
    size_t name = i, end = i, value;
    char separator;
    while (text[name] == '-')
        name++;
    while (is_name(text[end]))
        end++;
    if (name >= end || isdigit((unsigned char)text[name]) ||
        !find_value(text, end, name > i, &value, &separator))
        return end > i ? end : i + 1;
    enum kind kind = kind_of(text + name, end - name);
    if (kind == HARMLESS)
        return end;
    // KEY=VALUE as one argument: the value has no end within it.
    bool to_end = separator == '=' && !script && strspn(text, "-+") == name;
    if (separator == ':')
        value = after_scheme(text, value);
    size_t from = value, to = value_end(text, &from, to_end, LOOK);
    if (to <= from || !is_secret(kind, text + from, to - from))
        return end;
    from = value;
    to = value_end(text, &from, to_end, SIZE_MAX);
    hide(s, from, to, MASKED);
    return to;
}

// ---- URLs

// Drops the password of scheme://user:password@host; masks a user that is a key. `i` is at "://".
// Returns where to go on.
static size_t url_password(struct scan *s, size_t i)
{
    const char *host = s->text + i + 3;
    size_t authority = strcspn(host, "/?# \t\r\n\"'`"), word = 0, at = SIZE_MAX;
    size_t most = authority + strnlen(host + authority, FAR);
    for (size_t k = 0; k < authority; k++) // the last one: a password may have another
        at = host[k] == '@' ? k : at;
    const char *colon = memchr(host, ':', at < authority ? at : authority);
    while (colon && at == SIZE_MAX && word < most && !strchr(" \t\r\n\"'`", host[word]))
        word++;
    for (size_t k = authority; k < word; k++) // a password with a slash
        at = host[k] == '@' ? k : at;
    if (at == SIZE_MAX)
        return i + 3;
    size_t user = colon ? (size_t)(colon - host) : at;
    if (is_random(host, user))
        hide(s, i + 3, i + 3 + user, MASKED);
    else
        known_form(s, i + 3);
    hide(s, i + 3 + user, i + 3 + at, DROPPED);
    return i + 3 + at;
}

// ---- together

static void scan_text(struct scan *s, bool script)
{
    const char *text = s->text;
    for (size_t i = 0, next; i < s->len; i = next) {
        char before = i > 0 ? text[i - 1] : '\0';
        next = i + 1;
        if (text[i] == ':' && text[i + 1] == '/' && text[i + 2] == '/' && is_alnum(before)) {
            next = url_password(s, i);
        } else if (text[i] == '-' && text[i + 1] == '-') {
            next = pem_key(s, i);
            if (next == i)
                next = is_name(before) ? i + 1 : 0;
        } else if (is_alnum(text[i]) && !is_alnum(before)) {
            next = known_form(s, i);
            if (next == i)
                next = wandb_key(s, i);
            if (next == i)
                next = is_name(before) ? i + 1 : 0;
        } else if (is_name(text[i]) && !is_name(before)) {
            next = 0;
        }
        if (next == 0) { // a name begins here
            size_t after = named_value(s, i, script);
            // Within the name itself a known form may begin.
            next = s->hide && s->hide[after - 1] ? after : i + 1;
        }
    }
}

// False for most texts, at once: no name with a value, no URL and no word as long as a known form.
static bool may_hide(const char *text)
{
    for (size_t run = 0; *text; text++) {
        bool dash = *text == '-';
        if (*text == '=' || *text == ':' || (dash && run == 0))
            return true;
        run = dash || is_alnum(*text) || *text == '_' || *text == '.' ? run + 1 : 0;
        if (run >= FORM)
            return true;
    }
    return false;
}

static void match_own(struct scan *s, const struct secrets *own)
{
    for (size_t p = 0; own && p < own->count; p++) {
        regmatch_t match;
        size_t at = 0;
        while (at < s->len &&
               regexec(&own->items[p], s->text + at, 1, &match, at > 0 ? REG_NOTBOL : 0) == 0) {
            hide(s, at + (size_t)match.rm_so, at + (size_t)match.rm_eo, MASKED);
            at += match.rm_eo > 0 ? (size_t)match.rm_eo : 1;
        }
    }
}

static bool matches(const struct secrets *own, const char *name)
{
    for (size_t p = 0; own && p < own->count; p++)
        if (regexec(&own->items[p], name, 0, NULL, 0) == 0)
            return true;
    return false;
}

static bool value_is_secret(const struct secrets *own, const char *name, const char *text)
{
    if (!name || *text == '\0')
        return false;
    const char *bare = name + strspn(name, "-");
    return matches(own, bare) || is_secret(kind_of(bare, strlen(bare)), text, strnlen(text, LOOK));
}

void secret_mask(const struct secrets *own, const char *name, const char *text, struct buf *out)
{
    struct scan s = {.text = text, .len = strlen(text)};
    if (value_is_secret(own, name, text)) {
        buf_adds(out, SECRET_MASK);
        return;
    }
    if (!(own && own->count) && !may_hide(text)) {
        buf_add(out, text, s.len);
        return;
    }
    // The text after `sh -c` is words, not one value.
    size_t dashed = name && name[0] == '-' ? strlen(name) : 0;
    scan_text(&s, dashed > 1 && dashed < 5 && name[dashed - 1] == 'c');
    match_own(&s, own);
    for (size_t i = 0, end; i < s.len; i = end) {
        unsigned char how = s.hide ? s.hide[i] : SHOWN;
        for (end = s.hide ? i + 1 : s.len; end < s.len && s.hide[end] == how;)
            end++;
        if (how == SHOWN)
            buf_add(out, text + i, end - i);
        else if (how == MASKED)
            buf_adds(out, SECRET_MASK);
    }
    out->failed |= s.failed;
    free(s.hide);
}

void secret_mask_word(const struct secrets *own, const char *before, const char *word,
                      struct buf *out)
{
    bool option = before && before[0] == '-' && !strchr(before, '=') && word[0] != '-';
    bool login = before && strcmp(before, "login") == 0; // wandb login KEY
    secret_mask(own, option ? before : login ? "key" : NULL, word, out);
}

// ---- the user's patterns

// A pattern with repeated repetitions takes memory that grows with their product.
static bool is_large(const char *pattern)
{
    double product = 1;
    for (const char *p = pattern; (p = strchr(p, '{')); p++) {
        double least = strtod(p + 1, NULL);
        const char *comma = p + 1 + strspn(p + 1, "0123456789");
        double most = *comma == ',' ? strtod(comma + 1, NULL) : least;
        product *= most > least ? most : least > 1 ? least : 1;
    }
    return strlen(pattern) > PATTERN_MAX || !(product <= REPEAT_MAX);
}

int secrets_init(struct secrets *own, const char *const *patterns, size_t count, struct err *err)
{
    *own = (struct secrets){0};
    if (count == 0)
        return 0;
    own->items = calloc(count, sizeof *own->items);
    if (!own->items)
        return err_memory(err);
    for (size_t i = 0; i < count; i++) {
        char why[128];
        if (is_large(patterns[i]))
            return err_set(err, ERR_USAGE, "--secret '%.40s': the pattern is too large",
                           patterns[i]);
        int failed = regcomp(&own->items[i], patterns[i], REG_EXTENDED);
        if (failed == REG_ESPACE)
            return err_memory(err);
        if (failed != 0) {
            regerror(failed, &own->items[i], why, sizeof why);
            return err_set(err, ERR_USAGE, "--secret '%.40s': %s", patterns[i], why);
        }
        own->count++;
    }
    return 0;
}

void secrets_release(struct secrets *own)
{
    for (size_t i = 0; i < own->count; i++)
        regfree(&own->items[i]);
    free(own->items);
    *own = (struct secrets){0};
}
