/** Which rows of a long list are to be there. */
export interface Rows {
  first: number;
  end: number;
}

/** The rows that can be seen, and some around them. */
export function rowsIn(scrolled: number, height: number, rowHeight: number, count: number, around = 12): Rows {
  const first = Math.max(0, Math.floor(scrolled / rowHeight) - around);
  const end = Math.min(count, Math.ceil((scrolled + height) / rowHeight) + around);
  return { first: Math.min(first, end), end };
}

/** The most pixels that browsers scroll through without losing some. */
export const PIXELS_MAX = 8_000_000;

/** How high a list of so many rows is drawn, and how many pixels of rows one pixel of it stands for. */
export function scale(count: number, rowHeight: number, height: number): { drawn: number; factor: number } {
  const whole = count * rowHeight;
  if (whole <= PIXELS_MAX) return { drawn: whole, factor: 1 };
  return { drawn: PIXELS_MAX, factor: (whole - height) / (PIXELS_MAX - height) };
}
