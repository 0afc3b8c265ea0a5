import { Redirect, useParams } from "wouter";

import { useProject } from "@/hooks/use-project";

/** The address of a run as SDKs print it leads to the run. */
export default function RunLinkPage() {
  const { slug } = useProject();
  const { runId = "" } = useParams<{ runId: string }>();
  return <Redirect to={`/p/${slug}/experiments/${runId}`} replace />;
}
