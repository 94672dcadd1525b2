/* The number at the end of an answer; number.py says the same in Python. */
#include "merit_reward.h"

static int digit(merit_str s, uint32_t i) { return i < s.len && s.data[i] >= '0' && s.data[i] <= '9'; }

/* The end of the number that begins at i, or i. */
static uint32_t end_of(merit_str s, uint32_t i) {
    uint32_t end = i + (i < s.len && s.data[i] == '-');
    if (!digit(s, end)) return i;
    while (digit(s, end) || (end < s.len && s.data[end] == ',')) end++;
    if (end < s.len && s.data[end] == '.' && digit(s, end + 1))
        for (end++; digit(s, end); end++) {}
    return end;
}

static merit_str behind_mark(merit_str text) {
    for (uint32_t i = text.len; i >= 4; i--)
        if (merit_ends_with(merit_slice(text, 0, i), merit_string("####"))) return merit_slice(text, i, text.len);
    return text;
}

static double absolute(double x) { return x < 0 ? -x : x; }

/* merit_number reads digits and a point; the sign and the commas are ours. */
static int value(merit_str number, double *x) {
    char digits[64];
    merit_str plain = {digits, 0};
    int negative = merit_starts_with(number, merit_string("-"));
    for (uint32_t i = (uint32_t)negative; i < number.len && plain.len < sizeof digits; i++)
        if (number.data[i] != ',') digits[plain.len++] = number.data[i];
    if (!merit_number(plain, x)) return 0;
    if (negative) *x = -*x;
    return 1;
}

static void score(const merit_rollout *r, merit_output *out) {
    double want, got;
    merit_str text = behind_mark(merit_answer(r)), last = {"", 0};
    if (!value(r->ground_truth.text, &want)) {
        merit_error(out, merit_string("the ground truth is not a number"));
        return;
    }
    for (uint32_t i = 0, end; i < text.len; i = end > i ? end : i + 1)
        if ((end = end_of(text, i)) > i) last = merit_slice(text, i, end);
    if (!value(last, &got)) {
        merit_score(out, 0);
        return;
    }
    double near = 0.5 - absolute(got - want) / (absolute(want) + 1);
    merit_score(out, got == want ? 1 : near > 0 ? near : 0);
}
MERIT_REGISTER(score)
