/* The length of an answer in words; length.py says the same in Python. */
#include "merit_reward.h"

static int space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void score(const merit_rollout *r, merit_output *out) {
    merit_str text = merit_answer(r);
    double words = 0;
    for (uint32_t i = 0; i < text.len; i++) words += !space(text.data[i]) && (!i || space(text.data[i - 1]));
    double beyond = 1 - (words - 12) / 7;
    merit_score(out, words <= 12 ? words / 12 : beyond > -1 ? beyond : -1);
}
MERIT_REGISTER(score)
