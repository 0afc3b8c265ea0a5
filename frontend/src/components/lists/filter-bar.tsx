import "@/components/search-field.css";
import "./filter-bar.css";

import { ListFilter, Search } from "lucide-react";
import { useEffect, useRef, useState } from "react";

import { Chip } from "@/components/badge";
import { Button } from "@/components/button";
import { Keys } from "@/components/keys";
import { useHotkey } from "@/hooks/use-hotkey";
import { hasFilters, isExcluded, parseSearch, withField, type Field, type TraceFilters } from "@/lib/filters";

interface BarProps {
  label: string;
  /** What `field:value` may name. */
  names: readonly Field[];
  filters: TraceFilters;
  onChange: (filters: TraceFilters) => void;
  facets?: boolean;
  onFacets?: () => void;
}

const WAIT_MS = 300;

/** Plain words search as one types; `field:value` becomes a chip on Enter. */
export function FilterBar({ label, names, filters, onChange, facets = false, onFacets }: BarProps) {
  const field = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState<string | null>(null);
  useHotkey("/", "Search", () => field.current?.select());

  const apply = (text: string) => {
    const { q, fields } = parseSearch(text, names);
    setTyped(null);
    if (q !== filters.q || Object.keys(fields).length > 0) onChange({ ...filters, q, fields: { ...filters.fields, ...fields } });
  };
  useEffect(() => {
    if (typed === null || typed.includes(":") || typed.trim() === filters.q) return undefined;
    const timer = setTimeout(() => onChange({ ...filters, q: typed.trim() }), WAIT_MS);
    return () => clearTimeout(timer);
  }, [typed, filters, onChange]);

  return (
    <div className="filter-bar" role="search">
      {onFacets && (
        <Button variant="quiet" icon={<ListFilter size={15} />} aria-pressed={facets} onClick={onFacets}>
          Filters
        </Button>
      )}
      <div className="search-field">
        <Search size={15} aria-hidden="true" />
        <input
          ref={field}
          type="text"
          aria-label={label}
          placeholder={names.length > 0 ? `Search, field:value or -field:value (${names.join(", ")})` : label}
          value={typed ?? filters.q}
          onChange={(event) => setTyped(event.target.value)}
          onBlur={(event) => apply(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") apply(event.currentTarget.value);
            if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
        <Keys keys="/" />
      </div>
      {names.flatMap((name) => {
        const value = filters.fields[name];
        if (!value) return [];
        const not = isExcluded(value);
        return [<Chip key={name} name={not ? `${name} is not` : name} value={not ? value.slice(1) : value} onRemove={() => onChange(withField(filters, name, null))} />];
      })}
      {hasFilters(filters) && (
        <Button variant="quiet" size="small" onClick={() => onChange({ ...filters, q: "", fields: {} })}>
          Clear
        </Button>
      )}
    </div>
  );
}
