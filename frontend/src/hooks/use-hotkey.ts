import { useEffectEvent, useLayoutEffect } from "react";

import { register, type Hotkey } from "@/lib/hotkeys";

type Options = Partial<Pick<Hotkey, "group" | "inFields">> & { enabled?: boolean };

/** Binds keys while the component is there; the label shows under `?` (an empty one hides it). */
export function useHotkey(keys: string, label: string, run: Hotkey["run"], options: Options = {}): void {
  const { group = "This page", inFields, enabled = true } = options;
  const onKey = useEffectEvent(run);
  // Before the paint: who sees the page and presses a key at once is heard.
  useLayoutEffect(() => {
    if (!enabled) return undefined;
    return register({ keys, label, group, inFields, run: (event) => onKey(event) });
  }, [keys, label, group, inFields, enabled]);
}
