/* SPDX-License-Identifier: Apache-2.0 */
/* ext/draft/workspace.h - "agentd.workspace/1": the files of the workspace, accessed by the host.
 *
 * Draft: only for a plugin whose manifest lists the id under "drafts". Paths are absolute or relative to the call's cwd
 * and stay inside the workspace roots: "..", symbolic links and races cannot leave them (AGENTD_E_DENIED). An ACP
 * client may implement it for its session.
 *
 * read() and replace() are about the bytes of a file. view() and edit() are about the text that a model may see of it:
 * secrets have placeholders in their place ([secret:RULE:...]) there, and edit() puts the file's own bytes back under
 * each placeholder that stays. A tool that shows or changes files for a model uses these two. Where the user has turned
 * the search for secrets off, they are the same as the others.
 */
#ifndef AGENTD_EXT_WORKSPACE_H
#define AGENTD_EXT_WORKSPACE_H
#include "../../hook_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AGENTD_WORKSPACE_ID "agentd.workspace/1"

#define AGENTD_FILE_REGULAR 1u
#define AGENTD_FILE_DIRECTORY 2u
#define AGENTD_FILE_SYMLINK 3u
#define AGENTD_FILE_OTHER 4u
/* Of any kind: the user's permission rules keep it from this call, which cannot read it. Its bytes and time are 0. */
#define AGENTD_FILE_WITHHELD 5u

typedef struct agentd_file_entry {
  uint32_t size;
  uint32_t kind;   /* AGENTD_FILE_                                        */
  agentd_str path; /* relative to the listed directory, '/' between parts */
  uint64_t bytes;
  int64_t modified_ns;
} agentd_file_entry;

typedef struct agentd_workspace {
  uint32_t size, reserved0;
  /* Bytes offset..offset+limit of a regular file (limit 0 = 16 MiB); *total = its size. [any] */
  agentd_status(AGENTD_CALL* read)(const struct agentd_workspace*, agentd_token, agentd_str path, uint64_t offset,
                                   uint64_t limit, agentd_str* out, uint64_t* total) AGENTD_NOEXCEPT;
  /* Replaces or makes a file: written beside it, then renamed; parent directories are made. [any] */
  agentd_status(AGENTD_CALL* write)(const struct agentd_workspace*, agentd_token, agentd_str path, agentd_str bytes)
      AGENTD_NOEXCEPT;
  /* Like write(), if the file is still byte for byte `expected`; AGENTD_E_CONFLICT otherwise. [any] */
  agentd_status(AGENTD_CALL* replace)(const struct agentd_workspace*, agentd_token, agentd_str path,
                                      agentd_str expected, agentd_str bytes) AGENTD_NOEXCEPT;
  /* Lists agentd_file_entry below `path`, depth first, names in byte order; symbolic links are reported, not followed.
   * `depth` 0 = no limit; stops after `limit` entries (0 = 10000) with *more = 1. [any] */
  agentd_status(AGENTD_CALL* list)(const struct agentd_workspace*, agentd_token, agentd_str path, uint32_t depth,
                                   uint32_t limit, agentd_list* out, uint32_t* more) AGENTD_NOEXCEPT;
  /* The text of a regular file of at most `limit` bytes (0 = 16 MiB) that a model may see; *total = the size of the
   * file. A larger file has no text. AGENTD_E_UNSUPPORTED: this host cannot look for secrets in it. [any] */
  agentd_status(AGENTD_CALL* view)(const struct agentd_workspace*, agentd_token, agentd_str path, uint64_t limit,
                                   agentd_str* out, uint64_t* total) AGENTD_NOEXCEPT;
  /* Changes a file by its view: `expected` is what view() gave, `text` what becomes of it. AGENTD_E_CONFLICT if the
   * file looks otherwise now. AGENTD_E_ARG, and nothing changes, if a placeholder in `text` stands for no secret of the
   * file, or if a secret would come into the open: one that is known by the text around it. [any] */
  agentd_status(AGENTD_CALL* edit)(const struct agentd_workspace*, agentd_token, agentd_str path, agentd_str expected,
                                   agentd_str text) AGENTD_NOEXCEPT;
} agentd_workspace;

/* Its functions; hook_services.h explains the columns. */
/* clang-format off */
#define AGENTD_WORKSPACE_FUNCTIONS(X)                                                              \
  X(workspace, read, WorkspaceRead, none, none, 1, "a path and a pointer for the text")            \
  X(workspace, write, WorkspaceWrite, none, none, 0, "a path and a text")                          \
  X(workspace, replace, WorkspaceReplace, none, none, 0, "a path and two texts")                   \
  X(workspace, list, WorkspaceList, none, file_entry, 1, "a path and a pointer for the list")        \
  X(workspace, view, WorkspaceView, none, none, 1, "a path and a pointer for the text")            \
  X(workspace, edit, WorkspaceEdit, none, none, 0, "a path and two texts")
/* clang-format on */

/* The addresses in the records; hook_events.h explains the rows. */
/* clang-format off */
#define AGENTD_WORKSPACE_RECORDS(X)                                                                \
  X(file_entry, AGENTD_TEXT(path))
/* clang-format on */

AGENTD_LAYOUT(agentd_file_entry, 40);
AGENTD_LAYOUT(agentd_workspace, 56);

#ifdef __cplusplus
}
#endif
#endif
