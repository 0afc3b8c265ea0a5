import { X } from "lucide-react";

import { Button } from "@/components/button";
import { Select } from "@/components/field";
import type { RANGES, TraceFilters } from "@/lib/filters";
import { formatMoment, formatTime } from "@/lib/format";

interface RangeProps {
  filters: TraceFilters;
  onChange: (filters: TraceFilters) => void;
}

const NAMES: Record<keyof typeof RANGES, string> = {
  "15m": "Last 15 minutes",
  "1h": "Last hour",
  "6h": "Last 6 hours",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
};

export function RangePicker({ filters, onChange }: RangeProps) {
  const { from, to } = filters;
  if (from && to) {
    return (
      <Button title={`${formatMoment(from)} – ${formatMoment(to)}`} onClick={() => onChange({ ...filters, from: null, to: null, range: "" })} icon={<X size={14} />}>
        {formatTime(from)} – {formatTime(to)}
      </Button>
    );
  }
  return (
    <Select aria-label="Time range" value={filters.range} onChange={(event) => onChange({ ...filters, range: event.target.value })}>
      {Object.entries(NAMES).map(([value, name]) => (
        <option key={value} value={value}>
          {name}
        </option>
      ))}
    </Select>
  );
}
