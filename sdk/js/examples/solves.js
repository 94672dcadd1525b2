import { answer } from "merit";
import { extract, run } from "merit/code";

const tests = ["assert.equal(add(1, 2), 3)", (add) => add(0.5, 0.5) === 1, { call: ["a", "b"], returns: "ab" }];

export default function (rollout) {
  const report = run(extract(answer(rollout)), tests, { entry_point: "add", fuel: 50_000_000 });
  if (report.stopped) return { score: 0, is_score_valid: false, reason: String(report) };
  return { score: report.passed / report.total, reason: String(report) };
}
