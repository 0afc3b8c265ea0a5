import { useQuery } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import type { PromptVersion } from "@/lib/api/types";

import { promptQuery } from "./api";
import { LabelBadge } from "./label-badge";
import { percents } from "./split";

/** The labels that lead to a version; of a split one its share, also where it is not the main version. */
export function VersionLabels({ name, version }: { name: string; version: PromptVersion }) {
  const { slug } = useProject();
  const splits = useQuery(promptQuery(slug, name)).data?.splits ?? {};
  const shareOf = (label: string): string | undefined => {
    const arms = splits[label] ?? [];
    const at = arms.findIndex((arm) => arm.version === version.version);
    return at < 0 ? undefined : `${percents(arms)[at]} %`;
  };
  const labels = [...new Set([...version.labels, ...Object.keys(splits).filter((label) => shareOf(label))])];
  return labels.map((label) => <LabelBadge key={label} label={label} share={shareOf(label)} />);
}
