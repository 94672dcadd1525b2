// The way over the ice: 1 at the goal, and 0.2 for every step that comes closer to it.
//
// With back = 0 a step away costs nothing, so who goes back and forth is paid for ever: the loophole. With back = 1 it
// gives back what the step towards the goal had paid. Then only arriving pays (Ng, Harada and Russell 1999: differences
// of a potential do not change which policy is best).
import { assistants, text } from "merit";

export const merit = { name: "closer" };

export default function (rollout, { back = 0 } = {}) {
  let at = null;
  for (const message of rollout.messages) {
    if (message.role === "user") { at = distance(text(message)); break; }
  }
  const step_outputs = [];
  let score = 0;
  for (const [step_index, , place] of assistants(rollout)) {
    const now = distance(text(rollout.messages[place + 1]));
    const nearer = at - now;
    const base_reward = 0.2 * (nearer < 0 ? back * nearer : nearer) + (now === 0 ? 1 : 0);
    step_outputs.push({ step_index, base_reward });
    score += base_reward;
    at = now;
  }
  return { score, step_outputs };
}

// Moves from the player (@, or X in a hole) to the goal in the last corner, without regard to holes; 0 at the goal (*).
function distance(board) {
  const width = board.indexOf("\n");
  const rows = (board.length + 1) / (width + 1);
  const player = Math.max(board.indexOf("@"), board.indexOf("X"));
  if (player < 0) return 0;
  const y = Math.floor(player / (width + 1));
  return rows - 1 - y + width - 1 - (player - y * (width + 1));
}
