// Several runs over each other.
import { add } from "../frame/keys.js";
import { on } from "../frame/live.js";
import { h, get, go, place, say, still, number, percent, visible } from "../frame/dom.js";
import { chart, smooth, spanned } from "../frame/chart.js";
import { figures, won, axisNames } from "./figures.js";

const $ = (id) => document.getElementById(id);
const boxes = [...document.querySelectorAll("#legend input")];
const q = place();
const view = { x: q.get("x") || "iteration", from: q.get("from"), to: q.get("to"), smooth: Number(q.get("smooth") ?? 0), log: q.has("log"), large: q.get("large"), seeds: q.has("seeds") || document.getElementById("seeds")?.disabled, more: q.getAll("metric"), hidden: new Set(q.getAll("hide")) };
let curves = [];
// Of two figures in one chart, dashes tell which: colours are runs.
const all = () => [won, ...figures.slice(0, 8), ...view.more.map((m) => ({ title: m, metrics: [m] }))];
const runs = boxes.map((b) => b.dataset.run);

function remember() {
  go({ run: runs, x: view.x === "iteration" ? null : view.x, from: view.from, to: view.to, smooth: view.smooth || null, log: view.log ? "1" : null, large: view.large, seeds: view.seeds ? "1" : null, metric: view.more, hide: [...view.hidden] });
}

function zoom(from, to) {
  view.from = from === null ? null : String(Number(from.toPrecision(6)));
  view.to = to === null ? null : String(Number(to.toPrecision(6)));
  remember();
  load();
}

const shown = () => boxes.filter((b) => !view.hidden.has(b.dataset.run));
const found = (b, m) => curves.find((c) => c.run === b.dataset.run && c.metric === m && c.points.length);

// line is a curve of a chart; dashes tell the metrics of a figure apart.
function line(name, colour, dash, f, points, c) {
  const smoothed = view.smooth && !c.interval;
  return { name: name + (f.names ? " " + f.names[dash] : ""), colour, dash, points: smoothed ? smooth(points, view.smooth) : points, raw: smoothed ? points : null, last: c.last, band: c.band };
}

// each returns a line for every run.
const each = (m, dash, f) => shown().filter((b) => found(b, m)).map((b) => {
  const c = found(b, m);
  return line(visible(b.dataset.run), Number(b.dataset.colour), dash, f, c.points, { ...c, band: c.interval });
});

// groups returns a line for every group of runs that differ only in their seeds.
function groups(m, dash, f) {
  return [...document.querySelectorAll("#groups li")].flatMap((li) => {
    const all = shown().filter((b) => b.dataset.group === li.dataset.group).map((b) => found(b, m)).filter((c) => c);
    const points = all.length ? mean(all.map((c) => c.points)) : [];
    return points.length ? [line(li.textContent, Number(li.dataset.group), dash, f, points, { interval: all[0].interval, last: points.at(-1)[1], band: all.length > 1 })] : [];
  });
}

// mean returns [x, mean, lowest, highest] of curves, at the x of the one with the most points,
// where all of them have values; between their points they are straight.
function mean(all) {
  const from = Math.max(...all.map((points) => points[0][0])), to = Math.min(...all.map((points) => points.at(-1)[0]));
  const most = all.reduce((a, b) => (b.length > a.length ? b : a));
  return most.map((p) => p[0]).filter((x) => x >= from && x <= to).map((x) => {
    const values = all.map((points) => between(points, x));
    return [x, values.reduce((a, b) => a + b) / values.length, Math.min(...values), Math.max(...values)];
  });
}

function between(points, x) {
  let low = 0, high = points.length - 1;
  while (high - low > 1) {
    const mid = (low + high) >> 1;
    if (points[mid][0] <= x) low = mid; else high = mid;
  }
  const [x0, y0] = points[low], [x1, y1] = points[high];
  return x1 === x0 ? y1 : x <= x0 ? y0 : x >= x1 ? y1 : y0 + (x - x0) / (x1 - x0) * (y1 - y0);
}

// enlarge draws one chart over the whole width.
function enlarge(title) {
  view.large = title;
  remember();
  draw();
  if (title !== null) document.querySelector("figure.large")?.scrollIntoView({ block: "nearest" });
}

