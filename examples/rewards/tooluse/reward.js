import { assistants, invalid, text } from "merit";

export const merit = { name: "tooluse" };

/**
 * What became of each call: 1 where its tool did what was asked, -1 where it answered with an error, -0.5 where it found
 * nothing; a turn that neither calls nor says anything is -0.5, too. The score is the mean; each turn has its share of it.
 */
export default function (rollout, { success = 1, error = -1, empty = -0.5, ...other } = {}) {
  for (const name in other) throw new RangeError(`there is no parameter ${name}; there are success, error and empty`);
  for (const [name, x] of Object.entries({ success, error, empty })) {
    if (!Number.isFinite(x)) throw new RangeError(`${name} is ${x}; it must be a number`);
  }
  const worth = { success, error, empty };
  const counts = { success: 0, error: 0, empty: 0 };
  const turns = [];
  for (const [step_index, message, place] of assistants(rollout)) {
    const calls = message.tool_calls ?? [];
    const found = calls.map((call) => outcome(rollout.messages.slice(place + 1), call)).filter(Boolean);
    if (calls.length === 0 && !text(message).trim()) found.push("empty");
    for (const what of found) counts[what]++;
    if (found.length > 0) turns.push([step_index, found]);
  }
  const all = counts.success + counts.error + counts.empty;
  if (all === 0) return invalid("no call has a result, and no turn is empty");
  const step_outputs = turns.map(([step_index, found]) => ({
    step_index,
    base_reward: found.reduce((sum, what) => sum + worth[what], 0) / all,
    reason: found.join(", "),
  }));
  return { score: step_outputs.reduce((sum, s) => sum + s.base_reward, 0), metrics: counts, step_outputs };
}

/** What a call came to, by its result among the tool messages that follow directly; undefined if it has none. */
function outcome(following, call) {
  for (const message of following) {
    if (message.role !== "tool") return undefined;
    if ((message.tool_call_id ?? "") === call.id) return judge(text(message).trim());
  }
  return undefined;
}

function judge(said) {
  if (/^error/i.test(said)) return "error";
  let value = said;
  try {
    value = JSON.parse(said);
  } catch {
    // a text, then
  }
  if (isObject(value) && (value.error ?? null) !== null) return "error";
  return hollow(value) ? "empty" : "success";
}

const isObject = (x) => typeof x === "object" && x !== null && !Array.isArray(x);

/** Whether a value holds nothing: "", null, [], {}, and objects and lists of such. Numbers and booleans are something. */
function hollow(x) {
  if (x === null || x === "") return true;
  return typeof x === "object" && Object.values(x).every(hollow);
}
