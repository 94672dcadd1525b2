/* merit_environment.h: what the author of an environment in C or C++ includes.
 *
 * An environment has options, and functions that configure, reset and step one slot:
 *
 *     static merit_option options[] = {{"length", 24, 6, 64}};
 *     static const char *configure(const char *split) { … return spec as JSON; }
 *     static void reset(uint64_t seed, merit_turn *t) { … }
 *     static void step(int32_t action, const char *text, uint32_t len, merit_turn *t) { … }
 *     MERIT_ENVIRONMENT("corridor", "1.0.0", "Find the way out.", options, configure, reset, step)
 *
 * examples/corridor.c is a complete one, built without a C library. Every slot has its
 * own memory, and every episode begins with the memory as configure left it. The layout
 * is that of docs/environment-modules.md, version 1. The target must be wasm32.
 */
#ifndef MERIT_ENVIRONMENT_H
#define MERIT_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

/* A number that a configuration may set: its default, and the whole numbers allowed. */
typedef struct { const char *key; double value, least, most; } merit_option;

typedef struct { const void *at; uint32_t size; } merit_span;

/* What a reset or a step answers. It is cleared before each call. Whatever it points to
 * must be static, and stay as it is until the next call. */
typedef struct {
    double reward;    /* finite; 0 after a reset */
    uint32_t flags, reserved_;
    merit_span anchor; /* the raw observation in UTF-8: equal anchors are equal states */
    merit_span text;   /* for a reader; without it, the anchor */
    merit_span features; /* float32; size is their number. Needed if merit_wants_features() */
    merit_span mask;   /* one byte for each action, 1 = available; without it, all are */
    merit_span events_;
} merit_turn;

enum { MERIT_TERMINATED = 1, MERIT_TRUNCATED = 2, MERIT_FAILED = 4, MERIT_INVALID_ACTION = 8 };

typedef struct { uint32_t failed; const char *text; uint32_t size; } merit_answer_;
typedef struct { uint32_t kind; merit_span name, message; } merit_event_;

static uint32_t merit_want_;
static merit_event_ merit_events_[64];
static char merit_room_[1 << 16]; /* names and numbers of events, answers, the setup */
static uint32_t merit_used_;
static merit_answer_ merit_result_;
static merit_turn merit_turn_;

static inline int merit_wants_text(void) { return (int)(merit_want_ & 1); }
static inline int merit_wants_features(void) { return (int)(merit_want_ >> 1 & 1); }

static inline uint32_t merit_length(const char *s) { uint32_t n = 0; while (s[n]) n++; return n; }

/* Add text to a buffer of most bytes; what does not fit traps, which fails the slot. */
static inline uint32_t merit_add(char *buffer, uint32_t most, uint32_t at, const char *text) {
    for (; *text; text++) { if (at == most) __builtin_trap(); buffer[at++] = *text; }
    return at;
}

/* Add a whole number, as merit_add. */
static inline uint32_t merit_add_number(char *buffer, uint32_t most, uint32_t at, int64_t value) {
    char digits[24];
    uint32_t n = sizeof digits - 1;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    digits[n] = 0;
    do digits[--n] = (char)('0' + rest % 10); while (rest /= 10);
    if (value < 0) digits[--n] = '-';
    return merit_add(buffer, most, at, digits + n);
}

/* A pseudo-random number (splitmix64). Begin with the seed of the reset. */
static inline uint64_t merit_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline char *merit_keep_(const char *text) {
    char *at = merit_room_ + merit_used_;
    merit_used_ = merit_add(merit_room_, sizeof merit_room_ - 1, merit_used_, text);
    merit_room_[merit_used_++] = 0;
    return at;
}

static inline void merit_report_(merit_turn *t, uint32_t kind, const char *name, const char *message) {
    if (t->events_.size == 64) __builtin_trap();
    merit_event_ *e = &merit_events_[t->events_.size++];
    e->kind = kind;
    e->name.at = merit_keep_(name), e->name.size = merit_length(name);
    e->message.at = merit_keep_(message), e->message.size = merit_length(message);
    t->events_.at = merit_events_;
}

