import { useEffect, type RefObject } from "react";

let first: string | undefined;
let moved = false;

/**
 * After a change of pages the focus goes to the new one's heading: its title is read out, and Tab goes
 * on from there. The first page of a visit keeps the browser's order, in which the skip link is first.
 */
export function useLanding(heading: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    first ??= window.location.pathname;
    moved ||= window.location.pathname !== first;
    const at = document.activeElement;
    if (moved && (!at || at === document.body || at.closest(".side"))) heading.current?.focus({ preventScroll: true });
  }, [heading]);
}
