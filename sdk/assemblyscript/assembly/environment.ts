/**
 * What the author of an environment in AssemblyScript writes against: a class that plays one
 * slot, and a call of register. examples/corridor.ts is a complete one. Every slot has its own
 * memory, and every episode begins with the memory as configure left it. The layout is that of
 * docs/environment-modules.md, version 1.
 */

/** An environment, which plays one episode at a time. */
export abstract class Environment {
  /** Returns what it offers, as JSON: actions, feature_shape, max_steps, system, tools, tasks. Call setup.fail if it cannot. */
  abstract configure(setup: Setup): string;
  /** Begins the episode of a seed. */
  abstract reset(seed: u64, turn: Turn): void;
  /** Steps: action is an index, and text is what an environment without a list of actions takes. */
  abstract step(action: i32, text: string, turn: Turn): void;
}

/** A number that a configuration may set: its default, and the whole numbers allowed. */
export class Option {
  constructor(readonly key: string, public value: i64, readonly least: i64, readonly most: i64) {}
}

/** The split (train, validation or test) and the options of an environment. */
export class Setup {
  split: string = "";
  reason: string = "";

  /** The value of an option. */
  option(key: string): i64 {
    for (let i = 0; i < options.length; i++) if (options[i].key == key) return options[i].value;
    throw new Error("the option " + key + " was not registered");
  }

  /** The environment cannot be configured, for this reason. */
  fail(reason: string): string {
    this.reason = reason;
    return "";
  }
}

/** What a reset or a step answers. It is empty before each call. */
export class Turn {
  /** Finite; 0 after a reset. */
  reward: f64 = 0;
  terminated: bool = false;
  truncated: bool = false;
  /** The action had no legal effect. */
  invalidAction: bool = false;
  /** The raw observation: equal anchors are equal states. */
  anchor: string = "";
  /** The observation for a reader; without it, the anchor. */
  text: string = "";
  /** Row-major and finite; needed if wantsFeatures. Keep the array, and use it again. */
  features: StaticArray<f32> | null = null;
  /** One byte for each action, 1 = available; without it, all are. */
  mask: StaticArray<u8> | null = null;
  wantsText: bool = false;
  wantsFeatures: bool = false;
  failed: bool = false;
  events: i32 = 0;

  /** Reports a whole number about the episode; the last one of a name counts. */
  metric(name: string, value: i64): void { this.report(3, name, value.toString()); }
  /** Reports the answer of a tool, which becomes a message of the conversation. */
  tool(name: string, answer: string): void { this.report(1, name, answer); }
  /** Reports a JSON value about the step. */
  info(key: string, json: string): void { this.report(2, key, json); }
  /** Sets the task that the episode starts from, in JSON; in reset only. */
  task(json: string): void { this.report(4, "", json); }
  /** Fails the slot: Merit ends its episode with this reason. */
  fail(reason: string): void {
    this.failed = true;
    this.report(0, "", reason);
  }

  report(kind: u32, name: string, message: string): void {
    assert(this.events < MOST_EVENTS, "a turn has at most 64 events");
    const at = events + usize(this.events++) * 20;
    store<u32>(at, kind);
    say(at + 4, name);
    say(at + 12, message);
  }
}

/** A pseudo-random number generator (SplitMix64). Begin with the seed of the reset. */
export class Random {
  constructor(private state: u64) {}

