/*
 * jobhost.h: what a job written in C asks of its host. One header, nothing to link.
 *
 *   - jh_...() as declared below are the functions of the host, module jobhost_v1. docs/abi.md is the contract.
 *   - jh_..._all(), jh_logf(), jh_failf() and jh_json_...() are helpers around them. They need a C library; define
 *     JH_FREESTANDING before the header to do without.
 *
 * A command is a program with a main function. A reactor has JH_JOB { ... return 0; } instead:
 *
 *   clang --target=wasm32-wasi -O2 -o job.wasm job.c
 *   clang --target=wasm32-wasi -O2 -mexec-model=reactor -o job.wasm job.c
 *
 * Compiled for anything but WebAssembly, stand-ins take the host's place: data from standard input, result to standard
 * output, log to standard error, no durable values, no network.
 *
 * Text is a pointer and a length; it is UTF-8 and needs no NUL. Sizes are in bytes. A negative result is a JH_E number.
 */
#ifndef JOBHOST_H
#define JOBHOST_H

#include <stddef.h>
#include <stdint.h>

/* What a function refuses with. */
enum {
  JH_ENOTFOUND = -1,
  JH_EDENIED = -2,   /* the operator has not granted it */
  JH_ETOOLARGE = -3,
  JH_EARGUMENT = -4, /* also an unknown handle */
  JH_EENDING = -5,   /* the run is asked to stop, or is over */
  JH_EFAILED = -6,   /* network or store */
  JH_ELIMIT = -7
};

/* Levels of the log. */
enum { JH_DEBUG = -4, JH_INFO = 0, JH_WARN = 4, JH_ERROR = 8 };

/* Exit codes of a command; any other is a failure that may be retried. */
enum { JH_SUCCESS = 0, JH_PERMANENT = 65 };

#ifdef __wasm__
#define JH_IMPORT(name) __attribute__((import_module("jobhost_v1"), import_name(#name))) extern
/* JH_JOB begins the function of a reactor: JH_JOB { ... return 0; } */
#define JH_JOB __attribute__((export_name("jobhost_run"))) int32_t jobhost_run(void)
/* JH_MANIFEST_FILE puts a file with the plugin's manifest, JSON, into the module. Write it once, outside of functions. The
 * file is looked for where the compiler runs, and where -Wa,-Idir says. */
#define JH_MANIFEST_FILE(file) __asm__(".section .custom_section.jobhost,\"\",@\n.incbin \"" file "\"\n.text\n");
#else
#define JH_IMPORT(name) static inline
#define JH_JOB int32_t jobhost_run(void)
#define JH_MANIFEST_FILE(file)
#endif

/* Functions with buf and cap return the whole length, and fill the buffer only if it fits. */

JH_IMPORT(run) int32_t jh_run(void *buf, uint32_t cap);     /* the run document, JSON */
JH_IMPORT(input) int32_t jh_input(void *buf, uint32_t cap); /* the job's data, JSON */
JH_IMPORT(output) void jh_output(const void *ptr, uint32_t len); /* the result; the last call wins */
JH_IMPORT(fail) void jh_fail(const char *code, uint32_t code_len, const char *msg, uint32_t msg_len, int32_t permanent);
JH_IMPORT(log) void jh_log(int32_t level, const char *ptr, uint32_t len);
JH_IMPORT(progress) void jh_progress(int64_t done, int64_t total, const char *ptr, uint32_t len);

JH_IMPORT(cancelled) int32_t jh_cancelled(void);     /* 1 once the run is asked to stop */
JH_IMPORT(deadline_ms) int64_t jh_deadline_ms(void); /* milliseconds left; -1: no limit */
JH_IMPORT(sleep_ms) int32_t jh_sleep_ms(int64_t ms); /* 0, or JH_EENDING when asked to stop */

