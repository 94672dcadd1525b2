// What programs written for Node find around them: console, process, require,
// timers. Nothing of it reaches outside: input is a text, output is kept, and
// time stands still but for timers, which fire in order.

import { format, inspect } from "./inspect.js";
import { assert } from "./assert.js";

/** How much of output is kept, in characters: of a whole program, and of what a call prints. */
export const MOST_OUTPUT = 1 << 20, MOST_PRINTED = 1 << 14;

/** What process.exit throws. */
export class Exit extends Error {
  constructor(code) {
    super(`process.exit(${code})`);
    this.name = "Exit";
    this.code = code;
  }
}

/** The input and output of one request, and the timers that wait. */
export const world = { input: "", output: "", printed: "", mixed: "", timers: [], serial: 0, now: 0, exit: undefined };

export function renew(input) {
  Object.assign(world, { input, output: "", printed: "", mixed: "", timers: [], serial: 0, now: 0, exit: undefined });
}

function write(stream, text) {
  if (world.exit) return;
  if (world[stream].length < MOST_OUTPUT) world[stream] += text.slice(0, MOST_OUTPUT - world[stream].length);
  if (world.mixed.length < MOST_PRINTED) world.mixed += text.slice(0, MOST_PRINTED - world.mixed.length);
}

/** Runs the timer that is due next; false if there is none. */
export function fire() {
  if (!world.timers.length || world.exit) return false;
  let next = 0;
  for (let i = 1; i < world.timers.length; i++) if (world.timers[i].at < world.timers[next].at) next = i;
  const [timer] = world.timers.splice(next, 1);
  world.now = timer.at;
  if (timer.every !== undefined) world.timers.push({ ...timer, at: world.now + timer.every });
  timer.run();
  return true;
}

function after(run, delay, every) {
  const id = ++world.serial;
  world.timers.push({ id, run, at: world.now + Math.max(1, Number(delay) || 1), every });
  return id;
}

const immediately = (run) => world.timers.push({ id: ++world.serial, run, at: world.now });

function cancel(id) {
  const at = world.timers.findIndex((t) => t.id === id);
  if (at >= 0) world.timers.splice(at, 1);
}

