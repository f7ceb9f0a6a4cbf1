// SPDX-License-Identifier: Apache-2.0
// Usage: node claude_code.mjs AGENTD [--only NAME]
// The hooks of a Claude Code settings file, run by Claude Code and by agentd that adapts the same file: the same script
// of model answers, the same files, and every field of what happened beside the other's.
import { join, mkdirSync, onStage, readFileSync, runDifferential, runProgram, writeFileSync } from './differential.mjs';
import { allowed } from './claude_code_reasons.mjs';
import { scenarios, sins } from './claude_code_scenarios.mjs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';

const program = process.argv[2];
const kModel = 'claude-sonnet-5-5';
const require = createRequire(import.meta.url);
const home = dirname(require.resolve('@anthropic-ai/claude-code/package.json'));
const { version } = JSON.parse(readFileSync(join(home, 'package.json')));

const base = (stage, model) => ({ PATH: process.env.PATH, HOME: stage.home, TMPDIR: stage.temporary,
  NO_PROXY: '127.0.0.1', ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: model.url });
const quiet = (stage) => ({ CLAUDE_CODE_TMPDIR: stage.temporary, DISABLE_AUTOUPDATER: '1', DISABLE_TELEMETRY: '1',
  DISABLE_ERROR_REPORTING: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' });

// Variables that the test gives to one side or that every shell sets: they say nothing about hooks.
const passed = new Set(['PATH', 'HOME', 'TMPDIR', 'NO_PROXY', 'ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL',
  'AGENTD_HOME', 'AGENTD_MEMORY_REFINE', 'PWD', 'OLDPWD', 'SHLVL', '_', ...Object.keys(quiet({}))]);

function settingsOf(scenario) {
  const settings = { ...scenario.settings };
  if (!scenario.asks) settings.permissions = { allow: ['Bash', 'Read', 'Edit', 'Write', 'Task', 'Agent'] };
  return settings;
}

function writeSettings(stage, scenario) {
  const directory = join(stage.home, '.claude');
  mkdirSync(directory);
  const path = join(directory, 'settings.json');
  writeFileSync(path, JSON.stringify(onStage(settingsOf(scenario), stage), null, 2));
  return path;
}

// Each hook of the one event in a file of its own, whose hooks agentd asks one file after the other.
function writeApart(stage, scenario) {
  const [[event, groups]] = Object.entries(scenario.settings.hooks);
  const handlers = groups.flatMap(({ matcher, hooks }) => hooks.map((hook) => ({ matcher, hooks: [hook] })));
  return handlers.map((group, index) => {
    const directory = join(stage.home, `.claude-${index}`);
    mkdirSync(directory);
    const path = join(directory, 'settings.json');
    writeFileSync(path, JSON.stringify(onStage({ hooks: { [event]: [group] } }, stage)));
    return path;
  });
}

// What both wires have in common: texts of messages, results of tools, the system prompt.
function read(body) {
  const results = [];
  const messages = [];
  const textOf = (content) => (typeof content === 'string' ? content
    : (content ?? []).map((part) => part.text ?? '').join('\n'));
  for (const message of body.messages) {
    if (message.role === 'assistant') continue;
    const content = typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content;
    for (const part of content) {
      if (part.type === 'tool_result')
        results.push({ id: part.tool_use_id, failed: part.is_error === true, text: textOf(part.content) });
      else if (part.type === 'text') messages.push(part.text);
    }
  }
  return { results, messages: messages.join('\n'), system: textOf(body.system) };
}

function moment({ input }) {
  return `${input.hook_event_name} ${input.tool_use_id ?? ''}`;
}

// Values that no two runs share, by what they are.
function normal(value, key, stage, fields) {
  if (typeof value === 'number' && /\bduration(_ms|Ms)$/.test(key)) return 'a number';
  if (typeof value !== 'string') return value;
  const name = key.slice(key.lastIndexOf(': ') + 2);
  const session = Object.entries(fields).find(([each]) => each.endsWith(': session_id'))?.[1];
  if (name === 'transcript_path' || name === 'agent_transcript_path')
    return /^\/.*\.jsonl$/.test(value) ? 'an absolute path of a .jsonl file' : value;
  if (name === 'agent_id') return /^\w{16,}$/.test(value) ? 'an id' : value;
  const text = value.replaceAll(stage.root, 'ROOT');
  return session ? text.replaceAll(session, 'SESSION') : text;
}

const lines = (text) => text.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));

const claude = {
  name: 'Claude Code', passed, read, moment, normal,
  named: (tool, input) => ({ name: tool, input }),
  settle: writeSettings,
  play: (stage, run, model) => runProgram(process.execPath, [join(home, 'cli-wrapper.cjs'), '-p',
    ...(run.tools ? ['--tools', run.tools] : []), '--model', kModel,
    '--output-format', 'stream-json', '--verbose', ...(run.again ? ['--continue'] : []),
    run.compact === undefined ? run.prompt : `/compact ${run.compact}`],
    { cwd: stage.project, env: { ...base(stage, model), ...quiet(stage) } }),
  shown: ({ out, err }) => lines(out).filter(({ type }) => type === 'result' || type === 'system')
    .map((line) => JSON.stringify(line)).join('\n') + err,
  outcome({ code, out }) {
    const result = lines(out).filter(({ type }) => type === 'result').at(-1);
    return code === 0 && result ? 'ended well' : `ended with ${code}`;
  },
};

const toolNames = { Bash: ['bash', {}], Read: ['read_file', { file_path: 'path' }],
  Write: ['write_file', { file_path: 'path' }], Edit: ['edit_file', { file_path: 'path' }], Agent: ['task', {}],
  Glob: ['glob', {}], Grep: ['grep', {}] };

const agentd = {
  name: 'agentd', passed, read, moment, normal,
  named(tool, input) {
    const [name, keys] = toolNames[tool];
    return { name, input: Object.fromEntries(Object.entries(input).map(([key, each]) => [keys[key] ?? key, each])) };
  },
  settle(stage, scenario) {
    const paths = scenario.apart ? writeApart(stage, scenario) : [writeSettings(stage, scenario)];
    const directory = join(stage.home, '.agent');
    mkdirSync(directory);
    const allow = scenario.asks ? [] : ['bash', 'read_file', 'write_file', 'edit_file', 'task', 'glob', 'grep'];
    writeFileSync(join(directory, 'config.yaml'), `permissions: {allow: [${allow.join(', ')}]}\n` +
      `hooks: {adapt: ${JSON.stringify(paths.map((path) => `claude:${path}`))}}\n${scenario.config ?? ''}`);
  },
  play: (stage, run, model) => runProgram(program, run.compact === undefined
    ? ['run', '--json', '--model', kModel, ...(run.again ? ['--follow'] : []), run.prompt]
    : ['compact', '--json', '--follow', '--instructions', run.compact],
    { cwd: stage.project,
      env: { ...base(stage, model), AGENTD_HOME: join(stage.home, '.agent'), AGENTD_MEMORY_REFINE: 'false' } }),
  shown: ({ out, err }) => lines(out).filter(({ type }) => type !== 'tool_result' && type !== 'user_message')
    .map((line) => JSON.stringify(line)).join('\n') + err,
  outcome: ({ code }) => (code === 0 ? 'ended well' : `ended with ${code}`),
};

await runDifferential({ package: `@anthropic-ai/claude-code ${version}`, program, scenarios, sins, allowed,
  real: claude, ours: agentd });
