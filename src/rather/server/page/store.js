// What a browser remembers, as JSON; one that may not remember anything works all the same.

const keeper = (open) => ({
  get(key, otherwise) {
    try { return JSON.parse(open().getItem(`rather ${key}`)) ?? otherwise; } catch { return otherwise; }
  },
  set(key, value) {
    try {
      if (value === null) open().removeItem(`rather ${key}`);
      else open().setItem(`rather ${key}`, JSON.stringify(value));
    } catch { /* storage is full or forbidden: only the convenience is lost */ }
  },
});

export const lasting = keeper(() => localStorage);
export const passing = keeper(() => sessionStorage);
