// Compares the number at the end of the last assistant message with the ground
// truth. The rules stand in sdk/conformance/README.md.
import { Bytes, Output, Rollout, bytes, register } from "../assembly/index";
export { merit_abi_1, merit_alloc, merit_evaluate } from "../assembly/index";

const MARKS = [bytes("A:"), bytes("####")];
const CURRENCIES = [bytes("$"), bytes("€"), bytes("£"), bytes(" ")];
const MINUSES = [bytes("-"), bytes("−")];
const POINT = bytes(".");
const NO_TRUTH = bytes("the ground truth holds no number");
const NO_ANSWER = bytes("no answer after A: or ####");
const NO_NUMBER = bytes("the answer holds no number");

register((r: Rollout, out: Output): void => {
  const want = number(r.groundTruth.text);
  if (isNaN(want)) {
    out.invalid(NO_TRUTH);
    return;
  }
  const text = final(r.answer);
  const got = text ? number(text) : NaN;
  out.score(got == want ? 1 : 0);
  if (!text) out.reason(NO_ANSWER);
  else if (isNaN(got)) out.reason(NO_NUMBER);
});

/** The text behind the last "A:" or "####" that begins a line. */
function final(answer: Bytes): Bytes | null {
  for (let rest = answer; rest.length > 0; rest = rest.withoutLastLine()) {
    const line = rest.lastLine().trim();
    for (let i = 0; i < MARKS.length; i++) {
      if (line.startsWith(MARKS[i])) return line.slice(MARKS[i].length);
    }
  }
  return null;
}

/**
 * The first number of a text that may hold a currency sign, thousands
 * separators, units and a full stop.
 */
function number(text: Bytes): f64 {
  let start = 0;
  while (start < text.length && !digitAt(text, start)) start++;
  let end = start;
  for (let point = false; end < text.length; end++) {
    if (digitAt(text, end)) continue;
    if (text[end] == 0x2c && digitAt(text, end + 1)) continue;
    if (text[end] != 0x2e || point || !digitAt(text, end + 1)) break;
    point = true;
  }
  if (text.slice(0, start).endsWith(POINT)) start--;
  const value = text.slice(start, end).number();
  let before = text.slice(0, start);
  for (let cut = ending(before, CURRENCIES); cut > 0; cut = ending(before, CURRENCIES)) {
    before = before.slice(0, before.length - cut);
  }
  return ending(before, MINUSES) > 0 ? -value : value;
}

/** The length of the one of ends that text ends with, or 0. */
function ending(text: Bytes, ends: Bytes[]): i32 {
  for (let i = 0; i < ends.length; i++) {
    if (text.endsWith(ends[i])) return ends[i].length;
  }
  return 0;
}

function digitAt(text: Bytes, i: i32): bool {
  return i < text.length && text[i] >= 0x30 && text[i] <= 0x39;
}
