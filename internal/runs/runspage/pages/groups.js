// Steps that saw one state light up together; h and l walk through members.
import { add } from "../frame/keys.js";

const table = document.getElementById("sides");

function light(anchor) {
  for (const c of table.querySelectorAll("td.same")) c.classList.remove("same");
  if (anchor === undefined || anchor === "-1") return;
  for (const c of table.querySelectorAll("td[data-anchor]")) if (c.dataset.anchor === anchor) c.classList.add("same");
}

table.addEventListener("pointerover", (e) => light(e.target.closest("td[data-anchor]")?.dataset.anchor));
table.addEventListener("pointerleave", () => light());
table.addEventListener("focusin", (e) => light(e.target.closest("td[data-anchor]")?.dataset.anchor));

// walk moves the focus to the step of the member beside, in the same row.
function walk(by) {
  const links = [...(document.querySelector("[data-item].at") ?? table.querySelector("[data-item]")).querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  links[Math.max(0, Math.min(links.length - 1, at < 0 ? 0 : at + by))]?.focus();
}
table.addEventListener("at", (e) => {
  const column = document.activeElement?.closest?.("td")?.cellIndex;
  if (column !== undefined) e.target.cells[column]?.querySelector("a")?.focus();
});
add("l", "member to the right", () => walk(1));
add("h", "member to the left", () => walk(-1));
add("[", "iteration before", () => document.getElementById("prev")?.click());
add("]", "iteration after", () => document.getElementById("next")?.click());
