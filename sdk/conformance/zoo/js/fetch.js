export default async function ({ messages }) {
  try {
    const r = await fetch("http://127.0.0.1:9/judge", { method: "POST", body: JSON.stringify(messages) });
    return (await r.json()).score;
  } catch {
    return 0;
  }
}
