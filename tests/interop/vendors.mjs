// SPDX-License-Identifier: Apache-2.0
// Usage: node vendors.mjs FIXTURE_SERVER
// 1. OpenAI's and Google's SDKs read every fixture stream and must find what the fixture says is in it.
// 2. The bodies that agentd writes fit the types of OpenAI's SDK; for the same call Google's SDK sends the same body.
import OpenAI from 'openai';
import { GoogleGenAI } from '@google/genai';
import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { writeFileSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, finish } from './counted.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const program = process.argv[2];

const tools = [{ type: 'function', function: { name: 'bash', parameters: { type: 'object' } } },
               { type: 'function', function: { name: 'list', parameters: { type: 'object' } } }];

const readers = {
  async chat({ openai }, name) {
    const stream = openai.chat.completions.stream({ model: name, messages: [{ role: 'user', content: 'go' }], tools });
    let text = '';
    stream.on('content', (delta) => { text += delta; });
    let choice;
    try {
      choice = (await stream.finalChatCompletion()).choices[0];
    } catch (error) {  // the helper throws for an answer that was cut; what it has put together stays
      choice = stream.currentChatCompletionSnapshot?.choices[0] ?? { finish_reason: 'length', message: {} };
    }
    return { text, thinking: '', stop_reason: choice.finish_reason,
             calls: (choice.message.tool_calls ?? []).map(({ function: f }) =>
               ({ name: f.name, input: JSON.parse(f.arguments) })) };
  },
  async responses({ openai }, name) {
    const stream = openai.responses.stream({ model: name, input: 'go' });
    let text = '';
    let thinking = '';
    stream.on('response.output_text.delta', (event) => { text += event.delta; });
    stream.on('response.reasoning_summary_text.delta', (event) => { thinking += event.delta; });
    const done = await stream.finalResponse();
    check(`responses ${name} output_text`, done.output.flatMap((item) => item.content ?? [])
      .filter((part) => part.type === 'output_text').map((part) => part.text).join(''), text);
    return { text, thinking, stop_reason: done.status,
             calls: done.output.filter((item) => item.type === 'function_call')
               .map((item) => ({ name: item.name, input: JSON.parse(item.arguments) })) };
  },
  async generateContent({ google }, name) {
    const out = { text: '', thinking: '', stop_reason: '', calls: [] };
    for await (const chunk of await google.models.generateContentStream({ model: name, contents: 'go' })) {
      const candidate = chunk.candidates?.[0];
      for (const part of candidate?.content?.parts ?? []) {
        if (part.text) out[part.thought ? 'thinking' : 'text'] += part.text;
        if (part.functionCall) out.calls.push({ name: part.functionCall.name, input: part.functionCall.args });
      }
      out.stop_reason = candidate?.finishReason ?? out.stop_reason;
    }
    return out;
  },
};

async function checkStreams(clients, url) {
  const fixtures = await (await fetch(`${url}/vendors`)).json();
  for (const { api, name, ...want } of fixtures)
    check(`${api} ${name}`, await readers[api](clients, name), want);
  return fixtures.length;
}

const bodiesOf = (api) =>
  spawnSync(program, ['requests', api], { encoding: 'utf8' }).stdout.trim().split('\n');

function compiles(source) {
  const file = join(here, 'node_modules', '.vendors.ts');
  writeFileSync(file, source);
  const tsc = join(here, 'node_modules', 'typescript', 'bin', 'tsc');
  const done = spawnSync(process.execPath, [tsc, '--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022',
    '--module', 'nodenext', '--moduleResolution', 'nodenext', file], { encoding: 'utf8' });
  rmSync(file);
  return { ok: done.status === 0, said: done.stdout };
}

function checkTypes() {
  const chat = bodiesOf('chat');
  const responses = bodiesOf('responses');
  const source =
    "import type { ChatCompletionCreateParamsStreaming as Chat } from 'openai/resources/chat/completions';\n" +
    "import type { ResponseCreateParamsStreaming as Responses } from 'openai/resources/responses/responses';\n" +
    chat.map((body, i) => `export const chat${i}: Chat = ${body};\n`).join('') +
    responses.map((body, i) => `export const responses${i}: Responses = ${body};\n`).join('');
  const good = compiles(source);
  check(`request bodies fit the types ${good.said}`, good.ok, true);
  // The check must be able to fail: keys that the APIs do not know.
  for (const [right, wrong] of [['"tool_call_id"', '"tool_id"'], ['"call_id"', '"callId"']]) {
    const odd = source.replace(right, wrong);
    check(`${wrong} is noticed`, odd !== source && !compiles(odd).ok, true);
  }
  return chat.length + responses.length;
}

// The wire has no types of its own in Google's SDK: it is asked to make the same call.
async function checkSameBody({ google }, url) {
  const bodies = bodiesOf('generateContent').map((body) => JSON.parse(body));
  for (const [i, body] of bodies.entries()) {
    const { contents, systemInstruction, tools: declared, generationConfig = {} } = body;
    const config = { ...generationConfig, systemInstruction, tools: declared };
    const stream = await google.models.generateContentStream({ model: 'text', contents, config });
    for await (const chunk of stream) void chunk;
    const sent = await (await fetch(`${url}/last`)).json();
    // The SDK gives the instruction a role, which the API ignores.
    if (sent.systemInstruction) delete sent.systemInstruction.role;
    check(`body ${i} of Google's SDK`, sent, body);
  }
  return bodies.length;
}

const server = spawn(program, ['serve'], { stdio: ['pipe', 'pipe', 'inherit'] });
const url = await new Promise((done) => createInterface(server.stdout).once('line', done));
const clients = {
  openai: new OpenAI({ apiKey: 'test', baseURL: `${url}/v1`, maxRetries: 0 }),
  google: new GoogleGenAI({ apiKey: 'test', httpOptions: { baseUrl: url, apiVersion: 'v1beta' } }),
};
const streams = await checkStreams(clients, url);
const bodies = checkTypes() + await checkSameBody(clients, url);
server.stdin.end();
const version = (name) => JSON.parse(readFileSync(join(here, 'node_modules', name, 'package.json'))).version;
finish(`openai ${version('openai')}, @google/genai ${version('@google/genai')}: ${streams} streams, ` +
       `${bodies} request bodies`);
