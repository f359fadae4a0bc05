// Copyright 2026 The thinking_policy authors
// SPDX-License-Identifier: Apache-2.0
//
// Preloaded below a process: logs, in order, everything that it does to the files of one folder
// ($DISK_LOG_FOLDER) into one file ($DISK_LOG). `disk.py` reads it and says what a power cut
// at any place of it would have left.
//
// An entry is a line, `kind file offset length name`, and then `length` bytes:
//   N file . . name   the name now means this file, which is new and empty
//   W file offset length   bytes were written     T file size   it was cut or grown to this size
//   S file   it was synced      D   the folder was synced
//   U . . . name   the name was taken away        R . . . old/new   it was renamed
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_FILES 4096
#define FOLDER -1

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static int log_file = -1;
static char folder[4096];
static long of_descriptor[MOST_FILES];  // 0: not ours; FOLDER: the folder; else the file
static struct { ino_t inode; dev_t device; long file; } known[MOST_FILES];
static long known_count, last_file;

__attribute__((constructor)) static void begin(void) {
  const char *where = getenv("DISK_LOG_FOLDER"), *into = getenv("DISK_LOG");
  if (where == NULL || into == NULL || strlen(where) >= sizeof folder) return;
  strcpy(folder, where);
  log_file = (int)syscall(SYS_openat, AT_FDCWD, into, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

// Called with `order` held, so that the log has the order of what it tells.
static void tell(char kind, long file, long offset, const void *bytes, size_t length,
                 const char *name) {
  char line[8192];
  int size = snprintf(line, sizeof line, "%c %ld %ld %zu %s\n", kind, file, offset, length, name);
  struct iovec parts[2] = {{line, (size_t)size}, {(void *)bytes, length}};
  if (syscall(SYS_writev, log_file, parts, 2) != size + (long)length) abort();
}

static const char *name_in_folder(const char *path) {
  size_t length = strlen(folder);
  if (log_file < 0 || path == NULL || strncmp(path, folder, length) != 0) return NULL;
  if (path[length] == '\0') return "";
  return path[length] == '/' && strchr(path + length + 1, '/') == NULL ? path + length + 1 : NULL;
}

static long file_of(int descriptor) {
  return log_file >= 0 && descriptor >= 0 && descriptor < MOST_FILES ? of_descriptor[descriptor] : 0;
}

static long file_at(int descriptor, int is_new) {
  struct stat found;
  if (fstat(descriptor, &found) != 0) abort();
  for (long index = known_count; !is_new && index-- > 0;)
    if (known[index].inode == found.st_ino && known[index].device == found.st_dev)
      return known[index].file;
  if (known_count == MOST_FILES) abort();
  known[known_count].inode = found.st_ino;
  known[known_count].device = found.st_dev;
  known[known_count].file = ++last_file;
  return known[known_count++].file;
}

static int opened(const char *path, int flags, mode_t mode) {
  const char *name = name_in_folder(path);
  if (name == NULL) return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  pthread_mutex_lock(&order);
  struct stat found;
  int is_new = (flags & O_CREAT) != 0 && lstat(path, &found) != 0;
  int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  if (descriptor >= 0 && descriptor < MOST_FILES) {
    if (*name == '\0') {
      of_descriptor[descriptor] = FOLDER;
    } else {
      long file = of_descriptor[descriptor] = file_at(descriptor, is_new);
      if (is_new) tell('N', file, 0, "", 0, name);
      if (!is_new && (flags & O_TRUNC) != 0) tell('T', file, 0, "", 0, "");
    }
  }
  pthread_mutex_unlock(&order);
  return descriptor;
}

#define OPENS(function)                                         \
  int function(const char *path, int flags, ...) {              \
    va_list rest;                                               \
    va_start(rest, flags);                                      \
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                               \
    return opened(path, flags, mode);                           \
  }
OPENS(open)
OPENS(open64)

int close(int descriptor) {
  if (descriptor >= 0 && descriptor < MOST_FILES) of_descriptor[descriptor] = 0;
  return (int)syscall(SYS_close, descriptor);
}

static ssize_t written(int descriptor, const void *bytes, size_t length, off_t offset) {
  long file = file_of(descriptor);
  if (file <= 0)
    return offset < 0 ? syscall(SYS_write, descriptor, bytes, length)
                      : syscall(SYS_pwrite64, descriptor, bytes, length, offset);
  pthread_mutex_lock(&order);
  off_t at = offset;
  if (offset < 0) {
    struct stat found;
    int appends = (fcntl(descriptor, F_GETFL) & O_APPEND) != 0;
    at = appends && fstat(descriptor, &found) == 0 ? found.st_size
                                                   : lseek(descriptor, 0, SEEK_CUR);
  }
  ssize_t done = offset < 0 ? syscall(SYS_write, descriptor, bytes, length)
                            : syscall(SYS_pwrite64, descriptor, bytes, length, offset);
  if (done > 0) tell('W', file, at, bytes, (size_t)done, "");
  pthread_mutex_unlock(&order);
  return done;
}

ssize_t write(int descriptor, const void *bytes, size_t length) {
  return written(descriptor, bytes, length, -1);
}
ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset) {
  return written(descriptor, bytes, length, offset);
}
ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset) {
  return written(descriptor, bytes, length, offset);
}

static int cut(int descriptor, off_t size) {
  pthread_mutex_lock(&order);
  int result = (int)syscall(SYS_ftruncate, descriptor, size);
  if (result == 0 && file_of(descriptor) > 0) tell('T', file_of(descriptor), size, "", 0, "");
  pthread_mutex_unlock(&order);
  return result;
}
int ftruncate(int descriptor, off_t size) { return cut(descriptor, size); }
int ftruncate64(int descriptor, off64_t size) { return cut(descriptor, size); }

// Synced is what was written before the call, so nothing may be written while it lasts.
static int synced(long call, int descriptor) {
  long file = file_of(descriptor);
  if (file == 0) return (int)syscall(call, descriptor);
  pthread_mutex_lock(&order);
  tell(file == FOLDER ? 'D' : 'S', file, 0, "", 0, "");  // the test has its own disk: not really
  pthread_mutex_unlock(&order);
  return 0;
}
int fsync(int descriptor) { return synced(SYS_fsync, descriptor); }
int fdatasync(int descriptor) { return synced(SYS_fdatasync, descriptor); }

int unlink(const char *path) {
  const char *name = name_in_folder(path);
  if (name == NULL) return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  pthread_mutex_lock(&order);
  int result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  if (result == 0) tell('U', 0, 0, "", 0, name);
  pthread_mutex_unlock(&order);
  return result;
}

int rename(const char *old, const char *new) {
  const char *before = name_in_folder(old), *after = name_in_folder(new);
  pthread_mutex_lock(&order);
  int result = (int)syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new, 0);
  if (result == 0 && before != NULL && after != NULL) {
    char names[4096];
    snprintf(names, sizeof names, "%s/%s", before, after);
    tell('R', 0, 0, "", 0, names);
  }
  pthread_mutex_unlock(&order);
  return result;
}
