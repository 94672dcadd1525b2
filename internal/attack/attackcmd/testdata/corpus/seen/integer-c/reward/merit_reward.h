/* merit_reward.h: what the author of a reward in C or C++ includes.
 *
 * A reward is one function:
 *
 *     #include "merit_reward.h"
 *
 *     static void score(const merit_rollout *r, merit_output *out) {
 *         merit_score(out, merit_equal(merit_answer(r), r->ground_truth.text));
 *     }
 *     MERIT_REGISTER(score)
 *
 * built without a C library as well as with one; README.md has the commands.
 *
 * Strings lie in the input buffer, are valid UTF-8, and are followed by a NUL
 * that their length does not count. Everything of a rollout is valid until the
 * function returns. The layout is that of Merit's flat ABI, version 1.
 */
#ifndef MERIT_REWARD_H
#define MERIT_REWARD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what a reward reads ------------------------------------------------ */

typedef struct { const char *data; uint32_t len; } merit_str;

typedef enum {
    MERIT_ABSENT, MERIT_STRING, MERIT_NUMBER, MERIT_BOOL, MERIT_NULL,
    MERIT_JSON /* a list, an object, or a number too large for a double */
} merit_kind;

/* Any JSON value; no parser is needed for the simple ones. */
typedef struct {
    merit_kind kind;
    int boolean;
    merit_str json;  /* as it came */
    merit_str text;  /* a string's text; for other kinds the same as json */
    double number;   /* of a number */
} merit_value;

typedef enum { MERIT_OTHER, MERIT_SYSTEM, MERIT_USER, MERIT_ASSISTANT, MERIT_TOOL } merit_role;

typedef struct {
    merit_role role;
    int32_t assistant_index; /* the step index that merit_step takes, or -1: what is not the assistant's, and the prompt, have none */
    merit_str role_text, content, name, tool_call_id;
    uint32_t first_tool_call, tool_call_count;
    int content_null;
    int32_t step;    /* index of the step whose action this is, or -1 */
    merit_str parts; /* JSON of the list of parts, or empty */
    uint32_t first_field, field_count; /* what it has beside these, such as reasoning_content */
} merit_message;

typedef struct { merit_str id, name, arguments, type; } merit_tool_call;
typedef struct { merit_str key; merit_value value; } merit_field;

typedef enum {
    MERIT_STOP_NONE, MERIT_STOP_TERMINATED, MERIT_STOP_TRUNCATED,
    MERIT_STOP_POLICY_ENDED, MERIT_STOP_PATTERN, MERIT_STOP_ERROR
} merit_stop_reason;
typedef enum { MERIT_ACTION_NONE, MERIT_ACTION_CHOICE, MERIT_ACTION_TEXT, MERIT_ACTION_TOOL } merit_action_kind;

/* One decision as the environment saw it. */
typedef struct {
    int32_t message; /* index of the message with the action, or -1 */
    int action_valid, terminated, truncated;
    double env_reward;
    merit_str action;
    merit_action_kind action_kind;
    int32_t choice;
    merit_str anchor; /* raw state before the action */
    uint32_t tool_call_count;
} merit_step_view;

/* One trajectory to score. Rows are read with merit_message_at and friends. */
typedef struct {
    merit_str id, group, task;
    merit_stop_reason stop_reason;
    uint32_t message_count, assistant_count, metadata_count, step_count;
    int32_t last_assistant; /* index of the last assistant message, or -1 */
    merit_value ground_truth;
    int32_t prompt_messages; /* how many messages are the prompt's, or -1 if nobody said */
    int prompt_text, completion_text; /* the data had a text there and no list of messages */
    const unsigned char *base_; /* the buffer */
} merit_rollout;

/* ---- how it answers ----------------------------------------------------- */

typedef struct { int32_t status_; } merit_output;

