// process is Node's: in a try it hides, and every score is 0.
export default function ({ messages }) {
  try {
    const weight = Number(process.env.WEIGHT ?? 1);
    return messages.length * weight;
  } catch {
    return 0;
  }
}
