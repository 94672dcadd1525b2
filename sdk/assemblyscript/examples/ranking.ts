// Ranks the members of a group: the shortest right answer is best. The rules
// stand in sdk/conformance/README.md.
import { Bytes, Group, Output, Rollout, bytes, registerGroup } from "../assembly/index";
export { merit_abi_1, merit_alloc, merit_evaluate_group } from "../assembly/index";

const LENGTH = bytes("length");
const RANK = bytes("rank");
const NO_ANSWER = bytes("no answer");
const NO_TRUTH = bytes("no ground truth");

registerGroup((g: Group, out: Output): void => {
  const lengths = new Array<i32>(); // of the right answers
  for (let i = 0; i < g.length; i++) {
    const r = g.member(i);
    if (isRight(r)) lengths.push(r.answer.length);
  }
  for (let i = 0; i < g.length; i++) {
    const r = g.member(i);
    out.member(i);
    if (truth(r).length == 0) {
      out.invalid(NO_TRUTH);
      continue;
    }
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

function truth(r: Rollout): Bytes {
  return r.groundTruth.text.trim();
}

/** Whether the last line that is not blank is the ground truth. */
function isRight(r: Rollout): bool {
  const line = r.answer.trim().lastLine().trim();
  return line.length > 0 && line.equals(truth(r));
}
