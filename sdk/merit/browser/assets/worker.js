// One stream for all tabs.
import { stream } from "./stream.js";

const ports = new Set();
let state = { state: "offline" };

self.onconnect = (e) => {
  const port = e.ports[0];
  ports.add(port);
  port.onmessage = (m) => { if (m.data === "bye") ports.delete(port); };
  port.postMessage(state);
};

stream((message) => {
  if (message.state) state = message;
  for (const port of ports) port.postMessage(message);
});
