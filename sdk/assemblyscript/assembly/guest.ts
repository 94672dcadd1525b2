import { Output } from "./output";
import { Rollout } from "./rollout";

const MEMBERS = 72;

/** The members of a group: trajectories from one identical start. */
export class Group {
  constructor(private base: usize) {}

  get length(): i32 { return load<i32>(this.base, MEMBERS); }

  member(i: i32): Rollout {
    const row = this.base + load<u32>(this.base, MEMBERS + 4) + i * load<u32>(this.base, MEMBERS + 8);
    const start = this.base + load<u32>(row);
    return new Rollout(start, start);
  }
}

let scoreRollout: ((r: Rollout, out: Output) => void) | null = null;
let rankGroup: ((g: Group, out: Output) => void) | null = null;

/** Makes score the reward of the module. Export merit_evaluate beside it. */
export function register(score: (r: Rollout, out: Output) => void): void {
  scoreRollout = score;
}

/**
 * Makes rank the reward of groups. Export merit_evaluate_group beside it. The
 * status is 0: invalid and error speak of one member.
 */
export function registerGroup(rank: (g: Group, out: Output) => void): void {
  rankGroup = rank;
}

export function merit_abi_1(): void {}

let buffer: usize = 0;
let capacity: usize = 0;

/** The input buffer, kept between calls. It comes from the heap: the runtime takes pages that others add for its own. */
export function merit_alloc(size: usize): usize {
  if (size > capacity) {
    if (buffer != 0) heap.free(buffer);
    capacity = (size + 0xffff) & ~0xffff;
    buffer = heap.alloc(capacity);
  }
  return buffer;
}

export function merit_evaluate(ptr: usize, len: usize): i32 {
  const out = new Output();
  scoreRollout!(new Rollout(ptr, ptr), out);
  return out.status;
}

export function merit_evaluate_group(ptr: usize, len: usize): i32 {
  rankGroup!(new Group(ptr), new Output());
  return 0;
}
