import "./intake.css";

import { useQuery } from "@tanstack/react-query";
import { Coins, Pencil, Plus, Trash2 } from "lucide-react";
import { lazy, Suspense, useState } from "react";

import { Button, IconButton } from "@/components/button";
import { RoleNote } from "@/components/role-note";
import { Empty, Loaded } from "@/components/states";
import { Ago } from "@/components/time";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";

import { pricesQuery, useDeletePrice } from "./intake-api";
import { blankPrice, fromBuiltin, typedOf, type Price, type TypedPrice } from "./price-form";
import { PriceLookup } from "./price-lookup";
import { PartList, TierList } from "./price-parts";
import { SectionHead } from "./section-head";

const Confirm = lazy(() => import("@/components/confirm"));
const PriceDialog = lazy(() => import("./price-dialog"));

type Open = { what: "form"; id: string | null; typed: TypedPrice } | { what: "delete"; price: Price } | null;

/** What models cost here: the project's own prices, and what is known without them. */
export function Prices() {
  const { slug } = useProject();
  const may = useMay("admin");
  const query = useQuery(pricesQuery(slug));
  const [open, setOpen] = useState<Open>(null);
  const create = () => setOpen({ what: "form", id: null, typed: blankPrice() });
  useHotkey("n", "New price", create, { enabled: may });
  return (
    <section className="section">
      <SectionHead
        title="Prices"
        text="What a call costs is taken from its sender, else from these prices, else from the built-in list of vendors’ prices. A price holds for calls that come in from now on; costs that are stored stay."
        action={
          may && (
            <Button variant="primary" icon={<Plus size={15} />} keys="n" onClick={create}>
              New price
            </Button>
          )
        }
      />
      {!may && <RoleNote needs="admin" what="Changing prices" />}
      <PriceLookup own={query.data ?? []} onTake={may ? (model, builtin) => setOpen({ what: "form", id: null, typed: fromBuiltin(model, builtin) }) : undefined} />
      <Loaded query={query} what="The prices">
        {(prices) =>
          prices.length === 0 ? (
            <Empty icon={<Coins size={24} />} title="No price of your own">
              <p>The built-in list knows most vendors’ models. Add a price for a model of yours, or where you pay another one.</p>
            </Empty>
          ) : (
            <PriceTable
              prices={prices}
              onEdit={may ? (price) => setOpen({ what: "form", id: price.id, typed: typedOf(price) }) : undefined}
              onDelete={(price) => setOpen({ what: "delete", price })}
            />
          )
        }
      </Loaded>
      <Suspense>
        {open?.what === "form" && <PriceDialog id={open.id} initial={open.typed} onClose={() => setOpen(null)} />}
        {open?.what === "delete" && <DeletePrice price={open.price} onClose={() => setOpen(null)} />}
      </Suspense>
    </section>
  );
}

interface TableProps {
  prices: Price[];
  /** Left out for those who may only look. */
  onEdit?: (price: Price) => void;
  onDelete: (price: Price) => void;
}

function PriceTable({ prices, onEdit, onDelete }: TableProps) {
  return (
    <div className="table-scroll settings-table" tabIndex={0} role="group" aria-label="Prices">
      <table className="table">
        <thead>
          <tr>
            <th>Name</th>
            <th>Models</th>
            <th>USD a million tokens</th>
            <th className="num">From</th>
            {onEdit && (
              <th>
                <span className="sr-only">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {prices.map((price) => (
            <tr key={price.id}>
              <td className="settings-name" title={`Set by ${price.author}`}>
                {price.name}
              </td>
              <td>
                <code className="intake-pattern">{price.pattern}</code>
              </td>
              <td>
                <PartList prices={price.prices} />
                <TierList tiers={price.tiers ?? []} />
              </td>
              <td className="num muted">{price.starts_at ? <Ago at={price.starts_at} /> : "always"}</td>
              {onEdit && (
                <td className="num intake-actions">
                  <IconButton label={`Edit ${price.name}`} icon={<Pencil size={14} />} onClick={() => onEdit(price)} />
                  <IconButton label={`Delete ${price.name}`} icon={<Trash2 size={14} />} onClick={() => onDelete(price)} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function DeletePrice({ price, onClose }: { price: Price; onClose: () => void }) {
  const remove = useDeletePrice();
  const confirmed = () =>
    remove.mutate(price.id, {
      onSuccess: () => announce(`${price.name} is deleted`),
      onError: (error) => announce(`Not deleted: ${messageOf(error)}`, "error"),
      onSettled: onClose,
    });
  return <Confirm title={`Delete ${price.name}?`} description="What was priced with it keeps its cost. Calls from now on are priced by the next price that fits." action="Delete price" busy={remove.isPending} onConfirm={confirmed} onClose={onClose} />;
}
