// Lets Node.js find "merit", which the sandbox provides, in this folder: for
// tests without npm install.
export const resolve = (name, context, next) =>
  next(name === "merit" ? new URL("merit.js", import.meta.url).href : name, context);
