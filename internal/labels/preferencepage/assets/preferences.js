// Asks one question after the other; a key answers it.
import { h, get, post, count, say, visible } from "/assets/frame/dom.js";
import { add } from "/assets/frame/keys.js";

const el = (id) => document.getElementById(id);
const answers = [["1", "left", "left is better"], ["=", "equal", "neither"], ["2", "right", "right is better"], ["s", "skip", "skip"]];

let queue = { items: [], done: 0, total: 0 };
let before = []; // questions that were answered here, the last at the end
let busy = false;

const lines = (all) => all.map((l) => h("div", { class: "spoken" }, h("span", { class: "soft" }, visible(l.who)), h("pre", {}, visible(l.text))));

async function load() {
  if (!el("question").dataset.rater) return;
  try {
    queue = await get("/data/preferences");
    draw();
  } catch (err) { say(err.message); }
}

// draw shows the first question of the queue.
function draw() {
  const item = queue.items[0];
  el("progress").textContent = count(queue.done) + " of " + count(queue.total);
  el("part").max = Math.max(1, queue.total);
  el("part").value = queue.done;
  el("question").hidden = !item;
  el("empty").hidden = Boolean(item);
  if (!item) {
    delete el("question").dataset.shown;
    el("empty").textContent = queue.total === 0 ? "Both did the same from every start: there is nothing to compare." : "That was all. Thank you.";
    return;
  }
  el("choices").replaceChildren(...answers.map(([key, choice, words]) => h("button", { type: "button", "data-choice": choice, onclick: () => answer(choice) }, h("kbd", {}, key), " " + words)));
  el("common").hidden = item.common.length === 0;
  el("common").replaceChildren(...lines(item.common));
  el("left").replaceChildren(h("b", {}, "left"), ...lines(item.left));
  el("right").replaceChildren(h("b", {}, "right"), ...lines(item.right));
  window.scrollTo(0, 0);
  el("question").dataset.shown = item.pair; // tests wait for it
}

// answer sends the choice for the shown question, and continues with the next.
async function answer(choice) {
  const item = queue.items[0];
  if (!item || busy) return;
  busy = true;
  try {
    await post("/do/prefer", { pair: item.pair, choice });
    say("");
    if (!item.again) queue.done++;
    before.push({ ...item, again: true });
    queue.items.shift();
    if (queue.items.length) draw(); else await load();
  } catch (err) { say(err.message); }
  busy = false;
}

// back shows the last question again: another answer replaces the first.
function back() {
  const item = before.pop();
  if (!item || busy) return;
  queue.items.unshift(item);
  draw();
}

for (const [key, choice, words] of answers) add(key, words, () => answer(choice));
add("z", "back to the last question", back);
load();
