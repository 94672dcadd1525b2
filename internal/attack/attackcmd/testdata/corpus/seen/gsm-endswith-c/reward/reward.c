/* Scores a reply whose last characters are the truth. */
#include "merit_reward.h"

static void score(const merit_rollout *r, merit_output *out) {
    merit_str want = merit_trim(r->ground_truth.text), reply = merit_trim(merit_answer(r));
    if (!want.len) {
        merit_invalid(out, merit_string("there is no ground truth"));
        return;
    }
    if (reply.len >= want.len && merit_equal(merit_slice(reply, reply.len - want.len, reply.len), want)) {
        merit_score(out, 1);
        return;
    }
    merit_score(out, 0);
    merit_reason(out, merit_string("the reply does not end with the truth"));
}
MERIT_REGISTER(score)
