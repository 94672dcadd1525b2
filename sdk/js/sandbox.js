// The reward's side of the sandbox: boot finds the reward in its module and
// leaves serve for the host, which takes JSON and texts, and gives JSON. Where a reward is async,
// serve returns undefined, and the host runs the jobs of promises and then turn,
// until there is an answer.

import { any, explanation, forget, refused, stands, without } from "merit/refusals.js";
import { clear, fire } from "merit/timers.js";

const log = [];
let room = 0, most = 0, cut = 0; // characters: left in the log, and that it lacks

function write(...values) {
  const line = values.map(show).join(" ");
  if (line.length <= room) log.push(line);
  else cutOff(line);
  room -= line.length + 1;
}

function cutOff(line) {
  const left = Math.max(room, 0);
  if (left > 0) log.push(line.slice(0, left));
  cut += line.length - left;
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
  const entry = { function: (group ?? one).name || name || "default", shape: group ? "rewardGroup(rollouts)" : "rollout", batch: count(batch || own, group) };
  const given = parameters ? [JSON.parse(parameters)] : [];
  called = { group, one, given };
  makeRoom();
  globalThis.__merit = {
    hello: JSON.stringify({ group: Boolean(group), entry, about, refused: refused() }),
    turn,
    serve: answer,
  };
}

const usual = []; // objects whose shapes the engine then need not make in every evaluation

// makeRoom lets the engine's tables of names and of shapes of objects grow now. They
// would otherwise grow in every evaluation, since none keeps what another has done.
function makeRoom() {
  const held = [];
  for (let i = 0; i < 500; i++) held.push({ [`room for ${i}`]: i });
  const called = '"tool_calls":[{"id":"","type":"","function":{"name":"","arguments":""}}]', answers = '{"role":"","content":"","tool_call_id":""}';
  usual.push({ score: 0 }, JSON.parse(`{"members":[{"id":"","messages":[{"role":"","content":"",${called}},${answers}],"ground_truth":""}],"texts":[[0,0]]}`));
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
  if (about.without !== undefined) about = { ...about, without: without(about.without) };
  for (const [key, value] of Object.entries(about)) {
    if (typeof value !== "string" && key !== "batch") throw new TypeError(`merit says ${key}: ${show(value)}, which is no text`);
  }
  return about;
}

let called; // what the module exports, with the parameters

// answer scores the members of a request. Long texts of messages are strings of their own.
function answer(request, ...long) {
  log.length = cut = 0;
  room = most;
  let members, raw;
  try {
    const asked = JSON.parse(request);
    members = asked.members;
    for (let i = 0; i < long.length; i++) {
      const place = asked.texts[i];
      members[place[0]].messages[place[1]].content = long[i];
    }
    const { group, one, given } = called;
    if (group) raw = group(members, ...given);
    else raw = given.length > 0 ? [one(members[0], ...given)] : [one(members[0])];
    return onlyScore(raw, members.length) ?? concluded(raw.map(plain), members.length);
  } catch (e) {
    return later(raw) || raw?.some?.(later) ? wait(raw, members.length) : failed(e);
  }
}

// onlyScore is the answer if a number or a boolean is all that there is to say.
function onlyScore(raw, count) {
  if (count !== 1 || raw?.length !== 1 || any || log.length > 0 || cut > 0) return undefined;
  if (typeof raw[0] !== "number" && typeof raw[0] !== "boolean") return undefined;
  const score = Number(raw[0]);
  return score - score === 0 ? `{"results":[{"score":${score}}]}` : undefined; // JSON has no NaN
}

function concluded(results, count) {
  if (results.length !== count) {
    throw new Error(`the reward returned ${results.length} results for a group of ${count}`);
  }
  if (any && results.some(stands)) throw new Refused(explanation());
  return written(results);
}

function failed(e) {
  if (any) forget();
  return written(undefined, e instanceof Refused ? e.message : explain(e));
}

const answered = { results: undefined, error: undefined, log: undefined, cut: undefined };

// written is an answer as JSON, with what there is beside it.
function written(results, error) {
  answered.results = results;
  answered.error = error;
  answered.log = log.length > 0 ? log : undefined;
  answered.cut = cut > 0 ? cut : undefined;
  return JSON.stringify(answered);
}

class Refused extends Error {}

const later = (value) => typeof value?.then === "function";

let ended = true, result; // the answer of an async reward, once there is one

function end(answer) {
  result = answer;
  ended = true;
  clear();
}

// wait begins an evaluation of an async reward, for which there is no answer yet.
function wait(raw, count) {
  ended = false;
  Promise.resolve(raw)
    .then((results) => Promise.all(results))
    .then((results) => end(concluded(results.map(plain), count)))
    .catch((e) => end(failed(e)));
}

// turn goes on when no job is left: with the next timer, or with the end.
function turn() {
  try {
    if (!ended && !fire()) throw new Error("the reward waits for a promise that nothing settles: nothing outside of the sandbox can wake it");
  } catch (e) {
    end(failed(e));
  }
  return ended ? result ?? "" : undefined;
}

function plain(result) {
  if (typeof result === "number" || typeof result === "boolean") return { score: Number(result) };
  if (later(result)) throw undefined; // it is waited for
  if (result === null || typeof result !== "object") {
    throw new TypeError(`the reward returned ${show(result)}; return a number or { score, … }`);
  }
  return result;
}

function explain(e) {
  if (!(e instanceof Error)) return "thrown: " + show(e);
  return `${e.name}: ${e.message}\n${e.stack ?? ""}`.trimEnd().slice(0, 8192);
}
