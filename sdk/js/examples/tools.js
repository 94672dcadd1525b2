// Rewards every step that calls tools by what became of its calls. The rules
// stand in sdk/conformance/README.md: the same reward exists in every language.
import { assistants, invalid, text } from "merit";

const MALFORMED = "malformed arguments";
const trim = (s) => s.replace(/^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g, "");
const count = (list, value) => list.filter((v) => v === value).length;

export default function (rollout) {
  const step_outputs = [];
  let calls = 0;
  let good = 0;
  let malformed = 0;
  for (const [step_index, message, place] of assistants(rollout)) {
    const problems = (message.tool_calls ?? []).map((call) => problemOf(rollout.messages.slice(place + 1), call));
    if (problems.length === 0) continue;
    const [fine, bad] = [count(problems, ""), count(problems, MALFORMED)];
    calls += problems.length;
    good += fine;
    malformed += bad;
    step_outputs.push({
      step_index,
      base_reward: (fine - 0.5 * bad) / problems.length,
      reason: problems.find(Boolean) ?? "",
      metrics: { calls: problems.length },
    });
  }
  if (calls === 0) return invalid("no tool was called");
  return { score: good / calls, metrics: { calls, malformed }, step_outputs };
}

/** What is wrong with a call, or "". Its result stands among the tool messages that follow directly. */
function problemOf(following, call) {
  if (!isObject(trim(call.function.arguments))) return MALFORMED;
  for (const message of following) {
    if (message.role !== "tool") break;
    if ((message.tool_call_id ?? "") !== call.id) continue;
    return /^[ \t\n\v\f\r]*[Ee][Rr][Rr][Oo][Rr]/.test(text(message)) ? "the tool failed" : "";
  }
  return "no result";
}

/** Whether text looks like a JSON object: what opens outside of strings closes only at its end. */
function isObject(text) {
  if (!text.startsWith("{") || !text.endsWith("}")) return false;
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted && c === "\\") i++;
    else if (c === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (c === "{" || c === "[") depth++;
    else if ((c === "}" || c === "]") && --depth === 0) return i === text.length - 1;
  }
  return false;
}
