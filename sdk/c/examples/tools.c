/* Rewards every step that calls tools by what became of its calls. The rules
 * stand in sdk/conformance/README.md. */
#include "merit_reward.h"

/* Whether text looks like a JSON object: braces and brackets outside of
 * strings close only at its end. */
static int object(merit_str text) {
    int depth = 0, quoted = 0;
    text = merit_trim(text);
    if (!text.len || text.data[0] != '{' || text.data[text.len - 1] != '}') return 0;
    for (uint32_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (quoted && c == '\\') i++;
        else if (c == '"') quoted = !quoted;
        else if (quoted) continue;
        else if (c == '{' || c == '[') depth++;
        else if (c == '}' || c == ']') {
            if (--depth == 0) return i == text.len - 1;
        }
    }
    return 0;
}

/* Whether text begins with "error" in any case. */
static int failed(merit_str text) {
    const char *word = "error";
    text = merit_trim(text);
    if (text.len < 5) return 0;
    for (int i = 0; i < 5; i++)
        if ((text.data[i] | 32) != word[i]) return 0;
    return 1;
}

/* What is wrong with a call of message i, or 0. Its result stands among the
 * tool messages that follow directly. */
static const char *problem(const merit_rollout *r, uint32_t i, const merit_tool_call *call) {
    if (!object(call->arguments)) return "malformed arguments";
    while (++i < r->message_count) {
        merit_message m = merit_message_at(r, i);
        if (m.role != MERIT_TOOL) break;
        if (merit_equal(m.tool_call_id, call->id)) return failed(m.content) ? "the tool failed" : 0;
    }
    return "no result";
}

static void score(const merit_rollout *r, merit_output *out) {
    uint32_t calls = 0, good = 0, malformed = 0;
    for (uint32_t i = 0; i < r->message_count; i++) {
        merit_message m = merit_message_at(r, i);
        if (m.assistant_index < 0 || !m.tool_call_count) continue;
        const char *first = 0;
        double sum = 0;
        for (uint32_t j = 0; j < m.tool_call_count; j++) {
            merit_tool_call call = merit_tool_call_at(r, &m, j);
            const char *why = problem(r, i, &call);
            if (!why) sum += 1, good++;
            else if (*why == 'm') sum -= 0.5, malformed++;
            if (!first) first = why;
        }
        calls += m.tool_call_count;
        merit_step(out, m.assistant_index, sum / m.tool_call_count);
        merit_step_metric(out, m.assistant_index, merit_string("calls"), m.tool_call_count);
        if (first) merit_step_reason(out, m.assistant_index, merit_string(first));
    }
    if (!calls) {
        merit_invalid(out, merit_string("no tool was called"));
        return;
    }
    merit_metric(out, merit_string("calls"), calls);
    merit_metric(out, merit_string("malformed"), malformed);
    merit_score(out, (double)good / calls);
}
MERIT_REGISTER(score)