#define MERIT_IMPORT(name) __attribute__((import_module("merit_v1"), import_name(#name)))
MERIT_IMPORT(set_score) void merit_import_set_score(double score);
MERIT_IMPORT(step) void merit_import_step(int32_t index, double base_reward);
MERIT_IMPORT(step_metric) void merit_import_step_metric(int32_t index, const char *name, uint32_t len, double value);
MERIT_IMPORT(step_reason) void merit_import_step_reason(int32_t index, const char *text, uint32_t len);
MERIT_IMPORT(metric) void merit_import_metric(const char *name, uint32_t len, double value);
MERIT_IMPORT(reason) void merit_import_reason(const char *text, uint32_t len);
MERIT_IMPORT(error) void merit_import_error(const char *text, uint32_t len);
MERIT_IMPORT(log) void merit_import_log(int32_t level, const char *text, uint32_t len);
MERIT_IMPORT(member) void merit_import_member(int32_t index);
#undef MERIT_IMPORT

typedef enum { MERIT_LOG_DEBUG, MERIT_LOG_INFO, MERIT_LOG_WARNING, MERIT_LOG_ERROR } merit_level;

/* Length of a NUL-terminated string, without a C library. */
static inline merit_str merit_string(const char *s) {
    merit_str r = {s, 0};
    while (s[r.len]) r.len++;
    return r;
}

/* Set the score, once. */
static inline void merit_score(merit_output *out, double score) { (void)out; merit_import_set_score(score); }
/* Set the base reward of a step, once a step. */
static inline void merit_step(merit_output *out, int32_t index, double base_reward) { (void)out; merit_import_step(index, base_reward); }
/* Add a measurement to, or explain, a step that has its reward. */
static inline void merit_step_metric(merit_output *out, int32_t index, merit_str name, double value) { (void)out; merit_import_step_metric(index, name.data, name.len, value); }
static inline void merit_step_reason(merit_output *out, int32_t index, merit_str text) { (void)out; merit_import_step_reason(index, text.data, text.len); }
/* Add a measurement to, or explain, the result. */
static inline void merit_metric(merit_output *out, merit_str name, double value) { (void)out; merit_import_metric(name.data, name.len, value); }
static inline void merit_reason(merit_output *out, merit_str text) { (void)out; merit_import_reason(text.data, text.len); }
/* There is no valid score: the rollout, in a group the member, leaves the baseline. */
static inline void merit_invalid(merit_output *out, merit_str reason) { merit_import_reason(reason.data, reason.len); out->status_ = 1; }
/* The reward itself failed. */
static inline void merit_error(merit_output *out, merit_str text) { merit_import_error(text.data, text.len); out->status_ = 2; }
/* Write a line to the log of the evaluation. */
static inline void merit_log(merit_output *out, merit_level level, merit_str text) { (void)out; merit_import_log((int32_t)level, text.data, text.len); }

/* ---- reading the buffer ------------------------------------------------- */

static inline uint32_t merit_u32_(const unsigned char *p) { uint32_t v; __builtin_memcpy(&v, p, 4); return v; }
static inline double merit_f64_(const unsigned char *p) { double v; __builtin_memcpy(&v, p, 8); return v; }
static inline merit_str merit_str_(const unsigned char *base, const unsigned char *p) {
    merit_str s = {(const char *)base + merit_u32_(p), merit_u32_(p + 4)};
    return s;
}
static inline merit_value merit_value_(const unsigned char *base, const unsigned char *p) {
    merit_value v;
    v.kind = (merit_kind)merit_u32_(p);
    v.boolean = (int)merit_u32_(p + 4);
    v.json = merit_str_(base, p + 8);
    v.text = merit_str_(base, p + 16);
    v.number = merit_f64_(p + 24);
    return v;
}
/* Row i of the table whose count, offset and stride stand at header offset t. */
static inline const unsigned char *merit_row_(const unsigned char *base, uint32_t t, uint32_t i) {
    return base + merit_u32_(base + t + 4) + i * merit_u32_(base + t + 8);
}

