// A solution as the tests see it: functions that stand for what lies in a
// program. What comes from there is JSON that the solution may have written: it
// becomes data, errors made here, and objects that can do nothing by themselves.

import { Opaque, decode, encode, foreign, quote } from "./values.js";

const MOST_ANSWER = 4 << 20, MOST_OUTPUT = 1 << 16, BATCH = 1024; // characters; items of an iterator

/** Thrown when the program is gone. The verdict is settled then, whatever a test does with it. */
export class Stopped extends Error {}

/** A test gives the solution what cannot be brought into a program. The fault is the test's. */
export class CannotCross extends TypeError {}

const KINDS = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

/** One program that has loaded a solution, for one test, and the fuel that is left to it. */
export class Session {
  constructor(program, fuel) {
    Object.assign(this, { program, fuel, used: 0, reading: 0, output: "", stopped: undefined, defect: undefined, raised: new WeakSet(), functions: new WeakMap(), loaded: false });
  }

  /** The answer to a request, which is an object; throws Stopped if there is none. */
  ask(request) {
    if (this.stopped) throw new Stopped();
    const reply = this.program.ask(request, this.fuel - this.used);
    this.used += reply.fuel;
    if (reply.outcome !== "answered") this.stop(reply.outcome, reply.text);
    const answer = this.#held(() => {
      if (reply.text.length > MOST_ANSWER) throw new RangeError(`it has ${reply.text.length} characters, and may have ${MOST_ANSWER}`);
      this.reading += reply.reading; // what answers cost this side is bounded: else they could use up the evaluation, and no verdict would come of it
      if (this.reading > this.fuel) this.stop("out_of_fuel", "to read what the program answers costs more than the fuel of the test");
      const parsed = JSON.parse(reply.text);
      if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) throw new TypeError("it is no object");
      if (parsed.unreadable) throw new TypeError(String(parsed.unreadable)); // the host's word for what could not be brought here
      return parsed;
    });
    if (typeof answer.output === "string") this.output = (this.output + answer.output).slice(0, MOST_OUTPUT);
    return answer;
  }

  /** Loads the source; its error if it cannot be. */
  load(source) {
    const answer = this.ask(`{"do":"load","source":${quote(source)}}`);
    if (answer.error !== undefined) throw this.error(answer.error);
    this.loaded = true;
    const names = (list) => (Array.isArray(list) ? list.filter((n) => typeof n === "string") : []);
    return { callable: names(answer.names), values: names(answer.values) };
  }

  /** What a function of the solution returns, or throws; its changes of the arguments are made here too. */
  call(name, of, args, keep) {
    let given;
    try {
      given = encode(args, (v, inner) => this.#given(v, inner));
    } catch (e) {
      throw (this.defect = e instanceof CannotCross ? e : new CannotCross(e.message));
    }
    const answer = this.ask(`{"do":"call","name":${name === null ? "null" : quote(name)}${of === undefined ? "" : `,"of":${of}`}${keep ? ',"keep":true' : ""},"args":${given}}`);
    if (answer.args !== undefined) this.#held(() => this.#change(args, answer.args));
    return keep ? this.#kept(answer) : this.value(answer);
  }

  /** A value of the solution by its name, or an attribute of what it keeps. */
  get(name, of) {
    const answer = this.ask(`{"do":"get","name":${quote(name)}${of === undefined ? "" : `,"of":${of}`}}`);
    return answer.callable === true ? this.function(name, of) : this.value(answer);
  }

  value(answer) {
    this.#raise(answer);
    return this.read(answer.value);
  }

  #raise(answer) {
    if (answer.error !== undefined && answer.error !== null) throw this.error(answer.error);
  }

  read(value) {
    return this.#held(() => {
      if (value === undefined) throw new TypeError("neither a value nor an error");
      return decode(value, (v, inner) => this.#other(v, inner));
    });
  }

  /** The error that the solution threw, as one made here. */
  error(said) {
    const { type, message, traceback } = this.#held(() => {
      const text = (key) => (typeof said[key] === "string" ? said[key].slice(0, 4096) : "");
      return { type: text("type") || "Error", message: text("message"), traceback: text("traceback") };
    });
    if (type === "MemoryError") this.stop("out_of_memory", message || type);
    const made = new (Object.hasOwn(KINDS, type) ? KINDS[type] : Error)(message);
    Object.defineProperties(made, { name: { value: type, configurable: true }, stack: { value: traceback, configurable: true } });
    this.raised.add(made);
    return made;
  }

  stop(verdict, message) {
    this.stopped ??= { verdict, message };
    throw new Stopped(message);
  }

  /** A function of the solution; with new it makes an object that stays in the program. */
  function(name, of) {
    const session = this;
    const f = new Proxy(function () {}, {
      apply: (_, _self, args) => session.call(name, of, args, false),
      construct: (_, args) => session.call(name, of, args, true),
      get: (target, key) => (key === "name" ? name ?? "" : key === "toString" ? () => `function ${name ?? ""}() { [of the solution] }` : Reflect.get(Function.prototype, key)),
      set: () => false, defineProperty: () => false, deleteProperty: () => false, setPrototypeOf: () => false,
    });
    foreign.add(f);
    if (name === null) this.functions.set(f, of);
    return f;
  }

  // #held turns what goes wrong with an answer into the end of the program.
  #held(read) {
    try {
      return read();
    } catch (e) {
      if (e instanceof Stopped) throw e;
      return this.stop("crashed", `the program's answer cannot be read: ${e.message}`);
    }
  }

  // #kept is the object that a class was called for: no other has attributes
  // here, whatever the program says.
  #kept(answer) {
    this.#raise(answer);
    return this.#held(() => this.#object(handleOf(answer.value.handle)));
  }

  // #object is an object that the program keeps: its attributes are there.
  #object(handle) {
    const o = new Proxy({}, {
      get: (_, key) => (typeof key === "symbol" ? undefined : this.get(key, handle)),
      set: () => { throw (this.defect = new CannotCross("a test sets an attribute of an object of the solution")); },
    });
    foreign.add(o);
    this.functions.set(o, handle);
    return o;
  }

  #other(v, inner) {
    if (Array.isArray(v.iterator)) return this.#iterator(v);
    if (v.callable !== undefined) return this.function(null, handleOf(v.callable));
    if (Array.isArray(v.complex)) return new Opaque("complex", `(${String(inner(v.complex))})`);
    if (typeof v.object !== "string" || typeof v.repr !== "string") throw new TypeError("a value of no known kind");
    return new Opaque(v.object.slice(0, 200), v.repr);
  }

  *#iterator(v) {
    for (let count = 32; ; count = Math.min(2 * count, BATCH)) {
      for (const item of v.iterator) yield this.read(item);
      if (v.error !== undefined && v.error !== null) throw this.error(v.error);
      if (v.more === undefined || v.more === null) return;
      const answer = this.ask(`{"do":"next","of":${Number(v.more)},"count":${count}}`);
      if (answer.error) throw this.error(answer.error);
      v = this.#held(() => {
        if (!Array.isArray(answer.value?.iterator)) throw new TypeError("an iterator that is none");
        return answer.value;
      });
    }
  }

  // #given writes what a test gives the solution beside data.
  #given(v, inner) {
    if (this.functions.has(v)) return typeof v === "function" ? `{"callable":${this.functions.get(v)}}` : `{"handle":${this.functions.get(v)}}`;
    if (!foreign.has(v) && typeof v.next === "function") return `{"iterator":${inner([...{ [Symbol.iterator]: () => v }])}}`;
    throw new CannotCross(`a test gives the solution ${typeof v === "function" ? "a function" : `an object (${v?.constructor?.name})`}: only data can be brought into a program`);
  }

  #change(args, changes) {
    if (!Array.isArray(changes)) throw new TypeError("changes that are no list");
    for (const change of changes) {
      if (!Array.isArray(change) || change.length !== 2 || !Number.isInteger(change[0]) || !(change[0] in args)) throw new TypeError("a change of no argument");
      become(args[change[0]], this.read(change[1]));
    }
  }
}

function handleOf(n) {
  if (!Number.isSafeInteger(n) || n < 0) throw new TypeError("a handle that is none");
  return n;
}

// become gives a container of a test the contents that it has in the program.
function become(old, now) {
  const kind = (v) => (Array.isArray(v) ? Array : v instanceof Map ? Map : v instanceof Set ? Set : typeof v === "object" && v !== null && !foreign.has(v) ? Object : undefined);
  if (old instanceof Map && kind(now) === Object) now = new Map(Object.entries(now)); // all keys are texts
  if (!kind(old) || kind(old) === Object && kind(now) === Map && now.size > 0 || kind(now) !== kind(old)) throw new TypeError("an argument has become something else");
  if (Array.isArray(old)) {
    old.length = now.length; // a call takes 65,535 arguments at most: splice would not do
    now.forEach((v, i) => { old[i] = v; });
  }
  else if (old instanceof Map) refill(old, now, ([k, v]) => old.set(k, v));
  else if (old instanceof Set) refill(old, now, (v) => old.add(v));
  else {
    for (const key of Object.keys(old)) delete old[key];
    Object.defineProperties(old, Object.getOwnPropertyDescriptors(now));
  }
}

function refill(old, now, put) {
  old.clear();
  for (const item of now) put(item);
}
