/* Compares the number at the end of the last assistant message with the ground
 * truth. The rules stand in sdk/conformance/README.md. */
#include "merit_reward.h"

/* Cut other off the end of s, if it is there. */
static int cut(merit_str *s, const char *other) {
    merit_str o = merit_string(other);
    if (!merit_ends_with(*s, o)) return 0;
    s->len -= o.len;
    return 1;
}

static int digit_at(merit_str s, uint32_t i) { return i < s.len && s.data[i] >= '0' && s.data[i] <= '9'; }

/* The first number of a text that may hold a currency sign, thousands
 * separators, units and a full stop. */
static int number(merit_str text, double *value) {
    uint32_t start = 0, end;
    int point = 0;
    while (start < text.len && !digit_at(text, start)) start++;
    for (end = start; end < text.len; end++) {
        if (digit_at(text, end)) continue;
        if (text.data[end] == ',' && digit_at(text, end + 1)) continue;
        if (text.data[end] != '.' || point || !digit_at(text, end + 1)) break;
        point = 1;
    }
    merit_str before = merit_slice(text, 0, start);
    if (cut(&before, ".")) start--;
    while (cut(&before, "$") || cut(&before, "€") || cut(&before, "£") || cut(&before, " ")) {}
    if (!merit_number(merit_slice(text, start, end), value)) return 0;
    if (cut(&before, "-") || cut(&before, "−")) *value = -*value;
    return 1;
}

/* The text behind the last "A:" or "####" that begins a line. */
static int final(merit_str answer, merit_str *text) {
    const char *marks[] = {"A:", "####"};
    merit_str line;
    while (merit_last_line(&answer, &line)) {
        line = merit_trim(line);
        for (int i = 0; i < 2; i++) {
            merit_str mark = merit_string(marks[i]);
            if (!merit_starts_with(line, mark)) continue;
            *text = merit_slice(line, mark.len, line.len);
            return 1;
        }
    }
    return 0;
}

static void wrong(merit_output *out, const char *reason) {
    merit_score(out, 0);
    merit_reason(out, merit_string(reason));
}

static void score(const merit_rollout *r, merit_output *out) {
    double want, got;
    merit_str text;
    if (!number(r->ground_truth.text, &want)) {
        merit_invalid(out, merit_string("the ground truth holds no number"));
    } else if (!final(merit_answer(r), &text)) {
        wrong(out, "no answer after A: or ####");
    } else if (!number(text, &got)) {
        wrong(out, "the answer holds no number");
    } else {
        merit_score(out, got == want);
    }
}
MERIT_REGISTER(score)
