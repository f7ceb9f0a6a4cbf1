// SPDX-License-Identifier: Apache-2.0
// gemini_cli_scenarios.mjs - as claude_code_scenarios.mjs, for the events and answers of Gemini CLI.

const shell = (command) => ({ calls: [{ tool: 'run_shell_command', input: { command, description: 'A command' } }] });
const touch = shell('echo MARK-out; echo ran >> ran.txt');
const command = (name, more = {}) => ({ type: 'command', command: `@${name}`, ...more });
const on = (event, matcher, ...names) => ({ [event]: [{ ...(matcher === undefined ? {} : { matcher }),
  hooks: names.map((name) => (typeof name === 'string' ? command(name) : name)) }] });
const say = (value) => `cat <<'END'\n${typeof value === 'string' ? value : JSON.stringify(value)}\nEND`;
const specific = (hookEventName, more) => say({ hookSpecificOutput: { hookEventName, ...more } });
const kShell = 'run_shell_command';

const before = (name, hook, more = {}) => ({ name, script: [touch], hooks: { hook },
  settings: { hooks: on('BeforeTool', kShell, 'hook') }, ...more });
const after = (name, hook, more = {}) => ({ name, script: [touch], hooks: { hook },
  settings: { hooks: on('AfterTool', kShell, 'hook') }, ...more });
const prompt = (name, hook, more = {}) => ({ name, script: [{ text: 'Hello.' }], hooks: { hook },
  settings: { hooks: on('BeforeAgent', undefined, 'hook') }, ...more });

