// SPDX-License-Identifier: Apache-2.0
// Usage: node gemini_cli.mjs AGENTD [--only NAME]
// The hooks of a Gemini CLI settings file, run by Gemini CLI and by agentd that adapts the same file, as
// claude_code.mjs does for Claude Code.
import { join, mkdirSync, onStage, readFileSync, runDifferential, runProgram, writeFileSync } from './differential.mjs';
import { allowed } from './gemini_cli_reasons.mjs';
import { scenarios, sins } from './gemini_cli_scenarios.mjs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';

const program = process.argv[2];
const kModel = 'gemini-2.5-pro';
const require = createRequire(import.meta.url);
const home = dirname(require.resolve('@google/gemini-cli/package.json'));
const { version, bin } = JSON.parse(readFileSync(join(home, 'package.json')));

const base = (stage, model) => ({ PATH: process.env.PATH, HOME: stage.home, TMPDIR: stage.temporary,
  NO_PROXY: '127.0.0.1', GEMINI_API_KEY: 'test', GOOGLE_GEMINI_BASE_URL: model.url });
const quiet = { GEMINI_CLI_NO_RELAUNCH: 'true', NO_COLOR: '1' };

// Variables that the test gives to one side or that every shell sets: they say nothing about hooks.
const passed = new Set(['PATH', 'HOME', 'TMPDIR', 'NO_PROXY', 'GEMINI_API_KEY', 'GOOGLE_GEMINI_BASE_URL',
  'AGENTD_HOME', 'AGENTD_MEMORY_REFINE', 'PWD', 'OLDPWD', 'SHLVL', '_', ...Object.keys(quiet)]);

function writeSettings(stage, scenario) {
  const directory = join(stage.home, '.gemini');
  mkdirSync(directory);
  const path = join(directory, 'settings.json');
  const own = { security: { auth: { selectedType: 'gemini-api-key' } }, telemetry: { enabled: false },
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
    privacy: { usageStatisticsEnabled: false } };
  writeFileSync(path, JSON.stringify(onStage({ ...own, ...scenario.settings }, stage), null, 2));
  return path;
}

// Results have no id of their own that both sides write: their place in the history, which only grows, is one.
function read(body) {
  const results = [];
  const messages = [];
  body.contents.forEach(({ role, parts }, at) => {
    if (role === 'model') return;
    parts.forEach((part, index) => {
      const { functionResponse } = part;
      if (functionResponse)
        results.push({ id: `${at}.${index}`, failed: 'error' in functionResponse.response,
          text: JSON.stringify(functionResponse.response) });
      else if (part.text) messages.push(part.text);
    });
  });
  const system = (body.systemInstruction?.parts ?? []).map(({ text }) => text ?? '').join('\n');
  return { results, messages: messages.join('\n'), system };
}

const moment = ({ input }) => `${input.hook_event_name} ${JSON.stringify(input.tool_input ?? '')}`;

function normal(value, key, stage, fields) {
  if (typeof value !== 'string') return value;
  const name = key.slice(key.lastIndexOf(': ') + 2);
  const session = Object.entries(fields).find(([each]) => each.endsWith(': session_id'))?.[1];
  if (name === 'transcript_path') return /^\/.*\.jsonl?$/.test(value) ? 'an absolute path of a file' : value;
  if (name === 'timestamp') return Number.isNaN(Date.parse(value)) ? value : 'a time';
  const text = value.replaceAll(stage.root, 'ROOT');
  return session ? text.replaceAll(session, 'SESSION') : text;
}

const lines = (text) => text.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
const outcome = ({ code }) => (code === 0 ? 'ended well' : `ended with ${code}`);

const gemini = {
  name: 'Gemini CLI', passed, read, moment, normal, outcome,
  named: (tool, input) => ({ name: tool, input }),
  settle: writeSettings,
  play: (stage, run, model) => runProgram(process.execPath, [join(home, bin.gemini), '-m', kModel, '--skip-trust',
    '--approval-mode', 'yolo', '-o', 'stream-json', '-p', run.prompt],
    { cwd: stage.project, env: { ...base(stage, model), ...quiet } }),
  shown: ({ out, err }) => lines(out).filter(({ type }) => type !== 'tool_result' && type !== 'tool_use')
    .map((line) => JSON.stringify(line)).join('\n') + err,
};

const toolNames = { run_shell_command: ['bash', {}], read_file: ['read_file', { file_path: 'path' }],
  write_file: ['write_file', { file_path: 'path' }] };

const agentd = {
  name: 'agentd', passed, read, moment, normal, outcome,
  named(tool, input) {
    const [name, keys] = toolNames[tool];
    return { name, input: Object.fromEntries(Object.entries(input).map(([key, each]) => [keys[key] ?? key, each])) };
  },
  settle(stage, scenario) {
    const path = writeSettings(stage, scenario);
    const directory = join(stage.home, '.agent');
    mkdirSync(directory);
    writeFileSync(join(directory, 'config.yaml'), 'permissions: {allow: [bash, read_file, write_file]}\n' +
      `hooks: {adapt: ["gemini:${path}"]}\n`);
  },
  play: (stage, run, model) => runProgram(program, ['run', '--json', '--model', `google/${kModel}`, run.prompt],
    { cwd: stage.project,
      env: { ...base(stage, model), AGENTD_HOME: join(stage.home, '.agent'), AGENTD_MEMORY_REFINE: 'false' } }),
  shown: ({ out, err }) => lines(out).filter(({ type }) => type !== 'tool_result' && type !== 'user_message')
    .map((line) => JSON.stringify(line)).join('\n') + err,
};

await runDifferential({ package: `@google/gemini-cli ${version}`, program, scenarios, sins, allowed, real: gemini,
  ours: agentd });