JH_IMPORT(kv_get) int32_t jh_kv_get(const char *key, uint32_t key_len, void *buf, uint32_t cap);
JH_IMPORT(kv_set) int32_t jh_kv_set(const char *key, uint32_t key_len, const void *ptr, uint32_t len);
JH_IMPORT(kv_delete) int32_t jh_kv_delete(const char *key, uint32_t key_len);
JH_IMPORT(kv_list) int32_t jh_kv_list(const char *prefix, uint32_t prefix_len, void *buf, uint32_t cap); /* JSON array */

JH_IMPORT(http_send) int32_t jh_http_send(const char *head, uint32_t head_len, const void *body, uint32_t body_len);
JH_IMPORT(http_status) int32_t jh_http_status(int32_t handle);
JH_IMPORT(http_headers) int32_t jh_http_headers(int32_t handle, void *buf, uint32_t cap); /* JSON object of lists */
JH_IMPORT(http_read) int32_t jh_http_read(int32_t handle, void *buf, uint32_t cap); /* 1 to cap bytes; 0 at the end */
JH_IMPORT(http_close) void jh_http_close(int32_t handle);

JH_IMPORT(span_start) int32_t jh_span_start(const char *name, uint32_t len);
JH_IMPORT(span_end) void jh_span_end(int32_t id, int32_t ok);
JH_IMPORT(span_attr) void jh_span_attr(int32_t id, const char *key, uint32_t key_len, const char *value, uint32_t value_len);
JH_IMPORT(event) void jh_event(const char *ptr, uint32_t len);

#ifndef JH_FREESTANDING

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* jh_strerror says an error number in words. */
static inline const char *jh_strerror(int32_t e) {
  switch (e) {
  case JH_ENOTFOUND: return "not found";
  case JH_EDENIED: return "denied: the operator has not granted it";
  case JH_ETOOLARGE: return "too large";
  case JH_EARGUMENT: return "bad argument";
  case JH_EENDING: return "the run is asked to stop";
  case JH_EFAILED: return "failed";
  case JH_ELIMIT: return "limit reached";
  }
  return e < 0 ? "unknown error" : "no error";
}

/* JH_FILL fills a growing buffer by a call with buf and cap, and leaves its text, with a NUL after it, in out, to be freed
 * by the caller, and its length or an error number in n. Without memory n is JH_ETOOLARGE. Out is NULL after an error. */
#define JH_FILL(out, n, call)                       \
  do {                                              \
    uint32_t cap = 1024;                            \
    for (;;) {                                      \
      char *buf = (char *)malloc((size_t)cap + 1);  \
      (out) = NULL;                                 \
      (n) = JH_ETOOLARGE;                           \
      if (buf == NULL) break;                       \
      (n) = (call);                                 \
      if ((n) >= 0 && (uint32_t)(n) <= cap) {       \
        buf[n] = '\0';                              \
        (out) = buf;                                \
        break;                                      \
      }                                             \
      free(buf);                                    \
      if ((n) < 0) break;                           \
      cap = (uint32_t)(n);                          \
    }                                               \
  } while (0)

/* jh_run_all, jh_input_all, jh_kv_get_all and jh_kv_list_all return text that the caller frees, and its length or an error
 * number in *len, which may be NULL. After an error they return NULL. */

static inline char *jh_run_all(int32_t *len) {
  char *out;
  int32_t n;
  JH_FILL(out, n, jh_run(buf, cap));
  if (len) *len = n;
  return out;
}

static inline char *jh_input_all(int32_t *len) {
  char *out;
  int32_t n;
  JH_FILL(out, n, jh_input(buf, cap));
  if (len) *len = n;
  return out;
}

static inline char *jh_kv_get_all(const char *key, int32_t *len) {
  char *out;
  int32_t n;
  JH_FILL(out, n, jh_kv_get(key, (uint32_t)strlen(key), buf, cap));
  if (len) *len = n;
  return out;
}

