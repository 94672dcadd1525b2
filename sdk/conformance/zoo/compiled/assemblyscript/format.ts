// The format of an answer; format.py says the same in Python.
import { Bytes, Output, Rollout, bytes, register } from "../../../../assemblyscript/assembly/index";
export { merit_abi_1, merit_alloc, merit_evaluate } from "../../../../assemblyscript/assembly/index";

const TAGS = [bytes("<think>\n"), bytes("\n</think>\n"), bytes("\n<answer>\n"), bytes("\n</answer>")];
const MIDDLE = bytes("\n</think>\n<answer>\n");

register((r: Rollout, out: Output): void => {
  let once = 0;
  for (let i = 0; i < TAGS.length; i++) once += occursOnce(r.answer, TAGS[i]) ? 1 : 0;
  out.score(0.125 * f64(once) + (matches(r.answer) ? 0.5 : 0));
});

function occursOnce(text: Bytes, tag: Bytes): bool {
  const at = text.indexOf(tag);
  return at >= 0 && text.indexOf(tag, at + tag.length) < 0;
}

function matches(text: Bytes): bool {
  if (!text.startsWith(TAGS[0]) || !text.endsWith(TAGS[3])) return false;
  const at = text.indexOf(MIDDLE, TAGS[0].length);
  return at >= 0 && at + MIDDLE.length + TAGS[3].length <= text.length;
}
