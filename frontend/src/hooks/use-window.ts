import { useEffect, useState, type RefObject } from "react";

export const OVERSCAN = 10;

interface Range {
  first: number;
  last: number;
}

/** Which rows are in view, in steps of five so that scrolling renders seldom. */
function rangeOf(box: Element, rowHeight: number, now: Range): Range {
  const first = Math.max(0, Math.floor(box.scrollTop / rowHeight / 5) * 5 - OVERSCAN);
  const last = Math.ceil((box.scrollTop + box.clientHeight) / rowHeight / 5) * 5 + OVERSCAN;
  return now.first === first && now.last === last ? now : { first, last };
}

/** Which rows of one height exist now; `measure` is to be called as the frame scrolls. */
export function useWindow(frame: RefObject<HTMLDivElement | null>, rowHeight: number) {
  const [range, setRange] = useState<Range>({ first: 0, last: 40 });
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setRange((now) => rangeOf(entry!.target, rowHeight, now)));
    observer.observe(frame.current!);
    return () => observer.disconnect();
  }, [frame, rowHeight]);
  return { ...range, measure: (box: Element) => setRange((now) => rangeOf(box, rowHeight, now)) };
}

/** Scrolls as little as brings a row into view; `head` is what covers the top of the box. */
export function showRow(box: Element | null, index: number, rowHeight: number, head = 0): void {
  if (!box || index < 0) return;
  const top = index * rowHeight;
  const room = box.clientHeight - head;
  if (top < box.scrollTop) box.scrollTo({ top });
  else if (top + rowHeight > box.scrollTop + room) box.scrollTo({ top: top + rowHeight - room });
}

/** Brings the active row into view; `head` is what covers the top of the frame. */
export function useShown(frame: RefObject<HTMLDivElement | null>, active: number | null, rowHeight: number, head = 0): void {
  useEffect(() => showRow(frame.current, active ?? -1, rowHeight, head), [frame, active, rowHeight, head]);
}