static inline char *jh_kv_list_all(const char *prefix, int32_t *len) {
  char *out;
  int32_t n;
  JH_FILL(out, n, jh_kv_list(prefix, (uint32_t)strlen(prefix), buf, cap));
  if (len) *len = n;
  return out;
}

/* jh_kv_put stores text. */
static inline int32_t jh_kv_put(const char *key, const char *value) {
  return jh_kv_set(key, (uint32_t)strlen(key), value, (uint32_t)strlen(value));
}

/* jh_result sets the result. */
static inline void jh_result(const char *text) { jh_output(text, (uint32_t)strlen(text)); }

/* jh_logf logs a formatted entry of at most 1023 bytes; jh_info and the others have their level. */
__attribute__((format(printf, 2, 3))) static inline void jh_logf(int32_t level, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (n < 0) return;
  jh_log(level, text, (uint32_t)((size_t)n < sizeof text ? (size_t)n : sizeof text - 1));
}

#define jh_debug(...) jh_logf(JH_DEBUG, __VA_ARGS__)
#define jh_info(...) jh_logf(JH_INFO, __VA_ARGS__)
#define jh_warn(...) jh_logf(JH_WARN, __VA_ARGS__)
#define jh_error(...) jh_logf(JH_ERROR, __VA_ARGS__)

/* jh_failf says what the failure was, in at most 1023 bytes, and returns the exit code for it. */
__attribute__((format(printf, 3, 4))) static inline int jh_failf(const char *code, int permanent, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (n < 0) n = 0;
  jh_fail(code, (uint32_t)strlen(code), text, (uint32_t)((size_t)n < sizeof text ? (size_t)n : sizeof text - 1), permanent);
  return permanent ? JH_PERMANENT : 1;
}

/* The jh_json functions read a field of one JSON object, such as the data, that the host has found to be valid JSON. They
 * do not look into objects and arrays inside it. */

/* jh_json_skip returns where a value that begins at p ends. */
static inline const char *jh_json_skip(const char *p) {
  int depth = 0;
  for (; *p != '\0'; p++) {
    if (*p == '"') {
      for (p++; *p != '\0' && *p != '"'; p++)
        if (*p == '\\' && p[1] != '\0') p++;
      if (*p == '\0') return p;
    } else if (*p == '{' || *p == '[') {
      depth++;
    } else if (*p == '}' || *p == ']') {
      if (depth == 0) return p;
      depth--;
    } else if (*p == ',' && depth == 0) {
      return p;
    }
  }
  return p;
}

/* jh_json_find returns where the value of a field begins, or NULL. A key with escapes in it is not found. */
static inline const char *jh_json_find(const char *json, const char *key) {
  const char *space = " \t\r\n";
  const char *p = json + strspn(json, space);
  size_t n = strlen(key);
  if (*p != '{') return NULL;
  for (p++;; p++) {
    p += strspn(p, space);
    if (*p != '"') return NULL;
    const char *name = ++p;
    for (; *p != '\0' && *p != '"'; p++)
      if (*p == '\\' && p[1] != '\0') p++;
    if (*p == '\0') return NULL;
    int found = (size_t)(p - name) == n && memcmp(name, key, n) == 0;
    p++;
    p += strspn(p, space);
    if (*p != ':') return NULL;
    p++;
    p += strspn(p, space);
    if (found) return p;
    p = jh_json_skip(p);
    if (*p != ',') return NULL;
  }
}

/* jh_json_utf8 writes a character and returns how many bytes it took. */
static inline size_t jh_json_utf8(uint32_t c, char *to) {
  if (c < 0x80) return to[0] = (char)c, 1;
  if (c < 0x800) return to[0] = (char)(0xc0 | c >> 6), to[1] = (char)(0x80 | (c & 0x3f)), 2;
  if (c < 0x10000) {
    to[0] = (char)(0xe0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 0x3f)), to[2] = (char)(0x80 | (c & 0x3f));
    return 3;
  }
  to[0] = (char)(0xf0 | c >> 18), to[1] = (char)(0x80 | (c >> 12 & 0x3f));
  to[2] = (char)(0x80 | (c >> 6 & 0x3f)), to[3] = (char)(0x80 | (c & 0x3f));
  return 4;
}

