/**
 * UTF-8 text as bytes. A string of AssemblyScript is UTF-16: decoding a
 * conversation costs six times what most rewards do with it. Positions and
 * lengths count bytes. Bytes of a rollout are valid until the reward returns.
 */
export class Bytes {
  /** From address `at`; `owner` keeps the memory alive, if it is not the input buffer. */
  constructor(readonly at: usize, readonly length: i32, private owner: ArrayBuffer | null = null) {}

  /** The byte at position i, unchecked. */
  @operator("[]")
  get(i: i32): u8 {
    return load<u8>(this.at + i);
  }

  equals(other: Bytes): bool {
    return this.length == other.length && memory.compare(this.at, other.at, this.length) == 0;
  }

  startsWith(other: Bytes): bool {
    return this.length >= other.length && memory.compare(this.at, other.at, other.length) == 0;
  }

  endsWith(other: Bytes): bool {
    return this.length >= other.length && memory.compare(this.at + this.length - other.length, other.at, other.length) == 0;
  }

  /** The first position of other at or after from, or −1. */
  indexOf(other: Bytes, from: i32 = 0): i32 {
    for (let i = from; i <= this.length - other.length; i++) {
      if (memory.compare(this.at + i, other.at, other.length) == 0) return i;
    }
    return -1;
  }

  /** The bytes from one position to before another. */
  slice(from: i32, to: i32 = this.length): Bytes {
    return new Bytes(this.at + from, to - from, this.owner);
  }

  /** Without the ASCII white space around it. */
  trim(): Bytes {
    let from = 0;
    let to = this.length;
    while (to > from && isSpace(this[to - 1])) to--;
    while (from < to && isSpace(this[from])) from++;
    return this.slice(from, to);
  }

  /** What stands behind the last newline. */
  lastLine(): Bytes {
    let from = this.length;
    while (from > 0 && this[from - 1] != 0x0a) from--;
    return this.slice(from);
  }

  /** What stands before the last newline, or nothing. */
  withoutLastLine(): Bytes {
    return this.slice(0, max(this.length - this.lastLine().length - 1, 0));
  }

  /** The lines, without their newlines. */
  lines(): Bytes[] {
    const lines = new Array<Bytes>();
    for (let rest: Bytes = this; ; rest = rest.withoutLastLine()) {
      const line = rest.lastLine();
      lines.push(line);
      if (line.length == rest.length) break;
    }
    return lines.reverse();
  }

  /**
   * Reads digits with at most one decimal point; commas are skipped. NaN for
   * any other text. Numbers of up to 15 digits are read exactly.
   */
  number(): f64 {
    let mantissa: u64 = 0;
    let exponent = 0;
    let digits = false;
    let point = false;
    for (let i = 0; i < this.length; i++) {
      const c = this[i];
      if (c == 0x2c) continue;
      if (c == 0x2e && !point) {
        point = true;
        continue;
      }
      if (c < 0x30 || c > 0x39) return NaN;
      digits = true;
      if (mantissa < 100000000000000000) {
        mantissa = mantissa * 10 + (c - 0x30);
        exponent -= i32(point);
      } else {
        exponent += i32(!point);
      }
    }
    let power: f64 = 1;
    for (let e = min(abs(exponent), 300); e > 0; e--) power *= 10;
    const value = exponent < 0 ? f64(mantissa) / power : f64(mantissa) * power;
    return digits && isFinite(value) ? value : NaN;
  }

  /** Decodes to a string of AssemblyScript. */
  toString(): string {
    return String.UTF8.decodeUnsafe(this.at, this.length);
  }
}

function isSpace(c: u8): bool {
  return c == 0x20 || (c >= 0x09 && c <= 0x0d);
}

/** Encodes a string. Make constants of it outside of functions: it allocates. */
export function bytes(text: string): Bytes {
  const buffer = String.UTF8.encode(text);
  return new Bytes(changetype<usize>(buffer), buffer.byteLength, buffer);
}
