// An environment's side of the sandbox. boot finds the class in the author's module and
// leaves functions for the host: ask, which takes and gives texts, and reset and step, which
// leave numbers in a buffer that the host knows and return the texts of the turn. Each slot
// is a copy of the interpreter.

import { any, forget, refused } from "merit/refusals.js";
import "merit/timers.js";

const KINDS = ["error", "tool_result", "info", "metric", "task"]; // of events, by the number that the host knows
const SPLITS = ["train", "validation", "test"];
const MOST_EVENTS = 16, MOST_TEXT = 1 << 20, MOST_LOG = 4096;
const TERMINATED = 1, TRUNCATED = 2, FAILED = 4, INVALID = 8, WANT_TEXT = 1, WANT_FEATURES = 2;

// The buffer, in bytes: what the host makes of it, the reward, numbers from and to the host,
// features, mask.
const REWARD = 376, NUMBERS = 384, FEATURES = 624;
const [ACTION, WANT, SEED, FLAGS, ANCHOR, TEXT, EVENTS, LOG, MASK, DRAWS, ACTIONS, EVENT] = [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12];

let Type, about, slot, split, names, width, numbers, reward, features, mask, log = "";

globalThis.console = Object.fromEntries(["log", "info", "warn", "error", "debug"].map((name) => [name, (...said) => {
  log = (log + said.map(show).join(" ") + "\n").slice(-MOST_LOG);
}]));

