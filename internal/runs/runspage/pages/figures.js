import { duration } from "../frame/dom.js";

// The figures that pages about runs begin with: metrics in one chart share it.
const share = { percent: true };
export const figures = [
  { title: "success", metrics: ["validation/success", "rollout/success"], names: ["validation", "training"], ...share },
  { title: "return", metrics: ["validation/return", "rollout/return"], names: ["validation", "training"] },
  { title: "length, steps", metrics: ["validation/length", "rollout/length"], names: ["validation", "training"] },
  { title: "entropy, nats", metrics: ["update/entropy"] },
  { title: "KL of an update, nats", metrics: ["update/kl"] },
  { title: "clipped", metrics: ["update/clip_fraction"], ...share },
  { title: "gradient norm", metrics: ["update/grad_norm"] },
  { title: "steps with a step advantage", metrics: ["advantage/step_share"], ...share },
  { title: "groups with equal scores", metrics: ["advantage/zero_variance_rate"], ...share },
  { title: "steps without peers in their anchor group", metrics: ["advantage/singleton_share"], ...share },
  { title: "actions without effect", metrics: ["rollout/invalid_actions"], ...share },
  { title: "environment steps per second", metrics: ["time/steps_per_second"] },
];

// won is the figure of a reward that compares.
export const won = { title: "win rate against the policy before training", metrics: ["validation/wins/rate"], ...share };

// Of runs that draw tasks from a set, and of those that dropped stale groups.
export const special = [
  { title: "groups with equal scores, of all played", metrics: ["sampling/equal_scores"], ...share },
  { title: "tasks that do not rest", metrics: ["sampling/active"] },
  { title: "resting tasks", metrics: ["sampling/unsolved", "sampling/solved"], names: ["never solved", "always solved"] },
  { title: "stale groups dropped", metrics: ["rollout/stale_groups"] },
  { title: "stale, by length", metrics: ["rollout/stale_long", "rollout/stale_short"], names: ["long episodes", "short episodes"], ...share },
  { title: "stale, by score", metrics: ["rollout/stale_high", "rollout/stale_low"], names: ["high scores", "low scores"], ...share },
];

export const axisNames = { iteration: "iteration", env_steps: "step", episodes: "episode", seconds: "second" };

// runs reports whether a run is still written: a line a minute, or five times as long as its
// slowest iteration took.
export const runs = (r) => !r.finished && !r.problem && Date.now() - new Date(r.written) < Math.max(60, 5 * r.pace) * 1000;

// left describes the time to the last iteration; a run that reaches its target stops earlier.
export const left = (r) => (r.left === undefined ? "" : r.left < 1 && r.of === r.iterations ? "final measurements" : "at most " + duration(r.left) + " left");
