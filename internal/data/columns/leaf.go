package columns

import (
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/parquet-go/parquet-go/format"
)

// Memory limits, in bytes: of one decompressed page, and of all columns together.
const (
	maxPage   = 128 << 20
	maxHeld   = 1 << 30
	maxHeader = 1 << 20
)

// leaf is a column of values, and the position of the reader in it.
type leaf struct {
	name     string
	physical format.Type
	meaning  meaning
	width    int  // bytes of a value; 0 for booleans and byte arrays
	bits     uint // of an integer
	scale    int
	unit     time.Duration
	utc      bool

	maxRep, maxDef int

	// Of the row group:
	file       *File
	codec      format.CompressionCodec
	at, end    int64 // of pages in the file
	dictionary *dictionary
	words      []byte // the dictionary's page
	offsets    []uint32
	page       []byte
	left       int // entries left in the page, without the current one
	reps, defs runs
	values     values
	done       bool // no entry is left

	// Of the current entry; levels are 0 once done:
	rep, def int
	unread   bool // it has a value that was not read
}

// open moves to the first entry of a row group.
func (l *leaf) open(f *File, m *format.ColumnMetaData) {
	if m.Type != l.physical {
		throw("the type is %s in the schema, but %s in the row group", l.physical, m.Type)
	}
	l.file, l.codec, l.dictionary, l.values = f, m.Codec, nil, nil
	l.at = start(m)
	l.end = l.at + m.TotalCompressedSize
	l.left, l.done, l.unread = 0, false, false
	l.next()
}

// next moves to the next entry.
func (l *leaf) next() {
	if l.unread {
		l.values.next()
	}
	for l.left == 0 {
		if l.at >= l.end {
			l.done, l.unread, l.rep, l.def = true, false, 0, 0
			return
		}
		l.turn()
	}
	l.left--
	l.rep, l.def = 0, 0
	if l.maxRep > 0 {
		l.rep = int(l.reps.next())
	}
	if l.maxDef > 0 {
		l.def = int(l.defs.next())
	}
	if l.rep > l.maxRep || l.def > l.maxDef {
		throw("levels %d and %d exceed their maximums %d and %d", l.rep, l.def, l.maxRep, l.maxDef)
	}
	l.unread = l.def == l.maxDef
}

// take returns the value of the current entry.
func (l *leaf) take() scalar {
	l.unread = false
	return l.values.next()
}

// turn reads the next page.
func (l *leaf) turn() {
	var head format.PageHeader
	l.header(&head)
	packed := l.file.scratch(int(head.CompressedPageSize))
	if _, err := l.file.in.ReadAt(packed, l.at); err != nil {
		throw("cannot read a page: %v", err)
	}
	l.at += int64(len(packed))
	if head.CRC != 0 && uint32(head.CRC) != crc32.ChecksumIEEE(packed) {
		throw("the checksum of a page is wrong")
	}
	size := int(head.UncompressedPageSize)
	switch head.Type {
	case format.DictionaryPage:
		if l.dictionary != nil || !head.DictionaryPageHeader.Valid || head.DictionaryPageHeader.V.NumValues < 0 {
			throw("its dictionary is invalid, or there are two")
		}
		l.words = l.file.room(l.words, size)
		l.unpack(l.words, packed)
		l.dictionary = newDictionary(l, int(head.DictionaryPageHeader.V.NumValues), l.words)
	case format.DataPage:
		if !head.DataPageHeader.Valid {
			throw("a page lacks the header of its type")
		}
		l.page = l.file.room(l.page, size)
		l.unpack(l.page, packed)
		l.first(&head.DataPageHeader.V, l.page)
	case format.DataPageV2:
		if !head.DataPageHeaderV2.Valid {
			throw("a page lacks the header of its type")
		}
		l.second(&head.DataPageHeaderV2.V, packed, size)
	case format.IndexPage:
	default:
		throw("a page has the unsupported type %d", head.Type)
	}
}

// header reads and checks the header of the next page.
func (l *leaf) header(head *format.PageHeader) {
	for size := int64(1 << 12); ; size = maxHeader {
		size = min(size, l.end-l.at)
		b := l.file.scratch(int(size))
		if _, err := l.file.in.ReadAt(b, l.at); err != nil {
			throw("cannot read a page: %v", err)
		}
		n, err := decode(b, head)
		if err == errShort && size < min(maxHeader, l.end-l.at) {
			continue
		}
		if err != nil {
			throw("the header of a page is invalid: %v", err)
		}
		l.at += int64(n)
		break
	}
	packed, size := int64(head.CompressedPageSize), int64(head.UncompressedPageSize)
	if packed < 0 || size < 0 || packed > l.end-l.at {
		throw("a page of %d bytes, %d decompressed, does not fit into its column", packed, size)
	}
	if packed > maxPage || size > maxPage {
		throw("a page has %d MiB; the maximum is %d: write smaller pages", max(packed, size)>>20, maxPage>>20)
	}
}

func (l *leaf) unpack(out, packed []byte) {
	if err := l.file.unpacker.unpack(l.codec, out, packed); err != nil {
		throw("%v", err)
	}
}

// first opens a data page of version 1: levels with their lengths, then values, all
// compressed.
func (l *leaf) first(h *format.DataPageHeader, data []byte) {
	if h.NumValues < 0 {
		throw("a page has %d entries", h.NumValues)
	}
	l.left = int(h.NumValues)
	if l.maxRep > 0 {
		l.reps, data = levels(data, h.RepetitionLevelEncoding, l.maxRep)
	}
	if l.maxDef > 0 {
		l.defs, data = levels(data, h.DefinitionLevelEncoding, l.maxDef)
	}
	l.begin(h.Encoding, data)
}

// begin opens the values of a page, if there are any.
func (l *leaf) begin(encoding format.Encoding, data []byte) {
	l.values = &plain{kind: format.ByteArray}
	if l.left > 0 && (len(data) > 0 || l.maxDef == 0) {
		l.values = newValues(l, encoding, data)
	}
}

func levels(data []byte, encoding format.Encoding, most int) (runs, []byte) {
	if encoding != format.RLE {
		throw("its levels have the unsupported encoding %s", encoding)
	}
	if len(data) < 4 {
		throw("its levels end too early")
	}
	n := binary.LittleEndian.Uint32(data)
	if uint64(n) > uint64(len(data)-4) {
		throw("its levels end too early")
	}
	return newRuns(data[4:4+n], widthOf(most)), data[4+n:]
}

// second opens a data page of version 2, in which only values are
// compressed.
func (l *leaf) second(h *format.DataPageHeaderV2, packed []byte, size int) {
	rep, def := int(h.RepetitionLevelsByteLength), int(h.DefinitionLevelsByteLength)
	if h.NumValues < 0 || rep < 0 || def < 0 || rep > len(packed) || def > len(packed)-rep || rep+def > size {
		throw("the levels of a page are longer than the page")
	}
	l.page = l.file.room(l.page, size)
	copy(l.page, packed[:rep+def])
	values := l.page[rep+def:]
	if h.IsCompressed.Valid && !h.IsCompressed.V {
		if len(packed)-rep-def != len(values) {
			throw("a page of %d bytes has only %d", size, len(packed))
		}
		copy(values, packed[rep+def:])
	} else if len(values) > 0 {
		l.unpack(values, packed[rep+def:])
	}
	l.left = int(h.NumValues)
	l.reps, l.defs = newRuns(l.page[:rep], widthOf(l.maxRep)), newRuns(l.page[rep:rep+def], widthOf(l.maxDef))
	l.begin(h.Encoding, values)
}
