// SPDX-License-Identifier: Apache-2.0
// Usage: node acp.mjs AGENTD
// The official SDK of the Agent Client Protocol is the editor: it plays a session that uses every method and kind of
// update, and every line in both directions is checked against the protocol's schema.
import * as acp from '@agentclientprotocol/sdk';
import Ajv from 'ajv/dist/2020.js';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, mkdirSync, readFileSync, writeFileSync, existsSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, finish } from './counted.mjs';

const program = process.argv[2];
const root = mkdtempSync(join(tmpdir(), 'agentd-acp-'));
process.on('exit', () => rmSync(root, { recursive: true, force: true }));

// ---- the schema

const packages = join(dirname(fileURLToPath(import.meta.url)), 'node_modules');
const schema = JSON.parse(readFileSync(join(packages, '@agentclientprotocol/sdk/schema/v1/schema.json')));
const ajv = new Ajv({ strict: false, allErrors: false, validateFormats: false });
ajv.addSchema({ ...schema, $id: 'acp' });
const validators = new Map();
const validator = (name) => {
  if (!validators.has(name)) validators.set(name, ajv.compile({ $ref: `acp#/$defs/${name}` }));
  return validators.get(name);
};
// The definition of a method's params and result: {'session/new': {params, result}}.
const shapes = {};
for (const [name, definition] of Object.entries(schema.$defs)) {
  const method = definition['x-method'];
  if (!method) continue;
  shapes[method] ??= {};
  shapes[method][name.endsWith('Response') ? 'result' : 'params'] = name;
}
const seen = new Set();
let lines = 0;
const bad = [];
function checkShape(name, value, line) {
  const validate = validator(name);
  if (!validate(value)) bad.push(`${name}: ${ajv.errorsText(validate.errors)} in ${line.slice(0, 300)}`);
}
// Checks each message of one direction; the other direction's requests say what a result must be.
function watch(asked, answered) {
  return (line) => {
    if (line.trim() === '') return;
    ++lines;
    const message = JSON.parse(line);
    if (message.method !== undefined) {
      const shape = shapes[message.method];
      if (message.id !== undefined) asked.set(message.id, message.method);
      if (shape?.params) checkShape(shape.params, message.params, line);
      else bad.push(`unknown method ${message.method}`);
      seen.add(message.method);
      if (message.method === 'session/update') seen.add(message.params.update.sessionUpdate);
    } else if (message.error) {
      checkShape('Error', message.error, line);
    } else {
      const method = answered.get(message.id);
      if (method === undefined) bad.push(`an answer to nothing: ${line.slice(0, 200)}`);
      else checkShape(shapes[method].result, message.result, line);
    }
  };
}

// ---- the editor

function lineSplitter(each) {
  let rest = '';
  return (chunk) => {
    const parts = (rest + Buffer.from(chunk).toString('utf8')).split('\n');
    rest = parts.pop();
    parts.forEach(each);
  };
}

