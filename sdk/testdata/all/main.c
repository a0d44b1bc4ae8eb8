/* All uses everything that a host offers. */
#include "jobhost.h"

static int refused(const char *what, int32_t n) { return jh_failf("REFUSED", 0, "%s: %s", what, jh_strerror(n)); }

int main(void) {
  char *doc = jh_run_all(NULL), *data = jh_input_all(NULL);
  char url[256], job[64], head[512];
  double attempt;
  int32_t n;
  if (jh_json_string(data, "url", url, sizeof url) < 0) return refused("url", JH_EARGUMENT);
  if (jh_json_string(doc, "job", job, sizeof job) < 0 || jh_json_number(doc, "attempt", &attempt) < 0) return refused("run", JH_EARGUMENT);
  if (jh_cancelled()) return 1;
  jh_info("begun");
  jh_progress(1, 2, "half", 4);
  int32_t span = jh_span_start("outer", 5);
  jh_span_attr(span, "language", 8, "any", 3);
  jh_event("now", 3);
  if ((n = jh_kv_put("b", "b!")) < 0 || (n = jh_kv_put("a", "a!")) < 0 || (n = jh_kv_put("c", "c!")) < 0) return refused("kv_set", n);
  if ((n = jh_kv_delete("c", 1)) < 0) return refused("kv_delete", n);
  char *value = jh_kv_get_all("a", &n);
  if (value == NULL) return refused("kv_get", n);
  char *keys = jh_kv_list_all("", &n);
  if (keys == NULL) return refused("kv_list", n);
  if ((n = jh_sleep_ms(1)) < 0) return refused("sleep_ms", n);

  int size = snprintf(head, sizeof head, "{\"method\":\"GET\",\"url\":\"%s\",\"headers\":{\"X-Asked\":[\"yes\"]}}", url);
  int32_t handle = jh_http_send(head, (uint32_t)size, NULL, 0);
  if (handle < 0) return refused("http_send", handle);
  char *headers, body[256] = "", type[64] = "";
  JH_FILL(headers, n, jh_http_headers(handle, buf, cap));
  if (headers == NULL) return refused("http_headers", n);
  const char *list = jh_json_find(headers, "content-type"); /* ["text/plain; …"] */
  if (list == NULL || sscanf(list, "[\"%63[^\"]", type) != 1) return refused("content-type", JH_ENOTFOUND);
  for (size_t at = 0; (n = jh_http_read(handle, body + at, (uint32_t)(sizeof body - 1 - at))) > 0;) at += (size_t)n;
  if (n < 0) return refused("http_read", n);
  int32_t status = jh_http_status(handle);
  jh_http_close(handle);
  jh_span_end(span, 1);

  char result[1024];
  size = snprintf(result, sizeof result,
                  "{\"value\":\"%s\",\"keys\":%s,\"status\":%d,\"type\":\"%s\",\"body\":\"%s\",\"limited\":%s,\"job\":\"%s\"}", value, keys,
                  (int)status, type, body, jh_deadline_ms() >= 0 ? "true" : "false", job);
  jh_output(result, (uint32_t)size);
  free(headers), free(keys), free(value), free(data), free(doc);
  return jh_failf("DONE", 1, "all was called at attempt %d", (int)attempt);
}
