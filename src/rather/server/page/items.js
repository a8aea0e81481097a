// How an item looks: its title kept apart from the text around it, its picture, or a pattern made from its id.

import { el, svg } from './dom.js';

const LONGEST = 300, BRIEF = 80; // characters; titles may have a thousand

export function cut(text, longest = LONGEST) {
  const letters = [...text.slice(0, 2 * longest + 2)]; // whole characters, never half of one
  return letters.length > longest ? `${letters.slice(0, longest).join('')}…` : text;
}

// Directions are isolated, so that a right-to-left title turns no sentence around.
export const said = (text) => `\u2068${cut(text, BRIEF)}\u2069`;

export const name = (item) => item.title.trim() || item.id;

export const title = (item, longest = LONGEST) => {
  const text = cut(name(item));
  return el('span', { class: 'title', dir: 'auto', title: text }, cut(text, longest));
};

export const brief = (item) => title(item, BRIEF); // within sentences, and in lists

function hash(text) { // FNV-1a
  let h = 0x811c9dc5;
  for (let k = 0; k < text.length; k++) h = Math.imul(h ^ text.charCodeAt(k), 0x01000193);
  return h >>> 0;
}

// Quarter circles, each turned as a bit of the id's hash says, in a hue of its own.
function pattern(id) {
  const bits = hash(id);
  let arcs = '';
  for (let k = 0; k < 24; k++) {
    const x = 10 * (k % 6), y = 10 * Math.floor(k / 6);
    arcs += (bits >>> k) & 1
      ? `M${x + 5} ${y}a5 5 0 0 1-5 5M${x + 10} ${y + 5}a5 5 0 0 0-5 5`
      : `M${x + 5} ${y}a5 5 0 0 0 5 5M${x} ${y + 5}a5 5 0 0 1 5 5`;
  }
  const picture = svg('svg', { viewBox: '0 0 60 40', preserveAspectRatio: 'xMidYMid slice', 'aria-hidden': 'true' },
    svg('path', { d: arcs }));
  const box = el('span', { class: 'picture pattern' }, picture);
  box.style.setProperty('--hue', hash(`${id} hue`) % 360);
  return box;
}

function picture(item) {
  if (!item.picture) return pattern(item.id);
  const image = el('img', { alt: '', loading: 'lazy', decoding: 'async', src: item.picture });
  const box = el('span', { class: 'picture' }, image);
  image.addEventListener('error', () => box.replaceWith(pattern(item.id)));
  return box;
}

export function card(button, item) {
  const description = item.description
    ? el('span', { class: 'description', dir: 'auto' }, cut(item.description)) : null;
  button.replaceChildren(picture(item), el('span', { class: 'words' }, title(item), description));
}
