export default ({ ground_truth }) => ground_truth.name.length;
