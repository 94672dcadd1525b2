// The forms that a test can have, each with a run that throws what is wrong.

import { AssertionError, assert, same } from "./assert.js";
import { format, inspect } from "./inspect.js";
import { quote } from "./values.js";

const MOST_SHOWN = 400; // characters of a value in a message
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
// What a test has of its own, and no solution takes the place of.
const OURS = ["assert", "candidate", "check", "console", "require", "exports", "module"];
const NODE = ["Buffer", "TextDecoder", "TextEncoder", "URL", "clearInterval", "clearTimeout", "fetch", "global", "process", "setImmediate", "setInterval", "setTimeout", "structuredClone"];

/** A case for each test; throws a TypeError or a SyntaxError for what is none. */
export function casesOf(tests, entryPoint, setup) {
  const list = Array.isArray(tests) ? tests : [tests];
  if (list.length === 0) throw new TypeError("there are no tests");
  return list.map((test, i) => caseOf(`test ${i + 1}`, test, entryPoint, setup));
}

function caseOf(name, test, entryPoint, setup) {
  if (typeof test === "string") return textCase(name, `${setup}\n${test}`, entryPoint);
  if (typeof test === "function") return functionCase(name, test, entryPoint);
  if (typeof test?.input === "string" && typeof test.output === "string") return programCase(name, test);
  if (Array.isArray(test?.call) && "returns" in test) return callCase(name, test, entryPoint);
  throw new TypeError(`${name} is ${shown(test)}; it must be a text, a function, { input, output } of texts, or { call: […], returns: … }`);
}

const shown = (v) => inspect(v).slice(0, MOST_SHOWN);

function required(name, entryPoint, does) {
  if (typeof entryPoint !== "string" || !entryPoint) throw new TypeError(`${name} ${does}: entry_point must name it`);
}

// textCase is statements, or the function check. It runs where functions of the
// solution stand for themselves, but never for what the language has.
function textCase(name, text, entryPoint) {
  const body = `{\n${text}\n;if (typeof check === "function") { if (candidate === undefined) throw new TypeError("${name} defines check(candidate): entry_point must name the candidate"); check(candidate); }\n}`;
  new Function(...OURS.slice(0, 2), ...OURS.slice(3), body); // the author's syntax errors
  const mentions = (n) => new RegExp(`(?<![\\w$])(?<!(?<!\\.\\.)\\.)${n.replaceAll("$", "\\$")}(?![\\w$])`).test(text);
  const bindable = (n) => IDENTIFIER.test(n) && !OURS.includes(n) && !NODE.includes(n) && !RESERVED.has(n) && mentions(n);
  return {
    name,
    run(session, source) {
      const { callable, values } = session.load(source), bound = new Map();
      for (const n of values) if (bindable(n) && !(n in globalThis)) bound.set(n, session.get(n));
      for (const n of callable) if (bindable(n) && !(n in globalThis)) bound.set(n, session.function(n));
      const candidate = entryPoint === undefined ? undefined : session.function(entryPoint);
      if (candidate && bindable(entryPoint)) bound.set(entryPoint, candidate);
      const own = { assert, candidate, console: consoleOf(), require: requireOf, exports: {}, module: { exports: {} } };
      const result = new Function(...Object.keys(own), ...bound.keys(), body)(...Object.values(own), ...bound.values());
      if (typeof result?.then === "function") throw waits(session, name);
    },
  };
}

const RESERVED = new Set(("arguments async await break case catch class const continue debugger default delete do else enum eval export extends false finally for function get if " +
  "implements import in instanceof interface let new null of package private protected public return set static super switch this throw true try typeof var void while with yield").split(" "));

const log = () => {};
const consoleOf = () => ({ log, info: log, warn: log, error: log, debug: log, assert: (fine, ...said) => { if (!fine) throw new AssertionError(said.length ? format(said) : "console.assert"); } });

function requireOf(name) {
  if (/^(?:node:)?assert$/.test(name)) return assert;
  if (/^(?:node:)?assert\/strict$/.test(name)) return assert.strict;
  throw new Error(`a test can require assert, not ${name}`);
}

function waits(session, name) {
  return (session.defect = new TypeError(`${name} is async: what an async function of the solution gives is there at once, so a test has nothing to wait for`));
}

// functionCase is a function of the candidate and of the names of the solution.
function functionCase(name, test, entryPoint) {
  return {
    name,
    run(session, source) {
      const { callable, values } = session.load(source), names = Object.create(null);
      for (const n of values) Object.defineProperty(names, n, { get: () => session.get(n), enumerable: true, configurable: true });
      for (const n of callable) Object.defineProperty(names, n, { value: session.function(n), enumerable: true, configurable: true });
      const result = test(entryPoint === undefined ? undefined : session.function(entryPoint), names);
      if (typeof result?.then === "function") throw waits(session, name);
      if (result === false) throw new AssertionError("it returned false");
      if (result !== true && result !== undefined) throw (session.defect = new TypeError(`${name} returned ${shown(result)}: a test returns nothing, true or false, or throws`));
    },
  };
}

// callCase is arguments and what the function returns for them.
function callCase(name, test, entryPoint) {
  required(name, entryPoint, "calls a function");
  return {
    name,
    run(session, source) {
      session.load(source);
      const args = structuredCopy(test.call), got = session.function(entryPoint)(...args);
      if (same(got, test.returns)) return;
      const given = test.call.map((a) => inspect(a)).join(", ").slice(0, MOST_SHOWN);
      throw new AssertionError(`${entryPoint}(${given}) returned ${shown(got)}, not ${shown(test.returns)}`);
    },
  };
}

// structuredCopy copies what a call may change.
function structuredCopy(v) {
  if (Array.isArray(v)) return v.map(structuredCopy);
  if (v instanceof Map) return new Map([...v].map(structuredCopy));
  if (v instanceof Set) return new Set([...v].map(structuredCopy));
  if (typeof v !== "object" || v === null || Object.getPrototypeOf(v) !== Object.prototype) return v;
  return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, structuredCopy(x)]));
}

// programCase is standard input, and the output that belongs to it.
function programCase(name, test) {
  const expected = lines(test.output);
  return {
    name,
    run(session, source) {
      session.loaded = true; // each input is a run of its own
      const answer = session.ask(`{"do":"run","source":${quote(source)},"input":${quote(test.input)}}`);
      if (answer.error !== undefined && answer.error !== null) throw session.error(answer.error);
      if (typeof answer.output !== "string") session.stop("crashed", "the program gives no output");
      const got = lines(answer.output);
      for (let i = 0; i < Math.min(got.length, expected.length); i++) {
        if (got[i] !== expected[i]) throw new AssertionError(`line ${i + 1} of the output is ${shown(got[i])}, not ${shown(expected[i])}`);
      }
      if (got.length !== expected.length) throw new AssertionError(`the output has ${got.length} lines, not ${expected.length}`);
    },
  };
}

const lines = (text) => text.trimEnd().split("\n").map((line) => line.trimEnd());

/** What an error that came out of a test says of the solution, and why. */
export function verdictOf(e, session) {
  if (typeof e === "object" && e !== null && session.raised.has(e)) {
    return ["error", `${e.name}: ${e.message}\n${e.stack}`.trimEnd()];
  }
  const message = e instanceof Error ? `${e.name}: ${e.message}` : `thrown: ${inspect(e)}`;
  if (e instanceof ReferenceError) return ["error", `${message}: neither the test nor the solution defines it`];
  return ["failed", message];
}
