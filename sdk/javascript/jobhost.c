/*
 * jobhost.c: what a job in JavaScript runs on. It starts QuickJS, gives the functions of the host to the module
 * "jobhost" (jobhost.js), and evaluates the job's script, which is a part of the module of WebAssembly as jobhost.js is.
 *
 * The functions below are the module "jobhost:native". They take and return numbers, text and bytes, and refuse with a
 * JH_E number; jobhost.js makes exceptions of those.
 */
#include <dirent.h>
#include <errno.h>

#include "jobhost.h"
#include "quickjs.h"

/* EMBED puts a file into the data of the module, with a NUL after it, between two names. */
#define EMBED(name, file)                                                                                           \
  __asm__(".section .rodata." #name ",\"\",@\n" #name ":\n.incbin \"" file "\"\n" #name "_end:\n.int8 0\n.size " #name ", " #name \
          "_end-" #name "+1\n.text\n");                                                                              \
  extern const char name[], name##_end[];

EMBED(script, SCRIPT)
EMBED(library, "jobhost.js")

#ifdef MANIFEST
JH_MANIFEST_FILE("manifest.json")
#endif

static const char boot[] = "import * as script from '" SCRIPT "'; import { begin } from 'jobhost'; begin(script.default);";

static int status = -1;                /* the exit code; -1 while the job has not ended */
static JSValue lost = JS_UNDEFINED;    /* a promise that was rejected with nobody to hear it, and why */
static JSValue reason = JS_UNDEFINED;

/* Arguments. */

/* bytes is an argument as UTF-8, or as it is if it is an ArrayBuffer or a view of one. */
typedef struct {
  const char *ptr;
  uint32_t len;
  int text; /* ptr is to be freed */
} bytes;

static int take(JSContext *js, JSValueConst v, bytes *to) {
  size_t len = 0, offset = 0;
  *to = (bytes){NULL, 0, 0};
  if (JS_IsObject(v)) {
    to->ptr = (const char *)JS_GetArrayBuffer(js, &len, v);
    if (to->ptr == NULL) {
      JS_FreeValue(js, JS_GetException(js));
      JSValue buffer = JS_GetTypedArrayBuffer(js, v, &offset, &len, NULL);
      if (JS_IsException(buffer)) {
        JS_FreeValue(js, JS_GetException(js));
        JS_ThrowTypeError(js, "want text or bytes, not another object");
        return 0;
      }
      size_t all;
      to->ptr = (const char *)JS_GetArrayBuffer(js, &all, buffer) + offset;
      JS_FreeValue(js, buffer); /* the view holds it */
    }
  } else if (JS_IsUndefined(v)) {
    JS_ThrowTypeError(js, "want text or bytes, not undefined");
    return 0;
  } else {
    to->ptr = JS_ToCStringLen(js, &len, v);
    if (to->ptr == NULL) return 0;
    to->text = 1;
  }
  to->len = (uint32_t)len;
  return 1;
}

static void drop(JSContext *js, bytes b) {
  if (b.text) JS_FreeCString(js, b.ptr);
}

/* TAKE declares bytes for an argument; drop them. */
#define TAKE(name, i) \
  bytes name;         \
  if (!take(js, argv[i], &name)) return JS_EXCEPTION

static int take_int(JSContext *js, JSValueConst v, int64_t *to) {
  double d;
  if (JS_ToFloat64(js, &d, v) < 0) return 0;
  *to = d >= 0x1p63 ? INT64_MAX : d > -0x1p63 ? (int64_t)d : d <= -0x1p63 ? INT64_MIN : 0;
  return 1;
}

/* TAKE_INT declares a whole number for an argument; what is no number is 0. */
#define TAKE_INT(name, i) \
  int64_t name;           \
  if (!take_int(js, argv[i], &name)) return JS_EXCEPTION

#define FUNCTION(name) static JSValue native_##name(JSContext *js, JSValueConst self, int argc, JSValueConst *argv)

/* given is text that a function of the host filled in, or its error number. */
static JSValue given(JSContext *js, char *text, int32_t n) {
  JSValue v = n < 0 ? JS_NewInt32(js, n) : JS_NewStringLen(js, text, (size_t)n);
  free(text);
  return v;
}

static void free_buffer(JSRuntime *rt, void *opaque, void *ptr) {
  free(ptr);
}

/* read_all reads to the end of a response or a file into an ArrayBuffer; more than most bytes are JH_ETOOLARGE. Either the
 * file is NULL or there is no handle. */
static JSValue read_all(JSContext *js, int32_t handle, FILE *file, int64_t most) {
  size_t size = 0, cap = 16 << 10;
  char *buf = malloc(cap);
  for (;;) {
    if (buf == NULL) return JS_ThrowOutOfMemory(js);
    int32_t n = file == NULL ? jh_http_read(handle, buf + size, (uint32_t)(cap - size)) : (int32_t)fread(buf + size, 1, cap - size, file);
    if (file != NULL && ferror(file)) n = JH_EFAILED;
    if (n > 0 && (int64_t)size + n > most) n = JH_ETOOLARGE;
    if (n < 0) return free(buf), JS_NewInt32(js, n);
    if (n == 0) return JS_NewArrayBuffer(js, (uint8_t *)buf, size, free_buffer, NULL, 0);
    size += (size_t)n;
    if (size == cap) {
      char *longer = realloc(buf, cap *= 2);
      if (longer == NULL) free(buf);
      buf = longer;
    }
  }
}

/* The run. */

FUNCTION(run) {
  int32_t n;
  char *text = jh_run_all(&n);
  return given(js, text, n);
}

FUNCTION(output) {
  TAKE(text, 0);
  jh_output(text.ptr, text.len);
  drop(js, text);
  return JS_UNDEFINED;
}

FUNCTION(log) {
  TAKE_INT(level, 0);
  TAKE(text, 1);
  jh_log((int32_t)level, text.ptr, text.len);
  drop(js, text);
  return JS_UNDEFINED;
}

FUNCTION(progress) {
  TAKE_INT(done, 0);
  TAKE_INT(total, 1);
  TAKE(text, 2);
  jh_progress(done, total, text.ptr, text.len);
  drop(js, text);
  return JS_UNDEFINED;
}

FUNCTION(cancelled) {
  return JS_NewBool(js, jh_cancelled());
}

FUNCTION(deadline_ms) {
  return JS_NewInt64(js, jh_deadline_ms());
}

FUNCTION(sleep_ms) {
  TAKE_INT(ms, 0);
  return JS_NewInt32(js, jh_sleep_ms(ms));
}

/* Durable values. */

FUNCTION(kv_get) {
  TAKE(key, 0);
  char *value;
  int32_t n;
  JH_FILL(value, n, jh_kv_get(key.ptr, key.len, buf, cap));
  drop(js, key);
  return given(js, value, n);
}

FUNCTION(kv_set) {
  TAKE(key, 0);
  TAKE(value, 1);
  int32_t n = jh_kv_set(key.ptr, key.len, value.ptr, value.len);
  drop(js, key), drop(js, value);
  return JS_NewInt32(js, n);
}

FUNCTION(kv_delete) {
  TAKE(key, 0);
  int32_t n = jh_kv_delete(key.ptr, key.len);
  drop(js, key);
  return JS_NewInt32(js, n);
}

FUNCTION(kv_list) {
  TAKE(prefix, 0);
  char *keys;
  int32_t n;
  JH_FILL(keys, n, jh_kv_list(prefix.ptr, prefix.len, buf, cap));
  drop(js, prefix);
  return given(js, keys, n);
}

/* HTTP. */

FUNCTION(http_send) {
  TAKE(head, 0);
  TAKE(body, 1);
  int32_t handle = jh_http_send(head.ptr, head.len, body.ptr, body.len);
  drop(js, head), drop(js, body);
  return JS_NewInt32(js, handle);
}

FUNCTION(http_status) {
  TAKE_INT(handle, 0);
  return JS_NewInt32(js, jh_http_status((int32_t)handle));
}

FUNCTION(http_headers) {
  TAKE_INT(handle, 0);
  char *headers;
  int32_t n;
  JH_FILL(headers, n, jh_http_headers((int32_t)handle, buf, cap));
  return given(js, headers, n);
}

FUNCTION(http_read) {
  TAKE_INT(handle, 0);
  TAKE_INT(most, 1);
  return read_all(js, (int32_t)handle, NULL, most);
}

FUNCTION(http_close) {
  TAKE_INT(handle, 0);
  jh_http_close((int32_t)handle);
  return JS_UNDEFINED;
}

/* Spans. */

FUNCTION(span_start) {
  TAKE(name, 0);
  int32_t id = jh_span_start(name.ptr, name.len);
  drop(js, name);
  return JS_NewInt32(js, id);
}

FUNCTION(span_end) {
  TAKE_INT(id, 0);
  jh_span_end((int32_t)id, JS_ToBool(js, argv[1]));
  return JS_UNDEFINED;
}

FUNCTION(span_attr) {
  TAKE_INT(id, 0);
  TAKE(key, 1);
  TAKE(value, 2);
  jh_span_attr((int32_t)id, key.ptr, key.len, value.ptr, value.len);
  drop(js, key), drop(js, value);
  return JS_UNDEFINED;
}

FUNCTION(event) {
  TAKE(name, 0);
  jh_event(name.ptr, name.len);
  drop(js, name);
  return JS_UNDEFINED;
}

/* Files of the granted directories. What the system refuses is returned as text. */

static JSValue refused(JSContext *js) {
  return JS_NewString(js, errno == ENOTCAPABLE ? "in no directory that the operator has granted so" : strerror(errno));
}

FUNCTION(file_read) { /* undefined: there is no such file */
  TAKE(path, 0);
  FILE *f = fopen(path.ptr, "rb");
  drop(js, path);
  if (f == NULL) return errno == ENOENT ? JS_UNDEFINED : refused(js);
  JSValue content = read_all(js, 0, f, INT64_MAX);
  if (JS_IsNumber(content)) content = refused(js);
  fclose(f);
  return content;
}

FUNCTION(file_write) {
  TAKE(path, 0);
  TAKE(content, 1);
  FILE *f = fopen(path.ptr, JS_ToBool(js, argv[2]) ? "ab" : "wb");
  int ok = f != NULL && fwrite(content.ptr, 1, content.len, f) == content.len;
  if (f != NULL && fclose(f) != 0) ok = 0;
  drop(js, path), drop(js, content);
  return ok ? JS_UNDEFINED : refused(js);
}

FUNCTION(file_list) {
  TAKE(path, 0);
  DIR *dir = opendir(path.ptr);
  drop(js, path);
  if (dir == NULL) return refused(js);
  JSValue names = JS_NewArray(js);
  uint32_t n = 0;
  for (struct dirent *e; (e = readdir(dir)) != NULL;)
    if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) JS_SetPropertyUint32(js, names, n++, JS_NewString(js, e->d_name));
  closedir(dir);
  return names;
}

