// The conformance guest as a group reward; see check.ts.
import { Group, Output, bytes, registerGroup } from "../../../assemblyscript/assembly/index";
import { check } from "./check";
export { merit_abi_1, merit_alloc, merit_evaluate_group } from "../../../assemblyscript/assembly/index";

const MEMBERS = bytes("members");

registerGroup((g: Group, out: Output): void => {
  for (let i = 0; i < g.length; i++) {
    out.member(i);
    out.metric(MEMBERS, g.length);
    check(g.member(i), out);
  }
});
