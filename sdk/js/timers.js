// Timers of a reward: they go off, in their order, when all that runs waits. No
// real time passes.

let waiting = [], last = 0, now = 0;

function after(run, delay, every) {
  const id = ++last;
  waiting.push({ id, run, at: now + Math.max(Number(delay) || 0, 0), every });
  return id;
}

const cancel = (id) => { waiting = waiting.filter((t) => t.id !== id); };

/** Forgets all timers. */
export function clear() {
  waiting = [];
}

/** Runs the timer that is due first; false if there is none. */
export function fire() {
  if (waiting.length === 0) return false;
  const next = waiting.reduce((a, b) => (b.at < a.at ? b : a));
  now = next.at;
  if (next.every === undefined) cancel(next.id);
  else next.at = now + Math.max(next.every, 1);
  next.run();
  return true;
}

const define = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });

define("setTimeout", (run, delay, ...args) => after(() => run(...args), delay));
define("setImmediate", (run, ...args) => after(() => run(...args), 0));
define("setInterval", (run, delay, ...args) => after(() => run(...args), delay, Number(delay) || 0));
for (const name of ["clearTimeout", "clearInterval", "clearImmediate"]) define(name, cancel);
