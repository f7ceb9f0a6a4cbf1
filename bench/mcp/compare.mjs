// SPDX-License-Identifier: Apache-2.0
// Usage: node compare.mjs AGENTD MCP_PROBE FIXTURES [--once]
// Tool calls one after the other, in rounds that take turns: agentd's client next to the official SDK's, both with the
// same server that answers at once; and agentd as a server next to server-everything, both with the official SDK's
// client. A call of agentd passes hooks and rules, and is durable before it runs and when it has ended.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const [, , program, probe, fixtures, once] = process.argv;
const here = dirname(fileURLToPath(import.meta.url));
const [kRounds, kCalls, kServerCalls] = once === '--once' ? [1, 3, 3] : [7, 2000, 300];
const nullServer = [process.execPath, join(here, 'null_server.mjs')];
const everything = [process.execPath, join(here, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')];

const root = mkdtempSync(join(tmpdir(), 'agentd-bench-mcp-'));
process.on('exit', () => rmSync(root, { recursive: true, force: true }));
const home = join(root, 'home'), project = join(root, 'project');
for (const each of [home, join(home, 'hooks'), project]) mkdirSync(each, { mode: 0o700 });
copyFileSync(fixtures, join(home, 'hooks', 'mcp_fixtures.so'));
writeFileSync(join(home, 'config.yaml'), 'hooks: {isolation: in-process}\n');

async function connect([command, ...args], more = {}) {
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore', ...more }));
  return client;
}

// Microseconds of a call, of several one after the other.
async function timeSdk(client, name, input, calls) {
  const begun = process.hrtime.bigint();
  for (let i = 0; i < calls; ++i) {
    const { isError, content } = await client.callTool({ name, arguments: input });
    if (isError || !content?.length) throw new Error(`${name} answered ${JSON.stringify(content)}`);
  }
  return Number(process.hrtime.bigint() - begun) / 1e3 / calls;
}

const probing = spawn(probe, ['--program', ...nullServer], { stdio: ['pipe', 'pipe', 'inherit'] });
const lines = createInterface({ input: probing.stdout })[Symbol.asyncIterator]();
async function timeProbe(name, input, calls) {
  probing.stdin.write(`time ${calls} ${name} ${JSON.stringify(input)}\n`);
  return JSON.parse((await lines.next()).value).microseconds;
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
let measured = 0;
function tell(what, ours, theirs) {
  measured += Number([...ours, ...theirs].every((value) => value > 0));
  const ratios = ours.map((value, index) => value / theirs[index]);
  console.log(`${what}: ${median(ours).toFixed(0)} us next to ${median(theirs).toFixed(0)} us, ratio ${
    median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`);
}

const sdk = await connect(nullServer);
const message = { message: 'hello' };
const ours = [], theirs = [];
for (let round = 0; round <= kRounds; ++round) {
  const a = await timeProbe('mcp__probe__echo', message, kCalls), b = await timeSdk(sdk, 'echo', message, kCalls);
  if (round > 0) ours.push(a), theirs.push(b);  // the first one warms up
}
tell("a call of agentd's client next to the official SDK's, with a server that answers at once", ours, theirs);
await sdk.close();
probing.stdin.end();

const server = await connect([program, 'mcp'], { env: { ...process.env, AGENTD_HOME: home }, cwd: project });
const other = await connect(everything);
const served = [], plain = [];
for (let round = 0; round <= kRounds; ++round) {
  const a = await timeSdk(server, 'test_simple_text', {}, kServerCalls);
  const b = await timeSdk(other, 'echo', message, kServerCalls);
  if (round > 0) served.push(a), plain.push(b);
}
tell('a call of a tool of agentd mcp, with its durable records, next to one of server-everything', served, plain);
await server.close();
await other.close();
console.log(`bench_mcp: rows measured: ${measured} of 2`);
process.exit(measured === 2 ? 0 : 1);
