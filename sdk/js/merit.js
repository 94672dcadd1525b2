// The helpers that the sandbox provides as "merit". Nothing here is needed to
// write a reward; everything here is short.

const SPEAKING = ["text", "output_text", "input_text", "refusal", undefined];

/** The content of a message as text: the string, or the text parts joined. */
export function text(message) {
  const content = message.content;
  if (typeof content === "string") return content;
  if (!content) return "";
  return content.map((part) => (SPEAKING.includes(part.type) ? (part.text ?? part.refusal ?? "") : "")).join("");
}

/** The text of the last assistant message, or "". */
export function answer(rollout) {
  const last = rollout.messages.findLast((m) => m.role === "assistant");
  return last ? text(last) : "";
}

/** The assistant messages after the prompt with their step indices: [index, message, place]. */
export function assistants(rollout) {
  const found = [];
  const prompt = rollout.prompt_messages ?? rollout.steps?.[0]?.message_count ?? 0;
  rollout.messages.forEach((message, place) => {
    if (place >= prompt && message.role === "assistant") found.push([found.length, message, place]);
  });
  return found;
}

/** A result that says that there is no valid score. */
export function invalid(reason) {
  return { score: 0, is_score_valid: false, reason };
}

const continuation = (c) => (c & 0xfc00) === 0xdc00;

/** The length of a string in bytes of UTF-8, as rewards in other languages count it. */
export function byteLength(string) {
  let bytes = string.length;
  for (const run of string.match(/[\u0080-\uffff]+/g) ?? []) { // ASCII is passed over by the engine itself
    for (let i = 0; i < run.length; i++) {
      const c = run.charCodeAt(i);
      bytes += c < 0x800 ? 1 : continuation(c) ? 0 : 2;
    }
  }
  return bytes;
}
