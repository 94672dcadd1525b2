// Scores rollouts with a JavaScript reward: node score.mjs REWARD < one rollout a line > one score a line.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const module = await import(pathToFileURL(process.argv[2]));
const reward = module.default || module.reward;
for (const line of readFileSync(0, "utf8").split("\n")) {
  if (!line) continue;
  const result = await reward(JSON.parse(line));
  console.log(Number(typeof result === "object" ? result.score : result));
}
