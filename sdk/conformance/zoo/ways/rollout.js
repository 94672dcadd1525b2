// The score is a digest of the messages, the ground truth and the metadata.
const sorted = (v) => (Array.isArray(v) ? v.map(sorted) : v && typeof v === "object" ? Object.fromEntries(Object.keys(v).sort().filter((k) => v[k] != null).map((k) => [k, sorted(v[k])])) : v);

export default ({ messages, ground_truth, metadata }) => {
  const { id, group, task, ...rest } = metadata ?? {};
  const text = JSON.stringify(sorted([messages, ground_truth ?? null, rest]));
  let hash = 2166136261;
  for (const c of text) hash = Math.imul(hash ^ c.codePointAt(0), 16777619) >>> 0;
  return hash;
};