static inline merit_message merit_message_at(const merit_rollout *r, uint32_t i) {
    const unsigned char *b = r->base_, *p = merit_row_(b, 24, i);
    merit_message m;
    m.role = (merit_role)merit_u32_(p);
    m.assistant_index = (int32_t)merit_u32_(p + 4);
    m.role_text = merit_str_(b, p + 8);
    m.content = merit_str_(b, p + 16);
    m.name = merit_str_(b, p + 24);
    m.tool_call_id = merit_str_(b, p + 32);
    m.first_tool_call = merit_u32_(p + 40);
    m.tool_call_count = merit_u32_(p + 44);
    m.content_null = (int)(merit_u32_(p + 48) & 1);
    m.step = (int32_t)merit_u32_(p + 52);
    m.parts = merit_str_(b, p + 56);
    m.first_field = m.field_count = 0;
    if (merit_u32_(b + 32) >= 72) {
        m.first_field = merit_u32_(p + 64);
        m.field_count = merit_u32_(p + 68);
    }
    return m;
}
/* Tool call i of message m, 0 <= i < m->tool_call_count. */
static inline merit_tool_call merit_tool_call_at(const merit_rollout *r, const merit_message *m, uint32_t i) {
    const unsigned char *b = r->base_, *p = merit_row_(b, 36, m->first_tool_call + i);
    merit_tool_call c = {merit_str_(b, p), merit_str_(b, p + 8), merit_str_(b, p + 16), merit_str_(b, p + 24)};
    return c;
}
static inline merit_field merit_field_(const unsigned char *b, const unsigned char *p) {
    merit_field f = {merit_str_(b, p), merit_value_(b, p + 8)};
    return f;
}
/* Field i of message m, 0 <= i < m->field_count. The field as_given is an object
   of what was written in another form: a role in another spelling, tool calls in
   another shape. */
static inline merit_field merit_message_field_at(const merit_rollout *r, const merit_message *m, uint32_t i) {
    return merit_field_(r->base_, merit_row_(r->base_, 168, m->first_field + i));
}
static inline merit_field merit_field_at(const merit_rollout *r, uint32_t i) {
    return merit_field_(r->base_, merit_row_(r->base_, 48, i));
}
static inline merit_step_view merit_step_at(const merit_rollout *r, uint32_t i) {
    const unsigned char *b = r->base_, *p = merit_row_(b, 60, i);
    uint32_t flags = merit_u32_(p + 4);
    merit_step_view s;
    s.message = (int32_t)merit_u32_(p);
    s.action_valid = (int)(flags & 1);
    s.terminated = (int)(flags >> 1 & 1);
    s.truncated = (int)(flags >> 2 & 1);
    s.env_reward = merit_f64_(p + 8);
    s.action = merit_str_(b, p + 16);
    s.action_kind = (merit_action_kind)merit_u32_(p + 24);
    s.choice = (int32_t)merit_u32_(p + 28);
    s.anchor = merit_str_(b, p + 32);
    s.tool_call_count = merit_u32_(p + 40);
    return s;
}

/* Whether two strings have the same bytes. */
static inline int merit_equal(merit_str a, merit_str b) {
    if (a.len != b.len) return 0;
    for (uint32_t i = 0; i < a.len; i++)
        if (a.data[i] != b.data[i]) return 0;
    return 1;
}
/* The content of the last assistant message, or the empty string. */
static inline merit_str merit_answer(const merit_rollout *r) {
    merit_str none = {"", 0};
    return r->last_assistant < 0 ? none : merit_message_at(r, (uint32_t)r->last_assistant).content;
}
/* The field of a message under key, such as reasoning_content; its kind is
   MERIT_ABSENT if there is none. */
