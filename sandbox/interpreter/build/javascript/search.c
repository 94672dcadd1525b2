// string_indexof_char returns where a character is in a string, 16 bytes at a time, or -1.
// split, indexOf, includes and replaceAll look for the first character with it.
static int string_indexof_char(JSString *string, int c, int from) {
  int at = from, size = string->len;
  if (string->is_wide_char) {
    const uint16_t *text = str16(string);
    const v128_t wanted = wasm_i16x8_splat(c);
    for (; at + 8 <= size; at += 8) {
      uint32_t found = wasm_i16x8_bitmask(wasm_i16x8_eq(wasm_v128_load(text + at), wanted));
      if (found) return at + __builtin_ctz(found);
    }
    while (at < size && text[at] != c) at++;
    return at < size ? at : -1;
  }
  if (c & ~0xff) return -1;
  const uint8_t *text = str8(string);
  const v128_t wanted = wasm_i8x16_splat(c);
  for (; at + 16 <= size; at += 16) {
    uint32_t found = wasm_i8x16_bitmask(wasm_i8x16_eq(wasm_v128_load(text + at), wanted));
    if (found) return at + __builtin_ctz(found);
  }
  while (at < size && text[at] != c) at++;
  return at < size ? at : -1;
}
