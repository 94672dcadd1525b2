// Package tracespage has the pages of merit ui about what agents did: a list that a
// query filters, and a trace as a timeline of its spans.
//
// What agents wrote is hostile text. It leaves here as JSON, cut to what a page
// shows, with the way to the rest; scripts put it into a page as text, never as
// markup.
package tracespage
