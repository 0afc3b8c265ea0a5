import { useQuery } from "@tanstack/react-query";
import { Lock, Split, Tag } from "lucide-react";

import { MenuItem, MenuLabel } from "@/components/menu";
import { useMay, useProject } from "@/hooks/use-project";
import type { PromptVersion } from "@/lib/api/types";

import { labelUsesQuery, type LabelChange } from "./api";
import { labelChange, labelsToOffer, MANAGED } from "./labels";
import { spelled } from "./split";
import type { Workspace } from "./use-workspace";
import type { Asking, Splits } from "./version-dialogs";

interface LabelItemsProps {
  version: PromptVersion;
  work: Workspace;
  splits: Splits;
  onLabel: (change: LabelChange) => void;
  onAsk: (asking: Asking) => void;
}

/** The labels of a version's menu: given, taken off, split, protected. */
export function LabelItems({ version, work, splits, onLabel, onAsk }: LabelItemsProps) {
  const { slug } = useProject();
  const admin = useMay("admin");
  const uses = useQuery(labelUsesQuery(slug)).data ?? [];
  const locked = new Set(uses.filter((use) => use.is_protected).map((use) => use.name));
  const mayMove = (label: string) => admin || !locked.has(label);
  const refused = labelsToOffer(work.versions).filter((label) => !mayMove(label));
  const toSplit = splitLabel(version, splits);
  return (
    <>
      <MenuLabel>Labels</MenuLabel>
      {labelsToOffer(work.versions).map((offered) => (
        <MenuItem key={offered} icon={locked.has(offered) ? <Lock size={14} aria-label="Protected" /> : <Tag size={14} />} checked={version.labels.includes(offered)} disabled={!mayMove(offered)} onSelect={() => onLabel(labelChange(offered, version))}>
          {offered}
          {splits[offered] && <span className="faint"> {spelled(splits[offered])}</span>}
        </MenuItem>
      ))}
      {refused.length > 0 && <MenuLabel>Only admins move {refused.join(", ")}</MenuLabel>}
      <MenuItem icon={<Tag size={14} />} onSelect={() => onAsk("new")}>
        New label…
      </MenuItem>
      {work.versions.length > 1 && mayMove(toSplit) && (
        <MenuItem icon={<Split size={14} />} onSelect={() => onAsk({ split: toSplit })}>
          Split {toSplit}…
        </MenuItem>
      )}
      {admin && (
        <MenuItem icon={<Lock size={14} />} onSelect={() => onAsk("protect")}>
          Protected labels…
        </MenuItem>
      )}
    </>
  );
}

/** The label that a split from this version's menu is about: its own one that is split, or production. */
function splitLabel(version: PromptVersion, splits: Splits): string {
  return Object.keys(splits).find((label) => splits[label]!.some((arm) => arm.version === version.version)) ?? version.labels.find((label) => label !== MANAGED) ?? "production";
}
