// Counts its calls: 10 for the warm-up, 1 for an evaluation. Every score is 11.
let calls = 0;

export function warmUp() {
  calls += 10;
}

export default () => ++calls;
