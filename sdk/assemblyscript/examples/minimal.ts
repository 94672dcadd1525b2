import { Output, Rollout, register } from "../assembly/index";
export { merit_abi_1, merit_alloc, merit_evaluate } from "../assembly/index";

register((r: Rollout, out: Output): void => {
  out.score(r.answer.equals(r.groundTruth.text) ? 1 : 0);
});