  next(): u64 {
    this.state += 0x9e3779b97f4a7c15;
    let z = this.state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
}

/** Makes an environment that of the module. Export the functions below beside it. */
export function register(name: string, version: string, summary: string, known: Option[], environment: Environment): void {
  about = '"name": "' + name + '", "version": "' + version + '", "summary": "' + summary + '"';
  options = known;
  current = environment;
}

const MOST_EVENTS = 64;
const block = memory.data(56, 8); // a turn
const events = memory.data(20 * MOST_EVENTS, 8);
const answer = memory.data(12, 8);

let about = "";
let options: Option[] = [];
let current: Environment | null = null;
let setup = new Setup();
let turn = new Turn();
let said = new Array<ArrayBuffer>(); // what a turn or an answer points to
let room: StaticArray<u64> = new StaticArray<u64>(0);

/** Stores the place of a text, which stays until the next call. */
function say(at: usize, text: string): void {
  const bytes = String.UTF8.encode(text);
  said.push(bytes);
  store<u32>(at, u32(changetype<usize>(bytes)));
  store<u32>(at, u32(bytes.byteLength), 4);
}

export function merit_environment_1(): void {}

export function merit_alloc(size: usize): usize {
  if (usize(room.length) * 8 < size) room = new StaticArray<u64>(i32((size + 7) / 8));
  return changetype<usize>(room);
}

export function merit_describe(): usize {
  let list = "";
  for (let i = 0; i < options.length; i++) list += (i > 0 ? ', "' : '"') + options[i].key + '": ' + options[i].value.toString();
  return reply(false, "{" + about + ', "options": {' + list + "}}");
}

export function merit_configure(at: usize, size: usize): usize {
  const wrong = read(String.UTF8.decodeUnsafe(at, size));
  if (wrong.length > 0) return reply(true, wrong);
  const spec = current!.configure(setup);
  return setup.reason.length > 0 ? reply(true, setup.reason) : reply(false, spec);
}

function reply(failed: bool, text: string): usize {
  said.length = 0;
  store<u32>(answer, u32(failed));
  say(answer + 4, text);
  return answer;
}

export function merit_reset(seed: u64, want: u32): usize {
  begin(want);
  current!.reset(seed, turn);
  return show();
}

export function merit_step(action: i32, at: usize, size: usize, want: u32): usize {
  begin(want);
  current!.step(action, size > 0 ? String.UTF8.decodeUnsafe(at, size) : "", turn);
  return show();
}

function begin(want: u32): void {
  said.length = 0;
  turn.reward = 0;
  turn.terminated = turn.truncated = turn.invalidAction = turn.failed = false;
  turn.anchor = turn.text = "";
  turn.features = null;
  turn.mask = null;
  turn.events = 0;
  turn.wantsText = (want & 1) != 0;
  turn.wantsFeatures = (want & 2) != 0;
}

function show(): usize {
  store<f64>(block, turn.reward);
  store<u32>(block, u32(turn.terminated) | (u32(turn.truncated) << 1) | (u32(turn.failed) << 2) | (u32(turn.invalidAction) << 3), 8);
  say(block + 16, turn.anchor);
  say(block + 24, turn.text);
  const features = turn.features;
  store<u32>(block, features ? u32(changetype<usize>(features)) : 0, 32);
  store<u32>(block, features ? features.length : 0, 36);
  const mask = turn.mask;
  store<u32>(block, mask ? u32(changetype<usize>(mask)) : 0, 40);
  store<u32>(block, mask ? mask.length : 0, 44);
  store<u32>(block, u32(events), 48);
  store<u32>(block, turn.events, 52);
  return block;
}

// ---- the setup: {"split": "train", "options": {…}}, valid JSON from Merit ----

/** Reads the setup. Returns the problems as JSON, or an empty text. */
function read(text: string): string {
  let problems = "";
  const parts = members(text);
  for (let i = 0; i < parts.length; i += 2) {
    if (parts[i] == "split") setup.split = parts[i + 1].slice(1, -1);
    if (parts[i] == "options") problems = set(members(parts[i + 1]));
  }
  return problems.length > 0 ? "[" + problems + "]" : "";
}

function set(given: string[]): string {
  let problems = "";
  for (let i = 0; i < given.length; i += 2) {
    let option: Option | null = null;
    for (let n = 0; n < options.length; n++) if (options[n].key == given[i]) option = options[n];
    if (!option) {
      problems += problem(problems, given[i], "is not an option", "");
    } else if (!whole(given[i + 1]) || I64.parseInt(given[i + 1]) < option.least || I64.parseInt(given[i + 1]) > option.most) {
      const what = "must be a whole number from " + option.least.toString() + " to " + option.most.toString();
      problems += problem(problems, given[i], what, "the default is " + option.value.toString());
    } else {
      option.value = I64.parseInt(given[i + 1]);
    }
  }
  return problems;
}

function problem(before: string, key: string, what: string, hint: string): string {
  return (before.length > 0 ? ", " : "") + '{"boundary": "config", "kind": "invalid", "where": "options.' + key + '", "what": "' + what + '", "hint": "' + hint + '"}';
}

/** Whether a value is a whole number of at most 15 digits. */
function whole(text: string): bool {
  const from = text.startsWith("-") ? 1 : 0;
  for (let i = from; i < text.length; i++) {
    if (text.charCodeAt(i) < 0x30 || text.charCodeAt(i) > 0x39) return false;
  }
  return text.length > from && text.length <= from + 15;
}

/** The members of a JSON object: keys without their quotes, and values as they are written. */
function members(text: string): string[] {
  const list = new Array<string>();
  for (let at = space(text, 1); at < text.length && text.charCodeAt(at) == 0x22; ) {
    const end = past(text, at);
    list.push(text.slice(at + 1, end - 1));
    const value = space(text, space(text, end) + 1);
    const after = past(text, value);
    list.push(text.slice(value, after).trimEnd());
    at = space(text, after);
    if (at < text.length && text.charCodeAt(at) == 0x2c) at = space(text, at + 1);
  }
  return list;
}

function space(text: string, at: i32): i32 {
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++;
  return at;
}

/** Where a JSON value ends. */
function past(text: string, at: i32): i32 {
  let depth = 0;
  let quoted = false;
  for (; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (quoted) {
      if (c == 0x5c) at++;
      else if (c == 0x22) {
        quoted = false;
        if (depth == 0) return at + 1;
      }
    } else if (c == 0x22) quoted = true;
    else if (c == 0x7b || c == 0x5b) depth++;
    else if (c == 0x7d || c == 0x5d) {
      if (depth == 0) return at;
      if (--depth == 0) return at + 1;
    } else if (c == 0x2c && depth == 0) return at;
  }
  return at;
}