class Editor {
  constructor(name, script, { answer = () => 'allow', settings = '', abilities = {} } = {}) {
    this.abilities = abilities;
    this.texts = new Map();
    this.terminals = new Map();
    this.forms = [];
    this.home = join(root, name);
    this.project = join(root, `${name}-project`);
    mkdirSync(this.home, { recursive: true, mode: 0o700 });
    mkdirSync(this.project, { recursive: true });
    const config = `sandbox: {layer: 'off'}\nmemory: {refine: false}\n${settings}`;
    writeFileSync(join(this.home, 'config.yaml'), config, { mode: 0o600 });
    this.answer = answer;
    this.updates = [];
    this.came = 0;       // updates that came on the wire
    this.handedOn = 0;   // of those: what the SDK has handed on
    this.questions = [];
    const file = join(root, `${name}-${Math.random()}.yaml`);
    writeFileSync(file, script);
    this.child = spawn(program, ['acp', '--script', file], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH, HOME: this.home, AGENTD_HOME: this.home },
    });
    this.ended = new Promise((done) => this.child.once('exit', (code) => done(code)));
    const ours = new Map(), its = new Map();
    const outgoing = lineSplitter(watch(ours, its)), checked = watch(its, ours);
    const incoming = lineSplitter((line) => {
      if (line.includes('"method":"session/update"')) ++this.came;
      checked(line);
    });
    const output = new WritableStream({
      write: (chunk) => {
        outgoing(chunk);
        return new Promise((done) => this.child.stdin.write(chunk, () => done()));
      },
    });
    const input = new ReadableStream({
      start: (controller) => {
        this.child.stdout.on('data', (chunk) => {
          incoming(chunk);
          controller.enqueue(new Uint8Array(chunk));
        });
        this.child.stdout.on('end', () => controller.close());
      },
    });
    const app = acp.client({ name: 'editor' })
      .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
        this.questions.push(params);
        const optionId = this.answer(params);
        return optionId ? { outcome: { outcome: 'selected', optionId } } : new Promise(() => {});
      })
      .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => ({ content: this.texts.get(params.path) }))
      .onRequest(acp.methods.client.fs.writeTextFile, ({ params }) => {
        this.texts.set(params.path, params.content);
        return {};
      })
      .onRequest(acp.methods.client.terminal.create, ({ params }) => this.startTerminal(params))
      .onRequest(acp.methods.client.terminal.output, ({ params }) => {
        const one = this.terminals.get(params.terminalId);
        return { output: one.output, truncated: false, ...(one.exit ? { exitStatus: one.exit } : {}) };
      })
      .onRequest(acp.methods.client.terminal.waitForExit, ({ params }) => this.terminals.get(params.terminalId).ended)
      .onRequest(acp.methods.client.terminal.kill, ({ params }) => {
        this.terminals.get(params.terminalId).child.kill('SIGKILL');
        return {};
      })
      .onRequest(acp.methods.client.terminal.release, ({ params }) => {
        this.terminals.get(params.terminalId).released = true;
        return {};
      })
      .onRequest(acp.methods.client.elicitation.create, ({ params }) => {
        this.forms.push(params);
        return { action: 'accept', content: { who: 'Ada' } };
      })
      .onNotification(acp.methods.client.session.update, ({ params }) => {
        this.updates.push(params);
        ++this.handedOn;
      });
    this.connection = app.connect(acp.ndJsonStream(output, input));
    this.agent = this.connection.agent;
  }
  // The SDK hands on an update after the answer that came behind it: every one that came before the answer is awaited.
  async request(method, params) {
    const done = await this.agent.request(method, params);
    const came = this.came;
    check(`updates before the answer of ${method}`, await this.until(() => this.handedOn >= came), true);
    return done;
  }
  initialize() {
    return this.request(acp.methods.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: { session: { notices: {}, compaction: {} }, auth: { terminal: true }, ...this.abilities },
      clientInfo: { name: 'editor', version: '1' },
    });
  }
  startTerminal({ command, args, env, cwd }) {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...Object.fromEntries(env.map((each) =>
      [each.name, each.value])) }, stdio: ['ignore', 'pipe', 'pipe'] });
    const one = { child, output: '', released: false };
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => { one.output += bytes; });
    one.ended = once(child, 'close').then(([exitCode, signal]) => (one.exit = { exitCode, signal }));
    const terminalId = `terminal-${this.terminals.size + 1}`;
    this.terminals.set(terminalId, one);
    return { terminalId };
  }
  async open() {
    const made = await this.request(acp.methods.agent.session.new, { cwd: this.project, mcpServers: [] });
    return made.sessionId;
  }
  async prompt(sessionId, text) {
    const done = await this.request(acp.methods.agent.session.prompt,
      { sessionId, prompt: [{ type: 'text', text }] });
    return done.stopReason;
  }
  said(kind, sessionId) {
    return this.updates.filter((each) => each.update.sessionUpdate === kind &&
      (sessionId === undefined || each.sessionId === sessionId))
      .map((each) => each.update.content?.text ?? each.update.title ?? '').join('');
  }
  async until(so) {
    for (let i = 0; i < 400 && !so(); ++i) await new Promise((done) => setTimeout(done, 25));
    return so();
  }
  async close() {
    this.child.stdin.end();
    return this.ended;
  }
}

const bash = (command) => `- calls: [{name: bash, input: {command: '${command}'}}]\n`;

// ---- a session with every method and update

