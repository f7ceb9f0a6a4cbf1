/* SPDX-License-Identifier: Apache-2.0 */
/* nosy: a hook for the tests that looks around in every function that it has, from its constructor
 * to its destructor: for a secret of the environment, for HOME, the network, files, descriptors and
 * processes.
 *
 * Whatever it sees it prints as "nosy saw WHAT in WHERE" and ends its process by SIGABRT, so that
 * nobody can overlook it; with NOSY_GOES_ON in the environment it goes on. */
#define _GNU_SOURCE 1
#include <agentd/hook_abi.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT(text) \
  { text, sizeof(text) - 1 }

AGENTD_MANIFEST(
    "{\"id\":\"test.nosy\",\"version\":\"1.0.0\",\"abi\":\"1.0\","
    "\"events\":[\"before_tool_call\"],\"concurrency\":\"serial\"}");

/* "of-the-user-7319", each byte plus one: the text itself must not stand in this module's memory.
 */
static const char coded[] = "pg.uif.vtfs.842:";
enum { LENGTH = sizeof coded - 1 };

static int is_secret(const char* at) {
  for (int i = 0; i < LENGTH; ++i)
    if (at[i] + 1 != coded[i]) return 0;
  return 1;
}
static int has_secret(const char* bytes, size_t length) {
  for (size_t i = 0; i + LENGTH <= length; ++i)
    if (bytes[i] == 'o' && is_secret(bytes + i)) return 1;
  return 0;
}

static char piece[1 << 20];

static int file_has_secret(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = read(fd, piece, sizeof piece);
  close(fd);
  return got > 0 && has_secret(piece, (size_t)got);
}

/* A sanitizer has a copy of the environment that is its own, and a shadow as large as the machine: it is not looked
 * into. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LOOKS_INTO_MEMORY 0
#else
#define LOOKS_INTO_MEMORY 1
#endif

/* In all memory of this process that is its own. */
static int memory_has_secret(void) {
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  FILE* const maps = fopen("/proc/self/maps", "re");
  char line[512];
  int found = 0;
  while (maps != NULL && memory >= 0 && !found && fgets(line, sizeof line, maps) != NULL) {
    unsigned long from = 0, to = 0;
    char rights[8] = "";
    if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) != 3 || rights[0] != 'r' || rights[3] != 'p') continue;
    for (unsigned long at = from; at < to && !found; at += sizeof piece - LENGTH) {
      const ssize_t got = pread(memory, piece, to - at < sizeof piece ? to - at : sizeof piece, (off_t)at);
      if (got <= 0) break;
      found = has_secret(piece, (size_t)got);
    }
  }
  if (maps != NULL) fclose(maps);
  if (memory >= 0) close(memory);
  memset(piece, 0, sizeof piece);
  return found;
}

static int can_write(const char* path) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return 0;
  close(fd);
  return 1;
}

/* A directory or a file of a file system that was left open. */
static int has_descriptor(void) {
  for (int fd = 3; fd < 256; ++fd) {
    char name[64], target[256];
    struct stat info;
    if (fstat(fd, &info) != 0 || !(S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))) continue;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(name, target, sizeof target - 1);
    if (length <= 0) continue;
    target[length] = '\0';
    if (strncmp(target, "/memfd:", 7) != 0) return 1;
  }
  return 0;
}

static int can_start_processes(void) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  if (pid > 0) waitpid(pid, NULL, 0);
  return pid > 0;
}

static void look(const char* where) {
  char seen[256] = "", of_parent[64];
  const char* const key = getenv("ANTHROPIC_API_KEY");
  const int may_go_on = getenv("NOSY_GOES_ON") != NULL;
  snprintf(of_parent, sizeof of_parent, "/proc/%d/environ", (int)getppid());
  if (key != NULL) strcat(seen, "the key, ");
  if (getenv("HOME") != NULL) strcat(seen, "HOME, ");
  if (file_has_secret("/proc/self/environ")) strcat(seen, "the environment, ");
  if (file_has_secret(of_parent)) strcat(seen, "the environment of its parent, ");
  if (LOOKS_INTO_MEMORY && memory_has_secret()) strcat(seen, "the secret in memory, ");
  if (file_has_secret("/etc/passwd") || open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0) strcat(seen, "files, ");
  if (has_descriptor()) strcat(seen, "open files, ");
  if (socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0)
    strcat(seen, "the network, ");
  if (can_write("/tmp/agentd-nosy-was-here") || can_write("nosy-was-here")) strcat(seen, "writable files, ");
  if (can_start_processes()) strcat(seen, "processes, ");
  if (seen[0] == '\0') return;
  seen[strlen(seen) - 2] = '\0';
  fprintf(stderr, "nosy saw %s in %s\n", seen, where);
  if (!may_go_on) abort();
}

__attribute__((constructor)) static void begin(void) { look("its constructor"); }
__attribute__((destructor)) static void end(void) { look("its destructor"); }

static agentd_status AGENTD_CALL hook(void* self, const agentd_call* call) {
  (void)self;
  (void)call;
  look("its hook");
  return AGENTD_OK;
}
static agentd_status AGENTD_CALL create(const agentd_call* call, void** self) {
  (void)call;
  *self = NULL;
  look("create()");
  return AGENTD_OK;
}
static agentd_status AGENTD_CALL destroy(void* self, const agentd_call* call) {
  (void)self;
  (void)call;
  look("destroy()");
  return AGENTD_OK;
}
static agentd_status AGENTD_CALL save(void* self, const agentd_call* call) {
  agentd_act_text action = {{sizeof action, AGENTD_ACT_STATE, 0}, 0, 0, TEXT("state")};
  (void)self;
  look("save_state()");
  return call == NULL ? AGENTD_OK : call->core->emit(call->core, call->token, &action.h);
}
static agentd_status AGENTD_CALL load(void* self, const agentd_call* call) {
  (void)self;
  (void)call;
  look("load_state()");
  return AGENTD_OK;
}

static const agentd_hook rows[] = {{AGENTD_EVENT_BEFORE_TOOL_CALL, 0, 0, hook, 0}};
static const agentd_plugin plugin = {
    sizeof(agentd_plugin),    AGENTD_SERIAL, TEXT("test.nosy"), TEXT("1.0.0"), create, destroy, save, load,
    {rows, 1, sizeof rows[0]}};

AGENTD_EXPORT agentd_status AGENTD_CALL agentd_hook_entry_v1(agentd_negotiate* io) {
  static const char other[] = "this hook is built for another hook ABI";
  look("its entry");
  io->magic = AGENTD_MAGIC;
  io->abi = AGENTD_ABI;
  if (io->host_abi_max >> 16 != AGENTD_ABI_MAJOR) {
    io->error.ptr = other;
    io->error.len = sizeof other - 1;
    return AGENTD_E_UNSUPPORTED;
  }
  io->plugin = &plugin;
  return AGENTD_OK;
}
