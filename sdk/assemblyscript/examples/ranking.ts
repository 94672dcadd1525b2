// Ranks the members of a group: the shortest right answer is best. The rules
// stand in sdk/conformance/README.md.
import { Group, Output, Rollout, bytes, registerGroup } from "../assembly/index";
export { merit_abi_1, merit_alloc, merit_evaluate_group } from "../assembly/index";

const LENGTH = bytes("length");
const RANK = bytes("rank");
const NO_ANSWER = bytes("no answer");

registerGroup((g: Group, out: Output): void => {
  const lengths = new Array<i32>(); // of the right answers
  for (let i = 0; i < g.length; i++) {
    const r = g.member(i);
    if (isRight(r)) lengths.push(r.answer.length);
  }
  for (let i = 0; i < g.length; i++) {
    const r = g.member(i);
    out.member(i);
    if (r.lastAssistant < 0) {
      out.invalid(NO_ANSWER);
      continue;
    }
    const length = r.answer.length;
    out.metric(LENGTH, length);
    if (!isRight(r)) {
      out.score(0);
      continue;
    }
    let shorter = 0;
    for (let j = 0; j < lengths.length; j++) shorter += i32(lengths[j] < length);
    out.metric(RANK, shorter + 1);
    out.score(f64(lengths.length - shorter) / lengths.length);
  }
});

/** Whether the last line that is not blank is the ground truth. */
function isRight(r: Rollout): bool {
  for (let rest = r.answer; rest.length > 0; rest = rest.withoutLastLine()) {
    const line = rest.lastLine().trim();
    if (line.length > 0) return line.equals(r.groundTruth.text.trim());
  }
  return false;
}
