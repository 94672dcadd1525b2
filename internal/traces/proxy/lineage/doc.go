// Package lineage finds the place of a model call: its trace, and the branch of it.
//
// A trace is a tree. Its trunk is the conversation that began it. A branch begins where an
// agent lets a sub-agent work, replaces its history by a summary, tries a call again, or
// changes its history. A harness may say so in headers; otherwise the messages show it:
//
//   - A call continues the conversation that is a prefix of its messages.
//   - It begins a sub-agent if its first message is an argument of a call of a tool that
//     has not returned yet.
//   - It follows a compaction if it shares the head of a longer conversation, or if it has
//     the same system prompt and tools as another one and repeats lines of its answer.
//
// Where several traces fit, the call begins another trace: splitting one conversation does
// less harm than merging two.
package lineage
