// SPDX-License-Identifier: Apache-2.0
// gemini_cli_reasons.mjs - where agentd may differ from Gemini CLI, and why; as claude_code_reasons.mjs.

const env = 'env [^:]*: ';
const stdin = 'stdin [^:]*: ';

export const allowed = [
  { field: `${env}AGENTD_.*`, real: 'absent',
    reason: "agentd's own variables, which every hook gets beside those of its dialect" },
  { field: `${env}GEMINI_CLI_TRUST_WORKSPACE`, ours: 'absent',
    reason: "Gemini CLI's own flag, passed to what it starts" },
  { field: `${env}GEMINI_PLANS_DIR`, ours: 'absent', reason: 'agentd writes no plans' },

  // ---- tools
  { scenario: 'after: .*', field: `${stdin}tool_response\\.(llmContent|returnDisplay)`, real: '.*MARK-out.*',
    ours: 'MARK-out\n.*', reason: 'the words of each side around what the command said' },
  { scenario: 'after: a command that fails', field: 'stdin hook#1: tool_response\\.error\\.message', real: 'absent',
    reason: 'a command with another exit code than 0 has failed in agentd' },
  { scenario: 'paths: .*', field: `${stdin}tool_response\\..*`,
    reason: 'the words of each side for what its file tools did' },
  { scenario: 'paths: of files', field: `${stdin}tool_input\\.file_path`, real: '(ROOT/project/|sub/\\.\\./).*',
    ours: '[a-z]+\\.txt',
    reason: "one path for whoever judges and the tool that runs; Gemini CLI's is the model's own word, either way" },
  { scenario: 'after: a command that fails', field: 'request 2: results', real: 'ok MARK-out', ours: 'failed MARK-out',
    reason: 'a command with another exit code than 0 has failed in agentd' },
  { scenario: 'after: (deny|exit 2)', field: 'request 2: results', real: 'failed MARK-denied', ours: 'ok MARK-denied',
    reason: 'agentd puts the reason in the place of the result, whose status stays' },
  { scenario: 'after: additionalContext', field: 'request 2: (results|new in message)',
    reason: 'Gemini CLI adds it to the result; in agentd it is a message beside it' },

  { scenario: 'after: tailToolCallRequest', field: '(effect: t.txt|hooks: runs|request 2: results)',
    reason: 'a call that the model did not ask for has no place in its history: agentd says that it leaves it out' },

  // ---- the model
  { scenario: 'model: .*', field: `${stdin}llm_request\\.config\\..*`, ours: 'absent',
    reason: "the settings of Gemini CLI's own request" },
  { scenario: 'model: .*', field: 'stdin (request|tools|hook)#1: llm_request\\.messages\\.[01]\\.(role|content)',
    reason: "each side's own instructions: agentd's stand in a system message, Gemini CLI's in front of the prompt" },
  { scenario: 'model: silent', field: 'stdin answer#1: llm_request\\.messages.*',
    reason: 'not yet: agentd gives AfterModel hooks no messages' },
  { scenario: 'model: silent', field: 'stdin answer#1: llm_response\\.candidates\\.0\\.index', ours: 'absent',
    reason: 'there is one candidate' },

  // ---- the end of a turn
  { scenario: 'stop: deny once', field: 'stdin stop#2: prompt', real: 'do it', ours: 'MARK-goon',
    reason: "not yet: agentd takes the hook's message for the prompt" },
  { scenario: 'stop: deny once', field: 'stdin stop#2: prompt_response', real: 'Hello\\.\\nAgain\\.', ours: 'Again\\.',
    reason: "agentd gives the answer since the hook's message; Gemini CLI adds it to the one before" },
  { scenario: 'session: additionalContext at the start', field: 'request 1: new in (message|system)',
    reason: 'agentd puts it into the system prompt, where it survives a compaction' },
  { field: 'end: outcome', real: 'ended well', ours: 'ended with [37]',
    reason: 'agentd has exit codes for what a hook blocked (3) and for a run that a hook ended (7)' },
  { field: 'end: user is told', real: 'nothing',
    reason: 'agentd tells the reason; Gemini CLI without a screen keeps it' },
];
