export default ({ messages }) => {
  if (messages.length > 2) return 1;
};
