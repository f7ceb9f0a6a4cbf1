// SPDX-License-Identifier: Apache-2.0
// The times of files on the other day for fstatat and statx, which libfaketime leaves alone: it has stat, lstat and
// fstat. Preloaded before it; FAKETIME is "+60d".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>

static long ahead(void) {
  const char* const said = getenv("FAKETIME");
  return said == NULL ? 0 : strtol(said, NULL, 10) * 86400;
}

int fstatat(int directory, const char* restrict path, struct stat* restrict info, int flags) {
  int (*next)(int, const char*, struct stat*, int) = NULL;
  *(void**)&next = dlsym(RTLD_NEXT, "fstatat");
  const int result = next(directory, path, info, flags);
  if (result != 0) return result;
  info->st_atim.tv_sec += ahead();
  info->st_mtim.tv_sec += ahead();
  info->st_ctim.tv_sec += ahead();
  return 0;
}

int statx(int directory, const char* restrict path, int flags, unsigned mask, struct statx* restrict info) {
  int (*next)(int, const char*, int, unsigned, struct statx*) = NULL;
  *(void**)&next = dlsym(RTLD_NEXT, "statx");
  const int result = next(directory, path, flags, mask, info);
  if (result != 0) return result;
  info->stx_atime.tv_sec += ahead();
  info->stx_btime.tv_sec += ahead();
  info->stx_ctime.tv_sec += ahead();
  info->stx_mtime.tv_sec += ahead();
  return 0;
}
