package wasmtest

// Section encodes one section.
func Section(id byte, content string) string {
	return string([]byte{id}) + U32(uint32(len(content))) + content
}

// Vec encodes a vector: the number of items and the items.
func Vec(items ...string) string {
	n := 0
	for _, s := range items {
		n += len(s)
	}
	b := append(make([]byte, 0, n+5), U32(uint32(len(items)))...)
	for _, s := range items {
		b = append(b, s...)
	}
	return string(b)
}

// Name encodes a name: its length and its bytes.
func Name(s string) string { return U32(uint32(len(s))) + s }

// U32 encodes an unsigned LEB128 number.
func U32(v uint32) string {
	var b []byte
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return string(append(b, byte(v)))
}

// S64 encodes a signed LEB128 number.
func S64(v int64) string {
	var b []byte
	for ; v < -64 || v > 63; v >>= 7 {
		b = append(b, byte(v&0x7f)|0x80)
	}
	return string(append(b, byte(v&0x7f)))
}

// typeTable gives each signature its index, in order of first use.
type typeTable struct {
	list  []string
	index map[string]int
}

func (t *typeTable) of(params, results Types) string {
	key := signature(params, results)
	i, ok := t.index[key]
	if !ok {
		i = len(t.list)
		t.list = append(t.list, key)
		t.index[key] = i
	}
	return U32(uint32(i))
}

func signature(params, results Types) string {
	return "\x60" + Name(string(params)) + Name(string(results))
}

func (s Size) encode() string {
	if s.Max == 0 {
		return "\x00" + U32(s.Min)
	}
	return "\x01" + U32(s.Min) + U32(s.Max)
}

func (f Func) encode() string {
	var runs []string
	for i := 0; i < len(f.Locals); {
		n := 1
		for i+n < len(f.Locals) && f.Locals[i+n] == f.Locals[i] {
			n++
		}
		runs = append(runs, U32(uint32(n))+string(f.Locals[i:i+1]))
		i += n
	}
	return Name(Vec(runs...) + string(f.Body+End))
}

func (g Global) encode() string {
	zero := map[Types]Code{
		I32: I32Const(0), I64: I64Const(0), F32: F32Const(0), F64: F64Const(0), V128: V128Const(0, 0),
		FuncRef: RefNull(FuncRef), ExternRef: RefNull(ExternRef),
	}
	mutable := "\x00"
	if g.Mutable {
		mutable = "\x01"
	}
	return string(g.Type) + mutable + string(or(g.Init, zero[g.Type])+End)
}

func (e Elem) encode() string {
	funcs := Vec(each(e.Funcs, U32)...)
	if e.Passive {
		return "\x01\x00" + funcs
	}
	return "\x00" + string(I32Const(e.Offset)+End) + funcs
}

func (d Data) encode() string {
	if d.Passive {
		return "\x01" + Name(d.Bytes)
	}
	return "\x00" + string(I32Const(d.Offset)+End) + Name(d.Bytes)
}

func each[T any](items []T, encode func(T) string) []string {
	list := make([]string, len(items))
	for i, item := range items {
		list[i] = encode(item)
	}
	return list
}

func or[T ~string](value, otherwise T) T {
	if value == "" {
		return otherwise
	}
	return value
}