export const scenarios = [
  // ---- BeforeTool
  before('before: silent', 'true'),
  before('before: allow', say({ decision: 'allow' })),
  before('before: deny', say({ decision: 'deny', reason: 'MARK-denied' })),
  before('before: block', say({ decision: 'block', reason: 'MARK-denied' })),
  before('before: exit 2', 'echo MARK-denied >&2; exit 2'),
  before('before: exit 1', 'echo MARK-error >&2; exit 1'),
  before('before: exit 1 and a deny on stdout', `${say({ decision: 'deny', reason: 'MARK-denied' })}\nexit 1`),
  before('before: exit 3 and a deny on stdout', `${say({ decision: 'deny', reason: 'MARK-denied' })}\nexit 3`),
  before('before: a deny on stderr', `{ ${say({ decision: 'deny', reason: 'MARK-denied' })}\n} >&2`),
  before('before: plain text', 'echo MARK-text'),
  before('before: malformed JSON', `echo '{"decision": "deny"'`),
  before('before: text and then a deny', `echo a log line\n${say({ decision: 'deny', reason: 'MARK-denied' })}`),
  before('before: systemMessage', say({ systemMessage: 'MARK-told' })),
  before('before: tool_input',
    specific('BeforeTool', { tool_input: { command: 'echo MARK-changed; echo c >> c.txt' } })),
  before('before: continue false', say({ continue: false, stopReason: 'MARK-stopped' }), { told: ['MARK-stopped'] }),
  before('before: past its timeout', `sleep 60\n${say({ decision: 'deny', reason: 'MARK-denied' })}`,
    { settings: { hooks: on('BeforeTool', kShell, command('hook', { timeout: 1000 })) } }),

  // ---- matchers
  ...[['the name', kShell], ['a part of a name', 'shell'], ['alternatives', 'write_file|run_shell_command'],
    ['others', 'write_file|replace'], ['star', '*'], ['empty', ''], ['absent', undefined], ['an expression', 'run_.*'],
    ['an anchored expression', '^run_shell_command$']]
    .map(([what, matcher]) => ({ name: `matcher: ${what}`, script: [touch], hooks: { hook: 'true' },
      settings: { hooks: on('BeforeTool', matcher, 'hook') } })),

  // ---- several hooks
  { name: 'several: at the same time', script: [touch], settings: { hooks: on('BeforeTool', kShell, 'one', 'two') },
    hooks: { one: 'meet two', two: 'meet one' }, together: [['one', 'two']] },
  { name: 'several: one after the other', script: [touch], hooks: { one: 'true', two: 'true' },
    settings: { hooks: { BeforeTool: [
      { matcher: kShell, sequential: true, hooks: [command('one'), command('two')] }] } },
    together: [['one', 'two']] },
  { name: 'several: the same command once', script: [touch], hooks: { one: 'true' },
    settings: { hooks: { BeforeTool: [...on('BeforeTool', kShell, 'one', 'one').BeforeTool,
      ...on('BeforeTool', '*', 'one').BeforeTool] } } },
  { name: 'several: the first denies', script: [touch], settings: { hooks: on('BeforeTool', kShell, 'one', 'two') },
    hooks: { one: say({ decision: 'deny', reason: 'MARK-denied' }), two: 'true' } },

  // ---- environment and paths
  { name: 'environment: of a hook', script: [touch], hooks: { hook: 'true' },
    settings: { hooks: on('BeforeTool', kShell, command('hook', { env: { CHOSEN: 'yes' } })) } },
  { name: 'environment: the project in the command', script: [touch], hooks: { hook: 'true' },
    settings: { hooks: on('BeforeTool', kShell, { type: 'command',
      command: 'bash $GEMINI_PROJECT_DIR/../hooks/hook.sh hook' }) } },
  { name: 'paths: of files', files: { 'notes.txt': 'one\n' }, hooks: { before: 'true', after: 'true' },
    settings: { hooks: { ...on('BeforeTool', '*', 'before'), ...on('AfterTool', '*', 'after') } },
    script: [{ calls: [{ tool: 'read_file', input: { file_path: 'ROOT/project/notes.txt' } }] },
      { calls: [{ tool: 'write_file', input: { file_path: 'sub/../new.txt', content: 'new\n' } }] }] },

  { name: 'paths: as the model writes them mostly', files: { 'notes.txt': 'one\n' },
    hooks: { before: 'true', after: 'true' },
    settings: { hooks: { ...on('BeforeTool', '*', 'before'), ...on('AfterTool', '*', 'after') } },
    script: [{ calls: [{ tool: 'read_file', input: { file_path: 'notes.txt' } }] },
      { calls: [{ tool: 'write_file', input: { file_path: 'sub/new.txt', content: 'new\n' } }] }] },

  // ---- AfterTool
  after('after: silent', 'true'),
  after('after: deny', say({ decision: 'deny', reason: 'MARK-denied' })),
  after('after: exit 2', 'echo MARK-denied >&2; exit 2'),
  after('after: additionalContext', specific('AfterTool', { additionalContext: 'MARK-context' })),
  after('after: continue false', say({ continue: false, stopReason: 'MARK-stopped' }), { told: ['MARK-stopped'] }),
  after('after: tailToolCallRequest', `[ -e t.txt ] && exit 0\n` + specific('AfterTool', { tailToolCallRequest:
    { name: kShell, args: { command: 'echo MARK-tail; echo t >> t.txt' } } })),
  { name: 'after: a command that fails', script: [shell('echo MARK-out; exit 3')], hooks: { hook: 'true' },
    settings: { hooks: on('AfterTool', '*', 'hook') } },

  // ---- BeforeAgent
  prompt('prompt: silent', 'true'),
  prompt('prompt: additionalContext', specific('BeforeAgent', { additionalContext: 'MARK-<b>context' })),
  prompt('prompt: plain text', 'echo MARK-text'),
  prompt('prompt: deny', say({ decision: 'deny', reason: 'MARK-denied' }), { told: ['MARK-denied'] }),
  prompt('prompt: exit 2', 'echo MARK-denied >&2; exit 2', { told: ['MARK-denied'] }),
  prompt('prompt: continue false', say({ continue: false, stopReason: 'MARK-stopped' }), { told: ['MARK-stopped'] }),

  // ---- AfterAgent
  { name: 'stop: silent', script: [{ text: 'Hello.' }], hooks: { stop: 'true' },
    settings: { hooks: on('AfterAgent', undefined, 'stop') } },
  { name: 'stop: deny once', script: [{ text: 'Hello.' }, { text: 'Again.' }],
    hooks: { stop: `grep -q '"stop_hook_active":true' "$record/input" && exit 0\n` +
      say({ decision: 'deny', reason: 'MARK-goon' }) }, settings: { hooks: on('AfterAgent', undefined, 'stop') } },
  { name: 'stop: continue false', script: [{ text: 'Hello.' }],
    hooks: { stop: say({ continue: false, stopReason: 'MARK-stopped' }) }, told: ['MARK-stopped'],
    settings: { hooks: on('AfterAgent', undefined, 'stop') } },

  // ---- the model
  { name: 'model: silent', script: [{ text: 'Hello.' }], hooks: { request: 'true', tools: 'true', answer: 'true' },
    settings: { hooks: { ...on('BeforeModel', undefined, 'request'), ...on('BeforeToolSelection', undefined, 'tools'),
      ...on('AfterModel', undefined, 'answer') } } },
  { name: 'model: deny', script: [{ text: 'Hello.' }],
    hooks: { hook: say({ decision: 'deny', reason: 'MARK-denied' }) },
    settings: { hooks: on('BeforeModel', undefined, 'hook') }, told: ['MARK-denied'] },
  { name: 'model: exit 2', script: [{ text: 'Hello.' }], hooks: { hook: 'echo MARK-denied >&2; exit 2' },
    settings: { hooks: on('BeforeModel', undefined, 'hook') }, told: ['MARK-denied'] },

  // ---- sessions
  { name: 'session: start and end', script: [{ text: 'Hello.' }], hooks: { start: 'true', end: 'true', prompt: 'true' },
    settings: { hooks: { ...on('SessionStart', 'startup', 'start'), ...on('SessionEnd', undefined, 'end'),
      ...on('BeforeAgent', undefined, 'prompt') } } },
  { name: 'session: additionalContext at the start', script: [{ text: 'Hello.' }],
    hooks: { start: specific('SessionStart', { additionalContext: 'MARK-context' }) },
    settings: { hooks: on('SessionStart', undefined, 'start') } },
];

const without = (event) => (scenario) => { delete scenario.settings.hooks[event]; return scenario; };
const changed = (name, script) => (scenario) => { scenario.hooks[name] = script; return scenario; };
export const sins = [
  { name: 'a hook that is not there', scenario: 'before: silent', alter: without('BeforeTool'), field: 'hooks: runs' },
  { name: 'a guard that is not there', scenario: 'before: exit 2', alter: without('BeforeTool'),
    field: 'effect: ran.txt' },
  { name: 'a denial that is none', scenario: 'before: deny', alter: changed('hook', 'true'),
    field: 'request 2: results' },
  { name: 'an AfterAgent hook that lets go', scenario: 'stop: deny once', alter: changed('stop', 'true'),
    field: 'model: requests' },
  { name: 'another environment', scenario: 'environment: of a hook', alter(scenario) {
    scenario.settings.hooks.BeforeTool[0].hooks[0].env.CHOSEN = 'no'; return scenario; }, field: 'env hook#1: CHOSEN' },
];
