// What the sandbox refused a reward, and where its code asked for it. A reward
// that catches the refusal would get a score that is not used: such an
// evaluation has no score, unless the module says that it does without.

// The kinds, as "export const merit" names them in "without", and what was refused.
const KINDS = {
  network: "tried to use the network: ", process: "tried to start another process: ", package: "tried to use what the sandbox does not have: ",
  native: "tried to use native code: ", file: "tried to use a file that is not part of it: ",
  environment: "tried to read the environment of a process: ", thread: "tried to start a thread: ",
};

// Globals of other engines, by the kind of what they are for.
const GLOBALS = {
  process: "environment", Deno: "environment", Bun: "environment", navigator: "environment",
  require: "package", module: "package", exports: "package", Buffer: "package", crypto: "package", URL: "package", URLSearchParams: "package",
  TextEncoder: "package", TextDecoder: "package", structuredClone: "package", AbortController: "package", Intl: "package", window: "package",
  document: "package", self: "package", global: "package", Blob: "package", File: "package", FileReader: "package", FormData: "package",
  Request: "network", Response: "network", Headers: "network", __dirname: "file", __filename: "file", localStorage: "file", sessionStorage: "file",
  indexedDB: "file", WebAssembly: "native", MessageChannel: "thread", BroadcastChannel: "thread",
};

// Functions and classes that code looks for before it calls them.
const CALLED = {
  fetch: "network", XMLHttpRequest: "network", WebSocket: "network", EventSource: "network", importScripts: "package", Worker: "thread", SharedWorker: "thread",
};

const MEMBERS = { env: "environment", versions: "environment", argv: "environment", subtle: "package" }; // of globals that are not there
const MOST = 16; // different refusals that are told

const seen = new Map();
/** Whether anything was refused since it was last taken. */
export let any = false;
let waived = new Set();

function note(kind, what, frames) {
  if (waived.has(kind)) return;
  any = true;
  const key = `${kind} ${what}`, known = seen.get(key);
  if (known) known.count++;
  else if (seen.size < MOST) seen.set(key, { kind, what, where: place(frames), count: 1 });
}

function place(frames) {
  for (const f of frames) {
    const file = f.getFileName();
    if (file && !f.isNative() && !file.startsWith("merit/")) return `${file}:${f.getLineNumber()}`;
  }
  return "";
}

/** Takes what was refused. */
export function refused() {
  const found = [...seen.values()].filter((r) => !waived.has(r.kind));
  forget();
  return found;
}

/** Forgets what was refused. */
export function forget() {
  seen.clear();
  any = false;
}

/** Whether a result is a score. */
export const stands = (result) => !result.error && (result.is_score_valid ?? true);

/** Why an evaluation in which something was refused has no score. */
export function explanation() {
  const found = refused();
  const lines = found.map((r) => `the reward ${KINDS[r.kind]}${r.what}${r.where && ", at " + r.where}${r.count > 1 ? ` (${r.count} times)` : ""}`);
  const kinds = [...new Set(found.map((r) => r.kind))].map((kind) => JSON.stringify(kind)).join(", ");
  return `${lines.join("\n")}\nThe sandbox refused this, and the reward returned a score anyway; that score is not used. ` +
    `Change the reward so that it does not need this, or, if the score is right without it, add to the reward: export const merit = { without: [${kinds}] }`;
}

/** Takes what the module says under "without"; returns it as the manifest has it. */
export function without(said) {
  const kinds = typeof said === "string" ? said.split(/[\s,]+/).filter(Boolean) : said;
  if (!Array.isArray(kinds) || !kinds.every((kind) => Object.hasOwn(KINDS, kind))) {
    throw new TypeError(`merit says without: ${JSON.stringify(said)}; it is a list of ${Object.keys(KINDS).join(", ")}`);
  }
  waived = new Set(kinds);
  return [...waived].sort().join(" ");
}

// The engine makes the trace of every error here, also of those that are caught,
// so rewards that try things pay for it: it ends where the sandbox calls the reward.
Error.prepareStackTrace = (error, frames) => {
  const trace = traced(frames);
  if (trace === undefined) return frames.map((f) => line(f, f.isNative(), f.getFileName())).join("");
  const said = error.message;
  if (typeof said !== "string") return trace;
  if (error instanceof ReferenceError) {
    const [, name] = /^'?([\w$]+)'? is not defined$/.exec(said) ?? [];
    if (name !== undefined && Object.hasOwn(GLOBALS, name)) note(GLOBALS[name], name, frames);
    const [, missing] = /^could not load module (?:filename )?'([^']*)'/.exec(said) ?? [];
    if (missing !== undefined) note("package", missing, frames);
  } else if (said.endsWith("' of undefined") && error instanceof TypeError) {
    const [, member] = /^cannot read property '(\w+)' of undefined$/.exec(said) ?? [];
    if (member !== undefined && Object.hasOwn(MEMBERS, member)) note(MEMBERS[member], member, frames);
  }
  return trace;
};

// traced is the trace of an error; undefined if Merit's own modules made it, as
// they do for what a program has told of.
function traced(frames) {
  let trace = "", made = false;
  for (let i = 0; i < frames.length; i++) {
    const frame = frames[i], native = frame.isNative(), file = frame.getFileName();
    if (!native) {
      if (file?.startsWith("merit/")) {
        if (!made) return undefined;
        if (file === "merit/sandbox") break;
      }
      made = true;
    }
    trace += line(frame, native, file);
  }
  return trace;
}

function line(frame, native, file) {
  const name = frame.getFunctionName();
  const at = native ? "native" : file + ":" + frame.getLineNumber() + ":" + frame.getColumnNumber();
  return name || file !== "<input>" ? "    at " + (name || "<anonymous>") + " (" + at + ")\n" : "    at " + at + "\n";
}

for (const [name, kind] of Object.entries(CALLED)) {
  const value = function () {
    const error = new Error(`a reward has no ${kind} (${name})`);
    error.name = "UnavailableError";
    note(kind, name, frames());
    throw error;
  };
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}

function frames() {
  const format = Error.prepareStackTrace;
  let found = [];
  Error.prepareStackTrace = (_, all) => { found = all; return ""; };
  new Error().stack;
  Error.prepareStackTrace = format;
  return found;
}
