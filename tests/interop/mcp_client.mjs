// SPDX-License-Identifier: Apache-2.0
// Usage: node mcp_client.mjs MCP_PROBE
// agentd's client of MCP servers with servers that others wrote: the reference servers, one of the official SDK in the
// newest version of the protocol, and the client scenarios of the official conformance suite.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { check, finish } from './counted.mjs';

const probe = process.argv[2];
const here = dirname(fileURLToPath(import.meta.url));
const packages = join(here, 'node_modules/@modelcontextprotocol');
const root = mkdtempSync(join(tmpdir(), 'agentd-mcp-'));
const running = new Set();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(root, { recursive: true, force: true });
});
const program = (name) => join(packages, name, 'dist/index.js');
const versionOf = (name) => JSON.parse(readFileSync(join(packages, name, 'package.json'))).version;
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const own = (name) => `mcp__probe__${name}`;

class Client {
  constructor(words, { values, env = {} } = {}) {
    const begin = values === undefined ? [] : ['--values', values];
    this.child = spawn(probe, [...begin, ...words], { stdio: ['pipe', 'pipe', 'pipe'], cwd: root,
      env: { ...process.env, ...env } });
    running.add(this.child);
    this.errors = '';
    this.child.stderr.on('data', (bytes) => { this.errors += bytes; });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }
  async ask(order) {
    this.child.stdin.write(`${order}\n`);
    const { value } = await this.lines.next();
    return value === undefined ? { error: this.errors } : JSON.parse(value);
  }
  call(name, input = {}) {
    return this.ask(`call ${own(name)} ${JSON.stringify(input)}`);
  }
  async names() {
    return (await this.ask('list')).map((tool) => tool.name);
  }
  async close() {
    const ended = new Promise((done) => this.child.on('exit', done));
    this.child.stdin.end();
    const code = await ended;
    running.delete(this.child);
    return code;
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => server.on('listening', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

// Starts a server of HTTP, and gives its URL when it answers.
async function serve(words, env = {}, path = '/mcp') {
  const port = await freePort();
  const child = spawn(process.execPath, words.map((word) => (word === 'PORT' ? String(port) : word)),
    { stdio: 'ignore', env: { ...process.env, ...env, PORT: String(port) } });
  running.add(child);
  const url = `http://127.0.0.1:${port}${path}`;
  for (let i = 0; i < 300; ++i) {
    try {
      await fetch(url);
      return { url, stop: () => child.kill('SIGKILL') };
    } catch {
      await wait(100);
    }
  }
  throw new Error(`no server at ${url}`);
}

async function everything(words) {
  const client = new Client(words, { values: '{"name":"Ada","check":true,"integer":7}' });
  const [status] = await client.ask('status');
  check('everything: state', [status.state, status.protocol, status.title],
    ['ready', '2025-11-25', 'Everything Reference Server']);
  check('everything: echo', await client.call('echo', { message: 'häß' }),
    { success: true, content: 'Echo: häß', parts: [] });
  const image = await client.call('get-tiny-image');
  check('everything: image', [image.success, image.parts], [true, ['image/png']]);
  check('everything: progress', (await client.call('trigger-long-running-operation', { duration: 1, steps: 4 })).content,
    'Long running operation completed. Duration: 1 seconds, Steps: 4.');
  const form = await client.call('trigger-elicitation-request');
  check('everything: form', [/Name: Ada/.test(form.content), /"integer": 7/.test(form.content)], [true, true]);
  check('everything: structure', (await client.call('get-structured-content', { location: 'Chicago' })).structured
    ?.conditions !== undefined, true);
  check('everything: links', (await client.call('get-resource-links', { count: 2 })).content.split('\n').length, 3);
  const resource = await client.call('get-resource-reference', { resourceType: 'Text', resourceId: 2 });
  check('everything: resource', resource.content.includes('[resource demo://resource/dynamic/text/2]'), true);
  check('everything: wrong input', (await client.call('get-sum', { a: 1 })).success, false);
  check('everything: no such tool', (await client.call('none')).code, 'not_found');
  check('everything: end', await client.close(), 0);
}

async function filesystem() {
  writeFileSync(join(root, 'a.txt'), 'words\n');
  const client = new Client(['--program', process.execPath, program('server-filesystem'), root]);
  check('filesystem: read', (await client.call('read_text_file', { path: join(root, 'a.txt') })).content, 'words\n');
  check('filesystem: write', (await client.call('write_file', { path: join(root, 'b.txt'), content: 'new' })).success,
    true);
  check('filesystem: written', readFileSync(join(root, 'b.txt'), 'utf8'), 'new');
  check('filesystem: outside', (await client.call('read_text_file', { path: '/etc/hostname' })).success, false);
  check('filesystem: end', await client.close(), 0);
}

async function memory() {
  const client = new Client(['--program', process.execPath, program('server-memory')],
    { env: { MEMORY_FILE_PATH: join(root, 'memory.json') } });
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['counts'] }];
  check('memory: create', (await client.call('create_entities', { entities })).success, true);
  const found = await client.call('search_nodes', { query: 'Ada' });
  check('memory: search', found.structured?.entities, entities);
  check('memory: kept', existsSync(join(root, 'memory.json')), true);
  check('memory: end', await client.close(), 0);
}

async function modern(words) {
  const client = new Client(words, { values: '{"name":"Ada"}' });
  const [status] = await client.ask('status');
  check('modern: state', [status.state, status.protocol, status.title, status.version],
    ['ready', '2026-07-28', 'modern', '1.2.3']);
  check('modern: names', await client.names(), ['add', 'route', 'greet', 'grow'].map(own));
  check('modern: structure', await client.call('add', { a: 1, b: 2 }),
    { success: true, content: '3', parts: [], structured: { sum: 3 } });
  check('modern: field', (await client.call('route', { region: 'süd' })).content, 'went to süd');
  check('modern: question', (await client.call('greet')).content, 'hello Ada, state kept');
  check('modern: grows', (await client.call('grow')).content, 'done');
  for (let i = 0; i < 100 && !(await client.names()).includes(own('more')); ++i) await wait(50);
  check('modern: told of the change', (await client.call('more')).content, 'more');
  check('modern: end', await client.close(), 0);
  const nobody = new Client(words);
  check('modern: nobody', (await nobody.call('greet')).content, 'it was decline');
  await nobody.close();
}

function conformance() {
  const scenarios = ['initialize', 'tools_call', 'elicitation-sep1034-client-defaults', 'sse-retry', 'request-metadata',
    'sep-2322-client-request-state', 'http-standard-headers', 'http-custom-headers', 'http-invalid-tool-headers',
    'json-schema-ref-no-deref', 'json-schema-2020-12-preservation'];
  const suite = join(packages, 'conformance/dist/index.js');
  for (const scenario of scenarios) {
    const out = join(root, 'conformance', scenario);
    const ran = spawnSync(process.execPath, [suite, 'client', '--scenario', scenario, '-o', out, '--command',
      `'${process.execPath}' '${join(here, 'mcp_scenario.mjs')}' '${probe}'`], { encoding: 'utf8' });
    check(`conformance: ${scenario}`, [ran.status, (ran.stdout + ran.stderr).match(/Passed: .*/)?.[0]
      .includes(' 0 failed, 0 warnings')], [0, true]);
    check(`conformance: ${scenario} has a report`, readdirSync(out).length, 1);
  }
  // The check must be able to fail: a client that asks for nothing.
  const idle = spawnSync(process.execPath, [suite, 'client', '--scenario', 'tools_call', '-o', join(root, 'idle'),
    '--command', 'true'], { encoding: 'utf8' });
  check('a client that does nothing is noticed', idle.status !== 0, true);
}

await everything(['--program', process.execPath, program('server-everything'), 'stdio']);
const old = await serve([program('server-everything'), 'streamableHttp']);
await everything(['--url', old.url]);
old.stop();
await filesystem();
await memory();
await modern(['--program', process.execPath, join(here, 'mcp_modern_server.mjs')]);
const fresh = await serve([join(here, 'mcp_modern_server.mjs'), 'PORT']);
await modern(['--url', fresh.url]);
fresh.stop();
const hasSuite = Number(process.versions.node.split('.')[0]) >= 22;
if (hasSuite) conformance();
else console.log('the conformance suite needs node 22 and is left out');
finish(`MCP servers: everything ${versionOf('server-everything')}, SDK ${versionOf('server')}, conformance ${
  versionOf('conformance')}`);
