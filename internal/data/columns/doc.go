// Package columns reads and writes Parquet as rows that are JSON objects.
//
// Input files are untrusted, including the sizes, counts and depths that they declare.
// The package measures every list of the footer before it decodes the list,
// decompresses a page only up to its limit, and reads values one by one, without
// allocating memory for the declared number of values. It uses parquet-go for the
// footer's format, the schema and writing, but not for decoding pages: parquet-go's
// decoders allocate what a page declares, and trust its counts in assembly code.
package columns
