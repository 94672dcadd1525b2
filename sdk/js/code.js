// The module "merit/code": runs code that a model has written against tests.
//
//   import { run, extract } from "merit/code";
//   const report = run(extract(answer(rollout)), ["assert.equal(add(1, 2), 3)"]);
//
// The code runs in a program: an interpreter of its own, with memory and fuel of
// its own. The tests run here, in the interpreter of the reward, where the code's
// functions are proxies: what is called and what comes back are data. So it
// cannot see what a test expects, change how the test compares, or end it well.
// docs/running-code.md says what this protects from, and what not.

import { Session, Stopped } from "./candidate.js";
import { casesOf, verdictOf } from "./cases.js";
import { Program } from "./programs.js";

export { AssertionError, assert } from "./assert.js";
export { CannotCross } from "./candidate.js";

const STOPPED = ["out_of_fuel", "out_of_memory", "crashed"];
const MOST_MESSAGE = 2000, MOST_FUEL = 2 ** 53 - 1;
const OPTIONS = { language: "javascript", entry_point: undefined, fuel: 200_000_000, stop_at_first: false, setup: "" };

/** The tests that were run, in their order; total counts those that were not, too. */
class Report {
  constructor(tests, total) {
    this.tests = tests;
    this.total = total;
    this.passed = tests.filter((t) => t.verdict === "passed").length;
    this.all_passed = total > 0 && this.passed === total;
    this.stopped = tests.find((t) => STOPPED.includes(t.verdict)) ?? null;
    this.fuel = tests.reduce((sum, t) => sum + t.fuel, 0);
  }
  toString() {
    const bad = this.tests.filter((t) => t.verdict !== "passed").map((t) => `${t.name}: ${t.verdict}: ${t.message}`);
    return [`${this.passed} of ${this.total} tests passed`, ...bad].join("\n");
  }
}

/** Runs source against each of the tests, in a program that has just loaded it. merit.d.ts says more. */
export function run(source, tests, options = {}) {
  const { language, entry_point, fuel, stop_at_first, setup } = checked(source, options);
  const cases = casesOf(tests, entry_point, setup), done = [];
  for (const test of cases) {
    const { result, loaded } = one(test, source, language, fuel);
    done.push(result);
    if (stop_at_first && result.verdict !== "passed") break;
    if (loaded) continue;
    for (const other of cases.slice(done.length)) done.push({ ...result, name: other.name, fuel: 0, output: "" }); // what does not load for one does not for the others
    break;
  }
  return new Report(done, cases.length);
}

function checked(source, options) {
  if (typeof source !== "string") throw new TypeError("the source is no text");
  for (const key of Object.keys(options)) {
    if (!(key in OPTIONS)) throw new TypeError(`run has no option ${key}; it has ${Object.keys(OPTIONS).join(", ")}`);
  }
  const all = { ...OPTIONS, ...options };
  all.entry_point ??= undefined;
  if (!Number.isInteger(all.fuel) || all.fuel <= 0 || all.fuel > MOST_FUEL) throw new RangeError(`fuel is ${all.fuel}; it must be a whole number over 0`);
  return all;
}

// one is what becomes of a test, and whether the source could be loaded for it.
function one(test, source, language, fuel) {
  const session = new Session(new Program(language), fuel);
  let verdict = "passed", message = "";
  try {
    test.run(session, source);
  } catch (e) {
    if (!(e instanceof Stopped)) [verdict, message] = verdictOf(e, session);
  } finally {
    session.program.close();
  }
  if (session.defect) throw session.defect;
  if (session.stopped) ({ verdict, message } = session.stopped);
  return { result: { name: test.name, verdict, message: message.slice(0, MOST_MESSAGE), fuel: session.used, output: session.output }, loaded: session.loaded };
}

const FENCES = { python: ["python", "py", "python3"], javascript: ["javascript", "js", "node", "mjs"] };

/**
 * The source in an answer: its last fenced block of the language, else its last that names none, else the text. A block
 * that is not closed reaches to the end.
 */
export function extract(text, language = "javascript") {
  const names = FENCES[language] ?? [language], blocks = {};
  let open = "", label = "", inside = [];
  for (const line of [...text.split("\n"), null]) {
    const mark = line === null ? "" : fence(line);
    if (open && (line === null || mark.startsWith(open) && mark === line.trim())) {
      if (!label || names.includes(label)) blocks[label ? "labelled" : "plain"] = `${inside.join("\n")}\n`;
      open = "";
    } else if (open) inside.push(line);
    else if (mark) {
      [open, inside] = [mark, []];
      label = line.trim().slice(mark.length).trim().split(" ")[0].toLowerCase();
    }
  }
  return blocks.labelled ?? blocks.plain ?? text;
}

// fence is the backticks or tildes that a line begins with, if they open or
// close a block.
function fence(line) {
  const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
  return mark && !line.trim().slice(mark.length).includes(mark[0]) ? mark : "";
}
