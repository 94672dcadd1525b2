import { assistants, invalid } from "merit";

export const merit = { name: "trace-tools" };

/**
 * What became of each tool that agents ran, by the spans of a trace: 1 where it did what was asked, -1 where it ended in an
 * error, -0.5 where it gave nothing. The score is the mean. Each call of a model that asked for tools has its share, if it is
 * known of all tools who asked.
 */
export default function (rollout) {
  const ran = (rollout.metadata?.spans ?? []).filter((span) => span.kind === "tool" && span.status !== "open");
  if (ran.length === 0) return invalid("no tool was run to its end");
  const asked = new Map();
  for (const [step_index, message] of assistants(rollout)) {
    for (const call of message.tool_calls ?? []) asked.set(call.id, step_index);
  }
  const counts = { success: 0, error: 0, empty: 0 };
  const shares = new Map();
  for (const span of ran) {
    const what = outcome(span);
    counts[what]++;
    const step = asked.get(span.tool.call_id ?? span.id);
    shares.set(step, [...(shares.get(step) ?? []), what]);
  }
  const score = worth(counts.success, counts.error, counts.empty) / ran.length;
  if (shares.has(undefined)) return { score, metrics: counts };
  const step_outputs = [...shares].sort(([a], [b]) => a - b).map(([step_index, found]) => ({
    step_index,
    base_reward: worth(...["success", "error", "empty"].map((what) => found.filter((f) => f === what).length)) / ran.length,
    reason: found.join(", "),
  }));
  return { score, metrics: counts, step_outputs };
}

const worth = (success, error, empty) => success - error - 0.5 * empty;

function outcome(span) {
  if (span.status === "error") return "error";
  return hollow(span.tool.result ?? "") ? "empty" : "success";
}

/** Whether a result holds nothing: no text, or JSON of which no part is a text, a number or a truth value. */
function hollow(result) {
  let value = result.trim();
  try {
    value = JSON.parse(value);
  } catch {
    // a text, then
  }
  const empty = (x) => x === null || x === "" || (typeof x === "object" && Object.values(x).every(empty));
  return empty(value);
}