FUNCTION(text) { /* bytes as UTF-8 */
  TAKE(b, 0);
  JSValue v = JS_NewStringLen(js, b.ptr, b.len);
  drop(js, b);
  return v;
}

/* list is an array of text. */
static JSValue list(JSContext *js, char **from) {
  JSValue v = JS_NewArray(js);
  for (uint32_t i = 0; from != NULL && from[i] != NULL; i++) JS_SetPropertyUint32(js, v, i, JS_NewString(js, from[i]));
  return v;
}

static char **arguments;
extern char **environ;

FUNCTION(args) {
  return list(js, arguments);
}

FUNCTION(env) {
  return list(js, environ);
}

/* The end. */

/* property is a property of an exception as text, or NULL. */
static const char *property(JSContext *js, JSValueConst v, const char *name) {
  JSValue p = JS_IsObject(v) ? JS_GetPropertyStr(js, v, name) : JS_UNDEFINED;
  const char *text = JS_IsString(p) ? JS_ToCString(js, p) : NULL;
  JS_FreeValue(js, p);
  return text;
}

/* failed says what was thrown: with its code if it has one, and else with its stack. Nothing that it does may throw. */
static void failed(JSContext *js, JSValueConst e) {
  char text[4096]; /* the host's limit */
  const char *what = JS_IsNull(e) ? NULL : JS_ToCString(js, e);
  const char *code = property(js, e, "code"), *stack = property(js, e, "stack");
  JSValue permanent = JS_IsObject(e) ? JS_GetPropertyStr(js, e, "permanent") : JS_UNDEFINED;
  int final = JS_ToBool(js, permanent) == 1, n;
  if (what == NULL) what = "null was thrown, as it is when there is no memory left for an error";
  n = snprintf(text, sizeof text, code == NULL && stack != NULL && stack[0] != '\0' ? "%s\n%s" : "%s", what, stack);
  if ((size_t)n >= sizeof text) n = sizeof text - 1;
  while (n > 0 && text[n - 1] == '\n') n--;
  jh_fail(code, code == NULL ? 0 : (uint32_t)strlen(code), text, (uint32_t)n, final);
  status = final ? JH_PERMANENT : 1;
}

