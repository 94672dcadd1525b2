// What happens on the server, as names of what changed. All tabs of a browser
// share one stream through a worker: a browser opens only six connections to a
// server, and a stream holds one.
const heard = []; // {topic, run}
const states = [];
let state = "offline";

// on calls run when topic has changed, or when something may have been missed.
// A topic that ends in "*" stands for all that begin so.
export function on(topic, run) {
  heard.push({ topic, run });
}

// onState calls run with "live" or "offline", now and when it changes.
export function onState(run) {
  states.push(run);
  run(state);
}

const fits = (topic, t) => t === "*" || t === topic || topic.endsWith("*") && t.startsWith(topic.slice(0, -1));

function receive(message) {
  if (message.state && message.state !== state) {
    state = message.state;
    for (const run of states) run(state);
  }
  if (!message.topics?.length) return;
  for (const h of heard) if (message.topics.some((t) => fits(h.topic, t))) h.run(message.topics);
}

function alone() {
  import("./stream.js").then(({ stream }) => stream(receive));
}

if (window.SharedWorker) {
  try {
    const worker = new SharedWorker("/assets/frame/worker.js", { type: "module", name: "merit-live" });
    worker.port.onmessage = (e) => receive(e.data);
    worker.onerror = alone;
    window.addEventListener("pagehide", (e) => { if (!e.persisted) worker.port.postMessage("bye"); });
  } catch {
    alone();
  }
} else {
  alone();
}
