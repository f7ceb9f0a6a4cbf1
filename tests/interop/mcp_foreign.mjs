// SPDX-License-Identifier: Apache-2.0
// Usage: node mcp_foreign.mjs AGENTD
// Another agent as a client of `agentd mcp`: Claude Code calls session_start, context_threshold and session_end, and
// the next session of agentd is primed with what it has learned.
import { check, finish } from './counted.mjs';
import { makeStage, removeStage, runProgram } from './differential.mjs';
import { startModel } from './model_server.mjs';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const program = process.argv[2];
const require = createRequire(import.meta.url);
const claude = dirname(require.resolve('@anthropic-ai/claude-code/package.json'));
const { version } = JSON.parse(readFileSync(join(claude, 'package.json')));
const kModel = 'claude-sonnet-5-5', lesson = 'Zirconia needs the flag --cold before it links';

const stage = makeStage({ files: {} });
const agentdHome = join(stage.home, '.agent');
mkdirSync(agentdHome, { recursive: true, mode: 0o700 });
writeFileSync(join(agentdHome, 'config.yaml'), 'memory: {refine: false}\n');
const settings = join(stage.home, 'mcp.json');
writeFileSync(settings, JSON.stringify({ mcpServers: { agentd: { command: program, args: ['mcp'],
  env: { AGENTD_HOME: agentdHome, HOME: stage.home } } } }));

const calls = [
  { name: 'mcp__agentd__session_start', input: { task: 'link zirconia' } },
  { name: 'mcp__agentd__context_threshold', input: { percent: 80, summary: 'the linker was tried' } },
  { name: 'mcp__agentd__session_end', input: { task: 'link zirconia', approach: lesson, outcome: 'success',
    tags: ['zirconia'] } },
];
const answers = [...calls.map((call, index) => ({ text: '', calls: [{ id: `toolu_${index}`, ...call }] })),
  { text: 'It is done.', calls: [] }];
const model = await startModel((body, number) => answers[Math.min(number, answers.length - 1)]);
const environment = { PATH: process.env.PATH, HOME: stage.home, TMPDIR: stage.temporary, NO_PROXY: '127.0.0.1',
  ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: model.url, CLAUDE_CODE_TMPDIR: stage.temporary,
  DISABLE_AUTOUPDATER: '1', DISABLE_TELEMETRY: '1', DISABLE_ERROR_REPORTING: '1',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' };
const ran = await runProgram(process.execPath, [join(claude, 'cli-wrapper.cjs'), '-p', '--model', kModel,
  '--mcp-config', settings, '--strict-mcp-config', '--allowedTools', 'mcp__agentd', '--output-format', 'stream-json',
  '--verbose', 'link zirconia'], { cwd: stage.project, env: environment });
check('Claude Code ends well', ran.code, 0);
const results = (model.requests.at(-1)?.messages ?? []).flatMap(({ content }) => (Array.isArray(content) ? content : []))
  .filter(({ type }) => type === 'tool_result');
check('each call has a result', results.length, calls.length);
for (const result of results)
  check(`the call ${result.tool_use_id} has succeeded: ${JSON.stringify(result.content).slice(0, 300)}`,
    result.is_error === true, false);

// A session of agentd in the same project, for a task of the same words.
const before = model.requests.length;
const next = await runProgram(program, ['run', '--model', kModel, 'link zirconia once more'],
  { cwd: stage.project, env: { ...environment, AGENTD_HOME: agentdHome, AGENTD_MEMORY_REFINE: 'false' } });
check('agentd ends well', next.code, 0);
const primed = JSON.stringify(model.requests[before] ?? {});
check('its model is told of the lesson', primed.includes(lesson), true);
// The control: another project has other lessons.
const elsewhere = join(stage.root, 'elsewhere');
mkdirSync(elsewhere);
await runProgram(program, ['run', '--model', kModel, 'link zirconia once more'],
  { cwd: elsewhere, env: { ...environment, AGENTD_HOME: agentdHome, AGENTD_MEMORY_REFINE: 'false' } });
check('the model of another project is not', JSON.stringify(model.requests.at(-1)).includes(lesson), false);
check('the model has understood every request', model.failures, []);
await model.close();
removeStage(stage);
finish(`Claude Code ${version} as a client of agentd mcp`);
