import { lazy, Suspense, useState, type ReactNode } from "react";
import { useLocation } from "wouter";

import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { playgroundAddress } from "@/lib/call";

import type { Call } from "./add-call";

const AddCall = lazy(() => import("./add-call"));

/** The keys of the selected call of a list, as on the trace's own page; `dialog` is to be shown. */
export function useCallKeys(call: Call | null): { dialog: ReactNode; add: () => void } {
  const { slug } = useProject();
  const [, go] = useLocation();
  const may = useMay("member");
  const [adding, setAdding] = useState<Call | null>(null);
  const add = () => setAdding(call);
  useHotkey("d", "Add to a dataset", add, { enabled: may && call !== null });
  useHotkey("r", "Open in the playground", () => call && go(playgroundAddress(slug, call.traceId, call.observationId)), { enabled: call !== null });
  return { add, dialog: <Suspense>{adding && <AddCall call={adding} onClose={() => setAdding(null)} />}</Suspense> };
}
