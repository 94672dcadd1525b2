// Comparison of values, and Node's assert as far as tests use it.

import { inspect } from "./inspect.js";
import { foreign } from "./values.js";

/** What a failed assertion throws. */
export class AssertionError extends Error {
  constructor(message) {
    super(message);
    this.name = "AssertionError";
    this.code = "ERR_ASSERTION";
  }
}

const { getPrototypeOf, hasOwn, keys } = Object;
const bytes = (v) => v instanceof Uint8Array;

/**
 * Whether two values are equal: of data their contents, of anything else whether it is one and the same. null and
 * undefined are equal, as a program's answer does not tell them apart, and so are 5 and 5n; loose compares
 * primitives by ==.
 */
export function same(a, b, loose = false, depth = 0) {
  if (a === b || (a === null || a === undefined) && (b === null || b === undefined)) return true;
  const kind = typeof a, other = typeof b;
  if (kind === "object" && other === "object" && a !== null && b !== null) {
    if (depth > 1000) throw new RangeError("values that nest deeper than 1000 are not compared");
    return contents(a, b, loose, depth + 1);
  }
  if (kind === "object" || other === "object" || kind === "function" || other === "function") return false;
  if (kind === "number" && other === "number") return a !== a && b !== b;
  if (kind === "bigint" && other === "number" || kind === "number" && other === "bigint") return a == b;
  return loose && kind !== "symbol" && other !== "symbol" && a == b;
}

function contents(a, b, loose, depth) {
  if (foreign.has(a) || foreign.has(b)) return false;
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && listed(a, b, loose, depth);
  if (a instanceof Map || b instanceof Map) return a instanceof Map && b instanceof Map && mapped(a, b, loose, depth);
  if (a instanceof Set || b instanceof Set) return a instanceof Set && b instanceof Set && collected(a, b, loose, depth);
  if (bytes(a) || bytes(b)) return bytes(a) && bytes(b) && listed(a, b, loose, depth);
  if (a instanceof Date || b instanceof Date) return a instanceof Date && b instanceof Date && a.getTime() === b.getTime();
  if (!loose && getPrototypeOf(a) !== getPrototypeOf(b)) return false;
  const names = keys(a);
  return names.length === keys(b).length && names.every((k) => hasOwn(b, k) && same(a[k], b[k], loose, depth));
}

function listed(a, b, loose, depth) {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!same(a[i], b[i], loose, depth)) return false;
  return true;
}

// mapped and collected look what is not there by itself up among the rest.
function mapped(a, b, loose, depth) {
  if (a.size !== b.size) return false;
  const rest = [...b].filter(([k]) => !a.has(k));
  for (const [k, v] of a) {
    if (b.has(k)) {
      if (!same(v, b.get(k), loose, depth)) return false;
      continue;
    }
    const at = rest.findIndex(([key, value]) => same(k, key, loose, depth) && same(v, value, loose, depth));
    if (at < 0) return false;
    rest.splice(at, 1);
  }
  return rest.length === 0;
}

function collected(a, b, loose, depth) {
  if (a.size !== b.size) return false;
  const rest = [...b].filter((v) => !a.has(v));
  for (const v of a) {
    if (b.has(v)) continue;
    const at = rest.findIndex((other) => same(v, other, loose, depth));
    if (at < 0) return false;
    rest.splice(at, 1);
  }
  return rest.length === 0;
}

const short = (v) => inspect(v).slice(0, 500);

function hold(fine, message, what) {
  if (fine) return;
  if (message instanceof Error) throw message;
  throw new AssertionError(message === undefined ? what() : String(message));
}

const compare = (test, word) => (a, b, message) => hold(test(a, b), message, () => `${short(a)} ${word} ${short(b)}`);

/** Whether an error is of the kind that assert.throws is given. */
function expected(error, kind) {
  if (kind === undefined || typeof kind === "string") return true;
  if (kind instanceof RegExp) return kind.test(String(error));
  if (typeof kind === "object") return keys(kind).every((k) => (kind[k] instanceof RegExp ? kind[k].test(error[k]) : same(error[k], kind[k])));
  if (kind.prototype !== undefined && error instanceof kind) return true;
  return !(kind === Error || Error.isPrototypeOf(kind)) && kind(error) === true;
}

function throws(run, kind, message) {
  let error;
  try {
    run();
  } catch (e) {
    error = { e };
  }
  hold(error, typeof kind === "string" ? kind : message, () => "it throws nothing");
  if (!expected(error.e, kind)) throw error.e;
}

const loosely = (a, b) => a == b || a !== a && b !== b; // only for primitives: objects of a program have nothing to call

function looselyEqual(a, b) {
  if (typeof a === "object" && a !== null || typeof b === "object" && b !== null) return a === b;
  return loosely(a, b);
}

const strictly = (a, b) => Object.is(a, b) || (a ?? null) === (b ?? null);

function made(equal, deep) {
  const assert = (value, message) => hold(value, message, () => `${short(value)} is not true`);
  return Object.assign(assert, {
    ok: assert,
    equal: compare(equal, "is not"), notEqual: compare((a, b) => !equal(a, b), "is"),
    strictEqual: compare(strictly, "is not"), notStrictEqual: compare((a, b) => !strictly(a, b), "is"),
    deepEqual: compare(deep, "is not"), notDeepEqual: compare((a, b) => !deep(a, b), "is"),
    deepStrictEqual: compare((a, b) => same(a, b), "is not"), notDeepStrictEqual: compare((a, b) => !same(a, b), "is"),
    match: compare((text, pattern) => typeof text === "string" && pattern.test(text), "does not match"),
    doesNotMatch: compare((text, pattern) => typeof text === "string" && !pattern.test(text), "matches"),
    throws, doesNotThrow: (run) => run(), fail: (message = "failed") => hold(false, message), AssertionError, same,
  });
}

/** Node's assert. */
export const assert = made(looselyEqual, (a, b) => same(a, b, true));
assert.strict = made(strictly, (a, b) => same(a, b));
assert.strict.strict = assert.strict;
