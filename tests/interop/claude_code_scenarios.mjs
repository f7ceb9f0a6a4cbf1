// SPDX-License-Identifier: Apache-2.0
// claude_code_scenarios.mjs - settings, hooks and a model's script each. A command "@NAME" is hook.sh with NAME, which
// does what `hooks` says of it; MARK-... are texts whose way to the model and the user is followed.

const bash = (command) => ({ calls: [{ tool: 'Bash', input: { command, description: 'A command' } }] });
const touch = bash('echo MARK-out; echo ran >> ran.txt');
const command = (name, more = {}) => ({ type: 'command', command: `@${name}`, ...more });
const on = (event, matcher, ...names) => ({ [event]: [{ ...(matcher === undefined ? {} : { matcher }),
  hooks: names.map((name) => (typeof name === 'string' ? command(name) : name)) }] });
const say = (value) => `cat <<'END'\n${typeof value === 'string' ? value : JSON.stringify(value)}\nEND`;
const specific = (hookEventName, more) => say({ hookSpecificOutput: { hookEventName, ...more } });
const decide = (permissionDecision, permissionDecisionReason) =>
  specific('PreToolUse', { permissionDecision, permissionDecisionReason });

// One tool call and hooks of PreToolUse.
const before = (name, hook, more = {}) => ({ name, script: [touch], hooks: { hook },
  settings: { hooks: on('PreToolUse', 'Bash', 'hook') }, ...more });
const after = (name, hook, more = {}) => ({ name, script: [touch], hooks: { hook },
  settings: { hooks: on('PostToolUse', 'Bash', 'hook') }, ...more });
const asked = (more) => ({ hooks: { ...more, ...on('PermissionRequest', undefined, 'asked') } });

