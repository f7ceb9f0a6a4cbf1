// SPDX-License-Identifier: Apache-2.0
// model_server.mjs - a model that answers from a script over the vendors' wires, and keeps every request as it came.
// A mock of others would do for the answers, but it does not keep the requests' bytes, and those are what is compared.
import { createServer } from 'node:http';

const usage = { input_tokens: 10, output_tokens: 5 };

function messagesStream(response, model, number, answer) {
  const event = (type, more) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  event('message_start', { message: { id: `msg_${number}`, type: 'message', role: 'assistant', model, content: [],
    stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } } });
  let index = 0;
  const block = (start, delta) => {
    event('content_block_start', { index, content_block: start });
    event('content_block_delta', { index, delta });
    event('content_block_stop', { index });
    ++index;
  };
  if (answer.text) block({ type: 'text', text: '' }, { type: 'text_delta', text: answer.text });
  for (const { id, name, input } of answer.calls)
    block({ type: 'tool_use', id, name, input: {} },
      { type: 'input_json_delta', partial_json: JSON.stringify(input) });
  const stop_reason = answer.calls.length > 0 ? 'tool_use' : 'end_turn';
  event('message_delta', { delta: { stop_reason, stop_sequence: null }, usage });
  event('message_stop', {});
  response.end();
}

function generateContent(response, streamed, answer) {
  const parts = answer.calls.map(({ name, input }) => ({ functionCall: { name, args: input } }));
  if (answer.text) parts.unshift({ text: answer.text });
  const body = JSON.stringify({ candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 10, cachedContentTokenCount: 4, candidatesTokenCount: 5, totalTokenCount: 15 },
  });
  response.writeHead(200, { 'content-type': streamed ? 'text/event-stream' : 'application/json' });
  response.end(streamed ? `data: ${body}\n\n` : body);
}

function json(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

// `answer_to(body, number)` gives {text, calls: [{id, name, input}]} for a request of the agent itself; requests
// without tools are those that a tool makes for itself (a title, a summary), and get `aside`.
export async function startModel(answer_to, aside = 'A short text.') {
  const requests = [];
  const failures = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (bytes) => { text += bytes; });
    request.on('end', () => {
      try {
        respond(request, response, text);
      } catch (error) {
        failures.push(String(error));
        json(response, 500, { error: { type: 'api_error', message: String(error) } });
      }
    });
  });
  const respond = (request, response, text) => {
    const path = request.url.split('?')[0];
    const counts = path.endsWith('/count_tokens') || path.endsWith(':countTokens');
    if (request.method === 'POST' && counts) return json(response, 200, { input_tokens: 10, totalTokens: 10 });
    const gemini = path.endsWith(':generateContent') || path.endsWith(':streamGenerateContent');
    if (request.method !== 'POST' || !(gemini || path.endsWith('/messages'))) return json(response, 404, {});
    const body = JSON.parse(text);
    const own = (body.tools ?? []).length > 0;
    const answer = own ? answer_to(body, requests.length) : { text: aside, calls: [] };
    if (own) requests.push(body);
    if (gemini) generateContent(response, path.endsWith(':streamGenerateContent'), answer);
    else if (body.stream) messagesStream(response, body.model, requests.length, answer);
    else json(response, 200, { id: 'msg_0', type: 'message', role: 'assistant', model: body.model, usage,
      content: [{ type: 'text', text: answer.text || aside }], stop_reason: 'end_turn', stop_sequence: null });
  };
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const close = () => { server.closeAllConnections(); return new Promise((done) => server.close(done)); };
  return { url: `http://127.0.0.1:${server.address().port}`, requests, failures, close };
}
