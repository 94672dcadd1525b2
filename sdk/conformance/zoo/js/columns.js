// Columns of the row are keys of its metadata; fields of a message are all there.
export default ({ messages, metadata }) => (metadata.weight ?? 0) % 7 + (messages.at(-1).reasoning_content ?? messages.at(-1).thinking ?? "").length;
