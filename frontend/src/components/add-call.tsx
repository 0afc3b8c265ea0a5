import { useQuery } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import { observationQuery, traceQuery } from "@/lib/api/queries";
import { mainOf } from "@/lib/call";

import AddToDataset from "./add-to-dataset";

export interface Call {
  traceId: string;
  /** Left out: the call that the trace is most likely about. */
  observationId?: string;
}

/** Adds a call of a list to a dataset, once it was read whole. */
export default function AddCall({ call: { traceId, observationId }, onClose }: { call: Call; onClose: () => void }) {
  const { slug } = useProject();
  const one = useQuery({ ...observationQuery(slug, traceId, observationId ?? ""), enabled: observationId !== undefined });
  const trace = useQuery({ ...traceQuery(slug, traceId), enabled: observationId === undefined });
  const observation = observationId === undefined ? trace.data && mainOf(trace.data.observations) : one.data;
  return observation ? <AddToDataset traceId={traceId} observation={observation} onClose={onClose} /> : null;
}
