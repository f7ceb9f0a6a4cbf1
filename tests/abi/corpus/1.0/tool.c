/* SPDX-License-Identifier: Apache-2.0 */
/* tool.c - a tool with output in pieces, an error, and arguments that come back. */
#include <agentd/ext/tools.h>
#include <string.h>

#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }

AGENTD_MANIFEST(
    "{\"id\":\"org.example.corpus.tool\",\"version\":\"1.0.0\",\"abi\":\"1.0\",\"events\":[],"
    "\"requires\":[\"agentd.tools/1\"],\"concurrency\":\"concurrent\"}");

static agentd_status output(const agentd_call* call, const char* text, size_t len) {
  agentd_act_text piece = {{sizeof piece, AGENTD_ACT_TOOL_OUTPUT, 0}, 0, 0, {0, 0}};
  piece.text.ptr = text;
  piece.text.len = len;
  return call->core->emit(call->core, call->token, &piece.h);
}

static agentd_status AGENTD_CALL echo(void* self, const agentd_call* call) {
  const agentd_tool_call* tool = (const agentd_tool_call*)call->payload;
  agentd_status status;
  (void)self;
  if (tool->tool != 11) return AGENTD_E_INTERNAL;
  status = output(call, "you said ", 9);
  if (status < 0) return status;
  return output(call, tool->input_json.ptr, tool->input_json.len);
}

static agentd_status AGENTD_CALL refuse(void* self, const agentd_call* call) {
  agentd_act_tool_result result;
  agentd_block block;
  (void)self;
  memset(&result, 0, sizeof result);
  memset(&block, 0, sizeof block);
  block.size = sizeof block;
  block.kind = AGENTD_BLOCK_TEXT;
  block.text.ptr = "this never works";
  block.text.len = 16;
  result.h.size = sizeof result;
  result.h.kind = AGENTD_ACT_TOOL_RESULT;
  result.is_error = 1;
  result.blocks.first = &block;
  result.blocks.count = 1;
  result.blocks.stride = sizeof block;
  return call->core->emit(call->core, call->token, &result.h);
}

static agentd_status AGENTD_CALL fail(void* self, const agentd_call* call) {
  const agentd_str why = TEXT("the disk of the corpus is full");
  (void)self;
  call->core->fail(call->core, call->token, AGENTD_E_IO, why);
  return AGENTD_E_IO;
}

static agentd_status AGENTD_CALL create(const agentd_call* call, void** self) {
  const agentd_str id = TEXT(AGENTD_TOOLS_ID);
  const agentd_tools* tools =
      (const agentd_tools*)call->core->query(call->core, id, sizeof(agentd_tools));
  const agentd_str schema = TEXT("{\"type\":\"object\"}");
  const agentd_tool rows[3] = {{sizeof rows[0],
                                AGENTD_TOOL_READ_ONLY,
                                TEXT("corpus_echo"),
                                {0, 0},
                                TEXT("Says it again."),
                                schema,
                                {0, 0},
                                0,
                                0,
                                echo,
                                11},
                               {sizeof rows[0],
                                AGENTD_TOOL_READ_ONLY,
                                TEXT("corpus_refuse"),
                                {0, 0},
                                TEXT("Is an error."),
                                schema,
                                {0, 0},
                                0,
                                0,
                                refuse,
                                12},
                               {sizeof rows[0],
                                AGENTD_TOOL_READ_ONLY,
                                TEXT("corpus_fail"),
                                {0, 0},
                                TEXT("Fails."),
                                schema,
                                {0, 0},
                                0,
                                0,
                                fail,
                                13}};
  int i;
  *self = NULL;
  for (i = 0; i < 3; ++i) {
    const agentd_status status = tools->add(tools, call->token, &rows[i]);
    if (status < 0) return status;
  }
  return AGENTD_OK;
}

static const agentd_plugin plugin = {sizeof(agentd_plugin),
                                     AGENTD_CONCURRENT,
                                     TEXT("org.example.corpus.tool"),
                                     TEXT("1.0.0"),
                                     create,
                                     NULL,
                                     NULL,
                                     NULL,
                                     {NULL, 0, 0}};

agentd_status AGENTD_CALL agentd_hook_entry_v1(agentd_negotiate* io) {
  io->magic = AGENTD_MAGIC;
  io->abi = AGENTD_ABI;
  io->plugin = &plugin;
  return AGENTD_OK;
}
