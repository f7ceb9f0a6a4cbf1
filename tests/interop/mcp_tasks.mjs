// SPDX-License-Identifier: Apache-2.0
// Usage: node mcp_tasks.mjs AGENTD
// The official client of the extension for tasks runs agents: begun at /mcp of the daemon, followed from there and from
// another process on standard input and output, cancelled, and killed. The client checks each answer by its own schema.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { check, finish } from './counted.mjs';

const program = process.argv[2];
const packages = join(dirname(fileURLToPath(import.meta.url)), 'node_modules');
const root = mkdtempSync(join(tmpdir(), 'agentd-tasks-'));
const home = join(root, 'agentd'), user = join(root, 'user'), project = join(root, 'project');
for (const each of [home, user, project]) mkdirSync(each, { recursive: true, mode: 0o700 });
writeFileSync(join(home, 'config.yaml'), "sandbox: {layer: 'off'}\nmemory: {refine: false}\n" +
  'permissions: {mode: allow}\nserve: {socket: false, port: 0, uncaged: true}\n', { mode: 0o600 });
const environment = { PATH: process.env.PATH, HOME: user, AGENTD_HOME: home };
const script = join(root, 'script.yaml');
const waits = (name) =>
  `- calls: [{name: bash, input: {command: 'touch ${name}; until test -e go-${name}; do sleep 0.02; done'}}]\n`;
writeFileSync(script, '- text: the agent answers\n' + waits('followed') + '- text: followed\n' + waits('cancelled') +
  waits('killed'));

const children = [];
process.on('exit', () => {
  for (const each of children) each.kill('SIGKILL');
  rmSync(root, { recursive: true, force: true });
});
async function until(so) {
  for (let i = 0; i < 400 && !so(); ++i) await sleep(25);
  return so();
}

// ---- two servers of one home

const daemon = spawn(program, ['serve', '--script', script], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
children.push(daemon);
const port = Number(/127\.0\.0\.1:(\d+)/.exec(String((await once(daemon.stdout, 'data'))[0]))[1]);
const headers = { Authorization: `Bearer ${readFileSync(join(home, 'serve.token'), 'utf8').trim()}` };
const address = new URL(`http://127.0.0.1:${port}/mcp?cwd=${encodeURIComponent(project)}`);

const version = '2026-07-28';
const identity = { name: 'interop', version: '1.0.0' };
const answered = (message) => message.error ? { kind: 'error', error: message.error }
                                            : { kind: 'result', result: message.result };
let ids = 0;

async function byHttp(request) {
  const name = request.params.taskId ?? request.params.name;
  const answer = await fetch(address, {
    method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: ++ids, ...request }),
    headers: { ...headers, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': version, 'Mcp-Method': request.method, ...(name ? { 'Mcp-Name': name } : {}) },
  });
  const body = await answer.text();
  const kind = answer.headers.get('content-type') ?? '';
  if (!kind.includes('event-stream')) return answered(JSON.parse(body));
  const events = body.split('\n').filter((line) => line.startsWith('data: ')).map((line) => JSON.parse(line.slice(6)));
  return answered(events.find((each) => each.id === ids || each.error !== undefined || each.result !== undefined));
}

const words = ['mcp', '--script', script];
const other = spawn(program, words, { env: environment, cwd: project, stdio: ['pipe', 'pipe', 'inherit'] });
children.push(other);
const asked = new Map();
createInterface({ input: other.stdout }).on('line', (line) => {
  const message = JSON.parse(line);
  if (asked.has(message.id)) asked.get(message.id)(answered(message));
});
const byStdio = (request) => new Promise((done) => {
  asked.set(++ids, done);
  other.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: ids, ...request })}\n`);
});

async function sessionBy(rawDispatch, transport) {
  const client = new Client(identity, { versionNegotiation: { mode: { pin: version } } });
  await client.connect(transport);
  return createTaskSessionFromClient(client, { endpointId: 'agentd', rawDispatch,
    v2RequestFraming: { protocolVersion: version, clientInfo: identity, clientCapabilities: {} } });
}
const first = await sessionBy(byHttp, new StreamableHTTPClientTransport(address, { requestInit: { headers } }));
const second = await sessionBy(byStdio,
  new StdioClientTransport({ command: program, args: words, env: environment, cwd: project, stderr: 'inherit' }));
check('both run tasks', [first.capabilities.execution, second.capabilities.execution], [true, true]);

// ---- the life of a run

const run = (prompt) => first.callTool('run_agent', { prompt });

const whole = await run('one');
check('a run is a task', whole.kind, 'task');
const states = [];
const { outcome } = await whole.settle({ onEvent: (event) => { if (event.task) states.push(event.task.status); } });
check('its outcome', [outcome.status, outcome.result?.structuredContent.text], ['completed', 'the agent answers']);
check('its states', states.every((each) => ['working', 'completed'].includes(each)) && states.includes('completed'), true);

const followed = await run('two');
const reference = followed.serializeReference();
check('it runs', await until(() => existsSync(join(project, 'followed'))), true);
await followed.detach();
const elsewhere = second.task(reference.taskId);
check('another process sees it work', (await elsewhere.snapshot()).status, 'working');
writeFileSync(join(project, 'go-followed'), '');
const resumed = await second.resumeTask(reference);
const ended = (await resumed.settle()).outcome;
check('and end', [ended.status, ended.result?.structuredContent.text], ['completed', 'followed']);

const cancelled = await run('three');
check('and so does this', await until(() => existsSync(join(project, 'cancelled'))), true);
await cancelled.cancel();
check('a cancelled one', (await cancelled.settle()).outcome.status, 'cancelled');

const killed = (await run('four')).serializeReference();
check('it works', await until(() => existsSync(join(project, 'killed'))), true);
daemon.kill('SIGKILL');
await once(daemon, 'exit');
const lost = (await (await second.resumeTask(killed)).settle()).outcome;
check('a killed one', [lost.status, /run_agent/.test(lost.error?.message)], ['failed', true]);
const nobody = await second.task('01J00000000000000000000000').snapshot().then(() => 0, (error) => error.code);
check('one that nobody has begun', nobody, -32602);

await second.close();
other.stdin.end();
const [code] = await once(other, 'exit');
check('exit', code, 0);
const own = JSON.parse(readFileSync(join(packages, '@modelcontextprotocol/ext-tasks/package.json'))).version;
finish(`@modelcontextprotocol/ext-tasks ${own}`);
