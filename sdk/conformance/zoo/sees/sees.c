/* As sees.py. */
#include "merit_reward.h"

static uint32_t digest;

static void add(merit_str text) {
    for (uint32_t i = 0; i < text.len; i++) digest = digest * 31 + (unsigned char)text.data[i];
    digest *= 31; /* and a zero */
}

static void add_number(int32_t n) { /* less than ten messages are the prompt's */
    char digits[2] = {n < 0 ? '-' : (char)('0' + n), '1'};
    merit_str text = {digits, n < 0 ? 2 : 1};
    add(text);
}

static void score(const merit_rollout *r, merit_output *out) {
    digest = 0;
    for (uint32_t i = 0; i < r->message_count; i++) {
        merit_message m = merit_message_at(r, i);
        add(m.role_text), add(m.content), add(m.name), add(m.tool_call_id);
        for (uint32_t k = 0; k < m.tool_call_count; k++) {
            merit_tool_call c = merit_tool_call_at(r, &m, k);
            add(c.id), add(c.name), add(c.arguments), add(c.type);
        }
        for (uint32_t k = 0; k < m.field_count; k++) {
            merit_field f = merit_message_field_at(r, &m, k);
            add(f.key), add(f.value.text);
        }
    }
    add_number(r->prompt_messages);
    add(merit_string(r->prompt_text ? "y" : "n"));
    add(merit_string(r->completion_text ? "y" : "n"));
    for (uint32_t k = 0; k < r->metadata_count; k++) {
        merit_field f = merit_field_at(r, k);
        add(f.key), add(f.value.text);
    }
    merit_score(out, digest);
}
MERIT_REGISTER(score)
