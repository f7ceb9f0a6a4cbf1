// SPDX-License-Identifier: Apache-2.0
// Usage: node mcp_server.mjs AGENTD FIXTURES [table]
// The official clients of the Model Context Protocol, its inspector and both of its conformance suites against agentd
// as a server: over standard input and output, and at /mcp of the daemon. FIXTURES: the plugin with the suites' tools.
// `table` prints every scenario.
import { Client as Modern, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client as Legacy } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  PromptListChangedNotificationSchema as PromptsChanged, ResourceListChangedNotificationSchema as ResourcesChanged,
  ResourceUpdatedNotificationSchema as ResourceUpdated,
} from '@modelcontextprotocol/sdk/types.js';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { check, finish } from './counted.mjs';
import { reasons } from './mcp_server_reasons.mjs';

const [, , program, fixtures, wish] = process.argv;
const packages = join(dirname(fileURLToPath(import.meta.url)), 'node_modules');
const root = mkdtempSync(join(tmpdir(), 'agentd-mcp-'));
const home = join(root, 'agentd'), user = join(root, 'user'), project = join(root, 'project');
const environment = { PATH: process.env.PATH, HOME: user, AGENTD_HOME: home };
const kinds = { kModern: '2026-07-28', kLegacy: '2025-11-25' };

// ---- the home

for (const each of [home, join(home, 'hooks'), join(home, 'recipes'), user, project])
  mkdirSync(each, { recursive: true, mode: 0o700 });
const settings = "sandbox: {layer: 'off'}\nmemory: {refine: false}\nserve: {socket: false, port: 0, uncaged: true}\n";
writeFileSync(join(home, 'config.yaml'), settings, { mode: 0o600 });
copyFileSync(fixtures, join(home, 'hooks', 'mcp_fixtures.so'));
writeFileSync(join(home, 'recipes', 'test_simple_prompt.md'),
  '---\ndescription: A prompt\n---\nThis is a simple prompt for testing.\n');
writeFileSync(join(home, 'recipes', 'test_prompt_with_arguments.md'),
  '---\ndescription: A prompt with arguments\narguments:\n  arg1: {description: the first, required: true}\n' +
  "  arg2: {description: the second, required: true}\n---\n" +
  "Prompt with arguments: arg1='{{.arg1}}', arg2='{{.arg2}}'\n");
const script = join(root, 'script.yaml');
writeFileSync(script, '- text: the agent answers\n'.repeat(500));

const daemon =
  spawn(program, ['serve', '--script', script], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
let ended = false;
daemon.once('exit', () => { ended = true; });
process.on('exit', () => {
  if (!ended) daemon.kill('SIGKILL');
  rmSync(root, { recursive: true, force: true });
});
const said = String((await once(daemon.stdout, 'data'))[0]);
const port = Number(/127\.0\.0\.1:(\d+)/.exec(said)[1]);
const token = readFileSync(join(home, 'serve.token'), 'utf8').trim();
const authorized = { requestInit: { headers: { Authorization: `Bearer ${token}` } } };
const address = (on) => new URL(`http://127.0.0.1:${on}/mcp?cwd=${encodeURIComponent(project)}`);
const stdio =
  { command: program, args: ['mcp', '--script', script], env: environment, cwd: project, stderr: 'inherit' };

// ---- the official clients

const text = (result) => result.content.map((each) => each.text ?? '').join('');

// What every client sees, whatever its era and transport.
async function play(name, client, era) {
  const { tools } = await client.listTools();
  const names = tools.map((each) => each.name);
  for (const tool of ['session_start', 'session_end', 'context_threshold', 'memory_search', 'memory_record',
    'memory_feedback', 'checkpoint_save', 'checkpoint_list', 'checkpoint_resume', 'compact', 'conversation_search',
    'run_agent', 'read_file', 'test_simple_text'])
    check(`${name}: offers ${tool}`, names.includes(tool), true);
  check(`${name}: offers no tool that changes things`, names.filter((each) => /^(bash|changes_things)$/.test(each)), []);
  check(`${name}: the fixture's text`, text(await client.callTool({ name: 'test_simple_text', arguments: {} })),
    'This is a simple text response for testing.');
  check(`${name}: the fixture's error`, (await client.callTool({ name: 'test_error_handling', arguments: {} })).isError,
    true);
  // The SDK holds a structured content to the output schema.
  const word = `word${Math.floor(Math.random() * 1e9)}`;
  const lesson = { title: `Use ${word}`, content: `${word} helps` };
  const made = await client.callTool({ name: 'memory_record', arguments: lesson });
  check(`${name}: a memory has an id`, typeof made.structuredContent.id, 'string');
  const found = await client.callTool({ name: 'memory_search', arguments: { query: word } });
  check(`${name}: it is found`, found.structuredContent.memories.map((each) => each.id), [made.structuredContent.id]);
  const steps = [];
  const ran = await client.callTool({ name: 'run_agent', arguments: { prompt: 'say something' } },
    ...(era === kinds.kLegacy ? [undefined] : []), { onprogress: (step) => steps.push(step.progress) });
  check(`${name}: the run's answer`, ran.structuredContent.text, 'the agent answers');
  check(`${name}: its progress`, steps.length >= 2 && steps.every((each, i) => i === 0 || each > steps[i - 1]), true);
  const uri = `agentd://conversation/${ran.structuredContent.conversation_id}`;
  const read = await client.readResource({ uri });
  check(`${name}: the conversation`, read.contents[0].text.includes('the agent answers'), true);
  check(`${name}: it is listed`, (await client.listResources()).resources.some((each) => each.uri === uri), true);
  const { prompts } = await client.listPrompts();
  check(`${name}: recipes`, prompts.some((each) => each.name === 'test_prompt_with_arguments'), true);
  const got = await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'x', arg2: 'y' } });
  check(`${name}: a prompt`, got.messages[0].content.text, "Prompt with arguments: arg1='x', arg2='y'");
  const refused = async (what, asking) => {
    let code = 0;
    await asking().catch((error) => { code = error.code; });
    check(`${name}: ${what}`, code, -32602);
  };
  await refused('an unknown tool is refused', () => client.callTool({ name: 'bash', arguments: { command: 'ls' } }));
  await refused('an unknown prompt is refused', () => client.getPrompt({ name: 'nobody' }));
  await client.close();
}

