// The last fenced block; fence.py says the same in Python.
import { Bytes, Output, Rollout, bytes, register } from "../../../../assemblyscript/assembly/index";
export { merit_abi_1, merit_alloc, merit_evaluate } from "../../../../assemblyscript/assembly/index";

const FENCE = bytes("```");
const PYTHON = bytes("python");
const NEWLINE = bytes("\n");
const RETURN = bytes("return");
const DEF = bytes("def ");

register((r: Rollout, out: Output): void => {
  const code = lastBlock(r.answer);
  if (code == null) {
    out.score(0);
    return;
  }
  out.score(0.2 + 0.3 * (code.indexOf(RETURN) >= 0 ? 1 : 0) + 0.5 * (occurs(code, DEF) == 1 ? 1 : 0));
});

function lastBlock(text: Bytes): Bytes | null {
  let last: Bytes | null = null;
  for (let at = text.indexOf(FENCE); at >= 0; ) {
    let from = at + FENCE.length;
    if (text.slice(from).startsWith(PYTHON) && text.slice(from + PYTHON.length).startsWith(NEWLINE)) from += PYTHON.length;
    const end = text.slice(from).startsWith(NEWLINE) ? text.indexOf(FENCE, from + 1) : -1;
    if (end >= 0) last = text.slice(from + 1, end);
    at = text.indexOf(FENCE, end >= 0 ? end + FENCE.length : at + FENCE.length);
  }
  return last;
}

function occurs(text: Bytes, what: Bytes): i32 {
  let n = 0;
  for (let at = text.indexOf(what); at >= 0; at = text.indexOf(what, at + what.length)) n++;
  return n;
}
