/*
 * quickjs-wasi.h: what QuickJS finds on other systems and WebAssembly does not have. Included before each of its files.
 *
 * JavaScript rounds ties away from zero in toFixed, toPrecision and toExponential; printf here rounds them to the even digit,
 * and WebAssembly cannot be told to round otherwise. So a tie that went to the even digit below gets the odd one above it.
 */
#ifndef QUICKJS_WASI_H
#define QUICKJS_WASI_H

#include <fenv.h>
#include <malloc.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FE_DOWNWARD (FE_TONEAREST + 1)
#define FE_UPWARD (FE_TONEAREST + 2)
#define fesetround(to) (quickjs_rounding = (to))

/* quickjs_rounding is other than FE_TONEAREST while QuickJS writes a number that may be a tie, up if it is positive. */
static int quickjs_rounding = FE_TONEAREST;

/* quickjs_tie_below tells whether d, with so many decimals, of which there may be less than none, is in the middle between an
 * even digit below it and an odd one above. All of this is exact: twice d, in units of the last decimal, is 1, 5, 9, …; a power
 * of five does not change what remains of it by four. */
static inline int quickjs_tie_below(double d, int decimals) {
  if (decimals >= 0) return fmod(ldexp(fabs(d), decimals + 1), 4) == 1;
  double unit = 1;
  if (decimals < -22) return 0;
  while (decimals++ < 0) unit *= 10;
  return fmod(fabs(d), 2 * unit) == unit / 2;
}

/* quickjs_snprintf is snprintf, but in the two formats of numbers that QuickJS has it rounds ties away from zero, if it is to. */
static inline int quickjs_snprintf(char *buf, size_t size, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(buf, size, format, args);
  va_end(args);
  int fixed = strcmp(format, "%.*f") == 0;
  if (quickjs_rounding == FE_TONEAREST || (!fixed && strcmp(format, "%+.*e") != 0) || n < 0 || (size_t)n >= size) return n;
  va_start(args, format);
  int decimals = va_arg(args, int);
  double d = va_arg(args, double);
  va_end(args);
  char plain[32], *end = buf + n;
  if (!fixed) {
    snprintf(plain, sizeof plain, "%.16e", d);
    decimals -= atoi(strchr(plain, 'e') + 1);
    end = strchr(buf, 'e');
  }
  if (quickjs_tie_below(d, decimals)) end[-1]++;
  return n;
}

#define snprintf quickjs_snprintf

#endif
