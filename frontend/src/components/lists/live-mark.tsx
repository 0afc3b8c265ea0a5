import "./live.css";

import { useLiveState } from "@/hooks/use-live";

const LIVE = { open: "Live", connecting: "Connecting", closed: "Not live" };

/** Whether what is new appears by itself. */
export function LiveMark({ project }: { project: string }) {
  const state = useLiveState(project);
  return (
    <span className="live" data-state={state} title={state === "open" ? "New rows appear by themselves" : "Waiting for the live feed; reload to see what is new"}>
      <i />
      {LIVE[state]}
    </span>
  );
}
