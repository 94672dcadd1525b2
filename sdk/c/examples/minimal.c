#include "merit_reward.h"

static void score(const merit_rollout *r, merit_output *out) {
    merit_score(out, merit_equal(merit_answer(r), r->ground_truth.text));
}
MERIT_REGISTER(score)
