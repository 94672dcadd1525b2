// JSON.parse for texts that are right and usual: it reads strings 16 bytes at a time, makes
// an object at once if another one has had the same keys, and does not count lines. For any
// other text it returns JS_UNINITIALIZED, and QuickJS's own reader starts again, which knows
// what to say of it.
#include <wasm_simd128.h>

// What is read but not part of an object or array yet: values, with a key if it is one of
// an object.
typedef struct {
  JSAtom key;
  JSValue value;
} Held;

typedef struct {
  JSContext *context;
  const uint8_t *at, *end;
  Held *held;
  int count, room;
} Reader;

static JSValue read_value(Reader *r);

static inline void skip_space(Reader *r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r')) r->at++;
}

static inline bool next_is(Reader *r, uint8_t c) {
  skip_space(r);
  if (r->at == r->end || *r->at != c) return false;
  r->at++;
  return true;
}

static bool hold(Reader *r, JSAtom key, JSValue value) {
  if (r->count == r->room) {
    int room = r->room ? 2 * r->room : 32;
    Held *held = js_realloc(r->context, r->held, room * sizeof *held);
    if (!held) {
      JS_FreeAtom(r->context, key);
      JS_FreeValue(r->context, value);
      return false;
    }
    r->held = held;
    r->room = room;
  }
  r->held[r->count++] = (Held){key, value};
  return true;
}

// plain_end returns where a string stops to be plain: at a quote, a backslash, a control
// character or one outside of ASCII.
static const uint8_t *plain_end(const uint8_t *at, const uint8_t *end) {
  const v128_t quote = wasm_i8x16_splat('"'), escape = wasm_i8x16_splat('\\'), space = wasm_i8x16_splat(' ');
  for (; at + 16 <= end; at += 16) {
    v128_t text = wasm_v128_load(at);
    // As signed numbers, control characters and those outside of ASCII are less than a space.
    v128_t other = wasm_v128_or(wasm_i8x16_lt(text, space), wasm_v128_or(wasm_i8x16_eq(text, quote), wasm_i8x16_eq(text, escape)));
    uint32_t found = wasm_i8x16_bitmask(other);
    if (found) return at + __builtin_ctz(found);
  }
  while (at < end && (int8_t)*at >= ' ' && *at != '"' && *at != '\\') at++;
  return at;
}

// read_mixed reads the rest of a string that is not plain.
static JSValue read_mixed(Reader *r, const uint8_t *from) {
  StringBuffer buffer, *b = &buffer;
  const uint8_t *at = from, *next;
  if (string_buffer_init(r->context, b, 64)) return JS_EXCEPTION;
  for (;;) {
    next = plain_end(at, r->end);
    if (next > at && string_buffer_write8(b, at, next - at)) goto failed;
    at = next;
    if (at == r->end || *at < ' ') goto unusual;
    uint32_t c = *at++;
    if (c == '"') break;
    if (c >= 0x80) {
      c = utf8_decode(at - 1, &next);
      if (next == at) goto unusual;
      at = next;
    } else if (at == r->end) {
      goto unusual;
    } else {
      switch (c = *at++) {
        case 'b': c = '\b'; break;
        case 'f': c = '\f'; break;
        case 'n': c = '\n'; break;
        case 'r': c = '\r'; break;
        case 't': c = '\t'; break;
        case '"': case '\\': case '/': break;
        case 'u':
          if (r->end - at < 4) goto unusual;
          c = 0;
          for (int i = 0; i < 4; i++) {
            int digit = from_hex(*at++);
            if (digit < 0) goto unusual;
            c = c << 4 | digit;
          }
          break;
        default: goto unusual;
      }
    }
    if (string_buffer_putc(b, c)) goto failed;
  }
  r->at = at;
  return string_buffer_end(b);
unusual:
  string_buffer_free(b);
  return JS_UNINITIALIZED;
failed:
  return JS_EXCEPTION; // the buffer is free
}

