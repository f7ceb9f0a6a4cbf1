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
  { scenario: 'subagent: .*', field: `${stdin}agent_type`, real: 'general-purpose', ours: 'general',
    reason: "not yet: agentd's agent has its own name there" },
  { scenario: 'subagent: .*', field: `${stdin}tool_name`, real: 'Agent', ours: 'Task',
    reason: "not yet: the tool's older name, which matchers of both names match" },
  { field: 'stdin asked#1: (permission_suggestions\\..*|tool_use_id)',
    reason: 'not yet: the suggestions have their own form in agentd' },

  // ---- what tools were given and answered
  { field: `${stdin}tool_input\\.replace_all`, real: 'false', ours: 'absent',
    reason: "agentd's hooks see the input as the model wrote it; defaults are not filled in" },
  { field: `${stdin}tool_response\\.noOutputExpected`, ours: 'absent',
    reason: "how the screen shows a command; Claude Code's page about hooks has it not" },
  { field: `${stdin}tool_response\\.stdout`, real: 'MARK-[a-z]+', ours: 'MARK-[a-z]+\\n',
    reason: 'not yet: Claude Code takes the line end off' },
  { scenario: 'after: a command that fails', field: 'stdin failed#1: error',
    reason: 'not yet: the exit code stands at the other end' },
  { scenario: 'paths: .*', field: 'stdin after#[0-9]: tool_response\\..*',
    reason: 'not yet: the answers of file tools have their own form in agentd' },

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