/* jh_json_hex reads the four digits of \uXXXX; a value above 0xffff says that they are none. */
static inline uint32_t jh_json_hex(const char *p) {
  uint32_t c = 0;
  for (int i = 0; i < 4; i++) {
    char d = p[i];
    if (d >= '0' && d <= '9') c = c << 4 | (uint32_t)(d - '0');
    else if ((d | 0x20) >= 'a' && (d | 0x20) <= 'f') c = c << 4 | (uint32_t)((d | 0x20) - 'a' + 10);
    else return 0x10000;
  }
  return c;
}

/* jh_json_string copies a field's text, with a NUL after it, into a buffer, and returns its length, JH_ENOTFOUND,
 * JH_EARGUMENT when it is no text, or JH_ETOOLARGE when it does not fit. */
static inline int32_t jh_json_string(const char *json, const char *key, char *buf, size_t cap) {
  const char *p = jh_json_find(json, key);
  size_t n = 0;
  if (p == NULL) return JH_ENOTFOUND;
  if (*p++ != '"') return JH_EARGUMENT;
  while (*p != '"') {
    char unit[4];
    size_t size = 1;
    unit[0] = *p;
    if (*p == '\0') return JH_EARGUMENT;
    if (*p++ == '\\') {
      const char *from = "\"\\/bfnrt", *to = "\"\\/\b\f\n\r\t";
      const char *at = *p == '\0' ? NULL : strchr(from, *p);
      if (at != NULL) {
        unit[0] = to[at - from];
        p++;
      } else if (*p == 'u') {
        uint32_t c = jh_json_hex(p + 1);
        if (c > 0xffff) return JH_EARGUMENT;
        p += 5;
        if (c >= 0xd800 && c < 0xdc00 && p[0] == '\\' && p[1] == 'u') {
          uint32_t low = jh_json_hex(p + 2);
          if (low >= 0xdc00 && low < 0xe000) c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00), p += 6;
        }
        size = jh_json_utf8(c >= 0xd800 && c < 0xe000 ? 0xfffd : c, unit);
      } else {
        return JH_EARGUMENT;
      }
    }
    if (n + size >= cap) return JH_ETOOLARGE;
    memcpy(buf + n, unit, size);
    n += size;
  }
  buf[n] = '\0';
  return (int32_t)n;
}

/* jh_json_number reads a field's number; 0, JH_ENOTFOUND or JH_EARGUMENT. */
static inline int32_t jh_json_number(const char *json, const char *key, double *to) {
  const char *p = jh_json_find(json, key);
  char *end;
  if (p == NULL) return JH_ENOTFOUND;
  if (*p != '-' && (*p < '0' || *p > '9')) return JH_EARGUMENT;
  *to = strtod(p, &end);
  return 0;
}

/* jh_json_bool reads a field's true or false: 1, 0, JH_ENOTFOUND or JH_EARGUMENT. */
static inline int32_t jh_json_bool(const char *json, const char *key) {
  const char *p = jh_json_find(json, key);
  if (p == NULL) return JH_ENOTFOUND;
  return strncmp(p, "true", 4) == 0 ? 1 : strncmp(p, "false", 5) == 0 ? 0 : JH_EARGUMENT;
}

/* jh_json_quote writes text as a JSON string, with quotes, to a stream. */
static inline void jh_json_quote(FILE *to, const char *text) {
  fputc('"', to);
  for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
    if (*p == '"' || *p == '\\') fputc('\\', to), fputc(*p, to);
    else if (*p < 0x20) fprintf(to, "\\u%04x", *p);
    else fputc(*p, to);
  }
  fputc('"', to);
}

#ifndef __wasm__
/* The stand-ins, for a job that is compiled as an ordinary program. */