// read_string reads a string after its quote.
static JSValue read_string(Reader *r) {
  const uint8_t *from = r->at, *to = plain_end(from, r->end);
  if (to == r->end || *to != '"') return read_mixed(r, from);
  r->at = to + 1;
  return to == from ? js_empty_string(r->context->rt) : js_new_string8_len(r->context, (const char *)from, to - from);
}

// read_key reads a key after its quote; JS_ATOM_NULL is a failure, or an unusual key.
static JSAtom read_key(Reader *r) {
  const uint8_t *from = r->at, *to = plain_end(from, r->end);
  if (to == r->end || *to != '"') return JS_ATOM_NULL;
  r->at = to + 1;
  return JS_NewAtomLen(r->context, (const char *)from, to - from);
}

static inline bool digit(Reader *r) { return r->at < r->end && *r->at >= '0' && *r->at <= '9'; }

static JSValue read_number(Reader *r) {
  const uint8_t *from = r->at;
  bool negative = *from == '-', whole = true;
  r->at += negative;
  const uint8_t *first = r->at;
  int32_t value = 0;
  for (; digit(r); r->at++)
    if (r->at - first < 9) value = 10 * value + *r->at - '0';
  if (r->at == first || (*first == '0' && r->at - first > 1)) return JS_UNINITIALIZED;
  whole = r->at - first <= 9 && !(negative && value == 0);
  if (r->at < r->end && *r->at == '.') {
    whole = false;
    r->at++;
    if (!digit(r)) return JS_UNINITIALIZED;
    while (digit(r)) r->at++;
  }
  if (r->at < r->end && (*r->at | 0x20) == 'e') {
    whole = false;
    r->at++;
    if (r->at < r->end && (*r->at == '+' || *r->at == '-')) r->at++;
    if (!digit(r)) return JS_UNINITIALIZED;
    while (digit(r)) r->at++;
  }
  if (whole) return js_int32(negative ? -value : value);
  return js_float64(strtod((const char *)from, NULL)); // the text ends with a NUL
}

// shape_of returns the shape of objects with these keys, or NULL if there is none.
static JSShape *shape_of(JSContext *context, const Held *held, int count) {
  JSRuntime *rt = context->rt;
  JSObject *proto = JS_VALUE_GET_OBJ(context->class_proto[JS_CLASS_OBJECT]);
  uint32_t hash = shape_initial_hash(proto);
  for (int i = 0; i < count; i++) hash = shape_hash(shape_hash(hash, held[i].key), JS_PROP_C_W_E);
  JSShape *shape = rt->shape_hash[get_shape_hash(hash, rt->shape_hash_bits)];
  for (; shape; shape = shape->shape_hash_next) {
    if (shape->hash != hash || shape->proto != proto || shape->prop_count != count || shape->deleted_prop_count) continue;
    const JSShapeProperty *property = get_shape_prop(shape);
    int i = 0;
    while (i < count && property[i].atom == held[i].key && property[i].flags == JS_PROP_C_W_E) i++;
    if (i == count) return shape;
  }
  return NULL;
}

// object makes an object of what is held since from.
static JSValue object(Reader *r, int from) {
  JSContext *context = r->context;
  Held *held = r->held + from;
  int count = r->count - from;
  JSShape *shape = count ? shape_of(context, held, count) : NULL;
  JSValue value = shape ? JS_NewObjectFromShape(context, js_dup_shape(shape), JS_CLASS_OBJECT, NULL) : JS_NewObject(context);
  if (JS_IsException(value)) return value;
  if (shape) {
    JSProperty *property = JS_VALUE_GET_OBJ(value)->prop;
    for (int i = 0; i < count; i++) {
      property[i].u.value = held[i].value;
      JS_FreeAtom(context, held[i].key);
    }
    r->count = from;
    return value;
  }
  for (int i = 0; i < count; i++) {
    JSAtom key = held[i].key;
    JSValue part = held[i].value;
    held[i] = (Held){JS_ATOM_NULL, JS_UNDEFINED};
    int done = JS_DefinePropertyValue(context, value, key, part, JS_PROP_C_W_E);
    JS_FreeAtom(context, key);
    if (done < 0) {
      JS_FreeValue(context, value);
      return JS_EXCEPTION;
    }
  }
  r->count = from;
  return value;
}

