// What the author of a reward in AssemblyScript writes against. A reward is one
// function:
//
//   import { Output, Rollout, register } from "merit-reward";
//   export { merit_abi_1, merit_alloc, merit_evaluate } from "merit-reward";
//
//   register((r: Rollout, out: Output): void => {
//     out.score(r.answer.equals(r.groundTruth.text) ? 1 : 0);
//   });
//
// Text is read as bytes, in place; see bytes.ts. The layout is that of Merit's
// flat ABI, version 1.

export { Bytes, bytes } from "./bytes";
export { Group, register, registerGroup, merit_abi_1, merit_alloc, merit_evaluate, merit_evaluate_group } from "./guest";
export { Level, Output } from "./output";
export { ActionKind, Field, Kind, Message, Role, Rollout, Step, StopReason, ToolCall, Value } from "./rollout";
