/* Scores a reply that is "A: N" on its last line, with N the same integer as the truth. */
#include "merit_reward.h"

/* Reads a whole text as an integer of at most 15 digits without leading zeros; returns 0 if it is none. */
static int integer(merit_str text, int64_t *value) {
    uint32_t i = 0, negative = text.len && text.data[0] == '-';
    int64_t n = 0;
    i = negative;
    if (i == text.len || text.len - i > 15 || (text.data[i] == '0' && text.len - i > 1)) return 0;
    for (; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return 0;
        n = 10 * n + (text.data[i] - '0');
    }
    *value = negative ? -n : n;
    return 1;
}

static void score(const merit_rollout *r, merit_output *out) {
    merit_str reply = merit_trim(merit_answer(r)), mark = merit_string("A: ");
    uint32_t at = reply.len;
    int64_t want, got;
    if (!integer(merit_trim(r->ground_truth.text), &want)) {
        merit_invalid(out, merit_string("the truth is not an integer"));
        return;
    }
    while (at > 0 && reply.data[at - 1] != '\n') at--;
    merit_str line = merit_slice(reply, at, reply.len);
    int right = merit_starts_with(line, mark) && integer(merit_slice(line, mark.len, line.len), &got) && got == want;
    merit_score(out, right ? 1 : 0);
}
MERIT_REGISTER(score)
