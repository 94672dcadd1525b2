// Scores 1 if the last message is the ground truth.
export default (rollout) => rollout.messages.at(-1).content === rollout.ground_truth;
