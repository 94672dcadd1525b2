// Package label has the statistics of what people say about the work of
// agents: how far raters agree, and what pairs that were compared come to as
// scores. It knows no trace and no store.
package label
