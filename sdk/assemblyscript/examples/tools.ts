// Rewards every step that calls tools by what became of its calls. The rules
// stand in sdk/conformance/README.md.
import { Bytes, Output, Role, Rollout, ToolCall, bytes, register } from "../assembly/index";
export { merit_abi_1, merit_alloc, merit_evaluate } from "../assembly/index";

const CALLS = bytes("calls");
const MALFORMED = bytes("malformed");
const NO_CALL = bytes("no tool was called");
const ERROR = bytes("error");
const REASONS = [bytes("malformed arguments"), bytes("the tool failed"), bytes("no result")];

/** What may be wrong with a call, in the order of REASONS. */
enum Problem { Malformed, Failed, NoResult, None }

register((r: Rollout, out: Output): void => {
  let calls = 0;
  let good = 0;
  let malformed = 0;
  for (let i = 0; i < r.messageCount; i++) {
    const m = r.message(i);
    if (m.assistantIndex < 0 || m.toolCallCount == 0) continue;
    let sum: f64 = 0;
    let first = Problem.None;
    for (let j = 0; j < m.toolCallCount; j++) {
      const problem = problemOf(r, i, m.toolCall(j));
      if (problem == Problem.None) {
        sum += 1;
        good++;
      } else if (problem == Problem.Malformed) {
        sum -= 0.5;
        malformed++;
      }
      if (first == Problem.None) first = problem;
    }
    calls += m.toolCallCount;
    out.step(m.assistantIndex, sum / m.toolCallCount);
    out.stepMetric(m.assistantIndex, CALLS, m.toolCallCount);
    if (first != Problem.None) out.stepReason(m.assistantIndex, REASONS[first]);
  }
  if (calls == 0) {
    out.invalid(NO_CALL);
    return;
  }
  out.metric(CALLS, calls);
  out.metric(MALFORMED, malformed);
  out.score(f64(good) / calls);
});

/** What is wrong with a call of message i. Its result stands among the tool messages that follow directly. */
function problemOf(r: Rollout, i: i32, call: ToolCall): Problem {
  if (!isObject(call.arguments.trim())) return Problem.Malformed;
  const id = call.id;
  while (++i < r.messageCount) {
    const m = r.message(i);
    if (m.role != Role.Tool) break;
    if (m.toolCallId.equals(id)) return hasFailed(m.content.trim()) ? Problem.Failed : Problem.None;
  }
  return Problem.NoResult;
}

/** Whether text begins with "error" in any case. */
function hasFailed(text: Bytes): bool {
  if (text.length < ERROR.length) return false;
  for (let i = 0; i < ERROR.length; i++) {
    if ((text[i] | 0x20) != ERROR[i]) return false;
  }
  return true;
}

/** Whether text looks like a JSON object: braces and brackets outside of strings close only at its end. */
function isObject(text: Bytes): bool {
  if (text.length == 0 || text[0] != 0x7b || text[text.length - 1] != 0x7d) return false;
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted && c == 0x5c) i++;
    else if (c == 0x22) quoted = !quoted;
    else if (quoted) continue;
    else if (c == 0x7b || c == 0x5b) depth++;
    else if ((c == 0x7d || c == 0x5d) && --depth == 0) return i == text.length - 1;
  }
  return false;
}
