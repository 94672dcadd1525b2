/* Tool calls; calls.py says the same in Python, with a real parser of JSON. */
#include "merit_reward.h"

/* Whether arguments are one closed object with the key "city" on its first level. */
static int has_city(merit_str json) {
    int depth = 0, found = 0;
    merit_str key = merit_string("\"city\"");
    json = merit_trim(json);
    if (!merit_starts_with(json, merit_string("{"))) return 0;
    for (uint32_t i = 0; i < json.len; i++) {
        if (json.data[i] == '{' || json.data[i] == '[') depth++;
        if (json.data[i] == '}' || json.data[i] == ']') depth--;
        if (depth == 0) return found && i + 1 == json.len;
        if (json.data[i] != '"') continue;
        merit_str rest = merit_slice(json, i, json.len);
        if (depth == 1 && merit_starts_with(rest, key))
            found |= merit_starts_with(merit_trim(merit_slice(rest, key.len, rest.len)), merit_string(":"));
        for (i++; i < json.len && json.data[i] != '"'; i++) i += json.data[i] == '\\';
    }
    return 0;
}

static void score(const merit_rollout *r, merit_output *out) {
    double calls = 0, good = 0;
    for (uint32_t i = 0; i < r->message_count; i++) {
        merit_message m = merit_message_at(r, i);
        for (uint32_t k = 0; m.role == MERIT_ASSISTANT && k < m.tool_call_count; k++) {
            merit_tool_call call = merit_tool_call_at(r, &m, k);
            calls++;
            good += merit_equal(call.name, merit_string("weather")) && has_city(call.arguments);
        }
    }
    merit_score(out, calls ? good / calls : 0);
}
MERIT_REGISTER(score)
