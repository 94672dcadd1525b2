// The program's side: runs what a reward does not trust, and answers in JSON.

export function answer(request) {
  const asked = JSON.parse(request);
  try {
    (0, eval)(asked.source);
    return JSON.stringify({ output: "", error: null });
  } catch (e) {
    return JSON.stringify({ output: "", error: { type: e.name, message: e.message, traceback: e.stack } });
  }
}
