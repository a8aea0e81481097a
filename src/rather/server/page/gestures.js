// Answering without the buttons: arrow keys and letters, and a swipe towards the card one would rather have.

import { lasting } from './store.js';

const KEYS = {
  arrowleft: 'left', arrowright: 'right', arrowdown: 'tie', t: 'tie', u: 'undo', backspace: 'undo',
};
const FAR = 56; // pixels that make a swipe

// Keys count only while the cards can be seen; further down they scroll as ever.
const seen = (cards) => {
  const { top, bottom } = cards.getBoundingClientRect();
  return bottom > 0 && top < innerHeight && (top + bottom) / 2 > 0;
};

export function keys(cards, choice, act) {
  choice.checked = lasting.get('keys', true);
  choice.addEventListener('change', () => lasting.set('keys', choice.checked));
  addEventListener('keydown', (event) => {
    if (event.repeat && event.target.closest('button') && [' ', 'Enter'].includes(event.key)) {
      event.preventDefault(); // a key held down is one answer
      return;
    }
    const what = KEYS[event.key.toLowerCase()];
    const elsewhere = event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea, select');
    if (!what || elsewhere || !choice.checked || !seen(cards)) return;
    event.preventDefault();
    if (!event.repeat) act(what);
  });
}

export function swipe(cards, act) {
  let start = null, swiped = false;
  const drag = (by) => {
    cards.style.setProperty('--drag', `${by / 4}px`);
    cards.dataset.leaning = Math.abs(by) < FAR ? '' : by < 0 ? 'left' : 'right';
  };
  const across = ({ clientX, clientY }) => {
    const dx = clientX - start.x, dy = clientY - start.y;
    return Math.abs(dx) > 1.5 * Math.abs(dy) ? dx : 0;
  };
  cards.addEventListener('pointerdown', ({ pointerType, isPrimary, clientX: x, clientY: y, pointerId: id }) => {
    swiped = false;
    start = isPrimary && pointerType !== 'mouse' ? { x, y, id } : null;
  });
  addEventListener('pointermove', (event) => { if (start?.id === event.pointerId) drag(across(event)); });
  addEventListener('pointerup', (event) => {
    if (start?.id !== event.pointerId) return;
    const by = across(event);
    start = null;
    drag(0);
    if (Math.abs(by) < FAR) return;
    swiped = true; // the click that may follow belongs to the swipe
    act(by < 0 ? 'left' : 'right');
  });
  addEventListener('pointercancel', () => { if (start) { start = null; drag(0); } });
  cards.addEventListener('click', (event) => {
    if (swiped) event.stopPropagation();
    swiped = false;
  }, true);
}
