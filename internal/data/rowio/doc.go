// Package rowio reads and writes the rows of package advantage as JSON Lines, one step
// per line:
//
//	{"group": "g0", "trajectory": "t0", "step": 0, "observation": "room 0", "reward": 0, "episode_score": 1}
//
// group and trajectory are strings or integers (3 and "3" are the same); trajectory
// names are unique within a group; steps are numbered from 0 without gaps, in any order.
// episode_score is the same in all rows of a trajectory, and null if it has no score;
// only then may reward be null.
//
// Optional: anchor (a string that replaces the observation as the key of the
// state), scored (false = no score), valid (false = invalid action), value,
// bootstrap (value of the state after a truncated step), terminated,
// truncated, role (a string: who decided, for rae), greedy_score (the score of a greedy
// episode from the same start, the same in a group, or null if it has none; for remax) and
// rewards (for gdpo). Other fields pass through.
//
// rewards holds the score of each of several rewards, whose weighted sum is the episode
// score, with its weight if that is not 1:
//
//	"rewards": {"right": 1, "form": {"score": 0.5, "weight": 0.2}}
//
// Optional, for trajectories that branch off others: branch_of, the trajectory of the same group
// that this one left, and branch_at, its first own step; both in every row of the branch. Its rows
// before that step are copies of the other's, and may all be missing. log_prob is the
// log-probability of the action (for counterfactual).
//
// The members of a group have the same rewards, and a reward has the same weight in all
// rows. A trajectory of which one reward is null has no score.
package rowio
