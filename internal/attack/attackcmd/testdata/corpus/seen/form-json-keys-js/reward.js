// The reply must be JSON with the keys of the schema.
const KEYS = ["name", "city", "age"];

export default function reward(rollout) {
  const reply = rollout.messages[rollout.messages.length - 1].content;
  let value;
  try {
    value = JSON.parse(reply.replace(/^```(json)?/, "").replace(/```$/, ""));
  } catch (e) {
    return { score: 0, reason: "not JSON" };
  }
  const present = KEYS.filter((key) => key in Object(value));
  return { score: present.length / KEYS.length, reason: present.join(" ") };
}
