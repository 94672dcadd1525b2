/* Ranks the members of a group: the shortest right answer is best. The rules
 * stand in sdk/conformance/README.md. */
#include "merit_reward.h"

static merit_str truth(const merit_rollout *r) { return merit_trim(r->ground_truth.text); }

/* Whether the last line that is not blank is the ground truth. */
static int right(const merit_rollout *r) {
    merit_str rest = merit_trim(merit_answer(r)), line;
    return merit_last_line(&rest, &line) && merit_equal(merit_trim(line), truth(r));
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
        if (!truth(&r).len) {
            merit_invalid(out, merit_string("no ground truth"));
            continue;
        }
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
