// Scores 1 if the answer is the ground truth, to the letter.
import { answer, invalid } from "merit";

export const merit = { name: "exact" };            // optional: name, version, description, step_index, warm_up, without

export default function (rollout) {
  if (typeof rollout.ground_truth !== "string") return invalid("no ground truth");
  return answer(rollout) === rollout.ground_truth;
}
