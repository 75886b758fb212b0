// The C library's own functions behind our interposers of the same names.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstdio>

namespace reclaim::emulator {

using DirentFilter = int (*)(const dirent*);
using DirentOrder = int (*)(const dirent**, const dirent**);

// On 64-bit Linux the …64 variants have the same types, so each is looked up once.
struct Real {
  int (*openat)(int, const char*, int, mode_t);
  int (*close)(int);
  int (*dup)(int);
  int (*dup3)(int, int, int);
  int (*dup2)(int, int);
  int (*fcntl)(int, int, void*);
  int (*ioctl)(int, unsigned long, void*);
  int (*fstat)(int, struct stat*);
  int (*fstatat)(int, const char*, struct stat*, int);
  int (*statx)(int, const char*, int, unsigned, struct statx*);
  ssize_t (*read)(int, void*, size_t);
  ssize_t (*write)(int, const void*, size_t);
  ssize_t (*pread)(int, void*, size_t, off_t);
  ssize_t (*pwrite)(int, const void*, size_t, off_t);
  ssize_t (*readv)(int, const iovec*, int);
  ssize_t (*writev)(int, const iovec*, int);
  ssize_t (*preadv)(int, const iovec*, int, off_t);
  ssize_t (*pwritev)(int, const iovec*, int, off_t);
  off_t (*lseek)(int, off_t, int);
  int (*ftruncate)(int, off_t);
  int (*fallocate)(int, int, off_t, off_t);
  FILE* (*fopen)(const char*, const char*);
  DIR* (*opendir)(const char*);
  int (*scandir)(const char*, dirent***, DirentFilter, DirentOrder);
  ssize_t (*readlink)(const char*, char*, size_t);
  char* (*realpath)(const char*, char*);
  int (*access)(const char*, int);
};

const Real& real();

}  // namespace reclaim::emulator
