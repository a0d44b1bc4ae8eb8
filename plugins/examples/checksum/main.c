/*
 * Checksum verifies the files of a list such as sha256sum writes: a line a file, 64 hexadecimal digits, two blanks, or a blank
 * and a star, and the file's name, which is relative to the list's directory.
 *
 * Its data name the list: {"sums": "/data/SHA256SUMS"}. A file that is missing or another one fails the run.
 */
#include "jobhost.h"
#include "sha256.h"

JH_MANIFEST_FILE("manifest.json")

enum { MAX_PATH = 1024 };

/* What came of the files. */
typedef struct {
  int files, ok, changed, missing, bad_lines;
} tally;

/* parse splits a line into digest, in lower case, and name; 0 if it is no such line. */
static int parse(char *line, char **digest, char **name) {
  for (int i = 0; i < 64; i++) {
    char c = line[i];
    if (c >= 'A' && c <= 'F') c = line[i] = (char)(c + 'a' - 'A');
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return 0;
  }
  if (line[64] != ' ' || (line[65] != ' ' && line[65] != '*') || line[66] == '\0') return 0;
  line[64] = '\0';
  *digest = line, *name = line + 66;
  return 1;
}

/* verify compares a file with a digest: 1 the same, 0 another one, -1 it cannot be read. */
static int verify(const char *path, const char *digest) {
  static char buf[64 << 10];
  char hex[65];
  sha256 h;
  FILE *f = fopen(path, "rb");
  if (f == NULL) return -1;
  sha256_begin(&h);
  for (size_t n; (n = fread(buf, 1, sizeof buf, f)) > 0;) sha256_write(&h, buf, n);
  int failed = ferror(f);
  fclose(f);
  if (failed) return -1;
  sha256_hex(&h, hex);
  return strcmp(hex, digest) == 0;
}

/* check verifies the files of a list, and logs what is wrong. The length of dir, with its slash, is that of the list's
 * directory. It returns 0, or JH_EENDING when it was asked to stop. */
static int check(FILE *list, const char *sums, size_t dir, tally *t) {
  char line[64 + 2 + MAX_PATH], path[2 * MAX_PATH];
  for (int number = 1; fgets(line, sizeof line, list) != NULL; number++) {
    char *digest, *name;
    line[strcspn(line, "\r\n")] = '\0';
    if (line[0] == '\0' || line[0] == '#') continue;
    if (strlen(line) < 67 || !parse(line, &digest, &name)) {
      jh_warn("line %d is no digest and name", number);
      t->bad_lines++;
      continue;
    }
    if (jh_cancelled()) return JH_EENDING;
    snprintf(path, sizeof path, "%.*s%s", name[0] == '/' ? 0 : (int)dir, sums, name);
    t->files++;
    switch (verify(path, digest)) {
    case 1: t->ok++; break;
    case 0:
      t->changed++;
      jh_warn("%s is another file than it was", name);
      break;
    default:
      t->missing++;
      jh_warn("%s cannot be read", name);
    }
    jh_progress(t->files, 0, name, (uint32_t)strlen(name));
  }
  return 0;
}

int main(void) {
  char sums[MAX_PATH];
  char *data = jh_input_all(NULL);
  int32_t n = data == NULL ? JH_EARGUMENT : jh_json_string(data, "sums", sums, sizeof sums);
  free(data);
  if (n <= 0) return jh_failf("BAD_DATA", 1, "sums: %s; want the path of a list, such as /data/SHA256SUMS", n == 0 ? "empty" : jh_strerror(n));

  FILE *list = fopen(sums, "r");
  if (list == NULL) return jh_failf("CHECKSUM_NO_LIST", 0, "%s cannot be read", sums);
  const char *slash = strrchr(sums, '/');
  tally t = {0};
  int stopped = check(list, sums, slash == NULL ? 0 : (size_t)(slash - sums) + 1, &t);
  fclose(list);
  if (stopped) return jh_failf("CHECKSUM_STOPPED", 0, "asked to stop after %d files", t.files);

  char result[256];
  snprintf(result, sizeof result, "{\"files\":%d,\"ok\":%d,\"changed\":%d,\"missing\":%d,\"bad_lines\":%d}", t.files, t.ok, t.changed,
           t.missing, t.bad_lines);
  jh_result(result);
  if (t.ok == t.files && t.bad_lines == 0 && t.files > 0) {
    jh_info("%d files are what they were", t.files);
    return JH_SUCCESS;
  }
  if (t.files == 0) return jh_failf("CHECKSUM_EMPTY", 1, "%s names no file", sums);
  return jh_failf("CHECKSUM_MISMATCH", 1, "of %d files %d are other ones and %d cannot be read; %d lines are no digest and name", t.files,
                  t.changed, t.missing, t.bad_lines);
}
