/* Reads every field and reports a digest of each section, as
 * sdk/conformance/README.md describes. With -DGROUP it is a group reward. */
#include "merit_reward.h"

typedef struct { uint32_t hash; } digest; /* FNV-1a, 32 bits */

static digest begin(void) { digest d = {2166136261u}; return d; }
static void bytes(digest *d, const void *data, uint32_t n) {
    const unsigned char *p = (const unsigned char *)data;
    for (uint32_t i = 0; i < n; i++) d->hash = (d->hash ^ p[i]) * 16777619u;
}
static void u32(digest *d, uint32_t n) { bytes(d, &n, 4); }
static void i32(digest *d, int32_t n) { bytes(d, &n, 4); }
static void f64(digest *d, double n) { bytes(d, &n, 8); }
static void str(digest *d, merit_str s) { u32(d, s.len); bytes(d, s.data, s.len); }
static void report(merit_output *out, const char *section, digest d) { merit_metric(out, merit_string(section), d.hash); }

static void value(digest *d, merit_value v) {
    u32(d, (uint32_t)v.kind);
    if (v.kind == MERIT_STRING) str(d, v.text);
    if (v.kind == MERIT_NUMBER) f64(d, v.number);
    if (v.kind == MERIT_BOOL) u32(d, (uint32_t)v.boolean);
}
static void raw(digest *d, merit_value v) {
    str(d, v.json);
    str(d, v.text);
    f64(d, v.number);
    u32(d, (uint32_t)v.boolean);
}

static void trajectory(const merit_rollout *r, merit_output *out) {
    digest d = begin();
    str(&d, r->id);
    str(&d, r->group);
    str(&d, r->task);
    u32(&d, (uint32_t)r->stop_reason);
    u32(&d, r->assistant_count);
    i32(&d, r->last_assistant);
    str(&d, merit_answer(r));
    report(out, "trajectory", d);
}

static void messages(const merit_rollout *r, merit_output *out) {
    digest d = begin(), calls = begin();
    u32(&d, r->message_count);
    for (uint32_t i = 0; i < r->message_count; i++) {
        merit_message m = merit_message_at(r, i);
        u32(&d, (uint32_t)m.role);
        i32(&d, m.assistant_index);
        str(&d, m.role_text);
        str(&d, m.content);
        str(&d, m.name);
        str(&d, m.tool_call_id);
        u32(&d, (uint32_t)m.content_null);
        i32(&d, m.step);
        u32(&d, m.tool_call_count);
        for (uint32_t j = 0; j < m.tool_call_count; j++) {
            merit_tool_call c = merit_tool_call_at(r, &m, j);
            u32(&calls, i);
            str(&calls, c.id);
            str(&calls, c.name);
            str(&calls, c.arguments);
            str(&calls, c.type);
        }
    }
    report(out, "messages", d);
    report(out, "tool_calls", calls);
}

static void values(const merit_rollout *r, merit_output *out) {
    digest truth = begin(), meta = begin(), all = begin();
    value(&truth, r->ground_truth);
    raw(&all, r->ground_truth);
    u32(&meta, r->metadata_count);
    for (uint32_t i = 0; i < r->metadata_count; i++) {
        merit_field f = merit_field_at(r, i);
        str(&meta, f.key);
        value(&meta, f.value);
        raw(&all, f.value);
    }
    for (uint32_t i = 0; i < r->message_count; i++) str(&all, merit_message_at(r, i).parts);
    report(out, "ground_truth", truth);
    report(out, "metadata", meta);
    report(out, "raw", all);
}

static void steps(const merit_rollout *r, merit_output *out) {
    digest d = begin();
    u32(&d, r->step_count);
    for (uint32_t i = 0; i < r->step_count; i++) {
        merit_step_view s = merit_step_at(r, i);
        i32(&d, s.message);
        str(&d, s.action);
        u32(&d, (uint32_t)s.action_kind);
        i32(&d, s.choice);
        u32(&d, (uint32_t)s.action_valid);
        f64(&d, s.env_reward);
        u32(&d, (uint32_t)s.terminated);
        u32(&d, (uint32_t)s.truncated);
        str(&d, s.anchor);
        u32(&d, s.tool_call_count);
    }
    report(out, "steps", d);
}

static void outputs(const merit_rollout *r, merit_output *out) {
    for (uint32_t i = 0; i < r->message_count; i++) {
        merit_message m = merit_message_at(r, i);
        if (m.assistant_index < 0) continue;
        merit_step(out, m.assistant_index, m.content.len);
        merit_step_metric(out, m.assistant_index, merit_string("tool_calls"), m.tool_call_count);
        if (m.tool_call_count) merit_step_reason(out, m.assistant_index, merit_tool_call_at(r, &m, 0).name);
    }
}

static void check(const merit_rollout *r, merit_output *out) {
    merit_str ask = merit_meta(r, "conformance").text;
    if (merit_equal(ask, merit_string("invalid"))) {
        merit_invalid(out, merit_string("invalid as asked"));
        return;
    }
    if (merit_equal(ask, merit_string("error"))) {
        merit_error(out, merit_string("error as asked"));
        return;
    }
    trajectory(r, out);
    messages(r, out);
    values(r, out);
    steps(r, out);
    outputs(r, out);
    merit_reason(out, r->id);
    merit_score(out, r->message_count);
}

#ifndef GROUP
static void one(const merit_rollout *r, merit_output *out) {
    merit_log(out, MERIT_LOG_INFO, merit_string("conformance"));
    check(r, out);
}
MERIT_REGISTER(one)
#else
static void group(const merit_group *g, merit_output *out) {
    for (uint32_t i = 0; i < g->count; i++) {
        merit_rollout r = merit_member_at(g, i);
        merit_member(out, i);
        merit_metric(out, merit_string("members"), g->count);
        check(&r, out);
    }
}
MERIT_REGISTER_GROUP(group)
#endif
