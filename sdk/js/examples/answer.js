// Compares the number at the end of the last assistant message with the ground
// truth. The rules stand in sdk/conformance/README.md: the same reward exists in
// every language.
import { answer, invalid } from "merit";

export default function (rollout) {
  const truth = rollout.ground_truth;
  const want = number(typeof truth === "string" ? truth : (JSON.stringify(truth) ?? ""));
  if (want === null) return invalid("the ground truth holds no number");
  const text = final(answer(rollout));
  if (text === null) return { score: 0, reason: "no answer after A: or ####" };
  const got = number(text);
  if (got === null) return { score: 0, reason: "the answer holds no number" };
  return got === want;
}

/** The text behind the last "A:" or "####" that begins a line, or null. */
function final(answer) {
  for (const line of answer.split("\n").reverse()) {
    const mark = /^[ \t\v\f\r]*(?:A:|####)([^]*?)[ \t\v\f\r]*$/.exec(line);
    if (mark) return mark[1];
  }
  return null;
}

/** The first number of a text with a currency sign, separators, units, a full stop, or null. */
function number(text) {
  const found = /[0-9](?:[0-9]|,(?=[0-9]))*(?:\.[0-9](?:[0-9]|,(?=[0-9]))*)?/.exec(text);
  if (!found) return null;
  let digits = found[0].replaceAll(",", "");
  let before = text.slice(0, found.index);
  if (before.endsWith(".")) {
    if (digits.includes(".")) return null;
    digits = "0." + digits;
    before = before.slice(0, -1);
  }
  const value = Number(digits);
  return /[-−][$€£ ]*$/.test(before) ? -value : value;
}