FUNCTION(end) { /* of the job's function: with nothing, or with what it threw */
  if (argc == 0) status = JH_SUCCESS;
  else failed(js, argv[0]);
  return JS_UNDEFINED;
}

/* Starting. */

#define F(name, length) JS_CFUNC_DEF(#name, length, native_##name)
static const JSCFunctionListEntry functions[] = {
    F(run, 0), F(output, 1), F(log, 2), F(progress, 3), F(cancelled, 0), F(deadline_ms, 0), F(sleep_ms, 1),
    F(kv_get, 1), F(kv_set, 2), F(kv_delete, 1), F(kv_list, 1),
    F(http_send, 2), F(http_status, 1), F(http_headers, 1), F(http_read, 2), F(http_close, 1),
    F(span_start, 1), F(span_end, 2), F(span_attr, 3), F(event, 1),
    F(file_read, 1), F(file_write, 3), F(file_list, 1), F(text, 1), F(args, 0), F(env, 0), F(end, 0),
};

static int export(JSContext *js, JSModuleDef *m) { return JS_SetModuleExportList(js, m, functions, sizeof functions / sizeof functions[0]); }

/* module finds what is imported: the job's script and the two modules of this SDK. */
static JSModuleDef *module(JSContext *js, const char *name, void *opaque) {
  const char *from = library, *to = library_end;
  if (strcmp(name, "jobhost:native") == 0) {
    JSModuleDef *m = JS_NewCModule(js, name, export);
    if (m != NULL) JS_AddModuleExportList(js, m, functions, sizeof functions / sizeof functions[0]);
    return m;
  }
  if (strcmp(name, SCRIPT) == 0) {
    from = script, to = script_end;
  } else if (strcmp(name, "jobhost") != 0) {
    JS_ThrowReferenceError(js, "there is no module \"%s\": a job is one script, so bundle what it imports", name);
    return NULL;
  }
  JSValue f = JS_Eval(js, from, (size_t)(to - from), name, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY);
  return JS_IsException(f) ? NULL : JS_VALUE_GET_PTR(f); /* the context owns it */
}

