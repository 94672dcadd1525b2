// What console.log prints of a value, as Node prints it (util.inspect with its
// defaults): programs are compared by their output.

const WIDTH = 80, DEPTH = 2, COMPACT = 3, ITEMS = 100, MOST = 20_000;
const { getOwnPropertyDescriptor, getOwnPropertySymbols, getPrototypeOf, keys } = Object;
const uncurry = Function.prototype.bind.bind(Function.prototype.call);
const sourceOf = uncurry(Function.prototype.toString);
const tagged = getPrototypeOf(Uint8Array);

/** The line of console.log(...values), without its end. */
export function format(values) {
  let at = 0, out = "";
  if (typeof values[0] === "string") {
    at = 1;
    out = values.length === 1 ? values[0] : values[0].replace(/%[sdifjoOc%]/g, (mark) => {
      if (mark === "%%") return "%";
      return at < values.length ? directive(mark, values[at++]) : mark;
    });
  }
  for (let first = at === 0; at < values.length; at++, first = false) {
    out += (first ? "" : " ") + (typeof values[at] === "string" ? values[at] : inspect(values[at]));
  }
  return out;
}

function directive(mark, v) {
  switch (mark) {
    case "%s": return typeof v === "string" ? v : typeof v === "object" && v !== null ? inspect(v, 0) : typeof v === "function" ? String(v) : inspect(v);
    case "%d": return typeof v === "bigint" ? `${v}n` : typeof v === "symbol" || typeof v === "object" ? "NaN" : inspect(Number(v));
    case "%i": return typeof v === "bigint" ? `${v}n` : typeof v === "symbol" || typeof v === "object" ? "NaN" : inspect(parseInt(v));
    case "%f": return typeof v === "symbol" ? "NaN" : inspect(parseFloat(v));
    case "%j": return JSON.stringify(v);
    case "%c": return "";
    case "%o": return inspect(v, 4);
  }
  return inspect(v);
}

/** The text of one value, nested at most to a depth. */
export function inspect(value, depth = DEPTH) {
  return new Writer(depth).value(value, 0);
}

class Writer {
  constructor(depth) {
    this.depth = depth;
    this.indent = 0;
    this.last = 0; // the depth of the object written last
    this.left = MOST; // values that may still be written
    this.above = [];
    this.circles = new Map();
  }

  value(v, depth) {
    if (--this.left < 0) return "...";
    switch (typeof v) {
      case "string": return this.string(v);
      case "number": return Object.is(v, -0) ? "-0" : `${v}`;
      case "bigint": return `${v}n`;
      case "symbol": case "boolean": case "undefined": return String(v);
    }
    return v === null ? "null" : this.object(v, depth);
  }

  string(v) {
    if (v.length <= 16 || v.length <= WIDTH - this.indent - 4 || !v.includes("\n")) return quoted(v);
    return v.split(/(?<=\n)/).map(quoted).join(` +\n${" ".repeat(this.indent)}`);
  }

  object(v, depth) {
    if (this.above.includes(v)) {
      if (!this.circles.has(v)) this.circles.set(v, this.circles.size + 1);
      return `[Circular *${this.circles.get(v)}]`;
    }
    const shape = shapeOf(v);
    const names = [...keys(v), ...getOwnPropertySymbols(v).filter((s) => getOwnPropertyDescriptor(v, s)?.enumerable)];
    const own = shape.indexed ? names.filter((n) => typeof n === "symbol" || !/^(?:0|[1-9]\d*)$/.test(n)) : names;
    if (shape.base !== undefined && own.length === 0) return shape.base;
    if (shape.size === 0 && own.length === 0) return `${shape.prefix}${shape.open}${shape.close}`;
    if (depth > this.depth) return `[${shape.list ? "Array" : shape.name}]`;
    this.above.push(v);
    this.last = depth;
    let output = shape.entries(this, v, depth + 1);
    for (const name of own) output.push(this.property(v, name, depth + 1, false));
    this.above.pop();
    const start = (this.circles.has(v) ? `<ref *${this.circles.get(v)}> ` : "") + shape.prefix + (shape.base === undefined ? "" : `${shape.base} `);
    return this.fit(output, start + shape.open, shape.close, depth, shape.list ? v : undefined);
  }

  property(v, name, depth, bare) {
    const d = getOwnPropertyDescriptor(v, name) ?? { value: v[name] };
    let text;
    if (d.get) text = d.set ? "[Getter/Setter]" : "[Getter]";
    else if (d.set) text = "[Setter]";
    else text = this.nested(d.value, depth);
    if (bare) return text;
    const key = typeof name === "symbol" ? `[${String(name)}]` : /^[a-zA-Z_][a-zA-Z_0-9]*$/.test(name) ? name : name === "__proto__" ? "['__proto__']" : quoted(name);
    return `${key}: ${text}`;
  }

  nested(v, depth) {
    this.indent += 2;
    const text = this.value(v, depth);
    this.indent -= 2;
    return text;
  }

  // fit joins entries on one line if they are short and hold little, and else
  // gives each a line.
  fit(output, start, end, depth, list) {
    const entries = output.length;
    if (list && entries > 6) output = this.columns(output, list);
    if (this.last - depth < COMPACT && entries === output.length) {
      const joined = output.join(", ");
      const room = joined.length - 2 * (entries - 1) + entries + entries + this.indent + start.length + 10;
      if (room <= WIDTH && !joined.includes("\n")) return `${start} ${joined} ${end}`;
    }
    const line = `\n${" ".repeat(this.indent)}`;
    return `${start}${line}  ${output.join(`,${line}  `)}${line}${end}`;
  }

