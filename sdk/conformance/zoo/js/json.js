export default function ({ messages, ground_truth }) {
  try {
    const said = JSON.parse(messages.at(-1).content);
    const keys = Object.keys(ground_truth);
    return keys.filter((k) => JSON.stringify(said[k]) === JSON.stringify(ground_truth[k])).length / keys.length;
  } catch (e) {
    console.log("not JSON:", e instanceof SyntaxError);
    return 0;
  }
}
