/* Ranks the members of a group: the shortest right answer is best. The rules
 * stand in sdk/conformance/README.md. */
#include "merit_reward.h"

/* Whether the last line that is not blank is the ground truth. */
static int right(const merit_rollout *r) {
    merit_str rest = merit_answer(r), line;
    while (merit_last_line(&rest, &line)) {
        line = merit_trim(line);
        if (line.len) return merit_equal(line, merit_trim(r->ground_truth.text));
    }
    return 0;
}

static void rank(const merit_group *g, merit_output *out) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        merit_rollout r = merit_member_at(g, i);
        count += (uint32_t)right(&r);
    }
    for (uint32_t i = 0; i < g->count; i++) {
        merit_rollout r = merit_member_at(g, i);
        merit_member(out, i);
        if (r.last_assistant < 0) {
            merit_invalid(out, merit_string("no answer"));
            continue;
        }
        uint32_t length = merit_answer(&r).len, shorter = 0;
        merit_metric(out, merit_string("length"), length);
        if (!right(&r)) {
            merit_score(out, 0);
            continue;
        }
        for (uint32_t j = 0; j < g->count; j++) {
            merit_rollout other = merit_member_at(g, j);
            shorter += right(&other) && merit_answer(&other).len < length;
        }
        merit_metric(out, merit_string("rank"), shorter + 1);
        merit_score(out, (double)(count - shorter) / count);
    }
}
MERIT_REGISTER_GROUP(rank)
