/* SHA-256, as FIPS 180-4 describes it. */
#ifndef SHA256_H
#define SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint32_t state[8];
  uint8_t block[64];
  uint64_t length; /* bytes so far */
} sha256;

void sha256_begin(sha256 *h);
void sha256_write(sha256 *h, const void *data, size_t len);
/* sha256_hex ends the hash and writes its 64 hexadecimal digits and a NUL. */
void sha256_hex(sha256 *h, char hex[65]);

#endif
