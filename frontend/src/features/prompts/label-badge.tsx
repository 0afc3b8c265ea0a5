import { Badge } from "@/components/badge";
import { plural } from "@/lib/format";

interface LabelProps {
  label: string;
  /** Where the label is split: this version's share, such as "90 %". */
  share?: string;
  /** All of its versions and shares. */
  split?: string;
  /** Shown beside the label where the row is not the version itself. */
  version?: number;
  behind?: number;
}

/** A label, with the version that it points at. Only production is coloured: it is what people call. */
export function LabelBadge({ label, share, split, version, behind = 0 }: LabelProps) {
  const where = share ? `${share} of users or sessions get this version as ${label}` : version === undefined ? label : `${label} is version ${version}`;
  const late = behind > 0 ? `, ${plural(behind, "version")} behind the latest` : "";
  return (
    <Badge tone={label === "production" ? "accent" : "neutral"} title={where + late}>
      {label}
      {share && <span className="p-label-version">{share}</span>}
      {version !== undefined && <span className="p-label-version">{split ?? `v${version}`}</span>}
    </Badge>
  );
}
