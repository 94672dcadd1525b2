// A list that keeps only the rows in the window in the page, so that a hundred thousand
// rows scroll like ten.
const overscan = 12; // rows above and below the window

// rows shows items in a scrolling box. Options: height() of a row in pixels,
// draw(item) creates a row, id(item) identifies it, more() is called near the end.
export function rows(box, sheet, { height, draw, id, more }) {
  let items = [];
  const drawn = new Map(); // id → {el, item}

  function show() {
    const high = height();
    sheet.style.height = items.length * high + "px";
    const first = Math.max(0, Math.floor(box.scrollTop / high) - overscan);
    const last = Math.min(items.length, Math.ceil((box.scrollTop + box.clientHeight) / high) + overscan);
    const wanted = new Set();
    let before = null;
    for (let i = first; i < last; i++) {
      const item = items[i], key = id(item);
      wanted.add(key);
      let one = drawn.get(key);
      if (!one || one.item !== item) {
        const el = draw(item);
        if (one) {
          if (one.el.classList.contains("at")) el.classList.add("at");
          one.el.replaceWith(el);
        }
        drawn.set(key, one = { el, item });
      }
      one.el.style.top = i * high + "px"; // the policy lets scripts, not pages, set styles
      const at = before ? before.nextSibling : sheet.firstChild;
      if (one.el !== at) sheet.insertBefore(one.el, at); // keys follow the order in the page
      before = one.el;
    }
    for (const [key, one] of drawn) {
      if (wanted.has(key)) continue;
      one.el.remove();
      drawn.delete(key);
    }
    if (last > items.length - 3 * overscan) more();
  }

  let waiting = 0;
  const soon = () => { waiting ||= requestAnimationFrame(() => { waiting = 0; show(); }); };
  box.addEventListener("scroll", soon, { passive: true });
  new ResizeObserver(soon).observe(box);

  return {
    // set shows other items; keep leaves the window at what it showed.
    set(all, keep = 0) {
      items = all;
      sheet.style.height = items.length * height() + "px";
      if (keep) box.scrollTop += keep * height();
      show();
    },
    top() { box.scrollTop = 0; },
    atTop: () => box.scrollTop < height(),
  };
}