class Emitter {
  #listeners = {};
  on(event, listener) {
    (this.#listeners[event] ??= []).push(listener);
    this.listening?.(event);
    return this;
  }
  once(event, listener) {
    const one = (...args) => {
      this.off(event, one);
      listener.apply(this, args);
    };
    return this.on(event, one);
  }
  off(event, listener) {
    this.#listeners[event] = (this.#listeners[event] ?? []).filter((l) => l !== listener);
    return this;
  }
  emit(event, ...args) {
    const list = this.#listeners[event] ?? [];
    for (const listener of [...list]) listener.apply(this, args);
    return list.length > 0;
  }
  listenerCount(event) { return (this.#listeners[event] ?? []).length; }
}
Object.assign(Emitter.prototype, { addListener: Emitter.prototype.on, removeListener: Emitter.prototype.off });

/** Bytes as far as programs read them: readFileSync(0).toString(). */
class Buffer extends Uint8Array {
  static from(value) { return typeof value === "string" ? new Buffer(utf8(value)) : new Buffer(value); }
  toString() { return decodeURIComponent(Array.from(this, (b) => `%${b.toString(16).padStart(2, "0")}`).join("")); }
}

function utf8(text) {
  const bytes = [];
  for (const c of text) {
    const n = c.codePointAt(0);
    if (n < 0x80) bytes.push(n);
    else if (n < 0x800) bytes.push(0xc0 | n >> 6, 0x80 | n & 63);
    else if (n < 0x10000) bytes.push(0xe0 | n >> 12, 0x80 | n >> 6 & 63, 0x80 | n & 63);
    else bytes.push(0xf0 | n >> 18, 0x80 | n >> 12 & 63, 0x80 | n >> 6 & 63, 0x80 | n & 63);
  }
  return bytes;
}

const encoded = (text, options) => (typeof options === "string" || options?.encoding ? text : Buffer.from(text));

class Input extends Emitter {
  fd = 0;
  isTTY = false;
  #begun = false;
  listening(event) {
    if (this.#begun || !["data", "end", "readable", "close"].includes(event)) return;
    this.#begun = true;
    immediately(() => {
      if (world.input) this.emit("data", this.text ? world.input : Buffer.from(world.input));
      this.emit("readable");
      immediately(() => {
        this.emit("readable");
        this.emit("end");
        this.emit("close");
      });
    });
  }
  #read = false;
  read() {
    if (this.#read || !world.input) return null;
    this.#read = true;
    return this.text ? world.input : Buffer.from(world.input);
  }
  setEncoding() { return (this.text = true, this); }
  resume() { return this; }
  pause() { return this; }
  unref() { return this; }
  async *[Symbol.asyncIterator]() {
    if (world.input) yield this.text ? world.input : Buffer.from(world.input);
  }
}

class Lines extends Emitter {
  #questions = [];
  #begun = false;
  #closed = false;
  #lines;
  constructor() {
    super();
    this.#lines = world.input.split(/\r\n|\n|\r/);
    if (this.#lines.at(-1) === "") this.#lines.pop();
  }
  listening() {
    if (this.#begun) return;
    this.#begun = true;
    immediately(() => this.#next());
  }
  #next() {
    if (this.#lines.length === 0) return this.close();
    if (this.#questions.length) this.#questions.shift()(this.#lines.shift());
    else if (this.listenerCount("line")) this.emit("line", this.#lines.shift());
    else return;
    immediately(() => this.#next());
  }
  question(query, ...rest) {
    write("output", String(query));
    this.#questions.push(rest.at(-1));
    this.#begun = false;
    this.listening();
  }
  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.emit("close");
  }
  setPrompt() {}
  prompt() { this.listening(); }
  pause() { return this; }
  resume() { return this; }
  async *[Symbol.asyncIterator]() { while (this.#lines.length) yield this.#lines.shift(); }
}

const output = (stream) => ({ fd: stream === "output" ? 1 : 2, isTTY: false, columns: 80, write: (text, ...rest) => { write(stream, String(text)); rest.at(-1)?.(); return true; }, on() {}, once() {}, end(text) { if (text !== undefined) write(stream, String(text)); } });

function consoleOf() {
  let group = "";
  const counts = {};
  const to = (stream) => (...values) => write(stream, `${group}${format(values).replaceAll("\n", `\n${group}`)}\n`);
  const log = to("output"), warn = to("printed");
  return {
    log, info: log, debug: log, dir: (v) => log(v), warn, error: warn, trace: warn, time() {}, timeEnd() {}, timeLog() {},
    assert: (fine, ...values) => { if (!fine) warn("Assertion failed" + (values.length ? `: ${format(values)}` : "")); },
    count: (label = "default") => log(`${label}: ${(counts[label] = (counts[label] ?? 0) + 1)}`),
    group: (...values) => { if (values.length) log(...values); group += "  "; },
    groupEnd: () => { group = group.slice(2); },
    table: (v) => log(v),
  };
}

function clone(v, seen = new Map()) {
  if (typeof v === "function" || typeof v === "symbol") throw new DOMException(`${String(v)} could not be cloned.`, "DataCloneError");
  if (typeof v !== "object" || v === null) return v;
  if (seen.has(v)) return seen.get(v);
  const to = Array.isArray(v) ? new Array(v.length) : v instanceof Map ? new Map() : v instanceof Set ? new Set() : v instanceof Date ? new Date(v) : ArrayBuffer.isView(v) ? v.slice() : {};
  seen.set(v, to);
  if (v instanceof Map) for (const [k, x] of v) to.set(clone(k, seen), clone(x, seen));
  else if (v instanceof Set) for (const x of v) to.add(clone(x, seen));
  else if (!ArrayBuffer.isView(v)) for (const k of Object.keys(v)) to[k] = clone(v[k], seen);
  return to;
}

/** The modules that require and import find, made anew for each program. */
function modules(process) {
  const standard = (path) => path === 0 || path === "/dev/stdin" || path === process.stdin.fd;
  const missing = (path) => Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), { code: "ENOENT" });
  const readline = { createInterface: () => new Lines() };
  const fs = {
    readFileSync(path, options) {
      if (!standard(path)) throw missing(path);
      return encoded(world.input, options);
    },
    writeFileSync(path, text) {
      if (path !== 1 && path !== "/dev/stdout") throw missing(path);
      write("output", String(text));
    },
    writeSync: (fd, text) => write(fd === 2 ? "printed" : "output", String(text)),
    existsSync: (path) => standard(path),
    readFile(path, ...rest) { rest.at(-1)(...(standard(path) ? [null, encoded(world.input, rest.length > 1 ? rest[0] : undefined)] : [missing(path)])); },
  };
  const promises = { createInterface: () => Object.assign(new Lines(), { question(query) { return new Promise((done) => Lines.prototype.question.call(this, query, done)); } }) };
  return {
    fs, readline, "readline/promises": promises, assert, "assert/strict": assert.strict, os: { EOL: "\n" }, events: Object.assign(Emitter, { EventEmitter: Emitter, default: Emitter }),
    util: { inspect, format: (...values) => format(values), isDeepStrictEqual: assert.same, promisify: (f) => (...args) => new Promise((done, fail) => f(...args, (e, v) => (e ? fail(e) : done(v)))) },
    perf_hooks: { performance }, process, buffer: { Buffer }, timers: { setTimeout, setInterval, setImmediate },
  };
}

/** Puts all of it into the global object. Returns the modules. */
export function install() {
  const process = Object.assign(new Emitter(), {
    stdin: new Input(), stdout: output("output"), stderr: output("printed"), argv: ["node", "solution.js"], env: {}, pid: 1, platform: "linux", version: "v20.0.0", versions: {}, exitCode: undefined,
    exit(code = process.exitCode ?? 0) { throw (world.exit = new Exit(code)); },
    nextTick: (run, ...args) => queueMicrotask(() => run(...args)), cwd: () => "/", uptime: () => world.now / 1000, memoryUsage: () => ({ heapUsed: 0, heapTotal: 0, rss: 0 }),
    hrtime: Object.assign(() => [Math.floor(performance.now() / 1000), 0], { bigint: () => BigInt(Math.floor(performance.now() * 1e6)) }),
  });
  const globals = {
    console: consoleOf(), process, Buffer, global: globalThis, structuredClone: (v) => clone(v),
    setTimeout: (run, delay, ...args) => after(() => run(...args), delay), setImmediate: (run, ...args) => immediately(() => run(...args)),
    setInterval: (run, delay, ...args) => after(() => run(...args), delay, Math.max(1, Number(delay) || 1)),
    clearTimeout: cancel, clearInterval: cancel, clearImmediate: cancel,
  };
  for (const [name, value] of Object.entries(globals)) Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  const found = modules(process);
  globalThis.module = { exports: {} };
  globalThis.exports = globalThis.module.exports;
  globalThis.require = (name) => {
    const m = found[String(name).replace(/^node:/, "")];
    if (!m) throw Object.assign(new Error(`Cannot find module '${name}'`), { code: "MODULE_NOT_FOUND" });
    return m;
  };
  globalThis.require.main = globalThis.module;
  return found;
}
