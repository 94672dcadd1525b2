// One run: curves, red flags and outcomes, as they come.
import { add } from "../frame/keys.js";
import { on } from "../frame/live.js";
import { h, get, go, place, say, still, number, percent, count, visible } from "../frame/dom.js";
import { chart, smooth, spanned } from "../frame/chart.js";
import { figures, won, special, axisNames, left, runs } from "./figures.js";

const $ = (id) => document.getElementById(id);
const run = $("lead").dataset.run;
const q = place();
const view = { x: q.get("x") || "iteration", from: q.get("from"), to: q.get("to"), smooth: Number(q.get("smooth") ?? 0), log: q.has("log"), large: q.get("large"), more: q.getAll("metric") };
let state = null, curves = new Map();
// measured are the figures that this run has and others do not: what its environment and its rewards measured.
const measured = [...document.querySelectorAll("#metrics option")].map((o) => o.value).filter((m) => m.startsWith("outputs/metrics/")).slice(0, 30).map((m) => ({ title: m.slice(16), metrics: [m] }));
const has = new Set([...document.querySelectorAll("#metrics option")].map((o) => o.value));
const all = () => [won, ...figures, ...special.filter((f) => has.has(f.metrics[0])), ...measured, ...view.more.map((m) => ({ title: m, metrics: [m] }))];

function remember() {
  go({ x: view.x === "iteration" ? null : view.x, from: view.from, to: view.to, smooth: view.smooth || null, log: view.log ? "1" : null, large: view.large, metric: view.more });
}

function zoom(from, to) {
  view.from = from === null ? null : String(Number(from.toPrecision(6)));
  view.to = to === null ? null : String(Number(to.toPrecision(6)));
  remember();
  load();
}

// enlarge draws one chart over the whole width.
function enlarge(title) {
  view.large = title;
  remember();
  draw();
  if (title !== null) document.querySelector("figure.large")?.scrollIntoView({ block: "nearest" });
}

// marks are the red flags, where the axis counts iterations.
function marks() {
  if (view.x !== "iteration" || !state) return [];
  return state.flags.map((a) => ({ x: a.iteration, kind: a.level, title: `${a.name}: ${visible(a.evidence)}` }));
}

function draw() {
  const grid = $("charts");
  const had = new Map([...grid.children].map((f) => [f.dataset.title, f]));
  const now = [];
  for (const f of all()) {
    const series = f.metrics.map((m, i) => {
      const c = curves.get(m);
      if (!c) return null;
      const measured = c.interval;
      return { name: f.names?.[i] ?? m, colour: i, points: measured ? c.points : smooth(c.points, view.smooth), raw: measured || !view.smooth ? null : c.points, last: c.last, band: measured, dots: measured && c.points.length < 40 };
    }).filter((s) => s?.points.length);
    if (!series.length && !view.more.includes(f.title)) continue;
    const figure = had.get(f.title) ?? h("figure", { "data-title": f.title });
    now.push([figure, f, series]);
  }
  grid.replaceChildren(...now.map(([figure]) => figure)); // in the page first: a chart is as wide as its place
  for (const [figure, f, series] of now) {
    chart(figure, { title: visible(f.title), series, marks: marks(), x: axisNames[view.x], format: f.percent ? percent : number, axis: f.percent ? (v) => Math.round(100 * v * 10) / 10 + " %" : null, log: view.log, zoom, large: view.large === f.title, enlarge: (yes) => enlarge(yes ? f.title : null) });
  }
}

function tell() {
  const s = state;
  const lead = [s.finished ? "finished" : runs(s) ? "running" : "not finished", `iteration ${count(s.iterations)}${s.of && !s.finished ? " of " + count(s.of) : ""}`, `${count(s.env_steps)} steps`];
  if (runs(s) && s.left !== undefined) lead.push(left(s));
  $("progress").hidden = s.finished || !s.of;
  $("progress").max = s.of || 1;
  $("progress").value = s.iterations;
  if (s.success !== null) lead.push(`best validation ${percent(s.success)} [${(100 * s.low).toFixed(1)}, ${(100 * s.high).toFixed(1)}]`);
  $("lead").textContent = lead.join(" · ");
  $("noflags").hidden = s.flags.length > 0;
  $("flags").hidden = s.flags.length === 0;
  $("flags").tBodies[0].replaceChildren(...s.flags.map((a) => h("tr", {},
    h("td", {}, count(a.iteration)), h("td", { class: "l" }, h("span", { class: "tag " + (a.level === "alarm" ? "bad" : "warn") }, visible(a.name))),
    h("td", { class: "l wrap" }, visible(a.evidence)), h("td", { class: "l wrap soft" }, visible(a.advice), ...(a.restart ? [h("br"), h("code", {}, visible(a.restart))] : [])),
    h("td", { class: "l" }, ...(a.trajectories ?? []).slice(0, 3).flatMap((t) => [h("a", { href: "/step?" + new URLSearchParams({ run, trajectory: t }) }, visible(t)), h("br")])))));
  $("cautions").textContent = s.cautions.map((c) => `from iteration ${c.iteration + 1} on the learning rate is × ${c.rate}, the clip × ${c.clip}`).join("; ");
  $("outcomes").tBodies[0].replaceChildren(...s.outcomes.map((o) => h("tr", {}, h("th", { class: "l" }, visible(o.name)), h("td", {}, count(o.count)), h("td", {}, percent(o.share)))));
}

let latest = 0;
async function load() {
  const mine = ++latest;
  const ask = new URLSearchParams([["run", run], ["x", view.x], ...all().flatMap((f) => f.metrics.map((m) => ["metric", m]))]);
  if (view.from !== null) ask.set("from", view.from);
  if (view.to !== null) ask.set("to", view.to);
  try {
    const [s, c] = await Promise.all([get("/data/run?run=" + encodeURIComponent(run)), get("/data/curves?" + ask)]);
    await still();
    if (mine !== latest) return;
    if (s.finished && !$("lead").dataset.finished) return location.reload(); // the final table is there now
    state = s;
    curves = new Map(c.curves.map((x) => [x.metric, { ...x, points: spanned(x) }]));
    tell();
    draw();
    say(s.problem ?? "");
  } catch (e) {
    if (mine === latest) say(e.message);
  }
}

$("x").value = view.x;
$("smooth").value = view.smooth;
$("log").checked = view.log;
$("log").addEventListener("change", (e) => { view.log = e.target.checked; remember(); draw(); });
$("x").addEventListener("change", (e) => { view.x = e.target.value; view.from = view.to = null; remember(); load(); });
$("smooth").addEventListener("input", (e) => { view.smooth = Number(e.target.value); remember(); draw(); });
$("more").addEventListener("change", (e) => {
  const m = e.target.value.trim();
  if (m && !view.more.includes(m)) { view.more.push(m); remember(); load(); }
  e.target.value = "";
});
add("b", "a logarithmic axis", () => $("log").click());
add("z", "show the whole axis", () => zoom(null, null));
add("p", "groups side by side", () => { location.href = "/groups?run=" + encodeURIComponent(run); });
add("e", "the step with the largest advantage", () => { location.href = "/step?run=" + encodeURIComponent(run); });
let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; draw(); } });
on("runs/" + run, load);
load();
