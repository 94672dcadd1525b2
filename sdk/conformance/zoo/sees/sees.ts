// As sees.py.
import { Bytes, Output, Rollout, bytes, register } from "../../../assemblyscript/assembly/index";
export { merit_abi_1, merit_alloc, merit_evaluate } from "../../../assemblyscript/assembly/index";

let digest: u32 = 0;

function add(text: Bytes): void {
  for (let i = 0; i < text.length; i++) digest = digest * 31 + text[i];
  digest *= 31; // and a zero
}

register((r: Rollout, out: Output): void => {
  digest = 0;
  for (let i = 0; i < r.messageCount; i++) {
    const m = r.message(i);
    add(m.roleText);
    add(m.content);
    add(m.name);
    add(m.toolCallId);
    for (let k = 0; k < m.toolCallCount; k++) {
      const c = m.toolCall(k);
      add(c.id);
      add(c.name);
      add(c.arguments);
      add(c.type);
    }
    for (let k = 0; k < m.fieldCount; k++) {
      const key = m.fieldAt(k).key;
      add(key);
      add(m.field(key)!.text);
    }
  }
  add(bytes(r.promptMessages.toString()));
  add(bytes(r.promptText ? "y" : "n"));
  add(bytes(r.completionText ? "y" : "n"));
  for (let k = 0; k < r.metadataCount; k++) {
    add(r.metadata(k).key);
    add(r.metadata(k).value.text);
  }
  out.score(<f64>digest);
});
