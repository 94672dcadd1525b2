// As sees.py.
const OWN = ["role", "content", "name", "tool_calls", "tool_call_id"];

export default function (rollout) {
  const seen = [];
  for (const m of rollout.messages) {
    seen.push(m.role, text(m.content), m.name ?? "", m.tool_call_id ?? "");
    for (const c of m.tool_calls ?? []) seen.push(c.id, c.function.name, c.function.arguments, c.type);
    for (const [key, value] of Object.entries(m)) if (!OWN.includes(key)) seen.push(key, written(value));
  }
  const given = rollout.given_as_text ?? [];
  seen.push(String(rollout.prompt_messages ?? -1), given.includes("prompt") ? "y" : "n", given.includes("completion") ? "y" : "n");
  for (const key of Object.keys(rollout.metadata ?? {}).sort()) seen.push(key, written(rollout.metadata[key]));
  return digest(seen);
}

const text = (content) => (Array.isArray(content) ? content.map((part) => part.text ?? "").join("") : content ?? "");
const written = (value) => (typeof value === "string" ? value : JSON.stringify(value));

function digest(seen) {
  let h = 0;
  for (const byte of unescape(encodeURIComponent(seen.map((s) => s + "\0").join("")))) h = (Math.imul(h, 31) + byte.charCodeAt(0)) >>> 0;
  return h;
}
