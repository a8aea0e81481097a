// What is known of the visitor and of the crowd, each part loaded when it is opened and again after an answer.

import { latest, load } from './api.js';
import { HELD, map, range } from './chart.js';
import { $, el, hidden } from './dom.js';
import { brief, name, said } from './items.js';
import { percent, several } from './words.js';

const titles = (items) => several(items.map((item) => said(name(item))));

const remark = (text) => el('p', { class: 'quiet' }, text);

const REPLIES = {
  left: ({ left, right }) => [brief(left), ' rather than ', brief(right)],
  right: ({ left, right }) => [brief(right), ' rather than ', brief(left)],
  tie: ({ left, right }) => ['Could not decide between ', brief(left), ' and ', brief(right)],
  'unseen left': ({ left }) => ['Haven’t seen ', brief(left)],
  'unseen right': ({ right }) => ['Haven’t seen ', brief(right)],
  'unseen both': ({ left, right }) => ['Haven’t seen ', brief(left), ' or ', brief(right)],
};

export const later = (place) =>
  place.replaceChildren(remark('This is known once there are enough answers of everybody.'));

export const sentence = (answer) => REPLIES[answer.reply](answer);

export function answers(place, { answers: given }, undo) {
  if (!given.length) return place.replaceChildren(remark('You have not answered anything yet.'));
  const lines = given.map((answer) => el('li', {},
    el('span', {}, ...sentence(answer),
      answer.probability === null ? '' : el('small', {}, ` expected with ${percent(answer.probability)}`)),
    el('button', { type: 'button', click: () => undo(answer.token) }, 'Undo',
      hidden(` your answer on ${said(name(answer.left))} and ${said(name(answer.right))}`))));
  return place.replaceChildren(el('ul', { class: 'lines' }, ...lines));
}

const odds = (difference) => {
  const times = Math.exp(Math.abs(difference));
  const said = times < 10 ? times.toFixed(1) : times < 1000 ? Math.round(times) : '> 1,000';
  return `${difference > 0 ? '×' : '÷'} ${said}`;
};

export function difference(place, { rows, interval }) {
  if (!rows.length) return place.replaceChildren(remark('Nothing certain yet: you may be like everybody.'));
  const edge = Math.max(...rows.flatMap((row) => [Math.abs(row.low), Math.abs(row.high)]));
  const lines = rows.map(({ item, difference: much, low, high }) => el('tr', {},
    el('th', { scope: 'row' }, brief(item), range({
      low, high, at: much, from: -edge, to: edge, zero: 0,
      label: `worth ${much > 0 ? 'more' : 'less'} to you: log-odds ${much.toFixed(1)}, ` +
        `between ${low.toFixed(1)} and ${high.toFixed(1)}`,
    })),
    el('td', {}, odds(much))));
  return place.replaceChildren(
    remark(`A bar spans where a difference is ${percent(interval)} sure to be. Bars that cross the line are left out. ` +
      'Right of the line: worth more to you than to the typical person, its odds so many times as good.'),
    el('table', {},
      el('thead', { class: 'hidden' },
        el('tr', {}, ...['Item', 'Odds'].map((text) => el('th', { scope: 'col' }, text)))),
      el('tbody', {}, ...lines)));
}

export function crowd(place, { divides, unites }) {
  if (!divides.length && !unites.length) return later(place);
  const all = [...divides, ...unites];
  const from = Math.min(...all.map((row) => row.mean - row.spread));
  const to = Math.max(...all.map((row) => row.mean + row.spread));
  const part = (heading, rows) => el('section', {}, el('h3', {}, heading),
    el('ol', { class: 'lines' }, ...rows.map(({ item, mean, spread }) => el('li', {},
      el('span', {}, brief(item), range({
        low: mean - spread, high: mean + spread, at: mean, from, to,
        label: `worth ${mean.toFixed(1)} on average, give or take ${spread.toFixed(1)}`,
      }))))));
  return place.replaceChildren(
    remark('How much an item is worth to most people, the worst on the left. The wider the bar, the more they differ.'),
    el('div', { class: 'two' }, part('Divides', divides), part('Unites', unites)));
}

const area = ({ sxx, sxy, syy }) => Math.sqrt(Math.max(sxx * syy - sxy * sxy, 0));

export function tastes(place, data) {
  if (!data.items.length || !data.me) return later(place);
  const { items, me, crowd: all } = data;
  const along = ({ x, y }) => x * me.x + y * me.y;
  const near = [...items].sort((a, b) => along(b) - along(a)).slice(0, 3).map(({ item }) => item);
  const size = percent(Math.min(1, area(me) / (area(all) || 1)));
  const text = `You are somewhere in the filled shape, ${size} of the size of ` +
    `everybody’s, which is dashed; both hold ${percent(HELD)}. It leans towards those who like ${titles(near)}.`;
  return place.replaceChildren(map(data, Math.max(280, place.clientWidth), `Map of tastes. ${text}`),
    el('p', { class: 'quiet' }, text));
}

export function whatif(place, { left, right, question }) {
  if (!left.length && !right.length) return place.replaceChildren(remark('Neither answer would move anything much.'));
  const part = (item, changes) => el('section', {},
    el('h2', {}, 'If you choose ', brief(item)),
    changes.length
      ? el('ul', { class: 'lines' }, ...changes.map((change) => el('li', {}, brief(change.item),
        el('span', { class: change.to < change.from ? 'up' : 'down' },
          el('span', { 'aria-hidden': 'true' }, `${change.from} → ${change.to}`),
          hidden(` from place ${change.from} to ${change.to}`)))))
      : remark('Nothing would move much.'));
  const guess = question.probability === null ? ''
    : `Expected so far: ${said(name(question.left))} with ${percent(question.probability)}.`;
  return place.replaceChildren(
    el('div', { class: 'two' }, part(question.left, left), part(question.right, right)), remark(guess));
}

// A <details> that asks the server only while it is open; the function returned asks again.
export function panel(id, path, draw) {
  const box = $(id), place = el('div'), note = el('p', { class: 'quiet', role: 'status' });
  const fresh = latest();
  box.append(note, place);
  const refresh = () => {
    const signal = fresh();
    if (!box.open) return;
    if (!place.childElementCount) note.textContent = 'Loading…';
    load(path, { signal, note, draw: (data) => draw(place, data) });
  };
  box.addEventListener('toggle', refresh);
  return refresh;
}
