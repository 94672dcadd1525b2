// Package columns reads and writes Parquet as rows that are JSON objects.
//
// Whoever wrote a file decides what it says about sizes, counts and depths, so
// nothing of it is believed: every list of the footer is measured before it is
// decoded, a page is unpacked into as many bytes as it may have, and values are
// taken from it one by one, without room for all that it claims to hold. The
// footer's format, the schema and the writing are those of parquet-go; its
// decoders of pages are not used, since they allocate what a page says and
// take its counts on trust in assembly.
package columns
