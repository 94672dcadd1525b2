// The list of traces; the URL has the query.
import { h, get, place, go, count, still, visible, ago } from "/assets/frame/dom.js";
import { on } from "/assets/frame/live.js";
import { add } from "/assets/frame/keys.js";
import { facets } from "./facets.js";
import { cost, model, reward, tokens, took } from "./figures.js";
import { rows } from "./rows.js";
import { has, toggle } from "./query.js";

const el = (id) => document.getElementById(id);
const currency = el("list").dataset.currency;
const pause = 120; // ms without a key press before a query is sent

let known = [];       // rows, in the order of the list
let next = "";        // cursor behind the last; empty at the end
let loading = null;   // ends what was asked before
let fetching = false; // the next page
let fresh = [];       // rows that arrived while the reader is further down

const query = () => el("query").value.trim();
const page = (q, after = "") => "/data/traces?" + new URLSearchParams({ q, after });

function row(t) {
  const when = new Date(t.start);
  return h("div", { class: "row", "data-item": t.id, role: "listitem" },
    h("a", { href: "/traces/" + encodeURIComponent(t.id), title: t.id + "\n" + t.start }, when.toISOString().slice(0, 19).replace("T", " ")),
    h("span", { class: "cut" }, visible(t.agent ?? "")),
    h("span", { class: "cut", title: ago(t.start) }, visible(t.task ?? "")),
    h("span", {}, h("span", { class: "tag " + ({ ok: "good", error: "bad" }[t.status] ?? "warn") }, t.status), t.errors ? h("span", { class: "bad small" }, " " + count(t.errors) + (t.errors === 1 ? " error" : " errors")) : null),
    reward(t.reward, "n"), h("span", { class: "n" }, count(t.spans)), model(t, "cut"), tokens(t, "n"), currency ? cost(t, currency, "n") : null, h("span", { class: "n" }, took(t.seconds)));
}

const phone = matchMedia("(max-width: 760px)"); // as in style.css, where the heights are, too

const list = rows(el("window"), el("sheet"), { height: () => (phone.matches ? 124 : 34), draw: row, id: (t) => t.id, more });

el("sheet").addEventListener("click", (e) => {
  const item = e.target.closest("[data-item]");
  if (item && !e.target.closest("a") && !getSelection().toString()) item.querySelector("a").click();
});

function wrong(err) {
  el("wrong").hidden = !err;
  el("wrong").textContent = err ? visible(err.message) : "";
  el("query").setAttribute("aria-invalid", String(Boolean(err)));
}

function nothing(total) {
  el("empty").hidden = known.length > 0;
  el("empty").textContent = query() ? "No traces match the query." :
    "This store has no traces yet. Start “merit traces proxy --upstream URL” or “merit traces collect” and let an agent work: its traces appear here as they arrive.";
  if (total !== undefined) el("total").textContent = count(total) + (total === 1 ? " trace" : " traces");
}

// load sends the query again: first for the rows, then for the counts.
async function load() {
  loading?.abort();
  const mine = loading = new AbortController();
  const q = query();
  try {
    const got = await get(page(q), mine.signal);
    if (mine !== loading) return;
    known = got.rows;
    next = got.next ?? "";
    fetching = false;
    fresh = [];
    el("fresh").hidden = true;
    wrong(null);
    list.top();
    list.set(known);
    nothing();
    el("sheet").dataset.shown = q; // tests wait for it
    await counts(q, mine.signal);
  } catch (err) {
    if (mine === loading && err.name !== "AbortError") wrong(err);
  }
}

async function counts(q, signal) {
  const got = await get("/data/traces/counts?" + new URLSearchParams({ q }), signal);
  await still();
  if (q !== query()) return;
  nothing(got.traces);
  facets(el("facets"), got, q, (text) => { el("query").value = text; changed(true); });
}

