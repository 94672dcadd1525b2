// The F1 of the words of answer and truth; f1.py says the same in Python.
import { Bytes, Output, Rollout, bytes, register } from "../../../../assemblyscript/assembly/index";
export { merit_abi_1, merit_alloc, merit_evaluate } from "../../../../assemblyscript/assembly/index";

register((r: Rollout, out: Output): void => {
  const got = words(r.answer.toString());
  const want = words(r.groundTruth.text.toString());
  const left = new Map<string, i32>();
  for (let i = 0; i < want.length; i++) left.set(want[i], (left.has(want[i]) ? left.get(want[i]) : 0) + 1);
  let common = 0;
  for (let i = 0; i < got.length; i++) {
    if (!left.has(got[i]) || left.get(got[i]) == 0) continue;
    left.set(got[i], left.get(got[i]) - 1);
    common++;
  }
  if (common == 0) {
    out.score(0);
    return;
  }
  const precision = f64(common) / f64(got.length);
  const recall = f64(common) / f64(want.length);
  out.score(2 * precision * recall / (precision + recall));
});

function words(text: string): string[] {
  const all: string[] = [];
  let word = "";
  const lower = text.toLowerCase() + " ";
  for (let i = 0; i < lower.length; i++) {
    const c = lower.charCodeAt(i);
    if ((c >= 0x61 && c <= 0x7a) || (c >= 0x30 && c <= 0x39)) {
      word += lower.charAt(i);
    } else if (word != "") {
      all.push(word);
      word = "";
    }
  }
  return all;
}