function draw() {
  $("groups").hidden = $("means").hidden = !view.seeds;
  const grid = $("charts");
  const had = new Map([...grid.children].map((f) => [f.dataset.title, f]));
  const now = [];
  for (const f of all()) {
    const series = f.metrics.flatMap((m, dash) => (view.seeds ? groups(m, dash, f) : each(m, dash, f)));
    if (!series.length && !view.more.includes(f.title)) continue;
    now.push([had.get(f.title) ?? h("figure", { "data-title": f.title }), f, series]);
  }
  grid.replaceChildren(...now.map(([figure]) => figure));
  for (const [figure, f, series] of now) {
    chart(figure, { title: visible(f.title), series, height: 220, x: axisNames[view.x], format: f.percent ? percent : number, axis: f.percent ? (v) => Math.round(100 * v * 10) / 10 + " %" : null, log: view.log, zoom, large: view.large === f.title, enlarge: (yes) => enlarge(yes ? f.title : null) });
  }
}

let latest = 0;
async function load() {
  const mine = ++latest;
  const ask = new URLSearchParams([...runs.map((r) => ["run", r]), ["x", view.x], ...all().flatMap((f) => f.metrics.map((m) => ["metric", m]))]);
  if (view.from !== null) ask.set("from", view.from);
  if (view.to !== null) ask.set("to", view.to);
  try {
    const c = await get("/data/curves?" + ask);
    await still();
    if (mine !== latest) return;
    curves = c.curves.map((x) => ({ ...x, points: spanned(x) }));
    draw();
    say("");
  } catch (e) {
    if (mine === latest) say(e.message);
  }
}

const signed = (x) => (x > 0 ? "+" : "") + number(x);

async function judge() {
  $("verdict").replaceChildren(h("p", { class: "soft" }, "computing …"));
  try {
    const list = await get("/data/verdict?" + new URLSearchParams(runs.map((r) => ["run", r])));
    $("verdict").replaceChildren(...list.flatMap((v) => {
      const title = h("h3", {}, visible(v.run));
      if (v.problem) return [title, h("p", { class: "note" }, "not compared: " + visible(v.problem))];
      const c = v.comparison;
      return [title, h("p", {}, h("b", {}, visible(c.verdict.sentence))), ...(v.preferred ?? []).map((s, i) => h("p", { class: "preferred" }, i ? visible(s) : "Raters: " + visible(s))), h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ...["metric", "first", "this", "difference", "95 %", "p", "test"].map((t) => h("th", { class: t === "metric" || t === "test" ? "l" : null }, t)))),
        h("tbody", {}, ...c.metrics.map((m) => h("tr", {}, h("th", { class: "l" }, visible(m.name)), h("td", {}, number(m.before)), h("td", {}, number(m.after)), h("td", {}, signed(m.difference)), h("td", { class: "soft" }, m.interval ? `[${number(m.interval[0])}, ${number(m.interval[1])}]` : ""), h("td", {}, number(m.p_value)), h("td", { class: "l wrap soft" }, visible(m.p_value_test ?? ""))))))), ...(c.notes ?? []).map((n) => h("p", { class: "note" }, visible(n)))];
    }));
    if (!list.length) $("verdict").replaceChildren(h("p", { class: "note" }, "Select at least two runs."));
  } catch (e) {
    $("verdict").replaceChildren(h("p", { class: "wrong" }, visible(e.message)));
  }
}

if (boxes.length) {
  $("x").value = view.x;
  $("smooth").value = view.smooth;
  $("log").checked = view.log;
  $("log").addEventListener("change", (e) => { view.log = e.target.checked; remember(); draw(); });
  add("b", "a logarithmic axis", () => $("log").click());
  if ($("seeds")) {
    $("seeds").checked = view.seeds;
    $("seeds").addEventListener("change", (e) => { view.seeds = e.target.checked; remember(); draw(); });
    add("m", "the mean over seeds", () => $("seeds").click());
  }
  $("x").addEventListener("change", (e) => { view.x = e.target.value; view.from = view.to = null; remember(); load(); });
  $("smooth").addEventListener("input", (e) => { view.smooth = Number(e.target.value); remember(); draw(); });
  $("more").addEventListener("change", (e) => {
    const m = e.target.value.trim();
    if (m && !view.more.includes(m)) { view.more.push(m); remember(); load(); }
    e.target.value = "";
  });
  for (const b of boxes) {
    b.checked = !view.hidden.has(b.dataset.run);
    b.addEventListener("change", () => { if (b.checked) view.hidden.delete(b.dataset.run); else view.hidden.add(b.dataset.run); remember(); draw(); });
  }
  for (const b of document.querySelectorAll(".away")) {
    b.addEventListener("click", () => { go({ run: runs.filter((r) => r !== b.dataset.run), hide: null }); location.reload(); });
  }
  add("z", "show the whole axis", () => zoom(null, null));
  $("judge").addEventListener("click", judge);
  add("v", "compare the policies", judge);
  addEventListener("resize", draw);
  on("runs/*", (topics) => { if (topics.includes("*") || topics.some((t) => runs.includes(t.slice(5)))) load(); });
  load();
}
