/** 1 if the number behind A: in the answer is the ground truth, else 0. */
export default function (rollout) {
  const said = rollout.messages.at(-1).content.match(/^A:\s*(-?\d+)\s*$/m);
  if (!said) return { score: 0, reason: "there is no number behind A:" };
  const right = said[1] === String(rollout.ground_truth);
  return { score: Number(right), reason: right ? "right" : `${said[1]} is not the ground truth` };
}
