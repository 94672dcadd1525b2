// One stream for all tabs.
import { stream } from "./stream.js";

const ports = new Set();
let state = { state: "offline" };

self.onconnect = (e) => {
  const port = e.ports[0];
  ports.add(port);
  port.onmessage = (m) => { if (m.data === "bye") ports.delete(port); };
  port.postMessage(state);
  if (state.state === "live") port.postMessage({ topics: ["*"] }); // what happened since its page was made is not known
};

stream((message) => {
  if (message.state) state = message;
  for (const port of ports) port.postMessage(message);
});
