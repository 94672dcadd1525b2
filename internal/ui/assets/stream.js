// stream follows /events and tells each message: {state} or {topics, version}.
// Versions count what was published: a page of version N has missed nothing up
// to N. Since is the version that is known, null if none is.
export function stream(tell, since) {
  let last = since;
  const source = new EventSource("/events");
  let begins = false;
  source.onopen = () => { begins = true; tell({ state: "live" }); };
  source.onmessage = (e) => {
    const { version, topics } = JSON.parse(e.data);
    const missed = begins && last !== null && version !== last; // the first of a connection says where it begins
    begins = false;
    last = version;
    tell({ version, topics: missed ? ["*"] : topics });
  };
  source.onerror = () => {
    tell({ state: "offline" });
    if (source.readyState === EventSource.CLOSED) setTimeout(() => stream(tell, last), 5000); // refused: the browser gives up by itself
  };
}
