/** The corridor of merit plugin new, in AssemblyScript: find the way out at its right end. */
import { Environment, Option, Random, Setup, Turn, register } from "../assembly/environment";
export { merit_environment_1, merit_alloc, merit_describe, merit_configure, merit_reset, merit_step } from "../assembly/environment";

/** Each cell belongs to one split: 3 of 5 to train, the others to validation and test. */
function splitOf(cell: i32): string {
  return cell % 5 < 3 ? "train" : cell % 5 == 3 ? "validation" : "test";
}

class Corridor extends Environment {
  length: i32 = 0;
  starts: i32[] = []; // those of the split
  at: i32 = 0;
  steps: i32 = 0;
  features: StaticArray<f32> = new StaticArray<f32>(0);

  configure(setup: Setup): string {
    this.length = i32(setup.option("length"));
    this.features = new StaticArray<f32>(this.length);
    for (let cell = 0; cell < this.length - 1; cell++) {
      if (splitOf(cell) == setup.split) this.starts.push(cell);
    }
    if (this.starts.length == 0) return setup.fail("no tasks are left for this split");
    return '{"actions": ["left", "right"], "feature_shape": [' + this.length.toString() + '], "max_steps": ' + (2 * this.length).toString() +
      ', "system": "You are in a dark corridor. Its right end is the way out. Answer with left or right."}';
  }

  reset(seed: u64, turn: Turn): void {
    this.at = this.starts[i32(new Random(seed).next() % this.starts.length)];
    this.steps = 0;
    this.look(turn);
  }

  step(action: i32, text: string, turn: Turn): void {
    turn.invalidAction = action == 0 && this.at == 0;
    this.at = max(this.at + 2 * action - 1, 0);
    this.steps++;
    turn.terminated = this.at == this.length - 1;
    turn.truncated = !turn.terminated && this.steps == 2 * this.length;
    if (turn.terminated) turn.reward = 1;
    if (turn.terminated || turn.truncated) turn.metric("steps", this.steps);
    this.look(turn);
  }

  look(turn: Turn): void {
    turn.anchor = this.at.toString();
    if (turn.wantsText) turn.text = "You are " + turn.anchor + " steps from the left wall.";
    if (turn.wantsFeatures) {
      this.features.fill(0);
      this.features[this.at] = 1;
      turn.features = this.features;
    }
  }
}

register("corridor", "1.0.0", "Find the way out of a corridor.", [new Option("length", 24, 6, 64)], new Corridor());
