// What ECMAScript leaves to the engine: the last bit may differ.
export default ({ messages }) => {
  const n = messages.at(-1).content?.length ?? 0;
  return Math.sin(n) + Math.exp(-n / 97) + Math.log1p(n) + Math.pow(n + 1, 1 / 3) + Math.tanh(n / 9) + Math.cbrt(n);
};
