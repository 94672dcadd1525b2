// The values that cross between a reward and a program, as JSON text: what JSON
// has goes as it is, everything else is an object with a tag (merit_reward's
// _values.py has the list). Both sides use this file. What it needs of the
// language is taken here, before any candidate runs; what it reads is JSON that
// anybody may have written.

const uncurry = Function.prototype.bind.bind(Function.prototype.call);
const { isArray } = Array;
const { isFinite, isInteger, isSafeInteger } = Number;
const { defineProperty, freeze, getPrototypeOf, keys, prototype: plain } = Object;
const isAbove = uncurry(plain.isPrototypeOf);
const { prototype: aboveMaps } = Map, { prototype: aboveSets } = Set;
const { stringify } = JSON;
const iterator = Symbol.iterator;
const integer = BigInt;
const each = uncurry(Map.prototype.forEach);
const eachOf = uncurry(Set.prototype.forEach);
const sizeOfMap = uncurry(Object.getOwnPropertyDescriptor(Map.prototype, "size").get);
const sizeOfSet = uncurry(Object.getOwnPropertyDescriptor(Set.prototype, "size").get);
const kindOfBytes = uncurry(Object.getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get);
const exponential = uncurry(Number.prototype.toExponential);
const isWellFormed = uncurry(String.prototype.isWellFormed);
const wellFormed = uncurry(String.prototype.toWellFormed);
const join = uncurry(Array.prototype.join);
const matches = uncurry(RegExp.prototype.test);
const cut = uncurry(String.prototype.slice);
const slice = uncurry(Array.prototype.slice);
const indexIn = uncurry(String.prototype.indexOf);
const insert = uncurry(Map.prototype.set);
const add = uncurry(Set.prototype.add);
const LONG = 2n ** 2000n; // of fewer than 640 digits: to read a decimal takes as long as their number squared
const inBase = uncurry(BigInt.prototype.toString);
const Dictionary = Map, Collection = Set, Bytes = Uint8Array, Fault = RangeError, Wrong = TypeError;

/** Bounds of one value: how deep it nests, and how many values it holds. */
export const DEEPEST = 100, MOST = 1_000_000;

/** What stands here for objects and functions of a program: it equals nothing but itself. */
export const foreign = new WeakSet();

/** An object of a program that is no data. */
export class Opaque {
  constructor(type, repr) {
    this.type = type;
    this.repr = repr;
    foreign.add(freeze(this));
  }
  [Symbol.toPrimitive]() {
    throw new Wrong(`an object of the program (${this.type}) is no value here`);
  }
}

/** The text of a string: lone surrogates become U+FFFD. */
export const quote = (string) => stringify(isWellFormed(string) ? string : wellFormed(string));

/** Writes a value. other writes what has no form here: it is given the value and a writer for what that holds. */
export function encode(value, other) {
  let left = MOST;
  return write(value, 0);

  function write(v, depth) {
    if (--left < 0) throw new Fault(`the value holds more than ${MOST} values`);
    switch (typeof v) {
      case "number": return (v | 0) === v ? "" + v : number(v);
      case "string": return quote(v);
      case "boolean": return v ? "true" : "false";
      case "bigint": return '{"int":"' + (v < LONG && v > -LONG ? v : hexadecimal(v)) + '"}';
      case "undefined": return "null";
      case "object":
        if (v === null) return "null";
        if (depth >= DEEPEST) throw new Fault(`the value nests deeper than ${DEEPEST}, or holds itself`);
        return object(v, depth + 1);
    }
    return other(v, (inner) => write(inner, depth + 1));
  }

  function object(v, depth) {
    if (isArray(v)) return list(v, depth);
    const proto = getPrototypeOf(v);
    if ((proto === plain || proto === null) && !iterates(v)) return fields(v, depth);
    if (isAbove(aboveMaps, v) && branded(sizeOfMap, v)) return map(v, depth); // to throw and to catch costs more than all of this
    if (isAbove(aboveSets, v) && branded(sizeOfSet, v)) return set(v, depth);
    if (kindOfBytes(v) === "Uint8Array") return '{"bytes":"' + base64(v) + '"}';
    return other(v, (inner) => write(inner, depth));
  }

  function list(v, depth) {
    const n = v.length, out = [];
    if (n > left) throw new Fault(`the value holds more than ${MOST} values`);
    for (let i = 0; i < n; i++) {
      const item = v[i];
      out[i] = typeof item === "number" && (item | 0) === item ? item : write(item, depth);
    }
    return "[" + join(out, ",") + "]";
  }

  function fields(v, depth) {
    const names = keys(v), out = [];
    for (let i = 0; i < names.length; i++) out[i] = "[" + quote(names[i]) + "," + write(v[names[i]], depth) + "]";
    return '{"dict":[' + join(out, ",") + "]}";
  }

  function map(v, depth) {
    const out = [];
    each(v, (value, key) => { out[out.length] = "[" + write(key, depth) + "," + write(value, depth) + "]"; });
    return '{"dict":[' + join(out, ",") + '],"of":"Map"}';
  }

  function set(v, depth) {
    const out = [];
    eachOf(v, (item) => { out[out.length] = write(item, depth); });
    return '{"set":[' + join(out, ",") + "]}";
  }
}

/** Whether a value is an iterator: what a generator gives, or an object made like it. */
export const iterates = (v) => typeof v.next === "function" && typeof v[iterator] === "function";

/** The name of the class of a value, as far as the value lets it be read. */
export function nameOf(v) {
  if (typeof v !== "object") return typeof v;
  try {
    const name = v.constructor.name;
    return typeof name === "string" && name ? name : "Object";
  } catch {
    return "Object";
  }
}

