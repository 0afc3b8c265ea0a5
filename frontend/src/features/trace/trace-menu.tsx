import { lazy, Suspense, useState } from "react";

import { useHotkey } from "@/hooks/use-hotkey";
import { useMay } from "@/hooks/use-project";
import type { Observation, Trace } from "@/lib/api/types";

const AddToDataset = lazy(() => import("@/components/add-to-dataset"));
const DeleteTrace = lazy(() => import("./delete-trace"));
const TraceItems = lazy(() => import("./trace-items"));

/** The menu of a trace. Its key is heard at once; what it shows comes a moment later. */
export function TraceMenu({ trace, observation }: { trace: Trace; observation: Observation | undefined }) {
  const [asking, setAsking] = useState<"delete" | "dataset" | null>(null);
  const may = useMay("member");
  const close = () => setAsking(null);
  useHotkey("d", "Add to a dataset", () => setAsking("dataset"), { enabled: may && observation !== undefined });
  return (
    <>
      <Suspense fallback={<span className="trace-menu-place" />}>
        <TraceItems trace={trace} observation={observation} onDelete={() => setAsking("delete")} onAdd={() => setAsking("dataset")} />
      </Suspense>
      <Suspense>
        {asking === "delete" && <DeleteTrace trace={trace} onClose={close} />}
        {asking === "dataset" && observation && <AddToDataset traceId={trace.id} observation={observation} onClose={close} />}
      </Suspense>
    </>
  );
}
