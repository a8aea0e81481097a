// The API’s documentation: every path of /openapi.json with its parameters, what goes in and comes out, and refusals.

import { latest, load } from './api.js';
import { $, el } from './dom.js';
import { about, sorry } from './frame.js';

const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'];
const DEEPEST = 6;

let schemas = {};

const limits = (schema) => [
  ['minimum', '≥'], ['exclusiveMinimum', '>'], ['maximum', '≤'], ['exclusiveMaximum', '<'],
  ['minLength', 'characters ≥'], ['maxLength', 'characters ≤'], ['minItems', 'items ≥'], ['maxItems', 'items ≤'],
  ['pattern', 'matches'],
].filter(([key]) => key in schema).map(([key, sign]) => `${sign} ${schema[key]}`);

const preset = ({ default: value }) => (value === undefined ? 'optional' : `default ${JSON.stringify(value)}`);

// A schema the way one would write down an example of it; `within` are the names it is inside of, so that circles end.
function written(schema, indent = '', within = []) {
  if (schema === true || !schema) return 'anything';
  if (schema.$ref) {
    const known = schema.$ref.split('/').pop();
    if (within.includes(known) || within.length >= DEEPEST || !schemas[known]) return known;
    return written(schemas[known], indent, [...within, known]);
  }
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return [...new Set(either.map((one) => written(one, indent, within)))].join(' | ');
  if (schema.allOf) return schema.allOf.map((one) => written(one, indent, within)).join(' & ');
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(' | ');
  if (schema.type === 'array') return `[${written(schema.items, indent, within)}, …]`;
  if (schema.properties) {
    const deeper = `${indent}  `;
    if (!Object.keys(schema.properties).length) return '{}';
    const lines = Object.entries(schema.properties).map(([key, inner]) => {
      const remarks = [inner.description, schema.required?.includes(key) ? '' : preset(inner)].filter(Boolean);
      return `${deeper}${key}: ${written(inner, deeper, within)}${remarks.length ? `  (${remarks.join('; ')})` : ''}`;
    });
    return `{\n${lines.join('\n')}\n${indent}}`;
  }
  if (schema.additionalProperties) return `{name: ${written(schema.additionalProperties, indent, within)}, …}`;
  const type = [schema.type ?? 'anything'].flat().join(' | ');
  return [schema.format ? `${type} (${schema.format})` : type, ...limits(schema)].join(' ');
}

const resolved = (thing) => (thing.$ref ? schemas[thing.$ref.split('/').pop()] ?? thing : thing);

const body = (content = {}) => Object.entries(content).flatMap(([type, { schema }]) => [
  el('p', { class: 'quiet' }, type), el('pre', {}, written(schema))]);

function parameters(list) {
  const cell = (text) => el('td', {}, text);
  return el('table', { class: 'plain-table' },
    el('thead', {}, el('tr', {},
      ...['Parameter', 'In', 'Type', 'About'].map((text) => el('th', { scope: 'col' }, text)))),
    el('tbody', {}, ...list.map(({ name, in: where, required, schema = {}, description = '' }) => el('tr', {},
      el('th', { scope: 'row' }, el('code', {}, name)), cell(where), cell(written(schema)),
      cell([required ? 'required' : preset(schema), description].filter(Boolean).join('. '))))));
}

// All alike but for their reasons, so one line each.
function refusals(list) {
  if (!list.length) return [];
  return [el('h3', {}, 'Refusals'), el('table', { class: 'plain-table' },
    el('thead', { class: 'hidden' }, el('tr', {},
      ...['Status', 'Why'].map((text) => el('th', { scope: 'col' }, text)))),
    el('tbody', {}, ...list.map(({ status, why }) => el('tr', {},
      el('th', { scope: 'row' }, el('code', {}, status)), el('td', {}, why)))))];
}

function operation(path, method, what, common) {
  const inputs = [...common, ...(what.parameters ?? [])].map(resolved);
  const replies = Object.entries(what.responses ?? {}).map(([status, reply]) => {
    const { description = '', content } = resolved(reply);
    return { status, why: description, content, refused: status >= '4' };
  });
  const id = `${method}${path.replace(/\W+/g, '-')}`;
  return el('section', { id, 'aria-labelledby': `${id}-heading` },
    el('h2', { id: `${id}-heading` }, el('span', { class: 'method' }, method.toUpperCase()), ' ', el('code', {}, path)),
    el('p', { class: 'described' }, what.description ?? what.summary ?? ''),
    inputs.length ? parameters(inputs) : null,
    ...(what.requestBody ? [el('h3', {}, 'Request'), ...body(resolved(what.requestBody).content)] : []),
    ...replies.filter(({ refused }) => !refused).flatMap(({ status, why, content }) => [
      el('h3', {}, `Response ${status}`), el('p', {}, why), ...body(content)]),
    ...refusals(replies.filter(({ refused }) => refused)));
}

function draw(api) {
  schemas = { ...api.components?.responses, ...api.components?.parameters, ...api.components?.schemas };
  if (api.info?.description) $('note').textContent = api.info.description;
  const sections = Object.entries(api.paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => methods[method])
      .map((method) => operation(path, method, methods[method], methods.parameters ?? [])));
  $('paths').replaceChildren(...sections);
  $('index').replaceChildren(el('ul', {}, ...sections.map((section) =>
    el('li', {}, el('a', { href: `#${section.id}` }, section.querySelector('h2').textContent)))));
  if (location.hash) $(location.hash.slice(1))?.scrollIntoView(); // it was not there yet when the browser looked
}

load('/openapi.json', { signal: latest()(), note: $('note'), draw });
about().catch((error) => { $('known').textContent = sorry(error); });
