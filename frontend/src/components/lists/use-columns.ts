import { useCallback } from "react";

import { useRemembered } from "@/hooks/use-remembered";
import { useUrl } from "@/hooks/use-url";

export interface Choice {
  id: string;
  name: string;
}

/** Which columns a table shows: those of the address, else those chosen last, else the usual ones. */
export function useColumns(page: string, all: readonly Choice[], usual: readonly string[]) {
  const [params, change] = useUrl();
  const [chosen, choose] = useRemembered<readonly string[] | null>(`columns.${page}`, null);
  const asked = params.get("cols")?.split(",");
  const shown = (asked ?? chosen ?? usual).filter((id) => all.some((column) => column.id === id));
  const ids = shown.length > 0 ? shown : usual;
  const isUsual = ids.length === usual.length && ids.every((id, at) => id === usual[at]);
  const toggle = useCallback(
    (id: string) => {
      const next = all.map((column) => column.id).filter((one) => (one === id ? !ids.includes(one) : ids.includes(one)));
      if (next.length === 0) return;
      choose(next);
      if (params.has("cols")) change({ cols: next.join(",") });
    },
    [all, ids, choose, change, params],
  );
  const reset = () => {
    choose(null);
    change({ cols: null });
  };
  return { ids, isUsual, toggle, reset };
}
