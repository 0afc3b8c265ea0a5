/** Prices as people write them, USD a million tokens, and as the server keeps them, USD a token. Both exact. */

const SHIFT = 6;
const DECIMAL = /^(\d*)(?:[.,](\d*))?$/;

/** The decimal with its point moved; null where it is no decimal of 0 or more. */
function moved(text: string, by: number): string | null {
  const [, whole = "", fraction = ""] = DECIMAL.exec(text.trim()) ?? [];
  if (whole + fraction === "") return null;
  const digits = whole + fraction;
  const point = whole.length + by;
  const padded = point < 0 ? digits.padStart(digits.length - point, "0") : digits.padEnd(point, "0");
  const at = Math.max(point, 0);
  const left = padded.slice(0, at).replace(/^0+(?=\d)/, "");
  const right = padded.slice(at).replace(/0+$/, "");
  return `${left || "0"}${right ? `.${right}` : ""}`;
}

/** "0.0000025" -> "2.5" */
export const perMillion = (perToken: string): string => moved(perToken, SHIFT) ?? perToken;

/** "2.5" -> "$2.50", with all of its digits. */
export const money = (price: string): string => `$${price.replace(/(\.\d)$/, "$10")}`;

/** "2.5" -> "0.0000025"; null where it is no price. */
export const perToken = (perMillionText: string): string | null => moved(perMillionText, -SHIFT);

/** What a part of the usage is called, in words where it has some. */
export function partName(part: string): string {
  const known: Record<string, string> = {
    input: "Input",
    output: "Output",
    total: "Total",
    input_cached_tokens: "Input from cache",
    input_cache_creation: "Input written to cache",
    output_reasoning_tokens: "Reasoning",
  };
  return known[part] ?? part;
}

const OPERATORS: Record<string, string> = { gt: "over", gte: "at least", lt: "under", lte: "at most", eq: "exactly", neq: "other than" };

/** "over 200,000 input tokens" */
export function conditionText({ usage_pattern, operator, value }: { usage_pattern: string; operator: string; value: number }): string {
  const plain = usage_pattern.replace(/^\^/, "");
  const part = /^\w+$/.test(plain) ? `${plain.replaceAll("_", " ")} tokens` : `tokens of ${usage_pattern}`;
  return `${OPERATORS[operator] ?? operator} ${value.toLocaleString("en-US")} ${part}`;
}

export const OPERATOR_NAMES = OPERATORS;
