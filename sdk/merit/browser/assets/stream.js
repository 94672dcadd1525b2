// stream follows /events and tells each message: {state} or {topics}.
export function stream(tell) {
  const source = new EventSource("/events");
  source.onopen = () => {
    tell({ state: "live" });
    tell({ topics: ["*"] }); // what happened before there was a connection is not known
  };
  source.onmessage = (e) => tell({ topics: JSON.parse(e.data) });
  source.onerror = () => {
    tell({ state: "offline" });
    if (source.readyState === EventSource.CLOSED) setTimeout(() => stream(tell), 5000); // refused: the browser gives up by itself
  };
  return source;
}
