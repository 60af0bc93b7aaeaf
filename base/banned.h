/*
 * Functions that this program must not call: they write without a bound, may omit the final NUL, do not
 * report bad input, share state between threads, use guessable names for temporary files, or run a shell.
 * Every source file includes this header last.
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#ifdef __GNUC__
/* With clang, _FORTIFY_SOURCE defines these two as macros, and clang warns if a macro is poisoned. */
#undef sprintf
#undef vsprintf
#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets
#pragma GCC poison strtok atoi atol atoll atof
#pragma GCC poison gmtime localtime ctime asctime
#pragma GCC poison tmpnam tempnam mktemp
#pragma GCC poison system popen
#endif

#endif
