// Runs a reward in JavaScript in Node as Merit's contract says: one rollout in,
// a number, a boolean or an object with a score out. Arguments: the file, the
// data, the folder of sdk/js. It prints what native.py does.
import { readFileSync } from "node:fs";
import { register } from "node:module";
import { pathToFileURL } from "node:url";

const [file, data, sdk] = process.argv.slice(2);
const merit = pathToFileURL(`${sdk}/merit.js`).href;
register("data:text/javascript," + encodeURIComponent(`export const resolve = (name, context, next) => name === "merit" ? { url: ${JSON.stringify(merit)}, shortCircuit: true, format: "module" } : next(name, context);
export const load = async (url, context, next) => next(url, url.endsWith(".js") ? { ...context, format: "module" } : context);`));
console.log = () => {};

const text = (t) => JSON.parse(t);
const print = (list) => process.stdout.write(JSON.stringify(list) + "\n");
const rows = readFileSync(data, "utf8").trimEnd().split("\n").map(text);
const known = ["id", "group", "task", "messages", "prompt", "completion", "ground_truth", "metadata"];

function rollout(row) {
  const as = (v, role) => (typeof v === "string" ? [{ role, content: v }] : v);
  const messages = row.messages ?? [...as(row.prompt, "user"), ...as(row.completion, "assistant")];
  const columns = Object.fromEntries(Object.entries(row).filter(([k]) => !known.includes(k)));
  return { id: row.id, messages, ground_truth: row.ground_truth, metadata: { ...row.metadata, ...columns } };
}

function score(result) {
  if (typeof result === "boolean") return Number(result);
  if (typeof result === "object" && result !== null) return result.error ? { error: "error" } : result.is_score_valid === false ? null : score(result.score);
  if (typeof result !== "number") return { error: "TypeError" };
  return Number.isFinite(result) ? result : Number.isNaN(result) ? "nan" : result > 0 ? "inf" : "-inf";
}

try {
  const module = await import(pathToFileURL(file).href);
  const reward = module.default ?? module.reward;
  const out = [];
  for (const row of rows) {
    try {
      out.push(score(await reward(rollout(row))));
    } catch (e) {
      out.push({ error: e.name });
    }
  }
  print(out);
} catch (e) {
  print(rows.map(() => ({ error: e.name })));
}