static inline int32_t jh_input(void *buf, uint32_t cap) {
  static char data[1 << 20];
  static size_t n;
  static int read;
  if (!read) n = fread(data, 1, sizeof data, stdin), read = 1;
  if (n == 0) data[n++] = '{', data[n++] = '}';
  if (n <= cap) memcpy(buf, data, n);
  return (int32_t)n;
}

static inline int32_t jh_run(void *buf, uint32_t cap) {
  static const char doc[] = "{\"job\":\"native\",\"kind\":\"Manual\",\"attempt\":1}";
  if (sizeof doc - 1 <= cap) memcpy(buf, doc, sizeof doc - 1);
  return (int32_t)(sizeof doc - 1);
}

static inline void jh_output(const void *ptr, uint32_t len) { fwrite(ptr, 1, len, stdout), fputc('\n', stdout); }

static inline void jh_log(int32_t level, const char *ptr, uint32_t len) {
  (void)level;
  fprintf(stderr, "%.*s\n", (int)len, ptr);
}

static inline void jh_fail(const char *code, uint32_t code_len, const char *msg, uint32_t msg_len, int32_t permanent) {
  (void)permanent;
  fprintf(stderr, "failed: %.*s (%.*s)\n", (int)msg_len, msg, (int)code_len, code);
}

static inline void jh_progress(int64_t done, int64_t total, const char *ptr, uint32_t len) {
  fprintf(stderr, "progress: %lld of %lld %.*s\n", (long long)done, (long long)total, (int)len, ptr);
}

static inline int32_t jh_cancelled(void) { return 0; }
static inline int64_t jh_deadline_ms(void) { return -1; }
static inline int32_t jh_sleep_ms(int64_t ms) { return (void)ms, 0; }

static inline int32_t jh_kv_get(const char *key, uint32_t key_len, void *buf, uint32_t cap) {
  return (void)key, (void)key_len, (void)buf, (void)cap, JH_EDENIED;
}
static inline int32_t jh_kv_set(const char *key, uint32_t key_len, const void *ptr, uint32_t len) {
  return (void)key, (void)key_len, (void)ptr, (void)len, JH_EDENIED;
}
static inline int32_t jh_kv_delete(const char *key, uint32_t key_len) { return (void)key, (void)key_len, JH_EDENIED; }
static inline int32_t jh_kv_list(const char *prefix, uint32_t prefix_len, void *buf, uint32_t cap) {
  return (void)prefix, (void)prefix_len, (void)buf, (void)cap, JH_EDENIED;
}

static inline int32_t jh_http_send(const char *head, uint32_t head_len, const void *body, uint32_t body_len) {
  return (void)head, (void)head_len, (void)body, (void)body_len, JH_EDENIED;
}
static inline int32_t jh_http_status(int32_t handle) { return (void)handle, JH_EARGUMENT; }
static inline int32_t jh_http_headers(int32_t handle, void *buf, uint32_t cap) {
  return (void)handle, (void)buf, (void)cap, JH_EARGUMENT;
}
static inline int32_t jh_http_read(int32_t handle, void *buf, uint32_t cap) {
  return (void)handle, (void)buf, (void)cap, JH_EARGUMENT;
}
static inline void jh_http_close(int32_t handle) { (void)handle; }

static inline int32_t jh_span_start(const char *name, uint32_t len) { return (void)name, (void)len, 1; }
static inline void jh_span_end(int32_t id, int32_t ok) { (void)id, (void)ok; }
static inline void jh_span_attr(int32_t id, const char *key, uint32_t key_len, const char *value, uint32_t value_len) {
  (void)id, (void)key, (void)key_len, (void)value, (void)value_len;
}
static inline void jh_event(const char *ptr, uint32_t len) { (void)ptr, (void)len; }
#endif /* __wasm__ */

#endif /* JH_FREESTANDING */
#endif /* JOBHOST_H */
