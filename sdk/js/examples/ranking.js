// Ranks the members of a group: the shortest right answer is best. The rules
// stand in sdk/conformance/README.md: the same reward exists in every language.
import { assistants, byteLength, invalid, text } from "merit";

const trim = (s) => s.replace(/^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g, "");

export function rewardGroup(rollouts) {
  const members = rollouts.map(read);
  const good = members.filter((m) => m.right);
  return members.map((m) => {
    if (m.wanted === "") return invalid("no ground truth");
    if (m.answer === undefined) return invalid("no answer");
    if (!m.right) return { score: 0, metrics: { length: m.length } };
    const shorter = good.filter((g) => g.length < m.length).length;
    return { score: (good.length - shorter) / good.length, metrics: { length: m.length, rank: shorter + 1 } };
  });
}

function read(rollout) {
  const truth = rollout.ground_truth;
  const wanted = trim(typeof truth === "string" ? truth : (JSON.stringify(truth ?? undefined) ?? ""));
  const last = assistants(rollout).at(-1);
  if (!last) return { wanted, answer: undefined, right: false };
  const answer = text(last[1]);
  const right = wanted !== "" && trim(trim(answer).split("\n").at(-1)) === wanted;
  return { wanted, answer, right, length: byteLength(answer) };
}
