// A ranking as a table: one body of joined rows for each group (none is certain to be behind its first), a bar for each
// interval; where nothing is known of its certainty, an order and nothing else.

import { range } from './chart.js';
import { el, hidden, still } from './dom.js';
import { title } from './items.js';
import { figure, number, percent, places, placesAloud } from './words.js';

const heights = (table) => new Map(
  [...table.querySelectorAll('[data-item]')].map((row) => [row.dataset.item, row.getBoundingClientRect().top]));

// Rows glide from where they were, so that one sees what an answer moved.
function glide(table, before) {
  if (still()) return;
  const after = heights(table); // all read before any is moved
  for (const row of table.querySelectorAll('[data-item]')) {
    const moved = before.get(row.dataset.item) - after.get(row.dataset.item);
    const steps = [{ transform: `translateY(${moved}px)` }, { transform: 'none' }];
    if (moved) row.animate(steps, { duration: 350, easing: 'ease-out' });
  }
}

function line({ place, best, worst, top, group, item }, last) {
  if (best === null) {
    return el('tr', { 'data-item': item.id },
      el('td', { class: 'place' }, figure(place)), el('th', { scope: 'row' }, title(item)));
  }
  const bar = range({
    low: best - 0.5, high: worst + 0.5, at: place, from: 0.5, to: last + 0.5, label: placesAloud(best, worst),
  });
  return el('tr', { 'data-item': item.id },
    el('td', { class: 'place' }, figure(place), hidden(`, group ${group}`)),
    el('th', { scope: 'row' }, title(item), bar),
    el('td', {}, el('span', { 'aria-hidden': 'true' }, places(best, worst)), hidden(placesAloud(best, worst))),
    el('td', {}, percent(top)));
}

export function draw(table, { rows, interval, top_of: top }) {
  const before = heights(table);
  const unsure = rows.some(({ best }) => best === null);
  const last = Math.max(...rows.map((row) => row.worst));
  const groups = [];
  rows.forEach((row, k) => {
    if (k === 0 || row.group !== rows[k - 1].group) groups.push(el('tbody'));
    groups[groups.length - 1].append(line(row, last));
  });
  const head = (label, full) => el('th', { scope: 'col' }, el('span', { 'aria-hidden': 'true' }, label), hidden(full));
  const figures = unsure ? [] : [
    head('Places', 'Between which places'),
    head(`Top ${number(top)}`, `Probability of being among the first ${number(top)}`)];
  table.replaceChildren(
    el('caption', {}, unsure ? 'How sure these places are is not known.'
      : 'It is not certain yet that a joined row is behind the first of its group. ' +
        `A bar spans the places where an item is ${percent(interval)} sure to be.`),
    el('thead', {}, el('tr', {}, head('#', 'Place'), head('', 'Item'), ...figures)),
    ...groups);
  table.classList.toggle('unsure', unsure);
  table.hidden = rows.length === 0;
  glide(table, before);
}