  // columns sets the entries of a long list below each other.
  columns(output, list) {
    const more = list.length > ITEMS ? 1 : 0, count = output.length - more;
    const lengths = output.slice(0, count).map((o) => o.length);
    const total = lengths.reduce((sum, n) => sum + n + 2, 0), widest = Math.max(...lengths) + 2;
    if (widest * 3 + this.indent >= WIDTH || !(total / widest > 5 || widest <= 8)) return output;
    const biased = Math.max(widest - 3 - Math.sqrt(widest - total / output.length), 1);
    const columns = Math.min(Math.round(Math.sqrt(2.5 * biased * count) / biased), Math.floor((WIDTH - this.indent) / widest), COMPACT * 4, 15);
    if (columns <= 1) return output;
    const widths = Array.from({ length: columns }, (_, i) => lengths.filter((_, j) => j % columns === i).reduce((a, b) => Math.max(a, b), 0) + 2);
    const right = Array.prototype.every.call(list.slice(0, output.length), (v) => typeof v === "number" || typeof v === "bigint");
    const lines = [];
    for (let i = 0; i < count; i += columns) {
      let line = "";
      const end = Math.min(i + columns, count);
      for (let j = i; j < end; j++) {
        const cell = j < end - 1 ? `${output[j]}, ` : output[j], width = widths[j - i] - (j < end - 1 ? 0 : 2);
        line += right ? cell.padStart(width) : j < end - 1 ? cell.padEnd(width) : cell;
      }
      lines.push(line);
    }
    return more ? [...lines, output[count]] : lines;
  }
}

// shapeOf says how an object is written: its brackets, what stands before them
// and which entries it has beside its properties.
function shapeOf(v) {
  const name = className(v), none = () => [];
  const tag = v[Symbol.toStringTag], label = typeof tag === "string" && tag !== "" && tag !== name ? `[${tag}] ` : "";
  const shape = { name: name ?? "Object", prefix: "", open: "{", close: "}", size: 0, entries: none };
  const titled = (own, size) => (name === own && size === undefined ? "" : `${name ?? `[${own}: null prototype]`}${size === undefined ? "" : `(${size})`} `);
  if (Array.isArray(v)) return { ...shape, list: true, indexed: true, prefix: name === "Array" ? "" : titled("Array", v.length), open: "[", close: "]", size: v.length, entries: items };
  if (v instanceof tagged) return { ...shape, list: true, indexed: true, prefix: titled(name, v.length), open: "[", close: "]", size: v.length, entries: items };
  if (v instanceof Map) return { ...shape, prefix: titled("Map", v.size), size: v.size, entries: (w, m, depth) => [...m].map(([k, x]) => `${w.nested(k, depth)} => ${w.nested(x, depth)}`) };
  if (v instanceof Set) return { ...shape, prefix: titled("Set", v.size), size: v.size, entries: (w, s, depth) => [...s].map((x) => w.nested(x, depth)) };
  if (typeof v === "function") return { ...shape, base: functionBase(v, name) };
  if (v instanceof RegExp) return { ...shape, base: String(v) };
  if (v instanceof Date) return { ...shape, base: Number.isNaN(v.getTime()) ? "Invalid Date" : v.toISOString() };
  if (v instanceof Error) return { ...shape, base: errorBase(v) };
  for (const Box of [Number, String, Boolean, Symbol, BigInt]) {
    if (v instanceof Box) return { ...shape, indexed: Box === String, base: `[${Box.name}: ${new Writer(0).value(v.valueOf(), 0)}]` };
  }
  return { ...shape, prefix: name === "Object" && !label ? "" : `${name ?? "[Object: null prototype]"} ${label}` };
}

function items(writer, list, depth) {
  const out = [], count = Math.min(list.length, ITEMS);
  let i = 0;
  for (; out.length < count && i < list.length; i++) {
    if (i in list) {
      out.push(writer.property(list, i, depth, true));
      continue;
    }
    const from = i;
    while (i + 1 < list.length && !(i + 1 in list)) i++;
    out.push(`<${i - from + 1} empty item${i > from ? "s" : ""}>`);
  }
  const more = list.length - i;
  if (more > 0) out.push(`... ${more} more item${more > 1 ? "s" : ""}`);
  return out;
}

function className(v) {
  for (let o = v; o !== null; o = getPrototypeOf(o)) {
    const d = getOwnPropertyDescriptor(o, "constructor");
    if (typeof d?.value === "function" && d.value.name !== "") return d.value.name;
  }
}

function functionBase(f, name) {
  if (sourceOf(f).startsWith("class")) {
    const parent = getPrototypeOf(f)?.name;
    return `[class ${f.name || "(anonymous)"}${parent ? ` extends ${parent}` : ""}]`;
  }
  return `[${name ?? "Function (null prototype)"}${f.name ? `: ${f.name}` : " (anonymous)"}]`;
}

function errorBase(e) {
  const head = String(e), stack = typeof e.stack === "string" ? e.stack : "";
  return stack.includes(head) ? stack : stack ? `${head}\n${stack.trimEnd()}` : `[${head}]`;
}

const escapes = { "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "\\": "\\\\" };

function quoted(s) {
  const mark = !s.includes("'") ? "'" : !s.includes('"') ? '"' : !s.includes("`") && !s.includes("${") ? "`" : "'";
  const body = s.replace(/[\x00-\x1f\x27\x5c\x7f-\x9f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, (c) => {
    if (c === "'") return mark === "'" ? "\\'" : c;
    const code = c.charCodeAt(0).toString(16).toUpperCase();
    return escapes[c] ?? (code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, "0")}`);
  });
  return mark + body + mark;
}
