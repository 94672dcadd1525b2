// The conformance guest; see check.ts.
import { Level, Output, Rollout, bytes, register } from "../../../assemblyscript/assembly/index";
import { check } from "./check";
export { merit_abi_1, merit_alloc, merit_evaluate } from "../../../assemblyscript/assembly/index";

const LINE = bytes("conformance");

register((r: Rollout, out: Output): void => {
  out.log(Level.Info, LINE);
  check(r, out);
});
