import "./branches.css";

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { Loaded, Skeleton } from "@/components/states";
import { VersionGraph } from "@/components/version-graph";
import { useProject } from "@/hooks/use-project";
import { graphQuery } from "@/lib/api/prompts";
import type { PromptVersion } from "@/lib/api/types";

/** The versions as a tree, and the drafts on them; read when it is opened. */
export default function Branches({ name, version }: { name: string; version: PromptVersion | null }) {
  const [open, setOpen] = useState(false);
  return (
    <details className="p-branches" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Branches and drafts</summary>
      {open && <Graph name={name} version={version?.version} />}
    </details>
  );
}

function Graph({ name, version }: { name: string; version: number | undefined }) {
  const { slug } = useProject();
  const graph = useQuery(graphQuery(slug, name));
  return (
    <Loaded query={graph} what="The branches" skeleton={<Skeleton rows={3} />}>
      {(found) => <VersionGraph name={name} graph={found} current={version === undefined ? undefined : `v${version}`} />}
    </Loaded>
  );
}