/* rejected notes the first promise that nobody listens to; later somebody may. */
static void rejected(JSContext *js, JSValueConst promise, JSValueConst why, JS_BOOL handled, void *opaque) {
  if (!handled && JS_IsUndefined(lost)) {
    lost = JS_DupValue(js, promise), reason = JS_DupValue(js, why);
  } else if (handled && JS_IsObject(lost) && JS_VALUE_GET_PTR(lost) == JS_VALUE_GET_PTR(promise)) {
    JS_FreeValue(js, lost), JS_FreeValue(js, reason);
    lost = reason = JS_UNDEFINED;
  }
}

int main(int argc, char **argv) {
  arguments = argc > 0 ? argv + 1 : NULL;
  JSRuntime *rt = JS_NewRuntime();
  JSContext *js = rt == NULL ? NULL : JS_NewContext(rt), *of = js;
  if (js == NULL) return jh_failf("", 0, "out of memory");
  JS_SetMaxStackSize(rt, STACK / 4 * 3);
  JS_SetModuleLoaderFunc(rt, NULL, module, NULL);
  JS_SetHostPromiseRejectionTracker(rt, rejected, NULL);
  int more = JS_IsException(JS_Eval(js, boot, sizeof boot - 1, "jobhost:boot", JS_EVAL_TYPE_MODULE)) ? -1 : 1;
  while (more > 0) more = JS_ExecutePendingJob(rt, &of);
  if (more < 0) failed(of, JS_GetException(of));
  else if (status < 1 && !JS_IsUndefined(lost)) failed(js, reason);
  if (status < 0) return jh_failf("", 0, "the job waits for a promise that nothing settles");
  return status;
}
