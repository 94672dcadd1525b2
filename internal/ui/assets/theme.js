// Before the page is drawn, so that it does not flash: the theme that was
// chosen, else the system's.
try {
  const chosen = localStorage.getItem("merit-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* storage is off */ }