function show(value) {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

/** Finds the class, which the module exports. */
export function boot(module, name) {
  Type = module.default ?? Object.values(module).find((c) => typeof c?.prototype?.reset === "function");
  if (typeof Type?.prototype?.reset !== "function" || typeof Type.prototype.step !== "function") {
    throw new Error("the module exports no class with reset and step: write export default class Maze { … }");
  }
  about = { name, version: "0", summary: Type.name, options: {}, ...Type.about };
  forget(); // what was refused so far is how code chooses between packages
  globalThis.__merit = { serve: ask, reset, step, turn: buffer };
}

const buffer = () => numbers.buffer;

function ask(request) {
  const at = request.indexOf("\n");
  try {
    return "0" + { describe, configure, render }[request.slice(0, at)](request.slice(at + 1));
  } catch (e) {
    return "1" + JSON.stringify(e instanceof Wrong ? e.problems : [{ boundary: "plugin", kind: "crashed", what: explain(e), hint: "correct the environment" }]);
  }
}

class Wrong extends Error {
  constructor(problems) {
    super("wrong options");
    this.problems = problems;
  }
}

const describe = () => JSON.stringify({ name: about.name, version: String(about.version), summary: about.summary, options: about.options });

function configure(said) {
  const setup = JSON.parse(said);
  split = setup.split;
  if (!SPLITS.includes(split)) throw new Wrong([{ what: `split ${show(split)} is not one of ${SPLITS.join(", ")}` }]);
  slot = new Type(chosen(setup.options), split);
  const has = (name) => slot[name] ?? Type[name];
  names = [...(has("actions") ?? missing())];
  const shape = [...(has("featureShape") ?? shaped(seeded(0, 0)))];
  width = shape.length ? shape.reduce((a, b) => a * b) : 0;
  const room = new ArrayBuffer(FEATURES + 4 * width + names.length);
  numbers = new Int32Array(room, NUMBERS, (FEATURES - NUMBERS) / 4);
  reward = new Float64Array(room, REWARD, 1);
  features = new Float32Array(room, FEATURES, width);
  mask = new Uint8Array(room, FEATURES + 4 * width, names.length);
  numbers[DRAWS] = Number(typeof slot.render === "function");
  numbers[ACTIONS] = names.length;
  forget();
  return JSON.stringify({
    actions: names, feature_shape: shape, max_steps: has("maxSteps") ?? 0, system: has("system") ?? "", tools: has("tools"), tasks: has("tasks") ?? 0,
  });
}

function missing() {
  throw new Error(`${Type.name} has no actions: add static actions = ["left", "right"], or [] if an action is a text`);
}

/** The options, with their defaults; unknown ones and those of another type are problems. */
function chosen(given) {
  const defaults = about.options, problems = [];
  for (const [key, value] of Object.entries(given)) {
    const where = `options.${key}`, wanted = kind(defaults[key]);
    if (!Object.hasOwn(defaults, key)) problems.push({ where, what: "is not an option", hint: `the options are ${Object.keys(defaults).join(", ")}` });
    else if (defaults[key] !== null && kind(value) !== wanted) problems.push({ where, what: `must be ${wanted}, not ${show(value).slice(0, 100)}`, hint: `the default is ${show(defaults[key])}` });
  }
  if (problems.length) throw new Wrong(problems.map((p) => ({ boundary: "config", kind: "invalid", ...p })));
  return { ...defaults, ...given };
}

const kind = (value) => Array.isArray(value) ? "a list" : value === null ? "empty" : typeof value === "object" ? "keys with values" : `a ${typeof value}`;

function render() {
  return String(slot.render());
}

// seeded begins an episode. Math.random is determined by its seed and the split.
function seeded(low, high) {
  let a = low ^ 0x9e3779b9, b = high ^ (SPLITS.indexOf(split) + 1), c = 0, d = 1;
  const next = () => { // sfc32
    const t = (a + b | 0) + d | 0;
    d = d + 1 | 0;
    a = b ^ b >>> 9;
    b = c + (c << 3) | 0;
    c = (c << 21 | c >>> 11) + t | 0;
    return t >>> 0;
  };
  for (let i = 0; i < 12; i++) next();
  Math.random = () => (next() * 0x200000 + (next() >>> 11)) / 0x20000000000000;
  return slot.reset((high >>> 0) % 0x200000 * 0x100000000 + (low >>> 0));
}

function reset() {
  return turn(true, () => seeded(numbers[SEED], numbers[SEED + 1]));
}

function step(text) {
  return turn(false, () => slot.step(names.length ? numbers[ACTION] : text));
}

/** Makes a call, leaves its numbers in the buffer and returns its texts, one after another. */
function turn(resets, call) {
  try {
    numbers[FLAGS] = numbers[EVENTS] = numbers[MASK] = 0;
    numbers[TEXT] = -1;
    const said = taken(call(), resets);
    if (any) throw undefined;
    return write(said, resets);
  } catch (e) {
    const why = any ? told() : explain(e);
    forget();
    numbers[FLAGS] = FAILED;
    numbers[TEXT] = -1;
    numbers[ANCHOR] = numbers[MASK] = 0;
    reward[0] = 0;
    features.fill(0);
    return written("", [["error", "", why]]);
  }
}

const told = () => refused().map((r) => `the environment asked for what the sandbox does not have: ${r.what}, at ${r.where}`)[0] ?? "";

// taken is a turn, of what the author's code returned: an object, what Gymnasium returns, or
// an observation.
function taken(said, resets) {
  if (typeof said?.then === "function") throw new TypeError(`${resets ? "reset" : "step"} is async: there is nothing outside of the sandbox to wait for`);
  if (said !== null && typeof said === "object" && !Array.isArray(said)) return said;
  if (resets && Array.isArray(said) && said.length === 2 && kind(said[1]) === "keys with values") return { ...observed(said[0]), mask: said[1].actionMask };
  if (resets) return observed(said);
  if (!Array.isArray(said) || said.length !== 5) throw new TypeError("step returns an object, or [observation, reward, terminated, truncated, info]");
  return { ...observed(said[0]), reward: said[1], terminated: said[2], truncated: said[3], mask: said[4]?.actionMask };
}

function observed(seen) {
  if (Array.isArray(seen)) {
    const flat = seen.flat(Infinity);
    return { anchor: flat.map((n) => Number.isInteger(n) ? String(n) : n.toFixed(3)).join(","), features: flat };
  }
  return seen !== null && typeof seen === "object" ? seen : { anchor: String(seen) };
}

/** The shape of an observation that is rows of numbers. */
function shaped(said) {
  let seen = Array.isArray(said) && said.length === 2 && kind(said[1]) === "keys with values" ? said[0] : said;
  if (kind(seen) === "keys with values") return seen.features ? [seen.features.length] : [];
  const shape = [];
  for (; Array.isArray(seen); seen = seen[0]) shape.push(seen.length);
  return shape;
}

function write(said, resets) {
  const { anchor = "", text, metrics, info, tools, task } = said;
  reward[0] = number("the reward", said.reward ?? 0);
  if (resets && reward[0] !== 0) throw new RangeError(`the reward is ${reward[0]} right after a reset; it must be 0`);
  const ends = (said.terminated ? TERMINATED : 0) | (said.truncated ? TRUNCATED : 0);
  numbers[FLAGS] = ends | (said.invalidAction ? INVALID : 0);
  if (width && numbers[WANT] & WANT_FEATURES) {
    if (said.features?.length !== width) throw new RangeError(`there are ${said.features?.length ?? 0} features, not ${width} as featureShape says`);
    features.set(said.features);
  }
  if (said.mask != null) {
    if (said.mask.length !== names.length) throw new RangeError(`the mask has ${said.mask.length} values for ${names.length} actions`);
    for (let i = 0; i < names.length; i++) mask[i] = said.mask[i] ? 1 : 0;
    if (!ends && !mask.includes(1)) throw new RangeError("the episode goes on but no action is available");
    numbers[MASK] = 1;
  }
  const events = [];
  if (tools) for (const { name, content } of tools) events.push(["tool_result", String(name), String(content)]);
  if (info) for (const [name, value] of Object.entries(info)) events.push(["info", name, JSON.stringify(value) ?? "null"]);
  if (metrics) for (const [name, value] of Object.entries(metrics)) events.push(["metric", name, String(number(`metric ${name}`, value))]);
  if (task) events.push(["task", "", JSON.stringify({ id: "", ...task })]);
  return written(String(anchor), events, text != null && numbers[WANT] & WANT_TEXT ? String(text) : undefined);
}

function number(what, value) {
  if (typeof value !== "number" && typeof value !== "boolean" || !Number.isFinite(Number(value))) throw new RangeError(`${what} is ${show(value)}, not a finite number`);
  return Number(value);
}

function written(anchor, events, text) {
  if (events.length > MOST_EVENTS) throw new RangeError(`there are ${events.length} tool results, infos and metrics in one turn, more than ${MOST_EVENTS}`);
  let all = place(ANCHOR, anchor);
  if (text !== undefined) all += place(TEXT, text);
  numbers[EVENTS] = events.length;
  for (let i = 0; i < events.length; i++) {
    const [what, name, message] = events[i];
    numbers[EVENT + 3 * i] = KINDS.indexOf(what);
    all += place(EVENT + 3 * i + 1, name) + place(EVENT + 3 * i + 2, message);
  }
  all += place(LOG, log);
  log = "";
  return all;
}

const plain = /^[\x01-\x7f]*$/;

// place leaves the size of a text in bytes of UTF-8 and returns the text.
function place(at, text) {
  if (text.length > MOST_TEXT) throw new RangeError(`a text has ${text.length} characters, more than ${MOST_TEXT}`);
  numbers[at] = text.length;
  if (text.length === 0 || plain.test(text)) return text;
  text = text.replaceAll("\0", "\uFFFD").toWellFormed();
  let size = text.length;
  for (const c of text.match(/[^\x00-\x7f]/gu) ?? []) size += c.length > 1 ? 2 : c < "\u0800" ? 1 : 2;
  numbers[at] = size;
  return text;
}

function explain(e) {
  if (!(e instanceof Error)) return "thrown: " + show(e);
  const at = (e.stack ?? "").match(/[^\s()]+\.m?js:\d+/g)?.find((place) => !place.startsWith("merit/"));
  return `${e.name}: ${e.message.replace("a reward has", "an environment in the sandbox has")}${at ? ` (${at})` : ""}`.slice(0, 8192);
}
