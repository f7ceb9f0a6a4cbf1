// SPDX-License-Identifier: Apache-2.0
// claude_code_reasons.mjs - where agentd may differ from Claude Code, and why. Patterns match the whole of a scenario's
// name, of a field and of the two values ("absent" where there is none). What begins with "not yet" is to be mended.

const env = 'env [^:]*: ';
const stdin = 'stdin [^:]*: ';

export const allowed = [
  // ---- environment
  { field: `${env}AGENTD_.*`, real: 'absent',
    reason: "agentd's own variables, which every hook gets beside those of its dialect" },
  { field: `${env}(CLAUDE_PID|CLAUDE_CODE_MESSAGING_(SOCKET|TOKEN)|CLAUDE_CODE_CHILD_NOTES_DIR)`, ours: 'absent',
    reason: 'ways back into a running Claude Code, which there is none of' },
  { field: `${env}(AI_AGENT|CLAUDE_CODE_INSTALLED_VIA_NPM_WRAPPER)`, ours: 'absent',
    reason: 'they say which product and which package runs; agentd is neither' },
  { field: `${env}(COREPACK_ENABLE_AUTO_PIN|NoDefaultCurrentDirectoryInExePath)`, ours: 'absent',
    reason: 'settings for other programs that Claude Code starts; its page about hooks has them not' },
  { field: `${env}CLAUDE_CODE_SESSION_ATTENDED`, ours: 'absent',
    reason: "Claude Code's page about hooks has it not" },
  { field: `${env}CLAUDE_CODE_ENTRYPOINT`, real: 'sdk-cli', ours: 'cli',
    reason: 'without a screen Claude Code says sdk-cli; agentd says cli always, which is what hooks ask for' },
  { field: `${env}CLAUDE_ENV_FILE`, ours: '/dev/null',
    reason: 'no later command of agentd reads exported variables; the file is there to be written to' },
  { field: `${env}CLAUDE_EFFORT`, real: 'medium', ours: 'absent',
    reason: 'not yet: agentd does not tell hooks its effort' },

  // ---- standard input
  { field: `${stdin}effort\\.level`, real: 'medium', ours: 'absent',
    reason: 'not yet: agentd does not tell hooks its effort' },
  { field: `${stdin}prompt_id`, ours: 'absent', reason: "an id of Claude Code's own records" },
  { field: `${stdin}(background_tasks|session_crons)`, ours: 'absent', reason: 'agentd has neither' },
  { field: `${stdin}permission_mode`, real: 'absent', ours: 'default',
    reason: 'agentd tells it at every event; at those of sessions and subagents Claude Code leaves it out' },
  { field: 'stdin (start|fresh)#1: model', real: 'absent',
    reason: "Claude Code's page about hooks has it at SessionStart; without a screen it is left out" },
  { scenario: 'session: gone on with', ours: 'absent',
    field: `${stdin}(context_tokens|estimated_cache_write_usd|prompt_cache_likely_expired|seconds_since_last_response)`,
    reason: "estimates of what going on costs; Claude Code's page about hooks has them not" },
  { scenario: 'session: start and end', field: 'stdin end#1: reason', real: 'other', ours: 'prompt_input_exit',
    reason: 'not yet: agentd says of every end that is no clear that the user left' },
  { scenario: 'session: gone on with', real: 'SESSION',
    field: '(env [^:]*: CLAUDE_CODE_SESSION_ID|stdin [^:]*: session_id)',
    reason: 'not yet: a conversation that goes on has another session id in agentd' },
  { scenario: 'subagent: .*', field: '(env [^:]*: CLAUDE_CODE_SESSION_ID|stdin [^:]*: session_id)', real: 'SESSION',
    reason: 'not yet: at its stop a subagent has a session id of its own in agentd' },

  // ---- what tools were given and answered
  { field: `${stdin}tool_input\\.replace_all`, real: 'false', ours: 'absent',
    reason: "agentd's hooks see the input as the model wrote it; defaults are not filled in" },
  { field: `${stdin}tool_response\\.noOutputExpected`, ours: 'absent',
    reason: "how the screen shows a command; Claude Code's page about hooks has it not" },

  { scenario: 'paths: .*', field: 'stdin after#[0-9]: tool_response\\.success', real: 'absent', ours: 'true',
    reason: "Claude Code's page about hooks shows it; its own tools leave it out" },
  { scenario: 'paths: absolute', field: 'stdin after#2: tool_response\\.content', real: 'absent',
    reason: 'what agentd tells the model; a hook that gives the object back changed changes it' },
  { scenario: 'paths: absolute', ours: 'absent',
    field: 'stdin after#2: tool_response\\.(originalFile|structuredPatch\\..*)',
    reason: 'not yet: nobody in agentd has the file as it was before an edit' },
  { scenario: 'paths: relative', ours: 'ROOT/project/.*',
    field: 'stdin after#[0-9]: tool_response\\.(file\\.)?filePath',
    reason: "agentd's paths are absolute there, too; Claude Code has the model's own" },
  { field: 'stdin asked#1: tool_use_id', real: 'absent', reason: 'agentd says which call it asks about' },
  { field: 'stdin asked#1: permission_suggestions\\..*',
    reason: 'each suggests what its own permissions can remember, in the same form' },

  // ---- who is asked
  { scenario: '(before: ask|several: allow and ask)', field: 'hooks: runs', ours: '.*, PermissionRequest: asked',
    reason: "without a screen Claude Code denies what a hook wants asked; agentd's question has its hooks, too" },
  { scenario: 'several: all deny', field: 'request 2: results', real: 'failed MARK-second', ours: 'failed MARK-first',
    reason: "the reason is that of the first in agentd's order; in Claude Code it is that of who answered last" },
  { scenario: 'compact: .*', field: 'hooks: runs', real: '', ours: 'PreCompact: pre.*',
    reason: 'without a screen Claude Code compacts without its hooks; agentd asks them' },

  // ---- what answers do
  { scenario: 'before: continue false', field: 'effect: ran.txt', ours: 'absent',
    reason: 'Claude Code ends the run after the call; in agentd what was announced does not happen' },
  { scenario: 'prompt: malformed JSON', field: 'request 1: new in message', real: 'MARK-text', ours: 'nothing',
    reason: 'half an object is a failure in agentd, and told; Claude Code gives it to the model as a text' },
  { scenario: 'session: (text|additionalContext) at the start', field: 'request 1: new in (message|system)',
    reason: 'agentd puts it into the system prompt, where it survives a compaction' },

  // ---- how it ends
  { field: 'end: outcome', real: '.*ended well', ours: '.*ended with [37]',
    reason: 'agentd has exit codes for what a hook blocked (3) and for a run that a hook ended (7)' },
  { field: 'end: user is told', real: 'nothing',
    reason: 'agentd tells the reason; Claude Code without a screen keeps it' },
];
