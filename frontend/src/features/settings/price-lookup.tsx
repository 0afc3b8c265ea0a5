import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useId } from "react";

import { Button } from "@/components/button";
import { Input } from "@/components/field";
import { useProject } from "@/hooks/use-project";
import { useUrlValue } from "@/hooks/use-url";
import { modelsQuery } from "@/lib/api/queries";
import { formatMoment } from "@/lib/format";

import { lookupQuery } from "./intake-api";
import type { ListPrice, Price, PriceFound } from "./price-form";
import { PartList, TierList } from "./price-parts";

interface LookupProps {
  own: Price[];
  onTake?: (model: string, builtin: ListPrice | undefined) => void;
}

/** What a model costs here, and why. */
export function PriceLookup({ own, onTake }: LookupProps) {
  const { slug } = useProject();
  const id = useId();
  const [model, setModel] = useUrlValue("model");
  const asked = useDeferredValue((model ?? "").trim());
  const found = useQuery(lookupQuery(slug, asked));
  const models = useQuery(modelsQuery(slug)).data ?? [];
  return (
    <div className="intake-lookup">
      <label htmlFor={id}>What does a model cost?</label>
      <Input id={id} className="mono" placeholder="gpt-4o" list={`${id}-models`} maxLength={200} value={model ?? ""} onChange={(event) => setModel(event.target.value)} />
      <datalist id={`${id}-models`}>
        {models.map(({ id: name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <div className="intake-found" aria-live="polite">
        {asked !== "" && found.data && <Found found={found.data} own={own.filter((price) => found.data.own.includes(price.id))} onTake={onTake} />}
      </div>
    </div>
  );
}

function Found({ found, own, onTake }: { found: PriceFound; own: Price[]; onTake: LookupProps["onTake"] }) {
  const { model, builtin } = found;
  return (
    <>
      {own.map((price) => (
        <p key={price.id}>
          Your price <b>{price.name}</b> counts{price.starts_at && ` for calls from ${formatMoment(price.starts_at)} on`}.
        </p>
      ))}
      {builtin === null && own.length === 0 && <p>No price of {model} is known: its cost is shown as unknown, never as 0.</p>}
      {builtin?.map((period, index) => (
        <div key={period.starts_at ?? "always"} className="intake-builtin">
          <span className="faint">
            {own.length > 0 ? "The built-in list would say" : "The built-in list says"}
            {period.starts_at && ` from ${formatMoment(period.starts_at)} on`}
            {index > 0 && " (earlier)"}, USD a million tokens:
          </span>
          <PartList prices={period.prices} />
          <TierList tiers={period.tiers} />
        </div>
      ))}
      {onTake && (
        <Button size="small" onClick={() => onTake(model, builtin?.[0])}>
          {builtin ? "Make it a price of your own" : "Give it a price"}
        </Button>
      )}
    </>
  );
}
