// Accepts the letter or the text of the right option.
const text = (message) => (typeof message.content === "string" ? message.content : "");

export default function (rollout) {
  const reply = text(rollout.messages[rollout.messages.length - 1]).toLowerCase();
  const option = String(rollout.metadata.option).toLowerCase();
  return reply.includes(option) ? 1 : 0;
}
