// The reward's side of the sandbox: boot finds the reward in its module and
// leaves serve for the host, which takes and gives JSON.

const log = [];
let room = 0, most = 0, cut = 0; // characters: left in the log, and that it lacks

function write(...values) {
  const line = values.map(show).join(" ");
  if (room > 0) log.push(line.slice(0, room));
  cut += Math.max(0, line.length - Math.max(room, 0));
  room -= line.length + 1;
}

globalThis.console = { log: write, info: write, warn: write, error: write, debug: write };

function show(value) {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

export function boot(module, name, parameters, batch, logged) {
  room = most = logged;
  const group = name ? (name === "rewardGroup" ? chosen(module, name) : undefined) : module.rewardGroup;
  const one = name ? chosen(module, name) : (module.default ?? module.reward);
  if (typeof (group ?? one) !== "function") {
    throw new Error("the module exports no reward: write export default function (rollout) { … }, or export function rewardGroup(rollouts)" + several(module));
  }
  const { batch: own, ...about } = warm(module);
  const entry = { function: (group ?? one).name || name || "default", shape: group ? "rewardGroup(rollouts)" : "(rollout)", batch: count(batch || own, group) };
  const given = parameters ? [JSON.parse(parameters)] : [];
  globalThis.__merit = {
    hello: JSON.stringify({ group: Boolean(group), entry, about }),
    serve: (request) => answer(group ? (members) => group(members, ...given) : (members) => [one(members[0], ...given)], request),
  };
}

// count is how many members one call of rewardGroup gets; 0 is a group.
function count(batch, group) {
  if (batch === undefined) return 0;
  if (!group) throw new Error(`batch is ${show(batch)}, but the reward gets one rollout: export function rewardGroup(rollouts)`);
  if (batch === "group") return 0;
  const n = Number(batch);
  if (!Number.isInteger(n) || n < 1 || n > 1024) throw new Error(`batch is ${show(batch)}; it is "group" or a number from 1 to 1024`);
  return n;
}

// chosen is the export that whoever runs the module has named.
function chosen(module, name) {
  if (typeof module[name] === "function") return module[name];
  if (module[name] !== undefined) throw new Error(`the module exports ${name}, which is no function`);
  const names = functions(module);
  throw new Error(`the module exports no function ${name}; ` + (names.length ? `it has ${names.join(", ")}` : "it has none"));
}

const functions = (module) => Object.keys(module).filter((name) => typeof module[name] === "function" && name !== "warmUp");

function several(module) {
  const names = functions(module);
  return names.length ? `; or choose one of ${names.join(", ")}, as in reward.js:${names[0]}` : "";
}

// warm runs the module's own warm-up, and returns what the module says about
// itself, with the kind of its warm-up if it brings one.
function warm(module) {
  const about = said(module.merit ?? {});
  if (module.warmUp === undefined) {
    if (about.warm_up === "own") throw new Error("merit says warm_up: \"own\", but the module exports no function warmUp");
    return about;
  }
  if (about.warm_up !== undefined && about.warm_up !== "own") {
    throw new Error(`merit says warm_up: ${show(about.warm_up)}, but the module exports warmUp; keep one of the two`);
  }
  if (typeof module.warmUp !== "function") throw new TypeError("the module exports warmUp, which is no function");
  if (typeof module.warmUp()?.then === "function") {
    throw new TypeError("warmUp is async: there is nothing outside of the sandbox to wait for");
  }
  return { ...about, warm_up: "own" };
}

// said checks what the module says about itself.
function said(about) {
  if (typeof about !== "object") throw new TypeError(`export const merit is ${show(about)}, not an object such as { name: "exact" }`);
  for (const [key, value] of Object.entries(about)) {
    if (typeof value !== "string" && key !== "batch") throw new TypeError(`merit says ${key}: ${show(value)}, which is no text`);
  }
  return about;
}

const KNOWN = new Set(["score", "is_score_valid", "reason", "metrics", "step_outputs", "error"]);
let strange = []; // the names of results that have others

function answer(evaluate, request) {
  strange = [];
  log.length = cut = 0;
  room = most;
  let results, error;
  try {
    const members = JSON.parse(request);
    results = evaluate(members).map(plain);
    if (results.length !== members.length) {
      throw new Error(`the reward returned ${results.length} results for a group of ${members.length}`);
    }
  } catch (e) {
    results = undefined;
    error = explain(e);
  }
  return JSON.stringify({ results, error, log, cut, strange });
}

function plain(result) {
  if (typeof result === "number" || typeof result === "boolean") return { score: Number(result) };
  if (typeof result?.then === "function") {
    throw new TypeError("the reward is async: there is nothing outside of the sandbox to wait for");
  }
  if (result === null || typeof result !== "object") {
    throw new TypeError(`the reward returned ${show(result)}; return a number or { score, … }`);
  }
  const names = Object.keys(result);
  if (names.some((name) => !KNOWN.has(name))) strange.push(names);
  return result;
}

function explain(e) {
  if (!(e instanceof Error)) return "thrown: " + show(e);
  return `${e.name}: ${e.message}\n${e.stack ?? ""}`.trimEnd().slice(0, 8192);
}
