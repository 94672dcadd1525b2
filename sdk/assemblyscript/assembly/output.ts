import { Bytes } from "./bytes";

// @ts-ignore: decorator
@external("merit_v1", "set_score") declare function hostScore(score: f64): void;
// @ts-ignore: decorator
@external("merit_v1", "step") declare function hostStep(index: i32, baseReward: f64): void;
// @ts-ignore: decorator
@external("merit_v1", "step_metric") declare function hostStepMetric(index: i32, name: usize, length: i32, value: f64): void;
// @ts-ignore: decorator
@external("merit_v1", "step_reason") declare function hostStepReason(index: i32, text: usize, length: i32): void;
// @ts-ignore: decorator
@external("merit_v1", "metric") declare function hostMetric(name: usize, length: i32, value: f64): void;
// @ts-ignore: decorator
@external("merit_v1", "reason") declare function hostReason(text: usize, length: i32): void;
// @ts-ignore: decorator
@external("merit_v1", "error") declare function hostError(text: usize, length: i32): void;
// @ts-ignore: decorator
@external("merit_v1", "log") declare function hostLog(level: i32, text: usize, length: i32): void;
// @ts-ignore: decorator
@external("merit_v1", "member") declare function hostMember(index: i32): void;

/** The level of a line in the log. */
export enum Level { Debug, Info, Warning, Error }

/** Takes results one by one: nothing is collected in the guest. */
export class Output {
  /** What merit_evaluate returns: 0 scored, 1 invalid, 2 error. */
  status: i32 = 0;

  /** Sets the score, once. */
  score(score: f64): void {
    hostScore(score);
  }

  /** Sets the base reward of the step with this index among the assistant messages behind the prompt, once a step. */
  step(index: i32, baseReward: f64): void {
    hostStep(index, baseReward);
  }

  /** Adds a measurement to a step that has its reward. */
  stepMetric(index: i32, name: Bytes, value: f64): void {
    hostStepMetric(index, name.at, name.length, value);
  }

  /** Explains a step that has its reward. */
  stepReason(index: i32, text: Bytes): void {
    hostStepReason(index, text.at, text.length);
  }

  /** Adds a measurement. */
  metric(name: Bytes, value: f64): void {
    hostMetric(name.at, name.length, value);
  }

  /** Explains the result. */
  reason(text: Bytes): void {
    hostReason(text.at, text.length);
  }

  /** There is no valid score: the rollout, in a group the member, leaves the baseline. */
  invalid(reason: Bytes): void {
    this.reason(reason);
    this.status = 1;
  }

  /** The reward itself failed. */
  error(text: Bytes): void {
    hostError(text.at, text.length);
    this.status = 2;
  }

  /** Writes a line to the log of the evaluation. */
  log(level: Level, text: Bytes): void {
    hostLog(level, text.at, text.length);
  }

  /** In a group reward: the following results speak of member i, which needs score or invalid. */
  member(i: i32): void {
    hostMember(i);
  }
}
