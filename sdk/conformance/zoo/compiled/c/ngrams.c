/* Repeated trigrams; ngrams.py says the same in Python. */
#include "merit_reward.h"

enum { MOST = 512 };
static merit_str words[MOST];

static int space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static uint32_t split(merit_str text) {
    uint32_t count = 0;
    for (uint32_t i = 0, from; i < text.len && count < MOST; i++) {
        if (space(text.data[i])) continue;
        for (from = i; i < text.len && !space(text.data[i]); i++) {}
        words[count++] = merit_slice(text, from, i);
    }
    return count;
}

static int same(uint32_t a, uint32_t b) {
    return merit_equal(words[a], words[b]) && merit_equal(words[a + 1], words[b + 1]) && merit_equal(words[a + 2], words[b + 2]);
}

static void score(const merit_rollout *r, merit_output *out) {
    uint32_t count = split(merit_answer(r)), distinct = 0;
    if (count < 3) {
        merit_score(out, 0);
        return;
    }
    for (uint32_t i = 0, k; i + 2 < count; i++) {
        for (k = 0; k < i && !same(k, i); k++) {}
        distinct += k == i;
    }
    merit_score(out, (1 - (double)distinct / (count - 2)) * -1.0);
}
MERIT_REGISTER(score)