// more loads the next page.
async function more() {
  if (!next || fetching) return;
  fetching = true;
  const q = query(), mine = loading;
  try {
    const got = await get(page(q, next), mine.signal);
    if (mine !== loading) return;
    const have = new Set(known.map((t) => t.id));
    known = known.concat(got.rows.filter((t) => !have.has(t.id)));
    next = got.next ?? "";
    fetching = false;
    list.set(known);
  } catch (err) {
    if (mine !== loading || err.name === "AbortError") return;
    wrong(err);
    setTimeout(() => { fetching = false; }, 2000); // scrolling retries
  }
}

// follow shows changes: existing rows in their place, new ones at the top or, if the reader
// is further down, behind a button.
async function follow(topics) {
  const q = query(), mine = loading;
  const changed = new Set(topics.map((t) => t.replace(/^trace\//, "")));
  if (changed.has("*")) for (const r of el("sheet").children) changed.add(r.dataset.item); // reload all shown rows
  const there = known.filter((t) => changed.has(t.id)).slice(0, 100).map((t) => t.id);
  const [head, seen] = await Promise.all([get(page(q)), there.length ? get(page(q + " id=" + there.join(","))) : { rows: [] }]);
  await still();
  if (mine !== loading || q !== query()) return;
  const now = new Map([...seen.rows, ...head.rows].map((t) => [t.id, t]));
  const gone = new Set(there.filter((id) => !now.has(id))); // no longer match the query
  const have = new Set(known.map((t) => t.id));
  known = known.filter((t) => !gone.has(t.id)).map((t) => now.get(t.id) ?? t);
  fresh = has(q, "order", "oldest") ? [] : head.rows.filter((t) => !have.has(t.id));
  if (has(q, "order", "oldest") && !next) await tail(q);
  if (known.length === 0 || fresh.length === head.rows.length && fresh.length > 0) { await load(); return; }
  if (list.atTop()) takeIn();
  list.set(known);
  el("fresh").hidden = fresh.length === 0;
  el("fresh").textContent = count(fresh.length) + (fresh.length === 1 ? " new trace" : " new traces");
  nothing();
  await counts(q, mine.signal);
}

// tail loads rows that were added at the end.
async function tail(q) {
  const have = new Set(known.map((t) => t.id));
  const last = known.at(-1);
  const got = await get(page(q + (last ? " since=" + last.start : "")));
  known = known.concat(got.rows.filter((t) => !have.has(t.id)));
  next = got.next ?? "";
}

function takeIn() {
  known = fresh.concat(known);
  fresh = [];
  el("fresh").hidden = true;
}

el("fresh").addEventListener("click", () => { takeIn(); list.top(); list.set(known); });

let typed = 0;
function changed(step) {
  clearTimeout(typed);
  go({ q: query() }, step);
  order();
  load();
}

function order() {
  const oldest = has(query(), "order", "oldest");
  el("order").textContent = oldest ? "oldest first" : "newest first";
  try { sessionStorage.setItem("merit-traces", location.search); } catch { /* storage is off: a trace leads back to all */ }
  el("to-rewards").href = "/rewards?" + new URLSearchParams({ q: query() });
}

el("query").addEventListener("input", () => { clearTimeout(typed); typed = setTimeout(changed, pause); });
el("search").addEventListener("submit", (e) => { e.preventDefault(); changed(true); el("query").blur(); });
const flip = () => { el("query").value = toggle(query(), "order", "oldest"); changed(true); };
el("order").addEventListener("click", flip);
add("o", "newest or oldest first", flip);
add("t", "to the top", () => { takeIn(); list.top(); list.set(known); });
window.addEventListener("popstate", () => { el("query").value = place().get("q") ?? ""; order(); load(); });

let busy = false, again = null;
async function changes(topics) {
  if (busy) { again = [...(again ?? []), ...topics]; return; }
  busy = true;
  try { await follow(topics); } catch (err) { if (err.name !== "AbortError") wrong(err); }
  setTimeout(() => { busy = false; if (again) { const t = again; again = null; changes(t); } }, 1000);
}

el("query").value = place().get("q") ?? "";
order();
load().then(() => on("traces", changes));
