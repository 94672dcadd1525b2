// The exports through which Merit drives QuickJS-NG. A value is the address of a cell that
// holds it; a function that returns a value returns a cell of its own, which
// qjs_free_value gives back. QuickJS is part of this file, so that the compiler sees its
// functions where they are called; build.sh lets it call those that are declared here.
#include "quickjs.h"

typedef struct JSString JSString;
static JSValue parse_json(JSContext *context, const char *text, size_t size);
static int string_indexof_char(JSString *string, int c, int from);

#include "quickjs.c"

#include "json.c"
#include "search.c"

#define EXPORT(name) __attribute__((export_name(#name))) name

static JSRuntime *runtime;
static JSContext *context;

static JSValue *cell(JSValue value) {
  JSValue *at = malloc(sizeof *at);
  if (at) *at = value;
  return at;
}

static JSValue *borrowed(JSValueConst value) { return cell(JS_DupValue(context, value)); }

void *EXPORT(wasm_malloc)(size_t size) { return malloc(size); }
void EXPORT(wasm_free)(void *at) { free(at); }

// QuickJS counts memory, to know when to collect garbage, but does not know that wasi-libc
// tells the size of a block.
static void *callocated(void *_, size_t count, size_t size) { return calloc(count, size); }
static void *mallocated(void *_, size_t size) { return malloc(size); }
static void freed(void *_, void *at) { free(at); }
static void *reallocated(void *_, void *at, size_t size) { return realloc(at, size); }
static size_t usable(const void *at) { return malloc_usable_size((void *)at); }
static const JSMallocFunctions memory = {callocated, mallocated, freed, reallocated, usable};

// Built-in functions come into being when they are used first, which would be in each
// evaluation, since none keeps what another has done.
static int make_builtins(void) {
  struct list_head *el;
  list_for_each(el, &runtime->gc_obj_list) { // new objects join at its end
    JSObject *p = list_entry(el, JSObject, header.link);
    if (JS_GC_TYPE(&p->header) != JS_GC_OBJ_TYPE_JS_OBJECT) continue;
    for (int i = 0; i < p->shape->prop_count; i++) {
      JSShapeProperty *property = get_shape_prop(p->shape) + i;
      if ((property->flags & JS_PROP_TMASK) != JS_PROP_AUTOINIT || property->atom == JS_ATOM_NULL) continue;
      if (JS_AutoInitProperty(context, p, property->atom, &p->prop[i], property)) return -1;
    }
  }
  return 0;
}

int EXPORT(qjs_init)(void) {
  runtime = JS_NewRuntime2(&memory, NULL);
  if (!runtime) return 1;
  JS_SetGCThreshold(runtime, 3 << 19); // before the memory grows
  context = JS_NewContext(runtime);
  return context ? make_builtins() : 1;
}

void EXPORT(qjs_set_max_stack_size)(size_t size) { JS_SetMaxStackSize(runtime, size); }

JSValue *EXPORT(qjs_eval)(const char *code, size_t size, const char *file, int flags) { return cell(JS_Eval(context, code, size, file, flags)); }

// Values.
JSValue *EXPORT(qjs_new_string)(const char *text, size_t size) { return cell(JS_NewStringLen(context, text, size)); }
JSValue *EXPORT(qjs_get_undefined)(void) { return cell(JS_UNDEFINED); }
JSValue *EXPORT(qjs_get_global)(void) { return cell(JS_GetGlobalObject(context)); }
JSValue *EXPORT(qjs_dup_value)(JSValue *value) { return borrowed(*value); }
void EXPORT(qjs_free_value)(JSValue *value) {
  if (!value) return;
  JS_FreeValue(context, *value);
  free(value);
}

int EXPORT(qjs_is_exception)(JSValue *value) { return JS_IsException(*value); }
int EXPORT(qjs_is_undefined)(JSValue *value) { return JS_IsUndefined(*value); }
int EXPORT(qjs_is_string)(JSValue *value) { return JS_IsString(*value); }
int EXPORT(qjs_is_promise)(JSValue *value) { return JS_IsPromise(*value); }

const char *EXPORT(qjs_get_string)(JSValue *value) { return JS_ToCString(context, *value); }
const char *EXPORT(qjs_get_string_len)(JSValue *value, size_t *size) {
  const char *text = JS_ToCStringLen(context, size, *value);
  if (!text) *size = 0;
  return text;
}
void EXPORT(qjs_free_cstring)(const char *text) { JS_FreeCString(context, text); }

void *EXPORT(qjs_get_array_buffer)(JSValue *value, size_t *size) { return JS_GetArrayBuffer(context, size, *value); }

JSValue *EXPORT(qjs_get_prop_string)(JSValue *object, const char *name) { return cell(JS_GetPropertyStr(context, *object, name)); }
int EXPORT(qjs_set_prop_string)(JSValue *object, const char *name, JSValue *value) { return JS_SetPropertyStr(context, *object, name, JS_DupValue(context, *value)); }

// Calls.
enum { MOST = 80 }; // arguments of a call

JSValue *EXPORT(qjs_call)(JSValue *function, JSValue *self, int count, JSValue **arguments) {
  JSValueConst values[MOST];
  if (count > MOST) return cell(JS_ThrowRangeError(context, "a call of Merit has %d arguments", count));
  for (int i = 0; i < count; i++) values[i] = *arguments[i];
  return cell(JS_Call(context, *function, *self, count, values));
}

JSValue *EXPORT(qjs_get_exception)(void) { return cell(JS_GetException(context)); }

int EXPORT(qjs_is_job_pending)(void) { return JS_IsJobPending(runtime); }
int EXPORT(qjs_execute_pending_job)(void) {
  JSContext *ran;
  return JS_ExecutePendingJob(runtime, &ran);
}
int EXPORT(qjs_promise_state)(JSValue *promise) { return JS_PromiseState(context, *promise); }
JSValue *EXPORT(qjs_promise_result)(JSValue *promise) { return cell(JS_PromiseResult(context, *promise)); }

// Functions of the host: name, self and arguments are lent for the call; what it returns is
// taken. 0 is an exception that is pending.
__attribute__((import_module("env"), import_name("host_call"))) extern JSValue *host_call(const char *name, size_t size, JSValue *self, int count, JSValue **arguments);

static JSValue call_host(JSContext *c, JSValueConst self, int count, JSValueConst *values, int magic, JSValueConst *data) {
  JSValue *lent[MOST];
  size_t size;
  const char *name = JS_ToCStringLen(c, &size, data[0]);
  if (!name || count > MOST) return JS_ThrowRangeError(c, "a function of the host has %d arguments", count);
  for (int i = 0; i < count; i++) lent[i] = borrowed(values[i]);
  JSValue *own = borrowed(self);
  JSValue *answer = host_call(name, size, own, count, lent);
  JS_FreeCString(c, name);
  for (int i = 0; i < count; i++) qjs_free_value(lent[i]);
  qjs_free_value(own);
  if (!answer) return JS_EXCEPTION;
  JSValue value = *answer;
  free(answer);
  return value;
}

JSValue *EXPORT(qjs_new_host_function)(const char *name, size_t size, int length) {
  JSValue data = JS_NewStringLen(context, name, size);
  JSValue function = JS_NewCFunctionData(context, call_host, length, 0, 1, &data);
  JS_FreeValue(context, data);
  return cell(function);
}