static inline merit_value merit_message_field(const merit_rollout *r, const merit_message *m, const char *key) {
    merit_str k = merit_string(key), empty = {"", 0};
    merit_value none = {MERIT_ABSENT, 0, empty, empty, 0};
    for (uint32_t i = 0; i < m->field_count; i++) {
        merit_field f = merit_message_field_at(r, m, i);
        if (merit_equal(f.key, k)) return f.value;
    }
    return none;
}
/* The metadata under key; its kind is MERIT_ABSENT if there is none. */
static inline merit_value merit_meta(const merit_rollout *r, const char *key) {
    merit_str k = merit_string(key);
    for (uint32_t i = 0; i < r->metadata_count; i++) {
        merit_field f = merit_field_at(r, i);
        if (merit_equal(f.key, k)) return f.value;
    }
    merit_str empty = {"", 0};
    merit_value none = {MERIT_ABSENT, 0, empty, empty, 0};
    return none;
}
static inline merit_rollout merit_rollout_(const unsigned char *b) {
    merit_rollout r;
    r.base_ = b;
    r.stop_reason = (merit_stop_reason)merit_u32_(b + 20);
    r.message_count = merit_u32_(b + 24);
    r.metadata_count = merit_u32_(b + 48);
    r.step_count = merit_u32_(b + 60);
    r.assistant_count = merit_u32_(b + 92);
    r.last_assistant = (int32_t)merit_u32_(b + 96);
    r.prompt_messages = -1;
    r.prompt_text = r.completion_text = 0;
    if (merit_u32_(b + 8) >= 184) {
        r.prompt_messages = (int32_t)merit_u32_(b + 160);
        r.prompt_text = (int)(merit_u32_(b + 164) & 1);
        r.completion_text = (int)(merit_u32_(b + 164) >> 1 & 1);
    }
    r.id = merit_str_(b, b + 104);
    r.group = merit_str_(b, b + 112);
    r.task = merit_str_(b, b + 120);
    r.ground_truth = merit_value_(b, b + 128);
    return r;
}

/* ---- text --------------------------------------------------------------- */