async function wholeSession() {
  const editor = new Editor('whole', `
- thinking: let me think
  text: I will look
  calls:
    - name: todo_write
      input: {todos: [{content: look, status: in_progress}, {content: change, status: pending}]}
- calls: [{name: write_file, input: {path: made.txt, content: "one\\n"}}]
- calls: [{name: edit_file, input: {path: made.txt, old_string: one, new_string: two}}]
- text: all done
- for: summary
  text: a summary of it all
- text: and on
`);
  const about = await editor.initialize();
  check('protocol version', about.protocolVersion, 1);
  check('name', about.agentInfo.name, 'agentd');
  const session = await editor.open();
  check('commands are told', await editor.until(() => editor.updates.some((each) =>
    each.update.sessionUpdate === 'available_commands_update' &&
    each.update.availableCommands.some((command) => command.name === 'compact'))), true);
  check('stop', await editor.prompt(session, 'change the file'), 'end_turn');
  check('file', readFileSync(join(editor.project, 'made.txt'), 'utf8'), 'two\n');
  await editor.until(() => editor.said('agent_message_chunk').endsWith('all done'));
  check('text', editor.said('agent_message_chunk'), 'I will lookall done');
  check('thought', editor.said('agent_thought_chunk'), 'let me think');
  const plan = editor.updates.find((each) => each.update.sessionUpdate === 'plan');
  check('plan', plan.update.entries.map((entry) => entry.status), ['in_progress', 'pending']);
  const calls = editor.updates.filter((each) => each.update.sessionUpdate === 'tool_call').map((each) => each.update);
  check('kinds', calls.map((call) => call.kind), ['think', 'edit', 'edit']);
  check('diff', calls[2].content[0],
    { type: 'diff', path: join(editor.project, 'made.txt'), oldText: 'one', newText: 'two' });
  check('questions', editor.questions.length, 2);
  const mode = await editor.request(acp.methods.agent.session.setConfigOption,
    { sessionId: session, configId: 'mode', value: 'plan' });
  check('mode', mode.configOptions[0].currentValue, 'plan');
  await editor.request(acp.methods.agent.session.setMode, { sessionId: session, modeId: 'ask' });
  check('compact', await editor.prompt(session, '/compact be short'), 'end_turn');
  check('summary', await editor.until(() =>
    editor.said('compaction_summary_chunk').endsWith('a summary of it all')), true);
  check('undo', await editor.prompt(session, '/undo'), 'end_turn');
  check('notice', await editor.prompt(session, '/checkpoint x'), 'end_turn');
  const listed = await editor.request(acp.methods.agent.session.list, { cwd: editor.project });
  check('list', listed.sessions.map((each) => each.sessionId), [session]);
  await editor.request(acp.methods.agent.session.close, { sessionId: session });
  editor.updates.length = 0;
  await editor.request(acp.methods.agent.session.load, { sessionId: session, cwd: editor.project, mcpServers: [] });
  await editor.until(() => editor.said('agent_message_chunk').length >= 'I will lookall done'.length);
  check('replay', [editor.said('user_message_chunk'), editor.said('agent_message_chunk')],
    ['change the file', 'I will lookall done']);
  await editor.request(acp.methods.agent.session.resume, { sessionId: session, cwd: editor.project });
  check('goes on', await editor.prompt(session, 'more'), 'end_turn');
  const refused = await editor.request('session/prompt', { sessionId: 'nobody', prompt: [] }).catch((error) => error);
  check('unknown session', refused.code, -32002);
  await editor.request(acp.methods.agent.session.delete, { sessionId: session });
  check('updates are counted', editor.came > 20, true);
  check('deleted', (await editor.request(acp.methods.agent.session.list, {})).sessions, []);
  check('exit', await editor.close(), 0);
}

// ---- cancelling, queues, two sessions, a second life

async function cancelling() {
  const slow = '- text: one two three four five six seven eight nine ten eleven twelve\n  pace_ms: 200\n';
  const editor = new Editor('cancelling', slow + bash('touch arrived; sleep 60') + '- text: later\n');
  await editor.initialize();
  const session = await editor.open();
  const cancel = () => editor.agent.notify(acp.methods.agent.session.cancel, { sessionId: session });
  const stream = editor.prompt(session, 'talk'), queued = editor.prompt(session, 'queued');
  await editor.until(() => editor.said('agent_message_chunk') !== '');
  const steering = editor.request(acp.methods.agent.session.prompt,
    { sessionId: session, prompt: [{ type: 'text', text: 'shorter' }], _meta: { 'agentd/steer': true } });
  await cancel();
  check('stream, queue and steering', [await stream, await queued, (await steering).stopReason],
    ['cancelled', 'cancelled', 'cancelled']);
  const tool = editor.prompt(session, 'work');
  await editor.until(() => existsSync(join(editor.project, 'arrived')));
  await cancel();
  check('tool', await tool, 'cancelled');
  check('afterwards', await editor.prompt(session, 'again'), 'end_turn');
  check('exit', await editor.close(), 0);
}

async function twoSessions() {
  const editor = new Editor('two',
    bash('touch arrived; until test -e go; do sleep 0.02; done') + '- text: quick\n- text: slow\n');
  await editor.initialize();
  const slow = await editor.open(), quick = await editor.open();
  const waiting = editor.prompt(slow, 'wait');
  await editor.until(() => existsSync(join(editor.project, 'arrived')));
  check('quick', await editor.prompt(quick, 'be quick'), 'end_turn');
  writeFileSync(join(editor.project, 'go'), '');
  check('slow', await waiting, 'end_turn');
  const said = (session) => editor.said('agent_message_chunk', session);
  check('apart', [said(slow), said(quick)], ['slow', 'quick']);
  check('exit', await editor.close(), 0);
}

