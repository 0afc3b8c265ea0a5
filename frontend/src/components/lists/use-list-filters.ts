import { useCallback, useMemo } from "react";
import { useSearch, useSearchParams } from "wouter";

import { decodeFilters, encodeFilters, type Field, type TraceFilters } from "@/lib/filters";

/** What stays in the address when filters change. */
const KEPT = ["peek", "cols", "compare"];

/**
 * Filters of a list, as the address has them. The same filters are the same object, and the setter
 * stays the same function, so that a key press that moves the cursor renders no more than two rows.
 */
export function useListFilters(names: readonly Field[]): [TraceFilters, (filters: TraceFilters) => void] {
  const search = useSearch();
  const key = encodeFilters(decodeFilters(new URLSearchParams(search), names)).toString();
  const filters = useMemo(() => decodeFilters(new URLSearchParams(key), names), [key, names]);
  const [, setParams] = useSearchParams();
  const change = useCallback(
    (next: TraceFilters) =>
      setParams((before) => {
        const params = encodeFilters(next);
        for (const name of KEPT) if (before.has(name)) params.set(name, before.get(name)!);
        return params;
      }),
    [setParams],
  );
  return [filters, change];
}
