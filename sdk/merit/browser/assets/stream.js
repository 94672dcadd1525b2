// stream follows /events and tells each message: {state} or {topics}.
export function stream(tell) {
  const source = new EventSource("/events");
  let before = false; // there was a connection: what happened since it broke is not known
  source.onopen = () => {
    tell({ state: "live" });
    if (before) tell({ topics: ["*"] });
    before = true;
  };
  source.onmessage = (e) => tell({ topics: JSON.parse(e.data) });
  source.onerror = () => {
    tell({ state: "offline" });
    if (source.readyState === EventSource.CLOSED) setTimeout(() => stream(tell), 5000); // refused: the browser gives up by itself
  };
  return source;
}
