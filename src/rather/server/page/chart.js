// Small drawings in SVG, each with a sentence for those who do not see it.

import { svg, still } from './dom.js';
import { cut, name } from './items.js';

// A bar from `low` to `high` and a dot at `at`, on a scale from `from` to `to`, with a line at `zero` if given.
export function range({ low, high, at, from, to, zero, label }) {
  const x = (value) => (100 * (value - from)) / (to - from || 1);
  const place = (value) => `${x(value)}%`;
  return svg('svg', { class: 'range', role: 'img', 'aria-label': label },
    svg('line', { class: 'track', x1: '0%', x2: '100%', y1: '50%', y2: '50%' }),
    zero === undefined ? null : svg('line', { class: 'zero', x1: place(zero), x2: place(zero), y1: 0, y2: '100%' }),
    svg('rect', { x: place(low), width: `${Math.max(x(high) - x(low), 0.5)}%`, y: '25%', height: '50%', rx: 3 }),
    svg('circle', { cx: place(at), cy: '50%', r: 3.5 }));
}

export const HELD = 0.9; // of a normal distribution in the plane, by the shape that is drawn for it
const INSIDE = Math.sqrt(-2 * Math.log(1 - HELD)); // deviations within which that much is

function ellipse({ x, y, sxx, sxy, syy }) {
  const middle = (sxx + syy) / 2;
  const apart = Math.hypot((sxx - syy) / 2, sxy);
  return {
    x, y, turn: 0.5 * Math.atan2(2 * sxy, sxx - syy),
    long: INSIDE * Math.sqrt(middle + apart), short: INSIDE * Math.sqrt(Math.max(middle - apart, 0)),
  };
}

const reach = (shape) => Math.hypot(shape.x, shape.y) + shape.long;

// Labels for the items furthest out, as long as they cover neither each other, nor a dot, nor the edge.
function labels(dots, width, height) {
  const taken = [];
  const texts = [];
  for (const { px, py, item } of dots) {
    if (texts.length >= 14) break;
    const text = cut(name(item), 22);
    const wide = 7 * text.length;
    const top = py - 9;
    const free = (left) => left > 0 && left + wide < width && top > 0 && top + 18 < height &&
      taken.every((other) =>
        Math.abs(other.top - top) > 18 || left + wide < other.left || other.left + other.wide < left) &&
      dots.every((dot) => Math.abs(dot.py - py) > 11 || dot.px < left - 5 || dot.px > left + wide + 5);
    const sides = [{ left: px + 8, x: px + 8, anchor: 'start' }, { left: px - wide - 8, x: px - 8, anchor: 'end' }];
    if (px < width / 2) sides.reverse(); // outwards if there is room
    const side = sides.find(({ left }) => free(left));
    if (!side) continue;
    taken.push({ left: side.left, top, wide });
    texts.push(svg('text', { x: side.x, y: py + 4, 'text-anchor': side.anchor }, `\u2068${text}\u2069`));
  }
  return texts;
}

const MOST = 400; // dots, those furthest out

let before = null; // the visitor's ellipse as it was last drawn: it shrinks from there

// Items and people have the same origin but scales of their own: an item's direction counts, and how far out it is.
export function map({ items, me, crowd }, width, label) {
  const height = Math.min(width, 460);
  const half = Math.min(width, height) / 2;
  const mine = ellipse(me), all = ellipse(crowd);
  const people = (0.94 * half) / Math.max(reach(mine), reach(all), 1e-9);
  const sorted = items.map((one) => ({ ...one, far: Math.hypot(one.x, one.y) }))
    .sort((a, b) => b.far - a.far).slice(0, MOST);
  const things = 0.9 / (sorted[0]?.far || 1);
  const dots = sorted.map(({ item, x, y }) =>
    ({ item, px: width / 2 + things * x * half, py: height / 2 - things * y * half }));
  const drawn = (shape, kind) => {
    const node = svg('ellipse', { class: kind });
    const put = (s) => {
      node.style.setProperty('rx', `${people * s.long}px`);
      node.style.setProperty('ry', `${people * s.short}px`);
      node.style.setProperty('transform',
        `translate(${width / 2 + people * s.x}px, ${height / 2 - people * s.y}px) rotate(${-s.turn}rad)`);
    };
    put(shape);
    return { node, put };
  };
  const my = drawn(before && !still() ? before : mine, 'me');
  before = mine;
  const picture = svg('svg', { class: 'map', role: 'img', 'aria-label': label, viewBox: `0 0 ${width} ${height}` },
    drawn(all, 'crowd').node, my.node,
    ...dots.map(({ item, px, py }) => svg('circle', { cx: px, cy: py, r: 3 }, svg('title', {}, cut(name(item))))),
    ...labels(dots, width, height));
  requestAnimationFrame(() => requestAnimationFrame(() => my.put(mine)));
  return picture;
}
