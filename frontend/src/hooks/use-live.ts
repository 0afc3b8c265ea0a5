import { useEffect, useEffectEvent, useState } from "react";

import { listen, liveState, type LiveEvents } from "@/lib/live";

export function useLive<K extends keyof LiveEvents>(project: string, kind: K, onEvent: (data: LiveEvents[K]) => void): void {
  const handler = useEffectEvent(onEvent);
  useEffect(() => listen(project, kind, (data) => handler(data)), [project, kind]);
}

export function useLiveState(project: string): LiveEvents["state"] {
  const [state, setState] = useState(() => liveState(project));
  useLive(project, "state", setState);
  return state;
}