const identity = { name: 'interop', version: '1.0.0' };
const modern = () => new Modern(identity, { versionNegotiation: { mode: { pin: kinds.kModern } } });
for (const [name, client, transport, era] of [
  ['sdk on stdio', new Legacy(identity), new LegacyStdio(stdio), kinds.kLegacy],
  ['sdk on HTTP', new Legacy(identity), new LegacyHttp(address(port), authorized), kinds.kLegacy],
  ['client on stdio', modern(), new ModernStdio(stdio), kinds.kModern],
  ['client on HTTP', modern(), new ModernHttp(address(port), authorized), kinds.kModern],
  ['client that asks first', new Modern(identity, { versionNegotiation: { mode: 'auto' } }), new ModernStdio(stdio),
    kinds.kModern],
]) {
  await client.connect(transport);
  await play(name, client, era);
}

// ---- changes that another process makes

const runs = [];
// A conversation, or one message more in it.
async function say(conversation) {
  const words = ['run', 'say', '--script', script, ...(conversation ? ['--resume', conversation] : [])];
  const child = spawn(program, words, { env: environment, cwd: project, stdio: 'ignore' });
  const [code] = await once(child, 'exit');
  check(`the other process, run ${runs.push(code)}`, code, 0);
}
// True once it holds; false after a while.
async function comes(holds) {
  for (let i = 0; i < 300 && !holds(); ++i) await sleep(50);
  return holds();
}
let recipes = 0;
const addRecipe = () => writeFileSync(join(home, 'recipes', `added_${++recipes}.md`), '---\ndescription: New\n---\nHi.\n');

// `begin` subscribes, and returns what ends it.
async function playChanges(name, client, begin) {
  await say();
  const [{ uri }] = (await client.listResources()).resources;
  await client.listPrompts();
  const updated = [], lists = { prompts: 0, resources: 0 };
  const end = await begin(uri, (which) => { ++lists[which]; }, (each) => updated.push(each));
  await say(uri.split('/').pop());
  check(`${name}: hears of the conversation`, await comes(() => updated.length > 0), true);
  check(`${name}: and of no other one`, updated.every((each) => each === uri), true);
  check(`${name}: its recipes are as they were`, lists.prompts, 0);
  addRecipe();
  check(`${name}: hears of a new recipe`, await comes(() => lists.prompts === 1), true);
  const before = lists.resources;
  await say();
  check(`${name}: hears of a new conversation`, await comes(() => lists.resources > before), true);
  await end();
  await client.close();
}

