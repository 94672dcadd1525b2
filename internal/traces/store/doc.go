// Package store stores traces in the tables of an SQL database: a file of SQLite, or
// a Postgres server. A dialect holds the differences between the two.
//
// The tables, the same in every database:
//
//	traces    one row per trace: its head, updated on every write
//	agents    which agents have spans in a trace, by time: for queries
//	metadata  a digest of each value of a trace's metadata: for queries
//	spans     one row per span: its JSON without the conversation of a prompt
//	messages  the conversations: each message once, with its predecessor
//	rewards   the scores from which a trace's total is computed
//	state     counters: version, the last change, bytes
//
// A prompt's row refers to the last message of the model's input; that message refers
// to the one before, and so on. A conversation that grows by two messages per call
// takes two rows per call.
//
// Only one transaction at a time writes, across all processes. Changes are numbered,
// and the numbers become visible in order, so that a reader who asks for changes
// after a number misses none. Writers of one process share transactions, so that
// many writers are as fast as one.
package store
