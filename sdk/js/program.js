// The side of "merit/code" that runs in the program: it holds the solution. The
// requests are those of merit_reward's _program.py, so that rewards of either
// language can drive programs of either. begin takes a request and gives the
// answer, or nothing while the solution waits for its own promises and timers:
// then whoever asks runs the jobs of the engine and calls turn until it does.
//
// Nothing here is trusted by whoever asks: the solution runs in this interpreter
// and can change all of it.

import { decode, encode, iterates, nameOf, quote } from "./values.js";
import { inspect } from "./inspect.js";
import { Exit, MOST_PRINTED, fire, install, renew, world } from "./shims.js";

const { apply, construct, get: property, ownKeys } = Reflect;
const { getOwnPropertyNames, hasOwn, keys, setPrototypeOf } = Object;
const { isArray } = Array;
const { parse } = JSON;
const globally = eval; // an indirect eval: in the scope of scripts
const uncurry = Function.prototype.bind.bind(Function.prototype.call);
const then = uncurry(Promise.prototype.then);
const slice = uncurry(String.prototype.slice);
const bound = uncurry(Function.prototype.bind);
const replaced = uncurry(String.prototype.replace);
const indexIn = uncurry(String.prototype.indexOf);
const join = uncurry(Array.prototype.join);
const found = uncurry(RegExp.prototype.exec);
const Later = Promise, Kept = Map, Failure = Error, Mistake = TypeError, Unknown = ReferenceError, Wrong = SyntaxError;
const getKept = uncurry(Map.prototype.get), setKept = uncurry(Map.prototype.set), hasKept = uncurry(Map.prototype.has);