for (const [name, transport] of [['sdk on stdio', new LegacyStdio(stdio)],
  ['sdk on HTTP', new LegacyHttp(address(port), authorized)]]) {
  const client = new Legacy(identity);
  await client.connect(transport);
  await playChanges(`${name}, changes`, client, async (uri, list, resource) => {
    client.setNotificationHandler(PromptsChanged, () => list('prompts'));
    client.setNotificationHandler(ResourcesChanged, () => list('resources'));
    client.setNotificationHandler(ResourceUpdated, ({ params }) => resource(params.uri));
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
  });
}
for (const [name, transport] of [['client on stdio', new ModernStdio(stdio)],
  ['client on HTTP', new ModernHttp(address(port), authorized)]]) {
  const client = modern();
  await client.connect(transport);
  await playChanges(`${name}, changes`, client, async (uri, list, resource) => {
    client.setNotificationHandler('notifications/prompts/list_changed', () => list('prompts'));
    client.setNotificationHandler('notifications/resources/list_changed', () => list('resources'));
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => resource(params.uri));
    const wish = { promptsListChanged: true, resourcesListChanged: true, resourceSubscriptions: [uri] };
    const subscription = await client.listen(wish);
    check(`${name}, changes: all of the wish is acknowledged`, subscription.honoredFilter, wish);
    return () => subscription.close();
  });
}

// ---- others as programs

function run(words, options = {}) {
  return new Promise((done) => {
    execFile(process.execPath, words, { maxBuffer: 1 << 26, timeout: 300_000, ...options },
      (error, out, err) => done({ code: error ? error.code ?? 1 : 0, out, err }));
  });
}

const inspector = join(packages, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');
async function inspect(what, words) {
  const ran = await run([inspector, '--cli', ...words], { env: { ...environment }, cwd: project });
  check(`inspector, ${what}`, ran.code, 0);
  return ran.out;
}
// It gives a server no variables but those that it is told.
const command = ['-e', `AGENTD_HOME=${home}`, program, 'mcp', '--script', script];
check('inspector: tools', (await inspect('tools', [...command, '--method', 'tools/list'])).includes('session_start'),
  true);
check('inspector: a call', (await inspect('a call', [...command, '--method', 'tools/call', '--tool-name',
  'test_simple_text'])).includes('simple text response'), true);

// ---- the conformance suites, which have no token, and whose own requests leave the query out: a server in between
// adds both

const between = http.createServer((request, response) => {
  const own = between.address().port;
  const fields = { ...request.headers, authorization: `Bearer ${token}` };
  fields.host = (request.headers.host ?? '').replace(`:${own}`, `:${port}`);
  // A page of this machine is one as well, for agentd; the suite wants it to be let in.
  if (/^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(fields.origin ?? '')) delete fields.origin;
  for (const each of Object.keys(fields)) if (each.startsWith('sec-fetch-')) delete fields[each];
  const path = request.url === '/mcp' ? address(port).pathname + address(port).search : request.url;
  const up = http.request({ host: '127.0.0.1', port, method: request.method, path, headers: fields }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  up.on('error', () => response.destroy());
  response.on('close', () => up.destroy());
  request.pipe(up);
});
between.listen(0, '127.0.0.1');
await once(between, 'listening');
const open = String(address(between.address().port));

// The answers that a false pass would hide: the suite takes "no such tool" for the error that it wants.
async function conform(name, tool, more) {
  const out = join(root, name);
  await run([tool, 'server', '--url', open, '--suite', 'all', '-o', out, ...more]);
  const passed = [], failed = [];
  for (const folder of readdirSync(out).sort()) {
    const scenario = folder.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
    const checks = JSON.parse(readFileSync(join(out, folder, 'checks.json')));
    (checks.some((each) => each.status === 'FAILURE') ? failed : passed).push(scenario);
  }
  check(`conformance ${name}: there are scenarios`, passed.length >= 15, true);
  check(`conformance ${name}: those that fail have a reason`, failed.sort(), Object.keys(reasons[name]).sort());
  if (wish === 'table') {
    for (const each of passed) console.log(`${name} | ${each} | pass |`);
    for (const each of failed) console.log(`${name} | ${each} | fail | ${reasons[name][each] ?? '?'}`);
  }
  return `${passed.length} of ${passed.length + failed.length} scenarios of ${name}`;
}
const newer = join(packages, '@modelcontextprotocol/conformance/dist/index.js');
const summary = [
  await conform('2026-07-28', newer, ['--spec-version', '2026-07-28']),
  await conform('2025-11-25', newer, ['--spec-version', '2025-11-25']),
  await conform('0.1.16', join(packages, 'conf16/dist/index.js'), []),
];
between.close();
daemon.kill('SIGTERM');
if (!ended) await once(daemon, 'exit');
finish(`MCP server: ${summary.join(', ')}`);
