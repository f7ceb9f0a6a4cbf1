// SPDX-License-Identifier: Apache-2.0
// Usage: node mcp_modern_server.mjs [PORT]
// A server of the official SDK that speaks the newest version of the protocol, over standard input and output or over
// HTTP on this machine. Its tool `grow` adds another one.
import { McpServer, acceptedContent, createMcpHandler, fromJsonSchema, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createServer } from 'node:http';

const object = (properties, required = []) => fromJsonSchema({ type: 'object', properties, required });
let grown = false;

function makeServer() {
  const server = new McpServer({ name: 'modern', version: '1.2.3' });
  server.registerTool('add', { description: 'adds', inputSchema: object({ a: { type: 'number' }, b: { type: 'number' } },
    ['a', 'b']), annotations: { readOnlyHint: true } },
  ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }], structuredContent: { sum: a + b } }));
  server.registerTool('route', { description: 'goes by its field',
    inputSchema: object({ region: { type: 'string', 'x-mcp-header': 'Region' } }, ['region']) },
  ({ region }) => ({ content: [{ type: 'text', text: `went to ${region}` }] }));
  server.registerTool('greet', { description: 'asks for a name', inputSchema: object({}) }, (_, { mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, 'who');
    if (given) return { content: [{ type: 'text', text: `hello ${given.name}, state ${mcpReq.requestState?.()}` }] };
    if (mcpReq.inputResponses?.who) return { content: [{ type: 'text', text: `it was ${mcpReq.inputResponses.who.action}` }] };
    return inputRequired({ requestState: 'kept', inputRequests: { who: inputRequired.elicit({ message: 'Your name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } }) } });
  });
  server.registerTool('grow', { description: 'adds a tool', inputSchema: object({}) }, () => {
    grown = true;
    addMore(server);
    handler?.notify.toolsChanged();
    return { content: [{ type: 'text', text: 'done' }] };
  });
  if (grown) addMore(server);
  return server;
}

const withMore = new WeakSet();
function addMore(server) {
  if (withMore.has(server)) return;
  withMore.add(server);
  server.registerTool('more', { description: 'is new', inputSchema: object({}) },
    () => ({ content: [{ type: 'text', text: 'more' }] }));
}

let handler;
if (process.argv[2] === undefined) {
  serveStdio(makeServer);
} else {
  handler = createMcpHandler(makeServer);
  createServer(async (request, response) => {
    const body = [];
    for await (const part of request) body.push(part);
    const aborted = new AbortController();
    response.on('close', () => aborted.abort());
    const asked = new Request(`http://127.0.0.1${request.url}`, { method: request.method, headers: request.headers,
      signal: aborted.signal, ...(body.length > 0 && { body: Buffer.concat(body) }) });
    const answer = await handler.fetch(asked);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.flushHeaders();
    if (answer.body) for await (const part of answer.body) response.write(part);
    response.end();
  }).listen(Number(process.argv[2]), '127.0.0.1', () => console.log('ready'));
}