async function secondLife() {
  const first = new Editor('life', '- text: kept\n' + bash('touch arrived; sleep 60'));
  await first.initialize();
  const session = await first.open();
  check('kept', await first.prompt(session, 'one'), 'end_turn');
  first.prompt(session, 'two').catch(() => {});
  await first.until(() => existsSync(join(first.project, 'arrived')));
  first.child.kill('SIGKILL');
  await first.ended;
  const second = new Editor('life', '- text: on\n- text: and on\n');
  await second.initialize();
  await second.request(acp.methods.agent.session.load, { sessionId: session, cwd: second.project, mcpServers: [] });
  await second.until(() => second.said('agent_message_chunk') !== '');
  check('told again', [second.said('user_message_chunk'), second.said('agent_message_chunk')], ['onetwo', 'kept']);
  check('exit', await second.close(), 0);
}

// ---- what an editor does for its agent

async function parts() {
  const editor = new Editor('parts', `
- calls: [{name: read_file, input: {path: a.txt}}]
- calls: [{name: edit_file, input: {path: a.txt, old_string: draft, new_string: better}}]
- calls: [{name: bash, input: {command: 'echo here; exit 3'}}]
- text: done
  expect: {contains: [here, exit code 3]}
${bash('touch arrived; sleep 60')}- text: Hello.
  expect: {contains: [Greet Ada.]}
`, { settings: 'acp: {client_files: true, client_terminals: true}\n', abilities: {
    fs: { readTextFile: true, writeTextFile: true }, terminal: true, elicitation: { form: {} } } });
  mkdirSync(join(editor.home, 'recipes'));
  writeFileSync(join(editor.home, 'recipes', 'greet.md'),
    '---\nname: greet\ndescription: greets\narguments: {who: {required: true}}\n---\nGreet {{.who}}.\n');
  const file = join(editor.project, 'a.txt');
  writeFileSync(file, 'saved\n');
  editor.texts.set(file, 'draft\n');
  await editor.initialize();
  const session = await editor.open();
  const done = await editor.request(acp.methods.agent.session.prompt, { sessionId: session,
    prompt: [{ type: 'text', text: 'change it' }], _meta: { 'agentd/unsaved': [file] } });
  check('stop', done.stopReason, 'end_turn');
  check('file and text', [readFileSync(file, 'utf8'), editor.texts.get(file)], ['better\n', 'better\n']);
  check('terminal', [...editor.terminals.values()].map((each) => [each.output, each.released]), [['here\n', true]]);
  const shown = () => editor.updates.filter((each) => each.update.content?.[0]?.terminalId === 'terminal-1').length;
  check('shown', await editor.until(() => shown() === 2), true);
  const tool = editor.prompt(session, 'work');
  await editor.until(() => existsSync(join(editor.project, 'arrived')));
  await editor.agent.notify(acp.methods.agent.session.cancel, { sessionId: session });
  check('cancelled terminal', [await tool, editor.terminals.get('terminal-2').exit],
    ['cancelled', { exitCode: null, signal: 'SIGKILL' }]);
  check('recipe', await editor.prompt(session, '/greet'), 'end_turn');
  check('form', editor.forms.map((form) => form.requestedSchema.required), [['who']]);
  check('exit', await editor.close(), 0);
}

await wholeSession();
await cancelling();
await twoSessions();
await secondLife();
await parts();
for (const line of bad) console.log(`FAIL ${line}`);
check('lines that do not fit the schema', bad.length, 0);
// The check must be able to fail.
const half = { sessionId: 's', update: { sessionUpdate: 'plan' } };
check('a wrong line is noticed', validator('SessionNotification')(half), false);
check('a wrong answer is noticed', validator('PromptResponse')({ stopReason: 'done' }), false);
const wanted = ['agent_message_chunk', 'agent_thought_chunk', 'available_commands_update', 'compaction_summary_chunk',
  'compaction_update', 'config_option_update', 'current_mode_update', 'plan', 'session_info_update', 'tool_call',
  'tool_call_update', 'usage_update', 'user_message_chunk', 'notice', ...Object.values({
    a: 'initialize', b: 'session/new', c: 'session/load', d: 'session/resume', e: 'session/list', f: 'session/close',
    g: 'session/delete', h: 'session/prompt', i: 'session/cancel', j: 'session/set_mode',
    k: 'session/set_config_option', l: 'session/request_permission', m: 'fs/read_text_file', n: 'fs/write_text_file',
    o: 'terminal/create', p: 'terminal/output', q: 'terminal/wait_for_exit', r: 'terminal/kill', s: 'terminal/release',
    t: 'elicitation/create' })];
check('methods and updates that were not used', wanted.filter((each) => !seen.has(each)), []);
const version = JSON.parse(readFileSync(join(packages, '@agentclientprotocol/sdk/package.json'))).version;
finish(`@agentclientprotocol/sdk ${version}: ${lines} lines`);