const MOST_TEXT = 4000; // of a message, a stack, a repr
const READ_AHEAD = 16; // of an iterator
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
// What a source may declare at its top: what follows these words, and what is set by name.
const DECLARED = /(?:\b(?:const|let|var|class|function\s*\*?)\s+([A-Za-z_$][\w$]*))|(?:[,{[]\s*([A-Za-z_$][\w$]*)\s*=(?![=>]))/g;
const MODULE = /^\s*(?:import|export)\b|\bimport\.meta\b|\bawait\b/m;

let compile; // (name, source): makes a module known to import()
let builtin, builtins, lastBuiltin; // the names of the global object before the solution, how many, and the last
let reach, exported; // how names of the solution are found
let readers, named, kept; // what reads a name, values of expressions, and values by handle
let finished, running, loaded = 0;

/** Readies the program; host.compile(name, source) compiles a module without running it. */
export function boot(host) {
  compile = host.compile;
  const modules = install();
  globalThis.__merit_modules = modules; // for the modules that follow
  for (const name of ownKeys(modules)) {
    const names = ownKeys(modules[name]).filter((n) => typeof n === "string" && IDENTIFIER.test(n) && !["default", "length", "name", "prototype"].includes(n));
    const source = `const m = globalThis.__merit_modules[${quote(name)}]; export default m; ${names.map((n) => `export const ${n} = m.${n};`).join(" ")}`;
    for (const prefix of ["", "node:"]) compile(prefix + name, source);
  }
  globalThis.__merit_reach = undefined;
  builtin = new Kept();
  const all = getOwnPropertyNames(globalThis);
  for (const name of all) setKept(builtin, name, globalThis[name]);
  [builtins, lastBuiltin] = [all.length, all.at(-1)];
  forget();
}

function forget() {
  reach = exported = undefined;
  readers = new Kept();
  named = new Kept();
  kept = bare();
}

/** Takes a request. */
export function begin(request) {
  finished = undefined;
  try {
    const r = parse(request);
    const act = r.do === "load" ? load : r.do === "call" ? call : r.do === "get" ? get : r.do === "next" ? next : r.do === "run" ? run : r.do === "compile" ? ready : undefined;
    if (!act) throw new Mistake(`there is no request ${quote(r.do)}`);
    running = r.do === "run";
    if (!running) world.mixed = "";
    act(r);
  } catch (e) {
    fail(e);
  }
  return finished;
}

/** Goes on when no job is left: with a timer, or with the end. */
export function turn() {
  if (finished !== undefined) return finished;
  try {
    if (!fire()) idle();
  } catch (e) {
    fail(e);
  }
  return finished;
}

let idle, failed; // what is done when nothing is left to wait for, and with an exception

const never = () => fail(new Failure("the solution waits for a promise that nothing settles"));

function finish(fields) {
  if (finished !== undefined) return;
  finished = "{" + fields + (world.mixed && !running ? ',"output":' + quote(world.mixed) : "") + "}";
}

function fail(e) {
  if (failed) return failed(e);
  finish(`"error":${error(e)}`);
}

function expect(onIdle, onError) {
  idle = onIdle;
  failed = onError;
}

// settle passes on what a value comes to: at once if it is no promise.
function settle(value, done) {
  if (!(value instanceof Later)) return done(value);
  then(value, (v) => {
    try {
      done(v);
    } catch (e) {
      fail(e);
    }
  }, fail);
}

function load(r) {
  forget();
  expect(never);
  renew("");
  execute(r.source, () => {
    const names = namesOf(r.source);
    finish(`"ok":true,"names":${names.callable},"values":${names.other}`);
  });
}

// REACH, after the last line of a source, gives its names to reach.
const REACH = "\n;globalThis.__merit_reach((__merit_name) => eval(__merit_name));";

// execute runs a source as a script, or as a module if it is written as one.
function execute(source, done) {
  globalThis.__merit_reach = (f) => { reach = f; };
  try {
    globally(source + REACH);
  } catch (e) {
    if (!(e instanceof Wrong) || found(MODULE, source) === null) throw e;
    return asModule(source, done);
  }
  exported = globalThis.module?.exports;
  done();
}

function asModule(source, done) {
  const name = loaded++ ? `solution${loaded}.mjs` : "solution.mjs";
  compile(name, source + REACH);
  settle(import(name), (namespace) => {
    exported = namespace;
    done();
  });
}

function namesOf(source) {
  const seen = new Kept(), callable = [], other = [];
  const note = (name) => {
    if (typeof name !== "string" || name[0] === "_" || hasKept(seen, name) || found(IDENTIFIER, name) === null) return;
    setKept(seen, name, true);
    let kind;
    try {
      kind = typeof ownOf(name);
    } catch {
      return;
    }
    if (kind === "function") callable[callable.length] = quote(name);
    else if (kind !== "undefined") other[other.length] = quote(name);
  };
  DECLARED.lastIndex = 0;
  for (let m; (m = found(DECLARED, source)) !== null;) note(m[1] ?? m[2]);
  if (exported !== null && (typeof exported === "object" || typeof exported === "function")) {
    const all = ownKeys(exported);
    for (let i = 0; i < all.length; i++) if (typeof exported !== "function" || hasEnumerable(exported, all[i])) note(all[i]);
  }
  const all = getOwnPropertyNames(globalThis); // in the order in which they were made
  for (let i = all[builtins - 1] === lastBuiltin ? builtins : 0; i < all.length; i++) if (!hasKept(builtin, all[i])) note(all[i]);
  return { callable: "[" + join(callable, ",") + "]", other: "[" + join(other, ",") + "]" };
}

const hasEnumerable = uncurry(Object.prototype.propertyIsEnumerable);

// ownOf finds an identifier among what the solution exports and declares.
function ownOf(name) {
  if (exported !== null && typeof exported === "object" && hasOwn(exported, name)) return exported[name];
  if (!reach) return undefined;
  let read = getKept(readers, name);
  if (!read) setKept(readers, name, read = reach(`() => (typeof ${name} === "undefined" ? undefined : ${name})`));
  const value = read();
  return hasKept(builtin, name) && getKept(builtin, name) === value ? undefined : value;
}

// lookUp finds a name of the solution, or throws a ReferenceError. What is
// exported without a name of its own goes by any.
function lookUp(name) {
  if (found(IDENTIFIER, name) === null) return expression(name);
  const value = ownOf(name);
  if (value !== undefined) return value;
  const only = typeof exported === "function" ? exported : exported?.default;
  if (typeof only === "function" && (only.name === "" || only.name === "default" || only.name === name)) return only;
  if (typeof exported === "function" && hasOwn(exported, name)) return exported[name];
  throw new Unknown(`${name} is not defined`);
}

// expression is the value of one, kept for the next time; a method stays with
// its object.
function expression(text) {
  if (!hasKept(named, text)) {
    const method = found(/^([^]+)\.([A-Za-z_$][\w$]*)$/, text);
    if (method === null) setKept(named, text, reach(`(${text})`));
    else {
      const self = reach(`(${method[1]})`), value = self[method[2]];
      setKept(named, text, typeof value === "function" ? bound(value, self) : value);
    }
  }
  return getKept(named, text);
}

function call(r) {
  expect(never);
  const args = bare(), before = bare();
  for (let i = 0; i < r.args.length; i++) {
    args[i] = decode(r.args[i], given);
    before[i] = changing(r.args[i]) ? encode(args[i], other) : undefined;
  }
  if (r.kwargs) for (const name in r.kwargs) throw new Mistake(`functions of JavaScript take no arguments by name (${name})`);
  const self = r.of !== undefined && r.name !== null ? kept[r.of] : undefined;
  const f = r.name === null ? kept[r.of] : self !== undefined ? property(self, r.name, self) : lookUp(r.name);
  if (typeof f !== "function") throw new Mistake(`${r.name} is no function`);
  const changes = () => {
    let out = "";
    for (let i = 0; i < args.length; i++) {
      if (before[i] === undefined) continue;
      const after = encode(args[i], other);
      if (after !== before[i]) out += `${out && ","}[${i},${after}]`;
    }
    return out && `,"args":[${out}]`;
  };
  expect(never, (e) => {
    expect(never);
    finish(`"error":${error(e)}${changes()}`);
  });
  settle(invoke(f, self, args, r.keep), (value) => {
    expect(never);
    finish(`"value":${r.keep ? keep(value) : encode(value, other)}${changes()}`);
  });
}

// bare is a list that no prototype reaches into.
const bare = () => setPrototypeOf([], null);

// changing tells the arguments whose changes the reward is told of: those that
// can change on its side, too.
const changing = (v) => isArray(v) || typeof v === "object" && v !== null && (hasOwn(v, "set") || hasOwn(v, "dict") && (!hasOwn(v, "of") || v.of === "Map"));

// invoke calls a function, or makes an object if it is a class whose objects
// are to be kept.
function invoke(f, self, args, keeping) {
  if (keeping && found(/^class\b/, slice(sourceOf(f), 0, 6)) !== null) return construct(f, args);
  return apply(f, self, args);
}

const sourceOf = uncurry(Function.prototype.toString);

function get(r) {
  expect(never);
  const value = r.of === undefined ? lookUp(r.name) : property(kept[r.of], r.name, kept[r.of]);
  finish(typeof value === "function" ? `"callable":true` : `"value":${encode(value, other)}`);
}

function next(r) {
  expect(never);
  finish(`"value":${iterated(kept[r.of], r.count, r.of)}`);
}

let whole; // the source of a whole program, for requests that bring none

function ready(r) {
  whole = r.source;
  finish('"ok":true');
}

function run(r) {
  forget();
  renew(r.input);
  const end = (e) => {
    const failure = e !== undefined && !(e === world.exit && !(world.exit.code ?? 0)) && !(world.exit && !world.exit.code);
    finish(`"output":${quote(world.output)},"printed":${quote(slice(world.printed, 0, MOST_PRINTED))},"error":${failure ? error(world.exit ?? e) : "null"}`);
  };
  expect(end, (e) => end(e ?? new Failure(`thrown: ${e}`)));
  execute(r.source ?? whole, () => {}); // it ends when nothing is left to wait for
}

// given makes what a request holds beside data.
function given(v, inner) {
  if (isArray(v.iterator)) {
    const values = inner(v.iterator);
    return values[Symbol.iterator]();
  }
  const held = hasOwn(v, "handle") ? v.handle : v.callable;
  if (typeof held !== "number") throw new Mistake(`JavaScript has no ${keys(v)[0]}`);
  return kept[held];
}

// other writes what is no data.
function other(v) {
  if (typeof v === "function") return `{"callable":${handle(v)}}`;
  if (typeof v === "object" && iterates(v)) return iterated(v, READ_AHEAD);
  return `{${object(v)}}`;
}

function iterated(v, count, of) {
  const out = [];
  let end = "";
  try {
    for (; out.length < count;) {
      const step = v.next();
      if (step.done) break;
      out[out.length] = encode(step.value, other);
    }
    if (out.length === count) end = `,"more":${of ?? handle(v)}`;
  } catch (e) {
    end = `,"error":${error(e)}`;
  }
  return `{"iterator":[${join(out, ",")}]${end}}`;
}

const object = (v) => `"object":${quote(nameOf(v))},"repr":${quote(text(v, inspect))}`;
const keep = (v) => `{${object(v)},"handle":${handle(v)}}`;

function handle(v) {
  kept[kept.length] = v;
  return kept.length - 1;
}

const RELATED = { RangeError: "ValueError", ReferenceError: "NameError", TypeError: "TypeError", SyntaxError: "SyntaxError", MemoryError: "MemoryError" };

// error describes what was thrown, as far as it lets itself be read.
function error(e) {
  if (!(e instanceof Failure)) {
    const said = text(e, (v) => (typeof v === "string" ? v : inspect(v)));
    return `{"type":"Error","bases":[],"args":[${quote(said)}],"message":${quote(said)},"traceback":""}`;
  }
  const short = (v) => (v instanceof Failure && v.message === "out of memory" && v.name === "InternalError" ? "MemoryError" : v.name);
  const type = text(e, (v) => `${short(v)}`), message = text(e, (v) => `${v.message}`), stack = text(e, (v) => (typeof v.stack === "string" ? ours(v.stack) : ""));
  const related = hasOwn(RELATED, type) ? `"${RELATED[type]}"` : "";
  return `{"type":${quote(type)},"bases":[${related}],"args":[${quote(message)}],"message":${quote(message)},"traceback":${quote(stack)}}`;
}

// ours drops the frames of this file and of what is beneath it.
function ours(stack) {
  let out = "";
  for (let from = 0, to; from < stack.length; from = to + 1) {
    to = indexIn(stack, "\n", from);
    if (to < 0) to = stack.length;
    const line = slice(stack, from, to);
    if (indexIn(line, "(merit/", 0) >= 0) break;
    out += replaced(line, "<input>", "solution.js") + "\n";
  }
  return out;
}

function text(v, read) {
  try {
    return slice(read(v), 0, MOST_TEXT);
  } catch {
    return "(it cannot be read)";
  }
}
