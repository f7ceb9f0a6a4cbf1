// SPDX-License-Identifier: Apache-2.0
// Usage: node check.mjs FIXTURE_SERVER
// 1. The official SDK reads every fixture stream and must find what the fixture says is in it.
// 2. The request bodies that agentd writes must fit the SDK's types, checked by the TypeScript compiler.
import Anthropic from '@anthropic-ai/sdk';
import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { writeFileSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, finish } from './counted.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const program = process.argv[2];

const joined = (content, type, key) =>
  content.filter((block) => block.type === type).map((block) => block[key]).join('');

async function readFixture(client, fixture) {
  const seen = { text: '', error: '' };
  const stream = client.messages.stream({
    model: fixture.name, max_tokens: 64, messages: [{ role: 'user', content: 'go' }] });
  stream.on('text', (delta) => { seen.text += delta; });
  try {
    seen.message = await stream.finalMessage();
  } catch (error) {
    seen.error = error.type ?? error.message;
  }
  return seen;
}

async function checkStreams() {
  const server = spawn(program, ['serve'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [url] = await new Promise((done) => createInterface(server.stdout).once('line', (line) => done([line])));
  const fixtures = await (await fetch(`${url}/fixtures`)).json();
  const client = new Anthropic({ apiKey: 'test', baseURL: url, maxRetries: 0 });
  for (const fixture of fixtures) {
    const seen = await readFixture(client, fixture);
    check(`${fixture.name} streamed text`, seen.text, fixture.text);
    if (fixture.stop_reason === '') {
      check(`${fixture.name} error`, seen.error, 'overloaded_error');
      continue;
    }
    check(`${fixture.name} error`, seen.error, '');
    if (!seen.message) continue;
    const content = seen.message.content;
    check(`${fixture.name} text`, joined(content, 'text', 'text'), fixture.text);
    check(`${fixture.name} thinking`, joined(content, 'thinking', 'thinking'), fixture.thinking);
    check(`${fixture.name} stop reason`, seen.message.stop_reason, fixture.stop_reason);
    const calls = content.filter((block) => block.type === 'tool_use')
      .map(({ name, input }) => ({ name, input }));
    check(`${fixture.name} calls`, calls, fixture.calls);
  }
  server.stdin.end();
  return fixtures.length;
}

function compiles(source) {
  const file = join(here, 'node_modules', '.requests.ts');
  writeFileSync(file, source);
  const tsc = join(here, 'node_modules', 'typescript', 'bin', 'tsc');
  const done = spawnSync(process.execPath, [tsc, '--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022',
    '--module', 'nodenext', '--moduleResolution', 'nodenext', file], { encoding: 'utf8' });
  rmSync(file);
  return { ok: done.status === 0, said: done.stdout };
}

function checkRequests() {
  const bodies = spawnSync(program, ['requests'], { encoding: 'utf8' }).stdout.trim().split('\n');
  const head = "import type { MessageCreateParamsStreaming as Body } from '@anthropic-ai/sdk/resources/messages';\n";
  const source = head + bodies.map((body, i) => `export const body${i}: Body = ${body};\n`).join('');
  const good = compiles(source);
  check(`${bodies.length} request bodies fit the types ${good.said}`, good.ok, true);
  // The check must be able to fail: a key that the API does not know.
  const odd = source.replace('"tool_use_id"', '"tool_id"');
  check('a wrong key is noticed', odd !== source && !compiles(odd).ok, true);
  return bodies.length;
}

const streams = await checkStreams();
const bodies = checkRequests();
const version = JSON.parse(readFileSync(join(here, 'node_modules/@anthropic-ai/sdk/package.json'))).version;
finish(`@anthropic-ai/sdk ${version}: ${streams} streams, ${bodies} request bodies`);
