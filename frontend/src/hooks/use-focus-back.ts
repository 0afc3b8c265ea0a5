import { useState } from "react";

/** What a dialog does with the focus as it closes: it goes back to where it was, else to the page's heading. */
export function useFocusBack(): (event: Event) => void {
  const [before] = useState(() => document.activeElement);
  // A menu is gone by then; its button is named in it.
  const [menu] = useState(() => before?.closest('[role="menu"]')?.getAttribute("aria-labelledby"));
  return (event) => {
    event.preventDefault();
    const button = menu ? document.getElementById(menu) : null;
    const known = button ?? (before instanceof HTMLElement && before.isConnected && before !== document.body ? before : null);
    (known ?? document.querySelector<HTMLElement>("#main h1"))?.focus({ preventScroll: true });
  };
}
