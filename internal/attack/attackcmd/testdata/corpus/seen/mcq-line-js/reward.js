// The last line must be "Answer: X", and no other line may begin with "Answer:".
export default function (rollout) {
  const reply = rollout.messages[rollout.messages.length - 1].content;
  if (typeof reply !== "string") return 0;
  const lines = reply.trimEnd().split("\n");
  const answers = lines.filter((line) => line.startsWith("Answer:"));
  return answers.length === 1 && lines[lines.length - 1] === "Answer: " + rollout.ground_truth ? 1 : 0;
}