static JSValue read_object(Reader *r) {
  int from = r->count;
  if (next_is(r, '}')) return object(r, from);
  do {
    if (!next_is(r, '"')) return JS_UNINITIALIZED;
    JSAtom key = read_key(r);
    if (key == JS_ATOM_NULL) return JS_HasException(r->context) ? JS_EXCEPTION : JS_UNINITIALIZED;
    JSValue value = next_is(r, ':') ? read_value(r) : JS_UNINITIALIZED;
    if (JS_IsException(value) || JS_IsUninitialized(value)) {
      JS_FreeAtom(r->context, key);
      return value;
    }
    if (!hold(r, key, value)) return JS_EXCEPTION;
  } while (next_is(r, ','));
  return next_is(r, '}') ? object(r, from) : JS_UNINITIALIZED;
}

static JSValue read_array(Reader *r) {
  int from = r->count;
  if (next_is(r, ']')) return JS_NewArray(r->context);
  do {
    JSValue value = read_value(r);
    if (JS_IsException(value) || JS_IsUninitialized(value)) return value;
    if (!hold(r, JS_ATOM_NULL, value)) return JS_EXCEPTION;
  } while (next_is(r, ','));
  if (!next_is(r, ']')) return JS_UNINITIALIZED;
  JSValue array = JS_NewArray(r->context);
  JSObject *p = JS_IsException(array) ? NULL : JS_VALUE_GET_OBJ(array);
  int count = r->count - from;
  if (!p) return array;
  if (expand_fast_array(r->context, p, count) < 0) {
    JS_FreeValue(r->context, array);
    return JS_EXCEPTION;
  }
  for (int i = 0; i < count; i++) p->u.array.u.values[i] = r->held[from + i].value;
  p->u.array.count = count;
  p->prop[0].u.value = js_int32(count);
  r->count = from;
  return array;
}

static bool word(Reader *r, const char *rest, int size) {
  if (r->end - r->at < size || memcmp(r->at, rest, size)) return false;
  r->at += size;
  return true;
}

static JSValue read_value(Reader *r) {
  if (js_check_stack_overflow(r->context->rt, 0)) return JS_UNINITIALIZED;
  skip_space(r);
  if (r->at == r->end) return JS_UNINITIALIZED;
  switch (*r->at) {
    case '"': r->at++; return read_string(r);
    case '{': r->at++; return read_object(r);
    case '[': r->at++; return read_array(r);
    case 't': return word(r, "true", 4) ? JS_TRUE : JS_UNINITIALIZED;
    case 'f': return word(r, "false", 5) ? JS_FALSE : JS_UNINITIALIZED;
    case 'n': return word(r, "null", 4) ? JS_NULL : JS_UNINITIALIZED;
    default: return read_number(r);
  }
}

static JSValue parse_json(JSContext *context, const char *text, size_t size) {
  Reader r = {context, (const uint8_t *)text, (const uint8_t *)text + size};
  JSValue value = read_value(&r);
  skip_space(&r);
  if (r.at != r.end && !JS_IsException(value)) {
    JS_FreeValue(context, value);
    value = JS_UNINITIALIZED;
  }
  for (int i = 0; i < r.count; i++) {
    JS_FreeAtom(context, r.held[i].key);
    JS_FreeValue(context, r.held[i].value);
  }
  js_free(context, r.held);
  return JS_IsUninitialized(value) ? JS_ParseJSON_internal(context, text, size, "<input>", NULL) : value;
}
