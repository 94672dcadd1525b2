// The number at the end of an answer; number.py says the same in Python.
import { Bytes, Output, Rollout, bytes, register } from "../../../../assemblyscript/assembly/index";
export { merit_abi_1, merit_alloc, merit_evaluate } from "../../../../assemblyscript/assembly/index";

const MARK = bytes("####");
const NO_TRUTH = bytes("the ground truth is not a number");

register((r: Rollout, out: Output): void => {
  const want = parseFloat(r.groundTruth.text.toString()); // number() takes no sign
  if (isNaN(want)) {
    out.error(NO_TRUTH);
    return;
  }
  const got = lastNumber(r.answer);
  if (isNaN(got)) out.score(0);
  else out.score(got == want ? 1 : Math.max(0, 0.5 - Math.abs(got - want) / (Math.abs(want) + 1)));
});

/** The last number behind the last mark, or NaN. */
function lastNumber(answer: Bytes): f64 {
  let text = answer;
  for (let at = text.indexOf(MARK); at >= 0; at = text.indexOf(MARK)) text = text.slice(at + MARK.length);
  let last = "";
  for (let i = 0; i < text.length; ) {
    const end = endOf(text, i);
    if (end > i) last = text.slice(i, end).toString();
    i = max(end, i + 1);
  }
  return last == "" ? NaN : parseFloat(last.replaceAll(",", ""));
}

/** The end of the number that begins at i, or i. */
function endOf(text: Bytes, i: i32): i32 {
  let end = text[i] == 0x2d ? i + 1 : i;
  if (!digit(text, end)) return i;
  while (digit(text, end) || (end < text.length && text[end] == 0x2c)) end++;
  if (end < text.length && text[end] == 0x2e && digit(text, end + 1)) {
    end++;
    while (digit(text, end)) end++;
  }
  return end;
}

function digit(text: Bytes, i: i32): bool {
  return i < text.length && text[i] >= 0x30 && text[i] <= 0x39;
}