function branded(test, v) {
  try {
    test(v);
    return true;
  } catch {
    return false;
  }
}

// number writes whole numbers of at most 2^53 as integers, and every other so
// that it cannot be taken for one.
function number(v) {
  if (isSafeInteger(v)) return `${v}`;
  if (v !== v) return `{"float":"nan"}`;
  if (!isFinite(v)) return v > 0 ? `{"float":"inf"}` : `{"float":"-inf"}`;
  return isInteger(v) ? exponential(v) : `${v}`;
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function base64(bytes) {
  let out = "";
  for (let i = 0; i < bytes.length; i += 3) {
    const word = (bytes[i] << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    out += alphabet[word >> 18] + alphabet[(word >> 12) & 63];
    out += (i + 1 < bytes.length ? alphabet[(word >> 6) & 63] : "=") + (i + 2 < bytes.length ? alphabet[word & 63] : "=");
  }
  return out;
}

function unbase64(text) {
  if (typeof text !== "string" || text.length % 4) throw new Wrong("bytes that are no base64");
  const padding = text.length && (text[text.length - 1] === "=") + (text[text.length - 2] === "=");
  const bytes = new Bytes(text.length / 4 * 3 - padding);
  for (let i = 0, word = 0; i < text.length - padding; i++) {
    const digit = indexIn(alphabet, text[i]);
    if (digit < 0) throw new Wrong("bytes that are no base64");
    word = ((word << 6) | digit) & 0xffffff;
    if (i % 4) bytes[i - (i >> 2) - 1] = word >> (6 - 2 * (i % 4));
  }
  return bytes;
}

/**
 * Reads what JSON.parse has made of a value. A dict with text keys becomes an object, any other a Map; lists and what is
 * like them arrays; sets a Set; bytes a Uint8Array; integers beyond 2^53 a BigInt. other reads objects of any other tag.
 * What is malformed throws a TypeError.
 */
export function decode(v, other, depth = 0) {
  if (v === null || typeof v !== "object") return v;
  if (depth > 2 * DEEPEST) throw new Wrong(`a value that nests deeper than ${DEEPEST}`);
  if (isArray(v)) return items(v, other, depth);
  const tag = keys(v)[0], content = v[tag];
  switch (tag) {
    case "dict": return dictionary(content, v.of === "Map", other, depth);
    case "tuple": case "deque": return items(content, other, depth);
    case "set": case "frozenset": return collection(items(content, other, depth));
    case "bytes": case "bytearray": return unbase64(content);
    case "int": return whole(content);
    case "float":
      if (content === "nan") return NaN;
      if (content === "inf") return Infinity;
      if (content === "-inf") return -Infinity;
      throw new Wrong("a float that is none");
    case "range": return range(items(content, other, depth));
    case "view": return view(content, other, depth);
  }
  return other(v, (inner) => decode(inner, other, depth + 1));
}

function items(v, other, depth) {
  if (!isArray(v)) throw new Wrong("a list that is none");
  let i = 0;
  while (i < v.length && typeof v[i] !== "object") i++;
  if (i === v.length) return v; // as JSON.parse made it
  const out = slice(v, 0, i);
  for (; i < v.length; i++) out[i] = decode(v[i], other, depth + 1);
  return out;
}

function dictionary(entries, map, other, depth) {
  if (!isArray(entries)) throw new Wrong("a dict that is none");
  for (let i = 0; i < entries.length; i++) {
    if (!isArray(entries[i]) || entries[i].length !== 2) throw new Wrong("an entry of a dict that is no pair");
    map ||= typeof entries[i][0] !== "string";
  }
  const out = map ? new Dictionary() : {};
  for (let i = 0; i < entries.length; i++) {
    const value = decode(entries[i][1], other, depth + 1);
    if (map) insert(out, decode(entries[i][0], other, depth + 1), value);
    else own(out, entries[i][0], value);
  }
  return out;
}

function collection(values) {
  const out = new Collection();
  for (let i = 0; i < values.length; i++) add(out, values[i]);
  return out;
}

function whole(text) {
  if (typeof text !== "string" || text.length > 100_000) throw new Wrong("an integer that is none");
  if (matches(/^-?(?:\d{1,640}|0x[\da-f]+)$/, text)) return text[0] === "-" ? -integer(cut(text, 1)) : integer(text);
  throw new Wrong("an integer that is none");
}

function range(ends) {
  if (ends.length !== 3 || !isSafeInteger(ends[0]) || !isSafeInteger(ends[1]) || !isSafeInteger(ends[2]) || ends[2] === 0) throw new Wrong("a range that is none");
  const step = ends[2], out = [];
  for (let i = ends[0]; step > 0 ? i < ends[1] : i > ends[1]; i += step) {
    if (out.length === MOST) throw new Wrong(`a range of more than ${MOST} values`);
    out[out.length] = i;
  }
  return out;
}

function view(content, other, depth) {
  if (!isArray(content) || content.length !== 2 || !isArray(content[1]?.dict)) throw new Wrong("a view that is none");
  const entries = items(content[1].dict, other, depth), out = [];
  for (let i = 0; i < entries.length; i++) out[i] = content[0] === "items" ? entries[i] : entries[i][content[0] === "keys" ? 0 : 1];
  return out;
}

// hexadecimal writes what neither side reads as a decimal.
const hexadecimal = (v) => (v < 0n ? "-0x" + inBase(-v, 16) : "0x" + inBase(v, 16));

// own sets a property even if it is called __proto__.
function own(object, key, value) {
  if (key !== "__proto__") object[key] = value;
  else defineProperty(object, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}
