import { Ban, CircleAlert, CircleCheck, CircleDashed, LoaderCircle } from "lucide-react";

import type { RunState } from "@/lib/api/types";

import { STATES } from "./progress";

const ICONS = { queued: CircleDashed, running: LoaderCircle, done: CircleCheck, failed: CircleAlert, canceled: Ban };

/** A state as an icon, with its word beside it or for those who hear the page. */
export function State({ state, word }: { state: RunState; word?: boolean }) {
  const Icon = ICONS[state];
  return (
    <span className="run-state" data-state={state} title={word ? undefined : STATES[state]}>
      <Icon size={15} aria-hidden="true" />
      <span className={word ? "" : "sr-only"}>{STATES[state]}</span>
    </span>
  );
}
