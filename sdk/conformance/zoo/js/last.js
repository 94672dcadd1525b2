import { answer } from "merit";

export default (rollout) => (answer(rollout) === rollout.ground_truth ? 1 : 0);
