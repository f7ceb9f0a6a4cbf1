// SPDX-License-Identifier: Apache-2.0
// The scenarios of the conformance suites that agentd does not pass, each with its reason. The suites call fixtures by
// their names; what no tool, recipe or resource of agentd can be is not offered under such a name.
const audio = 'a tool of agentd has texts, images and documents, and no sound';
const asks = 'agentd asks nothing of a client: what needs a person is denied, or waits for `agentd approve`';
const resources = 'the resources of agentd are its conversations and checkpoints: plugins add none';
const prompts = 'a prompt of agentd is the text of a recipe';
const subscriptions = `the suite subscribes to a fixture, and agentd to none but a resource that is there: ${resources}`;
const logs = 'a tool of agentd sends no log messages to clients';

const legacy = {
  'tools-call-audio': audio,
  'tools-call-with-logging': logs,
  'tools-call-sampling': asks,
  'tools-call-elicitation': asks,
  'elicitation-sep1034-defaults': asks,
  'elicitation-sep1330-enums': asks,
  'resources-read-text': resources,
  'resources-read-binary': resources,
  'resources-templates-read': resources,
  'resources-subscribe': subscriptions,
  'resources-unsubscribe': subscriptions,
  'prompts-get-embedded-resource': prompts,
  'prompts-get-with-image': prompts,
};

export const reasons = {
  '2025-11-25': legacy,
  '0.1.16': legacy,
  '2026-07-28': {
    'server-stateless': `${asks}; the four checks that fail call tools that would`,
    'tools-call-audio': audio,
    'resources-read-text': resources,
    'resources-read-binary': resources,
    'resources-templates-read': resources,
    'prompts-get-embedded-resource': prompts,
    'prompts-get-with-image': prompts,
    'input-required-result-basic-elicitation': asks,
    'input-required-result-basic-sampling': asks,
    'input-required-result-basic-list-roots': asks,
    'input-required-result-request-state': asks,
    'input-required-result-multiple-input-requests': asks,
    'input-required-result-multi-round': asks,
    'input-required-result-non-tool-request': asks,
    'input-required-result-result-type': asks,
    'input-required-result-tampered-state': asks,
    'input-required-result-capability-check': asks,
  },
};
