// Applies the rule of a criterion to one output.
//
// The ground truth is { code, output, task }. The rule is run here, in an interpreter that holds nothing but this file, the rule
// and the one output, and begins anew for the next: whatever the rule does to it, all that it can reach is the value that it gives
// by returning it, which is checked here for the reason and by the host for the score.

const FOUND = "\n;return typeof rule === 'function' ? rule : undefined";
const HEAD = 2; // lines that Function puts before a body

// line is the line of the rule that an error comes from, or that of the call or the function that it comes from, as far as the
// interpreter knows it; 0 if it does not.
function line(error) {
  const found = /<input>:(\d+)/.exec(String(error?.stack ?? ""));
  return found ? Math.max(1, Number(found[1]) - HEAD) : 0;
}

function failed(error) {
  const at = line(error);
  const what = error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`;
  return { score: 0, error: (at ? `line ${at}: ` : "") + what.slice(0, 500) };
}

function unusable(what) {
  return { score: 0, is_score_valid: false, reason: `the function rule returned ${String(what).slice(0, 80)}; it returns a boolean or a number from 0 to 1` };
}

function shown(value) {
  try {
    return `${typeof value} ${JSON.stringify(value) ?? String(value)}`;
  } catch {
    return typeof value;
  }
}

export default function apply({ ground_truth: { code, output, task } }) {
  try {
    const rule = new Function(code + FOUND)();
    if (typeof rule !== "function") return { score: 0, error: "the code defines no function rule(output, task)" };
    let value = rule(output, task), reason = "";
    if (typeof value === "object" && value !== null && "score" in value) {
      reason = String(value.reason ?? "");
      value = value.score;
    }
    if (typeof value !== "number" && typeof value !== "boolean") return unusable(shown(value));
    if (!(value >= 0 && value <= 1)) return unusable(value);
    return { score: Number(value), reason };
  } catch (error) {
    if (error instanceof InternalError && error.message === "out of memory") throw error; // the host knows whether it is true
    return failed(error);
  }
}

// warmUp runs the usual ways once, so that what they need is there from the start.
export function warmUp() {
  const work = { output: { text: "a", resources: [] }, task: { text: "b", inputs: [] } };
  for (const code of ["function rule(output, task) { return output.text.length / 2; }", "function rule() { return 2; }", "x ="]) {
    apply({ ground_truth: { code, ...work } });
  }
}
