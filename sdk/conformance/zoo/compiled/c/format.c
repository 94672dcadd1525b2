/* The format of an answer; format.py says the same in Python. */
#include "merit_reward.h"

/* The position of what in text from a position on, or -1. */
static int32_t find(merit_str text, merit_str what, uint32_t from) {
    for (uint32_t i = from; i + what.len <= text.len; i++)
        if (merit_starts_with(merit_slice(text, i, text.len), what)) return (int32_t)i;
    return -1;
}

static int once(merit_str text, merit_str tag) {
    int32_t at = find(text, tag, 0);
    return at >= 0 && find(text, tag, (uint32_t)at + tag.len) < 0;
}

static int matches(merit_str text) {
    merit_str begin = merit_string("<think>\n"), middle = merit_string("\n</think>\n<answer>\n"), end = merit_string("\n</answer>");
    if (!merit_starts_with(text, begin) || !merit_ends_with(text, end)) return 0;
    int32_t at = find(text, middle, begin.len);
    return at >= 0 && (uint32_t)at + middle.len + end.len <= text.len;
}

static void score(const merit_rollout *r, merit_output *out) {
    merit_str text = merit_answer(r);
    int tags = once(text, merit_string("<think>\n")) + once(text, merit_string("\n</think>\n")) +
               once(text, merit_string("\n<answer>\n")) + once(text, merit_string("\n</answer>"));
    merit_score(out, 0.125 * tags + (matches(text) ? 0.5 : 0));
}
MERIT_REGISTER(score)