/* Report a whole number about the episode; the last one of a name counts. */
static inline void merit_metric(merit_turn *t, const char *name, int64_t value) {
    char text[24];
    text[merit_add_number(text, sizeof text - 1, 0, value)] = 0;
    merit_report_(t, 3, name, text);
}
/* The answer of a tool, which becomes a message of the conversation. */
static inline void merit_tool(merit_turn *t, const char *name, const char *answer) { merit_report_(t, 1, name, answer); }
/* A JSON value about the step. */
static inline void merit_info(merit_turn *t, const char *key, const char *json) { merit_report_(t, 2, key, json); }
/* The task that the episode starts from, in JSON; in reset only. */
static inline void merit_task(merit_turn *t, const char *json) { merit_report_(t, 4, "", json); }
/* The slot failed: Merit ends its episode with this reason. */
static inline void merit_fail(merit_turn *t, const char *reason) { t->flags |= MERIT_FAILED; merit_report_(t, 0, "", reason); }

/* ---- the setup: {"split": "train", "options": {…}}, valid JSON from Merit ---------- */

static inline const char *merit_skip_(const char *p) { while (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r') p++; return p; }

/* Past a JSON value. */
static inline const char *merit_past_(const char *p) {
    int depth = 0, quoted = 0;
    for (;; p++) {
        if (quoted) {
            if (*p == '\\') p++;
            else if (*p == '"' && (quoted = 0, depth == 0)) return p + 1;
        } else if (*p == '"') quoted = 1;
        else if (*p == '{' || *p == '[') depth++;
        else if (*p == '}' || *p == ']') {
            if (depth == 0) return p;
            if (--depth == 0) return p + 1;
        } else if (*p == ',' && depth == 0) return p;
        else if (*p == 0) return p;
    }
}

static inline int merit_same_(const char *a, uint32_t n, const char *b) {
    uint32_t i = 0;
    while (i < n && b[i] && a[i] == b[i]) i++;
    return i == n && b[i] == 0;
}

/* A whole number of at most 15 digits; 0 if it is another value. */
static inline int merit_whole_(const char *p, double *value) {
    double sign = 1, sum = 0;
    int digits = 0;
    if (*p == '-') sign = -1, p++;
    for (; *p >= '0' && *p <= '9' && digits < 15; p++, digits++) sum = sum * 10 + (*p - '0');
    p = merit_skip_(p);
    *value = sign * sum;
    return digits > 0 && (*p == ',' || *p == '}');
}

static inline uint32_t merit_problem_(char *out, uint32_t at, const char *key, uint32_t n, const char *what, const merit_option *o) {
    const uint32_t most = 1 << 14;
    at = merit_add(out, most, at, at > 1 ? ", " : "");
    at = merit_add(out, most, at, "{\"boundary\": \"config\", \"kind\": \"invalid\", \"where\": \"options.");
    for (uint32_t i = 0; i < n && i < 64; i++) out[at++] = key[i];
    at = merit_add(out, most, at, "\", \"what\": \"");
    at = merit_add(out, most, at, what);
    if (o) {
        at = merit_add(out, most, at, " from "), at = merit_add_number(out, most, at, (int64_t)o->least);
        at = merit_add(out, most, at, " to "), at = merit_add_number(out, most, at, (int64_t)o->most);
        at = merit_add(out, most, at, "\", \"hint\": \"the default is "), at = merit_add_number(out, most, at, (int64_t)o->value);
    }
    return merit_add(out, most, at, "\"}");
}

/* Sets the options from the setup. Returns the problems as JSON, or an empty text. */
static inline const char *merit_decode_(const char *setup, merit_option *options, uint32_t count, char *split) {
    static char out[(1 << 14) + 1024];
    uint32_t at = 1;
    out[0] = '[';
    const char *p = merit_skip_(setup), *section = 0;
    for (p++; *(p = merit_skip_(p)) == '"';) {
        const char *key = p + 1, *end = merit_past_(p);
        uint32_t n = (uint32_t)(end - key - 1);
        p = merit_skip_(merit_skip_(end) + 1);
        if (merit_same_(key, n, "split")) {
            uint32_t i = 0;
            for (const char *c = p + 1; *c != '"' && i < 15; c++) split[i++] = *c;
            split[i] = 0;
        } else if (merit_same_(key, n, "options")) section = p;
        p = merit_skip_(merit_past_(p));
        if (*p == ',') p++;
    }
    for (p = section ? section + 1 : ""; *(p = merit_skip_(p)) == '"';) {
        const char *key = p + 1, *end = merit_past_(p);
        uint32_t n = (uint32_t)(end - key - 1), i = 0;
        p = merit_skip_(merit_skip_(end) + 1);
        while (i < count && !merit_same_(key, n, options[i].key)) i++;
        double value;
        if (i == count) at = merit_problem_(out, at, key, n, "is not an option", 0);
        else if (!merit_whole_(p, &value) || value < options[i].least || value > options[i].most)
            at = merit_problem_(out, at, key, n, "must be a whole number", &options[i]);
        else options[i].value = value;
        p = merit_skip_(merit_past_(p));
        if (*p == ',') p++;
    }
    out[at] = at > 1 ? ']' : 0;
    out[at + 1] = 0;
    return at > 1 ? out : "";
}

static inline void *merit_say_(uint32_t failed, const char *text) {
    merit_result_.failed = failed, merit_result_.text = text, merit_result_.size = merit_length(text);
    return &merit_result_;
}

static inline void *merit_describe_as_(const char *name, const char *version, const char *summary, const merit_option *options, uint32_t count) {
    static char out[1 << 14];
    const uint32_t most = sizeof out - 1;
    uint32_t at = merit_add(out, most, 0, "{\"name\": \"");
    at = merit_add(out, most, at, name), at = merit_add(out, most, at, "\", \"version\": \"");
    at = merit_add(out, most, at, version), at = merit_add(out, most, at, "\", \"summary\": \"");
    at = merit_add(out, most, at, summary), at = merit_add(out, most, at, "\", \"options\": {");
    for (uint32_t i = 0; i < count; i++) {
        at = merit_add(out, most, at, i ? ", \"" : "\""), at = merit_add(out, most, at, options[i].key);
        at = merit_add(out, most, at, "\": "), at = merit_add_number(out, most, at, (int64_t)options[i].value);
    }
    out[merit_add(out, most, at, "}}")] = 0;
    return merit_say_(0, out);
}

static inline merit_turn *merit_begin_(uint32_t want) {
    __builtin_memset(&merit_turn_, 0, sizeof merit_turn_);
    merit_want_ = want, merit_used_ = 0;
    return &merit_turn_;
}

#define MERIT_EXPORT_(name) __attribute__((export_name(#name)))

/* Defines the exports of the module. configure may return 0 if a split has no tasks. */
#define MERIT_ENVIRONMENT(name, version, summary, options, configure, reset, step)                                     \
    MERIT_EXPORT_(merit_environment_1) void merit_environment_1(void) {}                                               \
    MERIT_EXPORT_(merit_alloc) void *merit_alloc(uint32_t size) {                                                      \
        static char room[1 << 20] __attribute__((aligned(8)));                                                         \
        return size < sizeof room ? room : (void *)0; /* one byte is left for a NUL */                                 \
    }                                                                                                                  \
    MERIT_EXPORT_(merit_describe) void *merit_describe(void) {                                                         \
        return merit_describe_as_(name, version, summary, options, sizeof options / sizeof *options);                  \
    }                                                                                                                  \
    MERIT_EXPORT_(merit_configure) void *merit_configure(char *setup, uint32_t size) {                                 \
        char split[16] = "";                                                                                           \
        setup[size] = 0;                                                                                               \
        const char *wrong = merit_decode_(setup, options, sizeof options / sizeof *options, split);                    \
        if (*wrong) return merit_say_(1, wrong);                                                                       \
        const char *spec = configure(split);                                                                           \
        return spec ? merit_say_(0, spec) : merit_say_(1, "no tasks are left for this split");                         \
    }                                                                                                                  \
    MERIT_EXPORT_(merit_reset) merit_turn *merit_reset(uint64_t seed, uint32_t want) {                                 \
        merit_turn *t = merit_begin_(want);                                                                            \
        reset(seed, t);                                                                                                \
        return t;                                                                                                      \
    }                                                                                                                  \
    MERIT_EXPORT_(merit_step) merit_turn *merit_step(int32_t action, char *text, uint32_t size, uint32_t want) {       \
        merit_turn *t = merit_begin_(want);                                                                            \
        if (size) text[size] = 0;                                                                                      \
        step(action, size ? text : "", size, t);                                                                       \
        return t;                                                                                                      \
    }

_Static_assert(sizeof(merit_turn) == 56 && sizeof(merit_event_) == 20 && sizeof(merit_answer_) == 12, "build for wasm32");

#endif
