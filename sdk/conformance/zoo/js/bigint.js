// BigInt, Map, Set, generators, destructuring, labels, sort with a comparer, Intl-free text.
function* words(text) {
  for (const w of text.split(/\s+/)) if (w) yield w.toLowerCase();
}

export default function ({ messages, ...rest }) {
  const text = messages.filter((m) => m.role === "assistant").map((m) => m.content ?? "").join(" ");
  const counts = new Map();
  for (const w of words(String(text))) counts.set(w, (counts.get(w) ?? 0) + 1);
  const top = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).slice(0, 3);
  const hash = [...new Set(top.flat())].reduce((h, v) => (h * 31n + BigInt(String(v).codePointAt(0))) % 1_000_003n, 7n);
  return Number(hash) + counts.size / 100 + Object.keys(rest).includes("ground_truth");
}
