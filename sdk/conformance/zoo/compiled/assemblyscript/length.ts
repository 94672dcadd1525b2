// The length of an answer in words; length.py says the same in Python.
import { Bytes, Output, Rollout, bytes, register } from "../../../../assemblyscript/assembly/index";
export { merit_abi_1, merit_alloc, merit_evaluate } from "../../../../assemblyscript/assembly/index";

register((r: Rollout, out: Output): void => {
  const words = f64(count(r.answer));
  out.score(words <= 12 ? words / 12 : Math.max(-1, 1 - (words - 12) / 7));
});

function count(text: Bytes): i32 {
  let words = 0;
  for (let i = 0; i < text.length; i++) {
    if (!space(text[i]) && (i == 0 || space(text[i - 1]))) words++;
  }
  return words;
}

function space(c: u8): bool {
  return c == 0x20 || (c >= 0x09 && c <= 0x0d);
}
