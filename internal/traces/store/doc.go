// Package store keeps traces in the tables of an SQL database: a file of SQLite, or
// a Postgres server. The few words in which the two differ are a dialect.
//
// The tables, the same in every database:
//
//	traces    a row a trace: its head, kept up to date on every write
//	agents    which agents have spans in a trace, by time: for queries
//	metadata  a digest of each value of a trace's metadata: for queries
//	spans     a row a span: its JSON without the conversation of a prompt
//	messages  the conversations: each message once, with the one before it
//	rewards   what a trace's total is computed from
//	state     counters: version, the last change, bytes
//
// A prompt's row refers to the last message that the model was given; that
// message refers to the one before, and so on. A conversation that grows by two
// messages a call is kept in two rows a call.
//
// One transaction writes at a time, in all processes together: a change has a
// number, numbers become visible in their order, and whoever asks what has
// changed since one of them misses nothing. Writers of one process share
// transactions, so that their number does not matter.
package store
