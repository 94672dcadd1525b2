import { answer, invalid } from "merit";
import { extract, run } from "merit/code";

export const merit = { name: "code-js" };

const VERDICTS = ["passed", "failed", "error", "out_of_fuel", "out_of_memory", "crashed"];

/**
 * 1 if the last answer passes all tests, else 0, or the share that it passes. The columns are test, a text, or tests, a
 * list, with entry_point and setup. What was stopped has no score, or with stopped: "zero" counts as failed.
 */
export default function (rollout, { language = "javascript", fuel = 200_000_000, all_or_nothing = true, stopped = "unscored", ...other } = {}) {
  for (const name in other) throw new RangeError(`there is no parameter ${name}; there are language, fuel, all_or_nothing and stopped`);
  if (stopped !== "unscored" && stopped !== "zero") throw new RangeError(`stopped is ${stopped}; it must be "unscored" or "zero"`);
  const { test, tests = test ? [test] : [], entry_point, setup = "" } = rollout.metadata ?? {};
  if (tests.length === 0) return invalid("there are no tests: the columns test and tests are empty");
  const said = answer(rollout);
  if (!said.trim()) return { score: 0, reason: "there is no answer" };
  const report = run(extract(said, language), tests, { language, entry_point, fuel, setup, stop_at_first: all_or_nothing });
  const metrics = { tests: report.total };
  for (const verdict of VERDICTS) metrics[verdict] = report.tests.filter((t) => t.verdict === verdict).length;
  if (report.stopped && stopped === "unscored") {
    const { name, verdict, message } = report.stopped;
    return { ...invalid(`${verdict}: ${name}: ${message}`), metrics };
  }
  return { score: all_or_nothing ? Number(report.all_passed) : report.passed / report.total, reason: String(report), metrics };
}