export const scenarios = [
  // ---- PreToolUse
  before('before: silent', 'true'),
  before('before: allow, where it would be asked', decide('allow', 'MARK-allowed'),
    { asks: true, settings: asked(on('PreToolUse', 'Bash', 'hook')) }),
  before('before: deny', decide('deny', 'MARK-denied')),
  before('before: deny by the older key', say({ decision: 'block', reason: 'MARK-denied' })),
  before('before: approve by the older key', say({ decision: 'approve', reason: 'MARK-allowed' }),
    { asks: true, settings: asked(on('PreToolUse', 'Bash', 'hook')) }),
  before('before: ask', decide('ask', 'MARK-asked'), { settings: asked(on('PreToolUse', 'Bash', 'hook')) }),
  before('before: nothing said, where it would be asked', 'true',
    { asks: true, settings: asked(on('PreToolUse', 'Bash', 'hook')) }),
  before('before: exit 2', 'echo MARK-denied >&2; exit 2'),
  before('before: exit 2 and an allow on stdout', `${decide('allow', 'MARK-allowed')}\necho MARK-denied >&2; exit 2`),
  before('before: exit 1', 'echo MARK-error >&2; exit 1'),
  before('before: exit 1 and a deny on stdout', `${decide('deny', 'MARK-denied')}\nexit 1`),
  before('before: exit 77', 'echo MARK-error >&2; exit 77'),
  before('before: killed', 'echo MARK-error >&2; kill -KILL $BASHPID'),
  before('before: plain text', 'echo MARK-text'),
  before('before: malformed JSON', `echo '{"hookSpecificOutput": {"permissionDecision": "deny"'`),
  before('before: text and then a deny', `echo a log line\n${decide('deny', 'MARK-denied')}`),
  before('before: a deny and then text', `${decide('deny', 'MARK-denied')}\necho a log line`),
  before('before: an unknown decision', decide('maybe', 'MARK-maybe')),
  before('before: additionalContext', specific('PreToolUse', { additionalContext: 'MARK-context' })),
  before('before: systemMessage', say({ systemMessage: 'MARK-told' }), { told: ['MARK-told'] }),
  before('before: updatedInput', specific('PreToolUse', { permissionDecision: 'allow',
    updatedInput: { command: 'echo MARK-changed; echo changed >> changed.txt', description: 'Changed' } }),
    { settings: { hooks: { ...on('PreToolUse', 'Bash', 'hook'), ...on('PostToolUse', 'Bash', 'after') } } }),
  before('before: updatedInput without a decision', specific('PreToolUse', {
    updatedInput: { command: 'echo MARK-changed; echo changed >> changed.txt', description: 'Changed' } })),
  before('before: continue false', say({ continue: false, stopReason: 'MARK-stopped' }), { told: ['MARK-stopped'] }),
  before('before: two calls of one answer',
    'grep -q "echo two" "$record/input" && { echo MARK-denied >&2; exit 2; }; true',
    { script: [{ calls: [...bash('echo one >> one.txt').calls, ...bash('echo two >> two.txt').calls] }] }),

  // ---- matchers
  ...[['Bash', 'Bash'], ['a part of a name', 'Ba'], ['alternatives', 'Edit|Bash'], ['others', 'Edit|Write'],
    ['star', '*'], ['empty', ''], ['absent', undefined], ['an expression', 'B.*h'],
    ['an expression without ends', 'as'], ['lower case', 'bash'], ['a list', 'Edit, Bash'],
    ['an anchored expression', '^Bash$'], ['an expression of another', '^(Edit|Write)$']]
    .map(([what, matcher]) => ({ name: `matcher: ${what}`, script: [touch], hooks: { hook: 'true' },
      settings: { hooks: on('PreToolUse', matcher, 'hook') } })),

  // ---- several hooks
  { name: 'several: at the same time', script: [touch], settings: { hooks: on('PreToolUse', 'Bash', 'one', 'two') },
    hooks: { one: 'meet two', two: 'meet one' }, together: [['one', 'two']] },
  { name: 'several: of two groups', script: [touch], settings: { hooks: { PreToolUse: [
    ...on('PreToolUse', 'Bash', 'one').PreToolUse, ...on('PreToolUse', '*', 'two').PreToolUse] } },
    hooks: { one: 'meet two', two: 'meet one' }, together: [['one', 'two']] },
  { name: 'several: the same command once', script: [touch], settings: { hooks: { PreToolUse: [
    ...on('PreToolUse', 'Bash', 'one', 'one').PreToolUse, ...on('PreToolUse', '*', 'one').PreToolUse] } },
    hooks: { one: 'true' } },
  { name: 'several: the first denies', script: [touch], settings: { hooks: on('PreToolUse', 'Bash', 'one', 'two') },
    hooks: { one: decide('deny', 'MARK-denied'), two: 'true' } },
  { name: 'several: all deny', script: [touch], settings: { hooks: on('PreToolUse', 'Bash', 'one', 'two') },
    hooks: { one: decide('deny', 'MARK-first'), two: `meet one end\n${decide('deny', 'MARK-second')}` } },
  { name: 'several: allow and deny', script: [touch], settings: { hooks: on('PreToolUse', 'Bash', 'one', 'two') },
    hooks: { one: decide('allow', 'MARK-allowed'), two: decide('deny', 'MARK-denied') } },
  { name: 'several: allow and ask', script: [touch], settings: asked(on('PreToolUse', 'Bash', 'one', 'two')),
    hooks: { one: decide('allow', 'MARK-allowed'), two: decide('ask', 'MARK-asked') } },
  { name: 'several: contexts', script: [touch], settings: { hooks: on('PreToolUse', 'Bash', 'one', 'two') },
    hooks: { one: specific('PreToolUse', { additionalContext: 'MARK-one' }),
             two: specific('PreToolUse', { additionalContext: 'MARK-two' }) } },
  { name: 'several: one fails', script: [touch], settings: { hooks: on('PreToolUse', 'Bash', 'one', 'two') },
    hooks: { one: 'exit 1', two: specific('PreToolUse', { additionalContext: 'MARK-two' }) } },

  // ---- time, environment, paths
  before('time: a hook past its timeout', `sleep 60\n${decide('deny', 'MARK-denied')}`,
    { settings: { hooks: on('PreToolUse', 'Bash', command('hook', { timeout: 1 })) } }),
  { name: 'environment: env of the settings', script: [touch], hooks: { hook: 'true', start: 'true' },
    settings: { env: { CHOSEN: 'yes', NUMBER: '7' },
      hooks: { ...on('PreToolUse', 'Bash', 'hook'), ...on('SessionStart', undefined, 'start') } } },
  { name: 'environment: the project in the command', script: [touch], hooks: { hook: 'true' },
    settings: { hooks: on('PreToolUse', 'Bash', { type: 'command',
      command: 'bash "$CLAUDE_PROJECT_DIR"/../hooks/hook.sh hook' }) } },
  { name: 'paths: absolute', files: { 'notes.txt': 'one\n' }, hooks: { before: 'true', after: 'true' },
    settings: { hooks: { ...on('PreToolUse', '*', 'before'), ...on('PostToolUse', '*', 'after') } },
    script: [{ calls: [{ tool: 'Read', input: { file_path: 'ROOT/project/notes.txt' } }] },
      { calls: [{ tool: 'Edit',
        input: { file_path: 'ROOT/project/notes.txt', old_string: 'one', new_string: 'two' } }] },
      { calls: [{ tool: 'Write', input: { file_path: 'ROOT/project/new.txt', content: 'new\n' } }] }] },
  { name: 'paths: relative', files: { 'notes.txt': 'one\n' }, hooks: { before: 'true', after: 'true' },
    settings: { hooks: { ...on('PreToolUse', '*', 'before'), ...on('PostToolUse', '*', 'after') } },
    script: [{ calls: [{ tool: 'Read', input: { file_path: 'notes.txt' } }] },
      { calls: [{ tool: 'Write', input: { file_path: './sub/../new.txt', content: 'new\n' } }] }] },

  { name: 'searches: what they answer', files: { 'notes.txt': 'one\ntwo\n' }, hooks: { after: 'true' },
    runs: [{ prompt: 'do it', tools: 'Glob,Grep' }],  // this build searches by Bash unless they are asked for
    settings: { hooks: on('PostToolUse', '*', 'after') },
    script: [{ calls: [{ tool: 'Glob', input: { pattern: '*.txt' } }] },
      { calls: [{ tool: 'Glob', input: { pattern: '*.none' } }] },
      { calls: [{ tool: 'Grep', input: { pattern: 'two' } }] },
      { calls: [{ tool: 'Grep', input: { pattern: 'two', output_mode: 'content' } }] },
      { calls: [{ tool: 'Grep', input: { pattern: 'o', output_mode: 'count' } }] }] },

  // ---- PostToolUse
  after('after: silent', 'true'),
  after('after: block', say({ decision: 'block', reason: 'MARK-blocked' })),
  after('after: exit 2', 'echo MARK-blocked >&2; exit 2'),
  after('after: exit 1', 'echo MARK-error >&2; exit 1'),
  after('after: additionalContext', specific('PostToolUse', { additionalContext: 'MARK-context' })),
  after('after: block and additionalContext', say({ decision: 'block', reason: 'MARK-blocked',
    hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: 'MARK-context' } })),
  after('after: plain text', 'echo MARK-text'),
  after('after: continue false', say({ continue: false, stopReason: 'MARK-stopped' }), { told: ['MARK-stopped'] }),
  after('after: updatedToolOutput', specific('PostToolUse', { updatedToolOutput: { stdout: 'MARK-updated', stderr: '',
    interrupted: false, isImage: false } })),
  { name: 'after: a command that fails', script: [bash('echo MARK-out; echo MARK-err >&2; exit 3')],
    hooks: { after: 'true', failed: 'true' },
    settings: { hooks: { ...on('PostToolUse', '*', 'after'), ...on('PostToolUseFailure', '*', 'failed') } } },

  // ---- UserPromptSubmit
  ...[['silent', 'true'], ['stdout', 'echo MARK-text'],
    ['additionalContext', specific('UserPromptSubmit', { additionalContext: 'MARK-context' })],
    ['block', say({ decision: 'block', reason: 'MARK-blocked' })], ['exit 2', 'echo MARK-blocked >&2; exit 2'],
    ['exit 1', 'echo MARK-text; echo MARK-error >&2; exit 1'],
    ['continue false', say({ continue: false, stopReason: 'MARK-blocked' })],
    ['malformed JSON', `echo '{"decision": "block", MARK-text'`]]
    .map(([what, hook]) => ({ name: `prompt: ${what}`, script: [{ text: 'Hello.' }], hooks: { hook },
      settings: { hooks: on('UserPromptSubmit', undefined, 'hook') }, told: ['MARK-blocked'] })),

  // ---- sessions
  { name: 'session: start and end', script: [{ text: 'Hello.' }], hooks: { start: 'true', end: 'true', prompt: 'true' },
    settings: { hooks: { ...on('SessionStart', undefined, 'start'), ...on('SessionEnd', undefined, 'end'),
      ...on('UserPromptSubmit', undefined, 'prompt') } } },
  { name: 'session: text at the start', script: [{ text: 'Hello.' }], hooks: { start: 'echo MARK-text' },
    settings: { hooks: on('SessionStart', 'startup', 'start') } },
  { name: 'session: additionalContext at the start', script: [{ text: 'Hello.' }],
    hooks: { start: specific('SessionStart', { additionalContext: 'MARK-context' }) },
    settings: { hooks: on('SessionStart', 'startup|resume', 'start') } },
  { name: 'session: exit 2 at the start', script: [{ text: 'Hello.' }], hooks: { start: 'echo MARK-error >&2; exit 2' },
    settings: { hooks: on('SessionStart', undefined, 'start') } },
  { name: 'session: gone on with', script: [{ text: 'Hello.' }, { text: 'Again.' }],
    runs: [{ prompt: 'one' }, { prompt: 'two', again: true }], hooks: { start: 'true', fresh: 'true', stop: 'true' },
    settings: { hooks: { SessionStart: [...on('SessionStart', 'resume', 'start').SessionStart,
      ...on('SessionStart', 'startup', 'fresh').SessionStart], ...on('Stop', undefined, 'stop') } } },

  // ---- Stop
  { name: 'stop: silent', script: [{ text: 'Hello.' }], hooks: { stop: 'true' },
    settings: { hooks: on('Stop', undefined, 'stop') } },
  { name: 'stop: block once', script: [{ text: 'Hello.' }, { text: 'Again.' }],
    hooks: { stop: `grep -q '"stop_hook_active":true' "$record/input" && exit 0\n` +
      say({ decision: 'block', reason: 'MARK-goon' }) }, settings: { hooks: on('Stop', undefined, 'stop') } },
  { name: 'stop: exit 2 twice', script: [{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }],
    hooks: { stop: 'n=$(grep -c "^start stop" "$here/log")\n[ "$n" -ge 3 ] && exit 0\n' +
      'echo "MARK-goon-$n" >&2; exit 2' },
    settings: { hooks: on('Stop', undefined, 'stop') } },
  { name: 'stop: block and continue false', script: [{ text: 'Hello.' }, { text: 'Again.' }],
    hooks: { stop: say({ decision: 'block', reason: 'MARK-goon', continue: false, stopReason: 'MARK-stopped' }) },
    settings: { hooks: on('Stop', undefined, 'stop') }, told: ['MARK-stopped'] },
  { name: 'stop: two hooks, one blocks', script: [{ text: 'Hello.' }, { text: 'Again.' }],
    hooks: { one: `meet two\ngrep -q '"stop_hook_active":true' "$record/input" && exit 0\n` +
      say({ decision: 'block', reason: 'MARK-goon' }), two: 'meet one' }, together: [['one', 'two']],
    settings: { hooks: on('Stop', undefined, 'one', 'two') } },
  { name: 'stop: plain text', script: [{ text: 'Hello.' }], hooks: { stop: 'echo MARK-text' },
    settings: { hooks: on('Stop', undefined, 'stop') } },

  // ---- compaction
  { name: 'compact: by hand', script: [{ text: 'Hello.' }], aside: '<summary>A summary.</summary>',
    runs: [{ prompt: 'one' }, { compact: 'MARK-keep' }], hooks: { pre: 'true', post: 'true', other: 'true' },
    settings: { hooks: { PreCompact: [...on('PreCompact', 'manual', 'pre').PreCompact,
      ...on('PreCompact', 'auto', 'other').PreCompact], ...on('PostCompact', undefined, 'post') } } },
  { name: 'compact: exit 2', script: [{ text: 'Hello.' }], aside: '<summary>A summary.</summary>',
    runs: [{ prompt: 'one' }, { compact: '' }], hooks: { pre: 'echo MARK-blocked >&2; exit 2', post: 'true' },
    settings: { hooks: { ...on('PreCompact', undefined, 'pre'), ...on('PostCompact', undefined, 'post') } },
    told: ['MARK-blocked'] },

  // ---- subagents
  { name: 'subagent: start and stop', config: 'agents: {enabled: true}\n',
    script: [{ calls: [{ tool: 'Agent', input: { description: 'Look', prompt: 'MARK-task',
      subagent_type: 'general-purpose', run_in_background: false } }] }, { text: 'MARK-answer' }],
    hooks: { start: 'true', stop: 'true', tool: 'true', end: 'true' },
    settings: { hooks: { ...on('SubagentStart', undefined, 'start'), ...on('SubagentStop', undefined, 'stop'),
      ...on('PreToolUse', '*', 'tool'), ...on('Stop', undefined, 'end') } } },
];

