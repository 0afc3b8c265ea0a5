import "./facet-list.css";

import { Ban } from "lucide-react";

import type { FacetValue } from "@/lib/api/types";
import { isExcluded, type Field } from "@/lib/filters";
import { formatCompact, formatCount } from "@/lib/format";
import { modelColor } from "@/lib/palette";

export interface FacetGroup {
  title: string;
  field: Field;
  values: readonly FacetValue[];
}

interface FacetsProps {
  groups: readonly FacetGroup[];
  chosen: Partial<Record<Field, string>>;
  onChoose: (field: Field, value: string | null) => void;
}

const SHOWN = 12;

/** What there is in the range, with counts: one click includes, the sign beside it excludes, another takes it back. */
export function FacetList({ groups, chosen, onChoose }: FacetsProps) {
  return (
    <aside className="facets" aria-label="Filters">
      {groups.map(({ title, field, values }) => (
        <section key={field} aria-label={title}>
          <h2>{title}</h2>
          <ul>
            {withChosen(values, chosen[field]).map((facet) => (
              <Facet key={facet.value} facet={facet} field={field} now={chosen[field]} onChoose={onChoose} />
            ))}
          </ul>
        </section>
      ))}
    </aside>
  );
}

/** What is excluded has no count and stays in sight all the same. */
function withChosen(values: readonly FacetValue[], chosen: string | undefined): FacetValue[] {
  const shown = values.slice(0, SHOWN);
  const value = chosen === undefined ? undefined : isExcluded(chosen) ? chosen.slice(1) : chosen;
  return value === undefined || shown.some((facet) => facet.value === value) ? shown : [{ value, count: -1 }, ...shown];
}

interface FacetProps {
  facet: FacetValue;
  field: Field;
  now: string | undefined;
  onChoose: (field: Field, value: string | null) => void;
}

function Facet({ facet, field, now, onChoose }: FacetProps) {
  const color = field === "model" ? modelColor(facet.value) : facet.value === "error" || facet.value === "ERROR" ? "var(--error-fill)" : undefined;
  const not = `!${facet.value}`;
  const toggle = (value: string) => onChoose(field, now === value ? null : value);
  return (
    <li className="facet-line" data-not={now === not}>
      <button type="button" className="facet" aria-pressed={now === facet.value} onClick={() => toggle(facet.value)} title={facet.value}>
        {color && <i style={{ background: color }} />}
        <span className="ellipsis">{facet.value}</span>
        {facet.count >= 0 && (
          <span className="num faint" title={formatCount(facet.count)}>
            {formatCompact(facet.count)}
          </span>
        )}
      </button>
      <button type="button" className="facet-not" aria-label={`Exclude ${facet.value}`} title={`Exclude ${facet.value}`} aria-pressed={now === not} onClick={() => toggle(not)}>
        <Ban size={12} aria-hidden="true" />
      </button>
    </li>
  );
}