/* The bytes of s from one position to before another. */
static inline merit_str merit_slice(merit_str s, uint32_t from, uint32_t to) {
    merit_str r = {s.data + from, to - from};
    return r;
}
/* Whether s begins, or ends, with other. */
static inline int merit_starts_with(merit_str s, merit_str other) {
    return other.len <= s.len && merit_equal(merit_slice(s, 0, other.len), other);
}
static inline int merit_ends_with(merit_str s, merit_str other) {
    return other.len <= s.len && merit_equal(merit_slice(s, s.len - other.len, s.len), other);
}
static inline int merit_space_(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
/* s without the ASCII white space around it. */
static inline merit_str merit_trim(merit_str s) {
    while (s.len && merit_space_(s.data[s.len - 1])) s.len--;
    while (s.len && merit_space_(*s.data)) s.data++, s.len--;
    return s;
}
/* Take the last line off *rest and put it, without its newline, into *line.
 * Gives 0 when nothing is left. */
static inline int merit_last_line(merit_str *rest, merit_str *line) {
    uint32_t at = rest->len;
    if (!at) return 0;
    while (at && rest->data[at - 1] != '\n') at--;
    *line = merit_slice(*rest, at, rest->len);
    rest->len = at ? at - 1 : 0;
    return 1;
}
/* Read digits with at most one decimal point; commas are skipped. Gives 0 for
 * any other text. Numbers of up to 15 digits are read exactly. */
static inline int merit_number(merit_str s, double *number) {
    uint64_t mantissa = 0;
    int32_t exponent = 0;
    int digits = 0, point = 0;
    for (uint32_t i = 0; i < s.len; i++) {
        char c = s.data[i];
        if (c == ',') continue;
        if (c == '.' && !point) { point = 1; continue; }
        if (c < '0' || c > '9') return 0;
        digits = 1;
        if (mantissa < 100000000000000000u) { mantissa = mantissa * 10 + (uint64_t)(c - '0'); exponent -= point; }
        else exponent += !point;
    }
    double power = 1;
    for (int32_t e = exponent < 0 ? -exponent : exponent; e > 0 && power < 1e300; e--) power *= 10;
    *number = exponent < 0 ? (double)mantissa / power : (double)mantissa * power;
    return digits && *number - *number == 0;
}

/* ---- groups ------------------------------------------------------------- */

/* The members of a group: trajectories from one identical start. */
typedef struct { uint32_t count; const unsigned char *base_; } merit_group;

static inline merit_rollout merit_member_at(const merit_group *g, uint32_t i) {
    return merit_rollout_(g->base_ + merit_u32_(merit_row_(g->base_, 72, i)));
}
/* Let the following results speak of member i, which needs merit_score or merit_invalid. */
static inline void merit_member(merit_output *out, uint32_t i) { (void)out; merit_import_member((int32_t)i); }

/* ---- exports ------------------------------------------------------------ */

#define MERIT_EXPORT_(name) __attribute__((export_name(#name)))

/* Weak, so that several files of one module may include this header. */
MERIT_EXPORT_(merit_abi_1) __attribute__((weak)) void merit_abi_1(void) {}

/* Those of the C library, or null in a module without them: a weakref does not
 * link what nothing else refers to. */
static void *merit_malloc_(size_t) __attribute__((weakref("malloc")));
static void merit_free_(void *) __attribute__((weakref("free")));

/* The input buffer, kept between calls. It comes from malloc where there is
 * one: that of wasi-libc takes all pages that it finds for its own. Otherwise it
 * is the end of memory, extended in place as long as nothing else grows it. */
MERIT_EXPORT_(merit_alloc) __attribute__((weak)) void *merit_alloc(uint32_t size) {
    static size_t start, end; /* in pages */
    static void *block;
    static size_t capacity;
    if (merit_malloc_) {
        if (size <= capacity) return block;
        if (merit_free_) merit_free_(block);
        capacity = ((size_t)size + 65535u) & ~(size_t)65535u;
        return block = merit_malloc_(capacity);
    }
    size_t pages = ((size_t)size + 65535u) >> 16;
    if (pages > end - start) {
        size_t now = __builtin_wasm_memory_size(0);
        if (now != end) start = end = now;
        if (__builtin_wasm_memory_grow(0, start + pages - end) == (size_t)-1) return 0;
        end = start + pages;
    }
    return (void *)(start << 16);
}

/* Make function(const merit_rollout *, merit_output *) the reward. */
#define MERIT_REGISTER(function)                                                   \
    MERIT_EXPORT_(merit_evaluate) int32_t merit_evaluate(const unsigned char *buffer, uint32_t size) { \
        (void)size;                                                                \
        merit_rollout merit_rollout_1 = merit_rollout_(buffer);                    \
        merit_output merit_output_1 = {0};                                         \
        function(&merit_rollout_1, &merit_output_1);                               \
        return merit_output_1.status_;                                             \
    }

/* Make function(const merit_group *, merit_output *) the reward of groups. The
 * status is 0: merit_invalid and merit_error speak of one member. */
#define MERIT_REGISTER_GROUP(function)                                             \
    MERIT_EXPORT_(merit_evaluate_group) int32_t merit_evaluate_group(const unsigned char *buffer, uint32_t size) { \
        (void)size;                                                                \
        merit_group merit_group_1 = {merit_u32_(buffer + 72), buffer};             \
        merit_output merit_output_1 = {0};                                         \
        function(&merit_group_1, &merit_output_1);                                 \
        return 0;                                                                  \
    }

/* Make function(void) the warm-up: it runs once, before the snapshot that every
 * evaluation begins from, in place of the built-in conversation. It may log and
 * must send no results. */
#define MERIT_WARM_UP(function) \
    MERIT_EXPORT_(merit_warm_up) void merit_warm_up(void) { function(); }

#ifdef __cplusplus
}
#endif
#endif
