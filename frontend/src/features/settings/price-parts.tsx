import type { PriceTier } from "./price-form";
import { conditionText, money, partName, perMillion } from "./price-text";

/** Prices of the parts of a call's usage. */
export function PartList({ prices }: { prices: Record<string, string> }) {
  return (
    <ul className="intake-parts">
      {Object.entries(prices).map(([part, price]) => (
        <li key={part} title={`$${price} a token`}>
          {partName(part)} <b>{money(perMillion(price))}</b>
        </li>
      ))}
    </ul>
  );
}

/** Other prices under conditions; the first that holds counts. */
export function TierList({ tiers }: { tiers: readonly PriceTier[] }) {
  return tiers.map((tier, index) => (
    <div key={index} className="intake-tier">
      <span className="faint">
        {tier.name ? `${tier.name}: ` : ""}
        {tier.conditions.map(conditionText).join(" and ")}
      </span>
      <PartList prices={tier.prices} />
    </div>
  ));
}
