// Sums and roots, whose every bit is fixed.
export default function ({ messages }) {
  const n = messages.map((m) => (typeof m.content === "string" ? m.content.length : 0)).reduce((a, b) => a + b, 0);
  let x = 0;
  for (let i = 0; i < n; i++) x += 0.1;
  return x + Math.sqrt(n) + Math.fround(n / 3) + Math.round(-2.5) + (0.1 + 0.2) * n;
}
