// SPDX-License-Identifier: Apache-2.0
// Usage: node mcp_scenario.mjs MCP_PROBE URL
// The client that the official conformance suite runs: it lists the tools, and calls those that the suite names, or
// each one with values that its schema allows.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const [probe, url] = process.argv.slice(2);
const child = spawn(probe, ['--values', 'defaults', '--url', url], { stdio: ['pipe', 'pipe', 'inherit'] });
const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
const ask = async (order) => {
  child.stdin.write(`${order}\n`);
  return JSON.parse((await lines.next()).value);
};

function valueOf(schema) {
  if (schema?.default !== undefined) return schema.default;
  if (schema?.enum) return schema.enum[0];
  if (schema?.type === 'object' || schema?.properties)
    return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, each]) => [name, valueOf(each)]));
  return { string: 'x', number: 5, integer: 5, boolean: true, array: [] }[schema?.type] ?? 'x';
}

const tools = await ask('list');
const of = (part) => tools.find((tool) => tool.name.includes(part));
const named = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}').toolCalls;
const calls = named?.map(({ name, arguments: input }) => [`mcp__probe__${name}`, input])
  ?? tools.map((tool) => [tool.name, process.env.MCP_CONFORMANCE_SCENARIO === 'json-schema-2020-12-preservation'
    && tool.schema.properties?.schema ? { schema: of('json_schema_2020_12').schema } : valueOf(tool.schema)]);
for (const [name, input] of calls) console.log(name, JSON.stringify(await ask(`call ${name} ${JSON.stringify(input)}`)));
console.log(JSON.stringify(await ask('status')));
child.stdin.end();
await new Promise((done) => child.on('exit', done));
