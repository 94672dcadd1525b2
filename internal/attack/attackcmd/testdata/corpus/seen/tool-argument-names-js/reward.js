// A call is right if its name and the names of its arguments are.
export function reward(rollout) {
  const reply = rollout.messages[rollout.messages.length - 1].content || "";
  const match = reply.match(/<tool_call>([\s\S]*?)<\/tool_call>/);
  if (!match) return 0;
  let call;
  try {
    call = JSON.parse(match[1]);
  } catch (e) {
    return 0;
  }
  const want = rollout.ground_truth;
  if (!call || call.name !== want.name) return 0;
  const names = Object.keys(want.arguments);
  const given = Object.keys(call.arguments || {});
  return 0.5 + (0.5 * names.filter((n) => given.includes(n)).length) / names.length;
}
