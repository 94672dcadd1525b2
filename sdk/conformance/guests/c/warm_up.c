/* Counts its calls: 10 for the warm-up, 1 for an evaluation. Every score is 11. */
#include "merit_reward.h"

static double calls;

static void ready(void) { calls += 10; }
MERIT_WARM_UP(ready)

static void score(const merit_rollout *r, merit_output *out) {
    (void)r;
    merit_score(out, ++calls);
}
MERIT_REGISTER(score)
