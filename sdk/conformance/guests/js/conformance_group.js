// The conformance guest as a group reward: a folder with conformance.js beside it.
import { result } from "./conformance.js";

export function rewardGroup(rollouts) {
  return rollouts.map((r) => result(r, { members: rollouts.length }));
}