// Differences that are planted into what agentd gets, and the field in which they must show.
const without = (event) => (scenario) => { delete scenario.settings.hooks[event]; return scenario; };
const changed = (name, script) => (scenario) => { scenario.hooks[name] = script; return scenario; };
export const sins = [
  { name: 'a hook that is not there', scenario: 'before: silent', alter: without('PreToolUse'), field: 'hooks: runs' },
  { name: 'a guard that is not there', scenario: 'before: exit 2', alter: without('PreToolUse'),
    field: 'effect: ran.txt' },
  { name: 'a denial that is none', scenario: 'before: deny', alter: changed('hook', 'true'),
    field: 'request 2: results' },
  { name: 'a context that does not arrive', scenario: 'after: additionalContext', alter: changed('hook', 'true'),
    field: 'request 2: new in message' },
  { name: 'a Stop hook that lets go', scenario: 'stop: block once', alter: changed('stop', 'true'),
    field: 'model: requests' },
  { name: 'a prompt that is not blocked', scenario: 'prompt: block', alter: changed('hook', 'true'),
    field: 'model: requests' },
  { name: 'another environment', scenario: 'environment: env of the settings',
    alter: (scenario) => { scenario.settings.env.CHOSEN = 'no'; return scenario; }, field: 'env hook#1: CHOSEN' },
  { name: 'another input', scenario: 'before: silent', alter(scenario) {
    scenario.script[0].calls[0].input.command += ' '; return scenario; }, field: 'stdin hook#1: tool_input.command' },
  { name: 'another matcher', scenario: 'matcher: alternatives', alter(scenario) {
    scenario.settings.hooks.PreToolUse[0].matcher = 'Edit'; return scenario; }, field: 'hooks: runs' },
  { name: 'hooks one after the other', scenario: 'several: at the same time',
    alter: (scenario) => ({ ...scenario, apart: true }), field: 'hooks: one and two' },
];
