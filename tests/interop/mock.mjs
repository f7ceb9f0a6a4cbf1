// SPDX-License-Identifier: Apache-2.0
// Usage: node mock.mjs AGENTD
// The built program against a mock server that others wrote (aimock), over all four wire formats: texts, tool
// calls one and two at a time, thinking, an answer at its limit, a provider that is busy once, and answers that
// break off.
import { LLMock } from '@copilotkit/aimock';
import { spawn } from 'node:child_process';
import { mkdtempSync, mkdirSync, writeFileSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, finish } from './counted.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const program = process.argv[2];

const glob = (id, pattern) => ({ id, name: 'glob', arguments: JSON.stringify({ pattern }) });
const mock = new LLMock({ port: 0 });
mock.on({ userMessage: 'one tool', hasToolResult: false }, { toolCalls: [glob('call_a', '*.none')] });
mock.on({ userMessage: 'one tool', hasToolResult: true }, { content: 'No files.' });
mock.on({ userMessage: 'two tools', hasToolResult: false },
  { toolCalls: [glob('call_b', '*.none'), glob('call_c', '*.nil')] });
mock.on({ userMessage: 'two tools', hasToolResult: true }, { content: 'No files at all.' });
mock.on({ userMessage: 'think' }, { content: 'Forty-two.', reasoning: 'Let me think.' });
mock.on({ userMessage: 'long' }, { content: 'It is cut', finishReason: 'length' });
mock.on({ userMessage: 'break off' }, { content: 'Half of an answer that is longer than what comes of it.' },
  { latency: 20, chunkSize: 4, truncateAfterChunks: 4 });
mock.on({ userMessage: 'hello' }, { content: 'Hello from the mock: äöü 😀.' });
await mock.start();

const home = mkdtempSync(join(tmpdir(), 'interop-'));
const project = join(home, 'project');
mkdirSync(project);
writeFileSync(join(home, 'config.yaml'), 'permissions: {allow: [glob]}\n');

async function run(wire, words) {
  const env = { PATH: process.env.PATH, HOME: home, AGENTD_HOME: home, NO_PROXY: '127.0.0.1',
                AGENTD_MEMORY_REFINE: 'false',
                ANTHROPIC_API_KEY: 'test', OPENAI_API_KEY: 'test', GEMINI_API_KEY: 'test',
                ANTHROPIC_BASE_URL: mock.url, GOOGLE_GEMINI_BASE_URL: mock.url, OPENAI_BASE_URL: `${mock.url}/v1` };
  const child = spawn(program, ['run', '--json', '--model', wire.model, ...wire.more, words],
    { cwd: project, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stdout.on('data', (bytes) => { out += bytes; });
  child.stderr.on('data', (bytes) => { err += bytes; });
  const code = await new Promise((done) => child.on('close', done));
  const events = out.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line));
  const of = (type) => events.filter((event) => event.type === type);
  return { code, err, events, of, text: of('text_delta').map((event) => event.text).join('') };
}

// Where the mock departs from the vendor's own types, agentd does not follow it: it gives no reason for an incomplete
// response, and ends Gemini's calls for 'FUNCTION_CALL', which is no FinishReason, so that none of them runs.
const wires = [
  { api: 'messages', model: 'claude-sonnet-5-5', more: [], limit: 'max_tokens', calls: true },
  { api: 'responses', model: 'openai/gpt-6.1-sol', more: ['--set', 'providers.openai.api=responses'],
    limit: 'interrupted', calls: true },
  { api: 'chat', model: 'openai/gpt-4o', more: ['--set', 'providers.openai.api=chat'],
    limit: 'max_tokens', calls: true },
  { api: 'generateContent', model: 'google/gemini-3.8-flash', more: [], limit: 'max_tokens', calls: false },
];

for (const wire of wires) {
  const name = (what) => `${wire.api}: ${what}`;
  const hello = await run(wire, 'hello');
  check(name('text'), [hello.code, hello.text], [0, 'Hello from the mock: äöü 😀.']);
  const one = await run(wire, 'one tool');
  check(name('one tool'),
    [one.code, one.of('tool_call').length, one.of('tool_result').map((event) => event.ok), one.text],
    wire.calls ? [0, 1, [true], 'No files.'] : [10, 0, [], '']);
  const two = await run(wire, 'two tools');
  check(name('two tools'), [two.code, two.of('tool_call').map((event) => event.input.pattern), two.text],
    wire.calls ? [0, ['*.none', '*.nil'], 'No files at all.'] : [10, [], '']);
  const thought = await run(wire, 'think');
  check(name('thinking'), [thought.code, thought.text], [0, 'Forty-two.']);
  const long = await run(wire, 'long');
  check(name('an answer at its limit'), [long.code, long.of('turn_ended').at(-1)?.stop_reason], [10, wire.limit]);
  mock.nextRequestError(429, { message: 'busy', type: 'rate_limit_error' });
  const busy = await run(wire, 'hello again');
  check(name('busy once'),
    [busy.code, busy.text, busy.of('notice').some((event) => event.text.includes('called again'))],
    [0, 'Hello from the mock: äöü 😀.', true]);
  const broken = await run(wire, 'break off');
  check(name('an answer that breaks off'), [broken.code, broken.of('answer_again').length], [5, 2]);
}

await mock.stop();
rmSync(home, { recursive: true });
const version = JSON.parse(readFileSync(join(here, 'node_modules/@copilotkit/aimock/package.json'))).version;
finish(`@copilotkit/aimock ${version}: ${wires.length} wire formats`);
