// Programs: fresh interpreters beside the reward, to run what it does not trust.
// A program is an instance of its own, with its own memory, and what it uses is
// taken from the reward's fuel. The messages are those of Merit's package
// sandbox/internal/channel.

const host = globalThis.__merit_channel; // the host's end: a text for a text

function exchange(message) {
  if (!host) throw new Error("programs run in Merit's sandbox only: score with merit, not natively");
  const answer = host(message);
  const end = answer.indexOf("\n"), [what, number, , reading] = answer.slice(0, end).split(" "), text = answer.slice(end + 1);
  if (what === "refused") throw new Error(text);
  return { outcome: what, number: Number(number), reading: Number(reading), text };
}

/** A fresh interpreter that answers requests until it is closed, ends or is ended. At most four can be open at one time. */
export class Program {
  #handle;
  #gone = "";

  constructor(language = "javascript") {
    if (!/^[a-z]+$/.test(language)) throw new RangeError(`${JSON.stringify(language)} names no language`);
    this.#handle = exchange(`open ${language}\n`).number;
  }

  /**
   * One exchange, which may use so much fuel. The outcome is "answered", "out_of_fuel", "out_of_memory" or "crashed", the
   * text the answer or the reason, and reading the fuel that it takes to read a long one, about; after any outcome but
   * "answered" the program is gone.
   */
  ask(request, fuel) {
    if (this.#gone) throw new Error(`the program is gone: ${this.#gone}`);
    const { outcome, number, reading, text } = exchange(`ask ${this.#handle} ${Math.trunc(Math.min(Math.max(fuel, 0), 2 ** 53 - 1))}\n${request}`);
    if (outcome !== "answered") this.#gone = `${outcome} (${text})`;
    return { outcome, text, fuel: number, reading };
  }

  /** Ends the program; to do it again is allowed. */
  close() {
    if (this.#gone) return;
    this.#gone = "closed";
    exchange(`close ${this.#handle}\n`);
  }
}
