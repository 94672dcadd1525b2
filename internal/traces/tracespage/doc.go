// Package tracespage implements the pages of merit ui about what agents did: a list of
// traces with filters, and a trace as a timeline of its spans.
//
// What agents wrote is untrusted. The package sends it as JSON, cut to the size that a
// page shows, with a way to load the rest; scripts insert it into a page as text, never
// as markup.
package tracespage
