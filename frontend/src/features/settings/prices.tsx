import "./intake.css";

import { useQuery } from "@tanstack/react-query";
import { Coins } from "lucide-react";
import { lazy } from "react";

import { RoleNote } from "@/components/role-note";
import { Ago } from "@/components/time";
import { useMay, useProject } from "@/hooks/use-project";

import { pricesQuery, useDeletePrice } from "./intake-api";
import { blankPrice, fromBuiltin, typedOf, type Price, type TypedPrice } from "./price-form";
import { PriceLookup } from "./price-lookup";
import { PartList, TierList } from "./price-parts";
import { NameCell, RowActions, RowsSection, RowsTable, type Open } from "./rows-section";

const PriceDialog = lazy(() => import("./price-dialog"));

type Form = { id: string | null; typed: TypedPrice };

/** What models cost here: the project's own prices, and what is known without them. */
export function Prices() {
  const { slug } = useProject();
  const may = useMay("admin");
  const query = useQuery(pricesQuery(slug));
  return (
    <RowsSection<Price, Form>
      title="Prices"
      text="What a call costs is taken from its sender, else from these prices, else from the built-in list of vendors’ prices. A price holds for calls that come in from now on; costs that are stored stay."
      noun="price"
      may={may}
      query={query}
      empty={{ icon: <Coins size={24} />, title: "No price of your own", text: "The built-in list knows most vendors’ models. Add a price for a model of yours, or where you pay another one." }}
      blank={() => ({ id: null, typed: blankPrice() })}
      table={(prices, open) => <PriceTable prices={prices} open={may ? open : undefined} />}
      form={({ id, typed }, close) => <PriceDialog id={id} initial={typed} onClose={close} />}
      afterwards="What was priced with it keeps its cost. Calls from now on are priced by the next price that fits."
      remove={useDeletePrice()}
    >
      {(open) => (
        <>
          {!may && <RoleNote needs="admin" what="Changing prices" />}
          <PriceLookup own={query.data ?? []} onTake={may ? (model, builtin) => open({ form: { id: null, typed: fromBuiltin(model, builtin) } }) : undefined} />
        </>
      )}
    </RowsSection>
  );
}

/** Without `open` it is only looked at. */
function PriceTable({ prices, open }: { prices: Price[]; open?: (what: Open<Price, Form>) => void }) {
  return (
    <RowsTable
      label="Prices"
      may={open !== undefined}
      heads={
        <>
          <th>Models</th>
          <th>USD a million tokens</th>
          <th className="num">From</th>
        </>
      }
    >
      {prices.map((price) => (
        <tr key={price.id}>
          <NameCell row={price} />
          <td>
            <code className="intake-pattern">{price.pattern}</code>
          </td>
          <td>
            <PartList prices={price.prices} />
            <TierList tiers={price.tiers ?? []} />
          </td>
          <td className="num muted">{price.starts_at ? <Ago at={price.starts_at} /> : "always"}</td>
          {open && <RowActions name={price.name} onEdit={() => open({ form: { id: price.id, typed: typedOf(price) } })} onDelete={() => open({ deleted: price })} />}
        </tr>
      ))}
    </RowsTable>
  );
}
